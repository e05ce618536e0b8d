// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <ktopk/ktopk.hpp>

#include "call.hpp"

// The arguments of a case as Views. All have strides, so that few types of calls are compiled.

namespace ktopk::fuzz {

template <class T>
inline constexpr KeyType key_type_of =
    std::is_same_v<T, float16>    ? KeyType::float16
    : std::is_same_v<T, bfloat16> ? KeyType::bfloat16
    : std::is_same_v<T, float>    ? KeyType::float32
    : std::is_same_v<T, double>   ? KeyType::float64
    : sizeof(T) == 1              ? (std::is_signed_v<T> ? KeyType::int8 : KeyType::uint8)
    : sizeof(T) == 2              ? (std::is_signed_v<T> ? KeyType::int16 : KeyType::uint16)
    : sizeof(T) == 4              ? (std::is_signed_v<T> ? KeyType::int32 : KeyType::uint32)
                                  : (std::is_signed_v<T> ? KeyType::int64 : KeyType::uint64);

/// Whether rows begin and end anywhere.
template <class Keys>
inline constexpr bool begins_and_ends = false;
template <class K, class B, class E>
inline constexpr bool begins_and_ends<BoundedRows<K, B, E>> = true;

template <class T, class Exec>
struct Views {
  template <class Data>
  using View =
      Kokkos::View<Data, Kokkos::LayoutStride, Kokkos::Device<Exec, typename Exec::memory_space>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr KeyType type = key_type_of<T>;
  using Narrow =
      std::conditional_t<narrow_index(type) == IndexType::int32, std::int32_t, std::uint32_t>;
  using Wide =
      std::conditional_t<wide_index(type) == IndexType::int64, std::int64_t, std::uint64_t>;
  using Offset = std::conditional_t<offset_bytes(type) == 4, std::int32_t, std::int64_t>;
  using Count = std::conditional_t<count_bytes(type) == 4, std::int32_t, std::int64_t>;

  Case c;
  Memory const& memory;

  template <class E>
  static View<E**> matrix(void* buffer, Placement const& p) {
    return View<E**>(static_cast<E*>(buffer) + p.shift,
                     Kokkos::LayoutStride(p.rows, p.row, p.columns, p.step));
  }
  template <class E>
  static View<E*> line(void* buffer, Placement const& p) {
    return View<E*>(static_cast<E*>(buffer) + p.shift, Kokkos::LayoutStride(p.columns, p.step));
  }
  template <class E>
  View<E*> numbers(void* buffer, std::int64_t count) const {
    return line<E>(buffer, place_of_rows(c, count));
  }

  View<T const**> keys() const { return matrix<T const>(memory.keys, c.key_place); }
  View<T**> values() const { return matrix<T>(memory.values, c.value_place); }
  template <class I>
  View<I**> indices() const {
    return matrix<I>(memory.indices, c.index_place);
  }
  View<Count*> counts() const { return numbers<Count>(memory.counts, c.rows); }

  /// Calls visit(keys).
  template <class Visit>
  void visit_keys(Visit const& visit) const {
    if (c.kind_of_rows == Rows::uniform) return visit(keys());
    std::int64_t const count = c.is_in_matrix() ? 2 * c.rows : c.rows + 1;
    auto const bounds = numbers<Offset const>(memory.offsets, count);
    auto const from = [&](std::int64_t first) {
      return Kokkos::subview(bounds,
                             Kokkos::pair<std::int64_t, std::int64_t>(first, first + c.rows));
    };
    if (c.is_in_matrix()) return visit(rows(keys(), from(0), from(c.rows)));
    auto const all = line<T const>(memory.keys, c.key_place);
    if (c.has_ends)
      visit(ragged(all, from(0), from(1)));
    else
      visit(ragged(all, bounds));
  }

  /// Calls visit(keys, values, indices) or visit(keys, values, indices, per_row). Rows that begin and end anywhere have one
  /// kind of outputs alone, so that few types of calls are compiled.
  template <class Visit>
  void visit_arguments(Visit const& visit) const {
    visit_keys([&]<class InputKeys>(InputKeys const& keys) {
      if constexpr (begins_and_ends<InputKeys>)
        visit(keys, values(), indices<Narrow>());
      else
        visit_outputs(keys, visit);
    });
  }

 private:
  template <class InputKeys, class Visit>
  void visit_outputs(InputKeys const& keys, Visit const& visit) const {
    auto const values = this->values();
    auto const narrow = indices<Narrow>();
    auto const wide = indices<Wide>();
    bool const is_narrow = c.index == narrow_index(c.type);
    if (c.per_row != PerRow::none) return visit_per_row(visit, keys, values, narrow);
    if (!c.has_indices()) return visit(keys, values, nothing);
    if (c.has_values()) return is_narrow ? visit(keys, values, narrow) : visit(keys, values, wide);
    return is_narrow ? visit(keys, nothing, narrow) : visit(keys, nothing, wide);
  }

  template <class Visit, class... Arguments>
  void visit_per_row(Visit const& visit, Arguments const&... arguments) const {
    auto const counts = this->counts();
    using OnHost =
        Kokkos::View<Count const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    switch (c.per_row) {
      case PerRow::wanted:
        return visit(arguments..., per_row(numbers<Count const>(memory.wanted, c.rows), counts));
      case PerRow::wanted_on_host:
        return visit(arguments...,
                     per_row(OnHost(static_cast<Count const*>(memory.host_wanted), c.rows)));
      default: return visit(arguments..., per_row(nothing, counts));
    }
  }
};

inline Shape shape_of(Case const& c) {
  Shape shape{c.rows, c.n, c.k, bytes_of(c.type), c.has_indices() ? c.index_bytes() : 8};
  shape.ragged = c.kind_of_rows != Rows::uniform;
  if (c.is_in_matrix()) shape.n *= c.rows;
  shape.k_per_row = c.has_wanted();
  shape.packed = c.key_place.step == 1;
  return shape;
}

}  // namespace ktopk::fuzz
