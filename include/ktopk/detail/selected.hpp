// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/detail/backend.hpp>

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
/// lists if the output need not be sorted, because the selected keys are then stored at once.
template <class CompositeKey>
struct SelectedKeys {
  SelectedKeys() = default;
  SelectedKeys(WorkspaceLayout& layout, Shape const& shape, Options const& options) {
    if (options.sorted == Sorted::no) return;
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
  if (composite_key_bytes(shape.key_bytes, shape.n) == sizeof(CompositeKey64))
    return Work<CompositeKey64>(nullptr, device, shape, options, more...).layout.bytes();
  return Work<CompositeKey128>(nullptr, device, shape, options, more...).layout.bytes();
}

/// Where an implementation puts its selected keys: into a list, or into the output if there is no list.
template <class Bits, class CompositeKey>
struct SelectedSink {
  Problem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  CompositeKey* composites;

  KOKKOS_FUNCTION void store(std::int64_t row, std::int64_t slot, CompositeKey composite) const {
    problem.store(row, slot, key_of(row, composite), map.position(composite));
  }
  KOKKOS_FUNCTION Bits key_of(std::int64_t row, CompositeKey composite) const {
    Bits const rank = map.ordered_bits_of(composite);
    if (map.rank.has_one_key(rank)) return map.rank.key_of(rank);
    return problem.row_keys(
        row)[static_cast<std::int64_t>(map.position(composite)) * problem.key_step];
  }
  KOKKOS_FUNCTION void put(std::int64_t row, std::int64_t slot, CompositeKey composite) const {
    if (composites != nullptr)
      composites[row * problem.shape.k + slot] = composite;
    else
      store(row, slot, composite);
  }
};

template <class Bits, class CompositeKey>
struct PutSelected {
  SelectedSink<Bits, CompositeKey> sink;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, CompositeKey composite) const {
    sink.put(row, slot, composite);
  }
};

/// The lists of selected keys as rows, which lie one after the other.
template <class Bits>
struct SelectedRows {
  Problem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.selected_count(row); }
};

/// Stores the selected keys of the lists, if there are any, the counts, and what fills short rows.
template <class Bits, class CompositeKey>
struct StoreSelected {
  SelectedSink<Bits, CompositeKey> sink;
  CompositeKey const* composites;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Problem<Bits> const& problem = sink.problem;
    std::int64_t const k = problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t const real = problem.selected_count(row);
    if (slot == 0 && problem.counts) problem.counts.store(row, real);
    if (slot >= real)
      problem.store_missing(row, slot);
    else if (composites != nullptr)
      sink.store(row, slot, composites[i]);
  }
};

}  // namespace ktopk::detail
