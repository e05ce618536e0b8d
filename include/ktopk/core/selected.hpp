// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/core/backend.hpp>

// The end of an implementation: its selected keys, in any order, become the output in the promised order. If any order
// is allowed, an implementation may store them at once.

namespace ktopk::detail {

/// The type of a counter that many groups share. Kokkos adds to it by one instruction. To the other unsigned type of 64
/// bits, unsigned long long on CUDA and std::uint64_t on HIP, it adds by compare and exchange, which takes the longer
/// the more threads meet at one counter.
#if defined(KOKKOS_ENABLE_HIP)
using Count64 = unsigned long long;
#else
using Count64 = std::uint64_t;
#endif

/// The validation of a row: whether the count of one_pass proved its result.
struct RowValidation {
  Count64 kept;  ///< how many composite keys reached the threshold
  bool proven;
};

/// The lists of selected keys: Problem::selected_count(row) composite keys from `composites + row * k`. There are no
/// lists if the output need not be sorted, because the selected keys are then stored at once. Of masked rows they are
/// always sorted: what a row lacks then comes last.
template <class CompositeKey>
struct SelectedKeys {
  SelectedKeys() = default;
  SelectedKeys(WorkspaceLayout& layout, Shape const& shape, Options const& options) {
    if (options.sorted == Sorted::no && !shape.masked) return;
    composites = layout.take<CompositeKey>(shape.rows * shape.k);
    spare = layout.take<CompositeKey>(shape.rows * shape.k);
  }

  CompositeKey* composites = nullptr;
  CompositeKey* spare = nullptr;  // as large, for sorting
};

/// The size of an implementation's workspace, which `Work<CompositeKey>(workspace, device, shape, options, more...)`
/// lays out.
template <template <class> class Work, class... More>
std::size_t bytes_of(Device const& device, Shape const& shape, Options const& options,
                     More const&... more) {
  if (composite_key_bytes(shape.key_bytes, composite_positions(shape)) == sizeof(CompositeKey64))
    return Work<CompositeKey64>(nullptr, device, shape, options, more...).layout.bytes();
  return Work<CompositeKey128>(nullptr, device, shape, options, more...).layout.bytes();
}

/// Where an implementation puts its selected keys: into a list, or into the output if there is no list.
template <Rows R, class CompositeKey>
struct SelectedSink {
  using Bits = typename R::Bits;

  Problem<R> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  CompositeKey* composites;

  KOKKOS_FUNCTION void store(std::int64_t row, std::int64_t slot, CompositeKey composite) const {
    problem.out.store(row, slot, key_of(row, composite), map.position(composite));
  }
  KOKKOS_FUNCTION Bits key_of(std::int64_t row, CompositeKey composite) const {
    auto const position = static_cast<std::int64_t>(map.position(composite));
    if constexpr (requires { R::are_magnitudes; }) return problem.rows.inner.row(row)[position];
    Bits const rank = map.ordered_bits_of(composite);
    if (map.rank.has_one_key(rank)) return map.rank.key_of(rank);
    return problem.rows.row(row)[position];
  }
  KOKKOS_FUNCTION void put(std::int64_t row, std::int64_t slot, CompositeKey composite) const {
    if (composites != nullptr)
      composites[row * problem.shape.k + slot] = composite;
    else
      store(row, slot, composite);
  }
};

template <Rows R, class CompositeKey>
struct PutSelected {
  SelectedSink<R, CompositeKey> sink;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, CompositeKey composite) const {
    sink.put(row, slot, composite);
  }
};

/// The lists of selected keys as rows, which lie one after the other.
template <Rows R>
struct SelectedRows {
  Problem<R> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.selected_count(row); }
};

/// Stores the selected keys of the lists, if there are any, the counts, and what fills short rows.
template <Rows R, class CompositeKey>
struct StoreSelected {
  SelectedSink<R, CompositeKey> sink;
  CompositeKey const* composites;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Problem<R> const& problem = sink.problem;
    std::int64_t const k = problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t const real = problem.selected_count(row);
    if constexpr (R::has_gaps) return store_unless_gap(row, slot, real, composites + row * k);
    if (slot == 0 && problem.counts) problem.counts.store(row, real);
    if (slot >= real)
      problem.out.store_missing(row, slot);
    else if (composites != nullptr)
      sink.store(row, slot, composites[i]);
  }

 private:
  /// Keys come before gaps.
  KOKKOS_FUNCTION void store_unless_gap(std::int64_t row, std::int64_t slot, std::int64_t listed,
                                        CompositeKey const* list) const {
    auto const is_key = [&](std::int64_t s) { return s < listed && !sink.map.is_gap(list[s]); };
    if (!is_key(slot))
      sink.problem.out.store_missing(row, slot);
    else
      sink.store(row, slot, list[slot]);
    if (!sink.problem.counts) return;
    if (slot == 0 && !is_key(0)) sink.problem.counts.store(row, 0);
    if (is_key(slot) && !is_key(slot + 1)) sink.problem.counts.store(row, slot + 1);
  }
};

template <class CompositeKey, Rows R>
auto composite_key_map_of(Problem<R> const& problem, Ties ties) {
  if constexpr (R::has_gaps)
    return make_composite_key_map_with_gaps<CompositeKey>(problem.rank, problem.shape.n, ties);
  else
    return make_composite_key_map<CompositeKey>(problem.rank, problem.shape.n, ties);
}

/// Calls `body` with the map of the narrowest composite key for the rows of a problem.
template <Rows R, class Body>
void with_composite_keys(Problem<R> const& problem, Ties ties, Body const& body) {
  with_composite_key_type<typename R::Bits>(
      composite_positions(problem.shape),
      [&](auto composite) { body(composite_key_map_of<decltype(composite)>(problem, ties)); });
}

/// The composite key of a position of a row.
template <class Row, class Bits, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION CompositeKey
composite_at(CompositeKeyMap<Bits, CompositeKey> const& map, Row const& row, std::int64_t i) {
  auto const position = static_cast<std::uint64_t>(i);
  if constexpr (Row::has_gaps)
    if (!row.holds(i)) return map.gap(position);
  return map(row[i], position);
}

}  // namespace ktopk::detail
