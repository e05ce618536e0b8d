// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/inputs.hpp>

/// \file
/// What belongs to the selected keys: payload by position, of several Views in one kernel.

namespace ktopk {

/// What is gathered, and where it goes.
template <class From, class To>
struct Payload {
  From from;
  To to;
};

/// \param from  from(i) or from(i, d) for all rows, from(row, i) or from(row, i, d) of each row; or what ragged() and
///              rows() make of it, as the keys were. i is a position, and d runs over the extent that `to` has last, too.
/// \param to    to(slot) or to(slot, d) for indices of rank 1, to(row, slot) or to(row, slot, d) for indices of rank 2
template <class From, class To>
Payload<From, To> payload(From const& from, To const& to) {
  return {from, to};
}

namespace detail {

template <class From>
struct PayloadSource {
  From from;
  static constexpr int rank = static_cast<int>(From::rank);
  using Value = typename From::non_const_value_type;
  using Memory = From;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t) const { return 0; }
  std::int64_t positions(bool of_rows) const {
    return static_cast<std::int64_t>(from.extent(of_rows ? 1 : 0));
  }
};
template <class Keys, class Offsets>
struct PayloadSource<Ragged<Keys, Offsets>> {
  Keys from;
  Offsets offsets;
  static constexpr int rank = 1;
  using Value = typename Keys::non_const_value_type;
  using Memory = Keys;
  explicit PayloadSource(Ragged<Keys, Offsets> const& ragged)
      : from(ragged.keys), offsets(ragged.offsets) {}
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const {
    auto const first = static_cast<std::int64_t>(offsets(row));
    return first < 0 ? 0 : first;
  }
  std::int64_t positions(bool) const { return static_cast<std::int64_t>(from.extent(0)); }
};

template <class Keys, class Begins, class Ends>
struct PayloadSource<BoundedRows<Keys, Begins, Ends>> : PayloadSource<Keys> {
  Begins begins;
  explicit PayloadSource(BoundedRows<Keys, Begins, Ends> const& rows)
      : PayloadSource<Keys>{rows.keys}, begins(rows.begins) {}
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const {
    if constexpr (IsNothing<Begins>) {
      return 0;
    } else {
      auto const first = static_cast<std::int64_t>(begins(row));
      return first < 0 ? 0 : first;
    }
  }
};

/// The copy of one payload, for one selected position.
template <class From, class To, int index_rank>
struct PayloadCopy {
  using Source = PayloadSource<From>;
  static constexpr int to_rank = static_cast<int>(To::rank);
  static constexpr bool has_width = to_rank == index_rank + 1;
  static constexpr bool of_rows = Source::rank == to_rank && index_rank == 2;
  static_assert(to_rank == index_rank || has_width,
                "ktopk::gather: `to` has the rank of the indices, or one more");
  static_assert(of_rows || Source::rank == 1 + (has_width ? 1 : 0),
                "ktopk::gather: `from` has not the rank of positions, or of rows and positions");
  static_assert(!std::is_const_v<typename To::value_type>,
                "ktopk::gather: `to` is const, but it is an output");

  Source source;
  To to;
  std::int64_t positions, width;

  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t slot,
                                  std::int64_t position) const {
    std::int64_t const at = source.first(row) + position;
    if (at < 0 || at >= positions) return;
    if constexpr (!has_width)
      target(row, slot) = value(row, at);
    else
      for (std::int64_t d = 0; d < width; ++d) target(row, slot, d) = value(row, at, d);
  }

 private:
  template <class... D>
  KOKKOS_FUNCTION auto& target(std::int64_t row, std::int64_t slot, D... d) const {
    if constexpr (index_rank == 1)
      return to(slot, d...);
    else
      return to(row, slot, d...);
  }
  template <class... D>
  KOKKOS_FUNCTION auto value([[maybe_unused]] std::int64_t row, std::int64_t at, D... d) const {
    if constexpr (of_rows)
      return source.from(row, at, d...);
    else
      return source.from(at, d...);
  }
};

