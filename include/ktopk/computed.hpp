// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/computed_rows.hpp>
#include <ktopk/plan.hpp>
#include <ktopk/top_k.hpp>

/// \file
/// Keys that a functor makes, or of which a mask leaves a part: they take the place of `keys` in every call that names an
/// execution space instance. Nothing is written to memory first. The kernels are compiled in the file that calls, so
/// include this header there alone.
///
/// A functor is called on the device: it has a const operator() marked KOKKOS_FUNCTION, as KOKKOS_LAMBDA makes one. It is
/// pure: of the same arguments it always makes the same key. It is called several times for a position: where the key is
/// read, once more where it is sampled and where it is selected, and in each pass of radix, which selects where
/// one_pass cannot.

namespace ktopk {

/// What transform returns.
template <class Keys, class F>
struct Transformed {
  Keys keys;
  F f;
};

/// The keys f(key), in place of the keys that they are made of.
/// \param keys  a View, ragged rows, or what another function of this header returns
/// \param f     of a key; returns another, of any key type
template <class Keys, class F>
Transformed<Keys, F> transform(Keys const& keys, F const& f) {
  return {keys, f};
}

/// What generate returns.
template <class T, class F>
struct Generated {
  std::int64_t rows, n;
  F f;
};
/// The same for one row.
template <class T, class F>
struct GeneratedRow {
  std::int64_t n;
  F f;
};

/// `rows` rows of n keys f(row, i) of type T. Outputs have rank 2.
template <class T, class F>
Generated<T, F> generate(std::int64_t rows, std::int64_t n, F const& f) {
  return {rows, n, f};
}
/// A row of n keys f(i) of type T. Outputs have rank 1.
template <class T, class F>
GeneratedRow<T, F> generate(std::int64_t n, F const& f) {
  return {n, f};
}

/// What where returns.
template <class Keys, class Mask>
struct Masked {
  Keys keys;
  Mask mask;
};

/// The keys for whose positions the mask is true. The others do not exist: a row of which fewer than k are left is
/// filled as a short row is, and counts say how many were selected. Positions are those before the mask.
/// \param keys  a View, ragged rows, or what another function of this header returns
/// \param mask  mask(row, i), or for one row also mask(i), where i counts from the beginning of the row; or a View of bool
///              or of bytes, of the keys' extents; or for one row a Kokkos::Bitset or ConstBitset of n bits
template <class Keys, class Mask>
Masked<Keys, Mask> where(Keys const& keys, Mask const& mask) {
  return {keys, mask};
}

namespace detail {

template <class K, class F>
inline constexpr bool is_computed<Transformed<K, F>> = true;
template <class T, class F>
inline constexpr bool is_computed<Generated<T, F>> = true;
template <class T, class F>
inline constexpr bool is_computed<GeneratedRow<T, F>> = true;
template <class K, class M>
inline constexpr bool is_computed<Masked<K, M>> = true;

/// Whether nothing may be made of a source.
template <class Keys>
inline constexpr bool is_outermost = false;

/// What is left of keys without values has none either.
template <class K>
struct MaskedValues {};
template <class K>
  requires requires { Source<K>::has_no_values; }
struct MaskedValues<K> {
  static constexpr bool has_no_values = true;
};

template <class K, class F>
struct Source<Transformed<K, F>> {
  static_assert(!is_outermost<K>, "ktopk::transform: for_bitonic comes last, around all else");
  static_assert(
      !requires { Source<K>::has_no_values; },
      "ktopk::transform: columns have no values that f could be called with");
  using In = source_key<K>;
  static_assert(std::is_invocable_v<F const&, In>,
                "ktopk::transform: f cannot be called with a key; is its operator() const?");
  using Key = std::remove_cvref_t<std::invoke_result_t<F const&, In>>;
  static constexpr int output_rank = Source<K>::output_rank;

  template <class Exec>
  static constexpr void check() {
    Source<K>::template check<Exec>();
  }
  static Shape shape(char const* function, Transformed<K, F> const& source) {
    Shape shape = Source<K>::shape(function, source.keys);
    shape.key_bytes = static_cast<int>(sizeof(Key));
    shape.computed = true;
    return shape;
  }
  static TransformedRows<source_rows<K>, In, checked_key<Key>, F> rows(
      Transformed<K, F> const& source, Options const& options) {
    return {{Source<K>::rows(source.keys, options)}, source.f};
  }
  static Extent keys_extent(Transformed<K, F> const& source) {
    return Source<K>::keys_extent(source.keys);
  }
};

template <class T, class F>
struct Source<Generated<T, F>> {
  static_assert(std::is_invocable_r_v<T, F const&, std::int64_t, std::int64_t>,
                "ktopk::generate: f(row, i) does not return a key; is its operator() const?");
  using Key = T;
  static constexpr int output_rank = 2;

