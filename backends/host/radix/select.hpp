// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/core/radix_states.hpp>

#include "../../../runtime/host_threads.hpp"
#include "../bulk_sink.hpp"
#include "../rows_in_cache.hpp"
#include "scan.hpp"

// Radix selection on hosts, for radix itself and for the rows that one_pass finishes or cannot prove.

namespace ktopk::detail::host {

/// Rows of keys, which become composite keys as they are read.
template <class Bits, class CompositeKey>
struct KeySource : RowsOfKeys<StoredRows<Bits>, CompositeKey> {
  HostLoops<Bits> loops;

  struct Reader {
    Stored<Bits> const* keys;
    std::int64_t step;
    CompositeKeyMap<Bits, CompositeKey> map;
    HostLoops<Bits> loops;
    static constexpr bool reads_keys = true;
    typedef Stored<Bits> const* Block;  // as what visit_between names a block
    KeyScan<Bits, CompositeKey> scan() const { return {loops, keys, step, map}; }
    CompositeKey operator()(std::int64_t i) const {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    }
  };
  Reader reader(std::int64_t row) const {
    return {this->problem.rows.pointer(row), this->problem.rows.step, this->map, loops};
  }
};

/// Lists whose least are known: the threshold of the read that filled them.
template <class Bits, class CompositeKey>
struct ListSource : RowsOfCompositeKeys<StoredRows<Bits>, CompositeKey> {
  CompositeKey const* least;  // of each row

  KOKKOS_FUNCTION Bounds<CompositeKey> bounds(std::int64_t row) const {
    return {least[row], ~CompositeKey{0}};
  }

  struct Reader {
    CompositeKey const* composites;
    static constexpr bool reads_keys = false;
    typedef CompositeKey const* Block;
    ListScan<CompositeKey> scan() const { return {composites}; }
    CompositeKey operator()(std::int64_t i) const { return composites[i]; }
  };
  Reader reader(std::int64_t row) const { return {this->composites + row * this->stride}; }
};

/// Whether there is a row to select from.
template <class Source>
bool any_active(Source const& source, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (source.active(row)) return true;
  return false;
}

inline RadixGroups radix_groups(Device const& device) {
  return {host::parts_on(device), smallest_part, smallest_part / keys_of_line};
}

template <class CompositeKey>
struct RadixScratch : RadixWorkspace<CompositeKey> {
  RadixScratch() = default;
  RadixScratch(WorkspaceLayout& layout, Device const& device, std::int64_t rows, std::int64_t n,
               std::int64_t keys, bool buffered)
      : RadixWorkspace<CompositeKey>(layout, host::radix_groups(device), rows, n, keys, buffered),
        row_groups(rows) {
    // A list is much shorter than a row: the cost of a part counts for more than an even load.
    this->parts = std::min<std::int64_t>(this->parts, device.concurrency);
  }
  RadixScratch(WorkspaceLayout& layout, Device const& device, Shape const& shape, bool buffered)
      : RadixWorkspace<CompositeKey>(layout, host::radix_groups(device), shape, buffered),
        row_groups(shape.ragged ? std::min(shape.rows, 4 * host::parts_on(device)) : shape.rows) {}

  std::int64_t row_groups;            // how many at a time begin
  std::int64_t longest_in_cache = 0;  // rows of up to so many keys are first tried in a cache
};

/// The workspace for rows that radix selects from, or one thread in its cache and radix from longer ones.
template <class CompositeKey>
struct RadixLayout {
  RadixLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace), selected(layout, shape, options), scratch(layout, device, shape, true) {}
  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  RadixScratch<CompositeKey> scratch;
};

/// Puts the k best composite keys of every active row of `source` into `sink`, in any order.
template <class Exec, class Source, class Bits, class CompositeKey>
void radix_select(Exec const& exec, Source const& source, RadixScratch<CompositeKey> const& scratch,
                  BulkSink<Bits, CompositeKey> const& sink);

}  // namespace ktopk::detail::host
