// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/core/row_parts.hpp>
#include <ktopk/core/selected.hpp>

#include "../../../runtime/host_threads.hpp"
#include "../bulk_sink.hpp"
#include "../sort.hpp"
#include "../store_selected.hpp"

// A thread finds the k best of its part of a row. If a row is one part, they are its selected keys. Otherwise they go to
// the row's list, from which one thread selects.

namespace ktopk::detail::host {

template <class Bits, class CompositeKey>
struct PartLists {
  BulkSink<Bits, CompositeKey> sink;
  Sorted sorted;
  std::int64_t parts;
  CompositeKey* list;

  RowPart part(std::int64_t index) const {
    std::int64_t const row = index / parts;
    return of_row(row).part(row, index % parts, row * stride());
  }

  /// Whether the best of a part come in the order of the output.
  bool are_sorted_by_part() const { return parts == 1 && sorted == Sorted::yes; }

  KOKKOS_FUNCTION void put(RowPart const& part, std::int64_t slot, CompositeKey composite) const {
    if (parts == 1)
      sink.store(part.row, slot, composite);
    else
      list[part.first + slot] = composite;
  }
  /// Ends a part: all of its composite keys were put.
  void close(RowPart const& part) const {
    if (parts == 1) complete_row(sink.problem, part.row, part.wanted);
  }

  /// Selects the best of a row from its list.
  void operator()(std::int64_t row) const {
    std::int64_t const k = sink.problem.selected_count(row);
    CompositeKey* const composites = list + row * stride();
    if (k > 0) {
      keep_best(composites, static_cast<int>(of_row(row).listed()), static_cast<int>(k));
      if (sorted == Sorted::yes) sort_alone(composites, ThreadArray<CompositeKey>(k).get(), k);
      sink.put_composite_keys(row, 0, composites, static_cast<int>(k));
    }
    complete_row(sink.problem, row, k);
  }

 private:
  std::int64_t stride() const { return parts * sink.problem.shape.k; }
  RowParts of_row(std::int64_t row) const {
    return {sink.problem.length(row), sink.problem.selected_count(row), parts};
  }
};

/// How many parts a row has. Each is so long that filling its list costs little.
inline std::int64_t parts_for_lists(Device const& device, Shape const& shape) {
  constexpr std::int64_t keys_per_composite = 64;
  std::int64_t const fitting = shape.n / (keys_per_composite * (shape.k + 1));
  return std::max<std::int64_t>(1,
                                std::min(fitting, host::parts_of_row(device, shape.rows, shape.n)));
}

/// The memory for the lists of all rows. A row of one part needs none.
template <class CompositeKey>
struct PartListLayout {
  PartListLayout(void* workspace, Device const& device, Shape const& shape, Options const&)
      : layout(workspace), parts(host::parts_for_lists(device, shape)) {
    if (parts > 1) list = layout.take<CompositeKey>(shape.rows * parts * shape.k);
  }

  WorkspaceLayout layout;
  std::int64_t parts;
  CompositeKey* list = nullptr;
};

}  // namespace ktopk::detail::host