  template <class Exec>
  static constexpr void check() {}
  static Shape shape(char const*, Generated<T, F> const& source) {
    Shape shape = make_shape<checked_key<T>>(source.rows, source.n, 0);
    shape.computed = true;
    return shape;
  }
  static GeneratedRows<checked_key<T>, F> rows(Generated<T, F> const& source, Options const&) {
    return {source.f, source.n};
  }
  static Extent keys_extent(Generated<T, F> const&) { return {}; }
};

/// A functor of a position, as one of a row and a position.
template <class F>
struct OfPosition {
  F f;
  KTOPK_FUNCTION auto operator()(std::int64_t, std::int64_t i) const { return f(i); }
};

template <class T, class F>
struct Source<GeneratedRow<T, F>> : Source<Generated<T, OfPosition<F>>> {
  static_assert(std::is_invocable_r_v<T, F const&, std::int64_t>,
                "ktopk::generate: f(i) does not return a key; is its operator() const?");
  static constexpr int output_rank = 1;

  static Generated<T, OfPosition<F>> of_position(GeneratedRow<T, F> const& source) {
    return {1, source.n, {source.f}};
  }
  static Shape shape(char const* function, GeneratedRow<T, F> const& source) {
    return Source<Generated<T, OfPosition<F>>>::shape(function, of_position(source));
  }
  static auto rows(GeneratedRow<T, F> const& source, Options const& options) {
    return Source<Generated<T, OfPosition<F>>>::rows(of_position(source), options);
  }
  static Extent keys_extent(GeneratedRow<T, F> const&) { return {}; }
};

template <class M>
concept MaskView = Kokkos::is_view_v<M>;
template <class M>
concept MaskBits = !MaskView<M> && requires(M const& mask) {
  { mask.test(0u) } -> std::convertible_to<bool>;
  mask.size();
};

template <MaskView M>
struct ViewMask {
  M mask;
  KTOPK_FUNCTION bool operator()([[maybe_unused]] std::int64_t row, std::int64_t i) const {
    if constexpr (M::rank == 1)
      return static_cast<bool>(mask(i));
    else
      return static_cast<bool>(mask(row, i));
  }
};

template <MaskBits M>
struct BitMask {
  M mask;
  KTOPK_FUNCTION bool operator()(std::int64_t, std::int64_t i) const {
    return mask.test(static_cast<unsigned>(i));
  }
};

template <class M>
auto mask_functor(M const& mask) {
  if constexpr (MaskView<M>)
    return ViewMask<M>{mask};
  else if constexpr (MaskBits<M>)
    return BitMask<M>{mask};
  else if constexpr (std::is_invocable_r_v<bool, M const&, std::int64_t, std::int64_t>)
    return mask;
  else
    return OfPosition<M>{mask};
}

template <class K, class M>
struct Source<Masked<K, M>> : MaskedValues<K> {
  static_assert(!is_outermost<K>, "ktopk::where: for_bitonic comes last, around all else");
  using Key = typename Source<K>::Key;
  static constexpr int output_rank = Source<K>::output_rank;
  static constexpr bool is_functor = !MaskView<M> && !MaskBits<M>;
  static_assert(!is_functor || std::is_invocable_r_v<bool, M const&, std::int64_t, std::int64_t> ||
                    (output_rank == 1 && std::is_invocable_r_v<bool, M const&, std::int64_t>),
                "ktopk::where: a mask is mask(row, i) -> bool, for one row also mask(i), a View of "
                "bool or bytes, or a Bitset; is its operator() const?");
  static_assert(!MaskBits<M> || output_rank == 1, "ktopk::where: a Bitset masks one row");

  template <class Exec>
  static constexpr void check() {
    Source<K>::template check<Exec>();
    if constexpr (MaskView<M>) {
      static_assert(reachable<Exec, M>,
                    "ktopk: the execution space cannot access the memory of the mask");
      static_assert(static_cast<int>(M::rank) == output_rank && !is_ragged<K>,
                    "ktopk::where: a mask that is a View has the rank of the keys");
      static_assert(
          std::is_integral_v<typename M::value_type> && sizeof(typename M::value_type) == 1,
          "ktopk::where: a mask that is a View is one of bool or of bytes");
    }
  }
  static Shape shape(char const* function, Masked<K, M> const& source) {
    Shape shape = Source<K>::shape(function, source.keys);
    shape.computed = shape.masked = true;
    if constexpr (MaskView<M>) {
      Matrix const mask = matrix_of(source.mask);
      require_equal(function, "the number of the mask's rows", mask.rows, shape.rows);
      require_equal(function, "the length of the mask's rows", mask.columns, shape.n);
    } else if constexpr (MaskBits<M>) {
      require_equal(function, "the number of the mask's bits",
                    static_cast<std::int64_t>(source.mask.size()), shape.n);
    }
    return shape;
  }
  static auto rows(Masked<K, M> const& source, Options const& options) {
    auto const mask = mask_functor(source.mask);
    using Mask = std::remove_cv_t<decltype(mask)>;
    return MaskedRows<source_rows<K>, Mask>{{Source<K>::rows(source.keys, options)}, mask};
  }
  static Extent keys_extent(Masked<K, M> const& source) {
    return Source<K>::keys_extent(source.keys);
  }
};

}  // namespace detail

}  // namespace ktopk

#include <ktopk/impl/dispatch/computed.hpp>