template <class Indices, class... Copies>
struct GatherAll;
template <class Indices>
struct GatherAll<Indices> {
  KOKKOS_FUNCTION void copy(std::int64_t, std::int64_t, std::int64_t) const {}
};
/// A list of copies, since a tuple is no type for devices.
template <class Indices, class First, class... More>
struct GatherAll<Indices, First, More...> {
  First first;
  GatherAll<Indices, More...> more;
  KOKKOS_FUNCTION void copy(std::int64_t row, std::int64_t slot, std::int64_t position) const {
    first(row, slot, position);
    more.copy(row, slot, position);
  }
};

template <class Indices, class All>
struct Gather {
  Indices indices;
  All all;
  std::int64_t columns;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / columns, slot = i % columns;
    using Index = typename Indices::non_const_value_type;
    Index index;
    if constexpr (Indices::rank == 1)
      index = indices(slot);
    else
      index = indices(row, slot);
    if (index == static_cast<Index>(-1)) return;
    all.copy(row, slot, static_cast<std::int64_t>(index));
  }
};

template <class Exec, class Indices, class From, class To>
auto payload_copy(Indices const& indices, Payload<From, To> const& one) {
  constexpr int index_rank = static_cast<int>(Indices::rank);
  using Copy = PayloadCopy<From, To, index_rank>;
  using Source = typename Copy::Source;
  static_assert(reachable<Exec, typename Source::Memory> && reachable<Exec, To>,
                "ktopk: the execution space cannot access the memory of the payload");
  char const* const function = "ktopk::gather";
  for (int r = 0; r < index_rank; ++r)
    require_equal(function, "an extent of `to`", static_cast<std::int64_t>(one.to.extent(r)),
                  static_cast<std::int64_t>(indices.extent(r)));
  Copy copy{Source{one.from}, one.to, 0, 1};
  copy.positions = copy.source.positions(Copy::of_rows);
  if constexpr (Copy::has_width) {
    copy.width = static_cast<std::int64_t>(one.to.extent(index_rank));
    require_equal(function, "the last extent of `from`",
                  static_cast<std::int64_t>(copy.source.from.extent(Copy::of_rows ? 2 : 1)),
                  copy.width);
  }
  if constexpr (Copy::of_rows)
    require_equal(function, "the number of rows of `from`",
                  static_cast<std::int64_t>(copy.source.from.extent(0)),
                  static_cast<std::int64_t>(indices.extent(0)));
  return copy;
}

template <class Exec, class Indices>
GatherAll<Indices> gather_all(Indices const&) {
  return {};
}
template <class Exec, class Indices, class First, class... More>
auto gather_all(Indices const& indices, First const& first, More const&... more) {
  auto const copy = payload_copy<Exec>(indices, first);
  auto const others = gather_all<Exec>(indices, more...);
  return GatherAll<Indices, std::remove_cv_t<decltype(copy)>,
                   typename std::remove_cv_t<decltype(payload_copy<Exec>(indices, more))>...>{
      copy, others};
}

}  // namespace detail

/// Copies the payload of each selected position: to(slot) = from(indices(slot)), all Views in one kernel.
///
/// \param exec      execution space instance: the kernel is enqueued on it
/// \param indices   positions as top_k gives them, of rank 1 or 2. Where an index is -1, or beyond the positions of
///                  `from`, `to` stays as it is.
/// \param payloads  of payload(from, to), of any type that can be assigned
/// \throws std::invalid_argument before any kernel for extents that disagree
template <detail::ExecutionSpace Exec, class Indices, class... From, class... To>
void gather(Exec const& exec, Indices const& indices, Payload<From, To> const&... payloads) {
  static_assert(Indices::rank == 1 || Indices::rank == 2,
                "ktopk::gather: indices have rank 1 or 2");
  static_assert(detail::reachable<Exec, Indices>,
                "ktopk: the execution space cannot access the memory of the indices");
  auto const all = detail::gather_all<Exec>(indices, payloads...);
  auto const columns = static_cast<std::int64_t>(indices.extent(Indices::rank - 1));
  auto const selected = static_cast<std::int64_t>(indices.size());
  Kokkos::parallel_for(
      "ktopk::gather",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, selected),
      detail::Gather<Indices, std::remove_cv_t<decltype(all)>>{indices, all, columns});
}

}  // namespace ktopk
