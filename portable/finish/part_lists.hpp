// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/row_parts.hpp>

#include "../radix/radix.hpp"
#include "../run/launch.hpp"
#include "arrange.hpp"

// For implementations in which every group finds the k best of its part of a row. If a row is one part, they are its
// selected keys. Otherwise the row's list gets them, and an exact selection selects from the list.

namespace ktopk::detail {

template <Rows R, class CompositeKey>
struct PartLists {
  SelectedSink<R, CompositeKey> sink;
  std::int64_t parts;
  CompositeKey* list;
  RowValidation* validations;
  RowValidation const* lengths = nullptr;  // of rows that are lists of composite keys themselves

  KOKKOS_FUNCTION std::int64_t length(std::int64_t row) const {
    return lengths != nullptr ? static_cast<std::int64_t>(lengths[row].kept)
                              : sink.problem.length(row);
  }
  KOKKOS_FUNCTION std::int64_t stride() const { return parts * sink.problem.shape.k; }
  KOKKOS_FUNCTION RowParts of_row(std::int64_t row) const {
    return {length(row), sink.problem.selected_count(row), parts};
  }
  KOKKOS_FUNCTION RowPart part(std::int64_t group) const {
    std::int64_t const row = group / parts;
    return of_row(row).part(row, group % parts, row * stride());
  }
  KOKKOS_FUNCTION void put(RowPart const& part, std::int64_t slot, CompositeKey composite) const {
    if (parts == 1)
      sink.put(part.row, slot, composite);
    else
      list[part.first + slot] = composite;
  }
  /// Validates the list of a row, which is complete now.
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    validations[row] = {static_cast<Count64>(of_row(row).listed()), true};
  }
};

/// How many parts a row has. Each is so long that filling its list costs little: `share` keys for each composite key of
/// the list.
inline std::int64_t parts_for_lists(Device const& device, Shape const& shape, std::int64_t share) {
  std::int64_t const parts = parts_of_row(device, shape.rows, shape.n);
  std::int64_t const fitting = shape.n / (share * (shape.k + 1));
  return fitting < 1 ? 1 : parts < fitting ? parts : fitting;
}

/// The memory of PartLists.
template <class CompositeKey>
struct PartListLayout {
  PartListLayout() = default;
  PartListLayout(WorkspaceLayout& layout, Device const& device, Shape const& shape,
                 std::int64_t parts_)
      : parts(parts_) {
    if (parts == 1) return;
    list = layout.take<CompositeKey>(shape.rows * parts * shape.k);
    validations = layout.take<RowValidation>(shape.rows);
    scratch = RadixScratch<CompositeKey>(layout, device, shape.rows, parts * shape.k, 0, false);
  }
  template <Rows R>
  PartLists<R, CompositeKey> lists(SelectedSink<R, CompositeKey> const& sink) const {
    return {sink, parts, list, validations};
  }

  std::int64_t parts = 0;
  CompositeKey* list = nullptr;
  RowValidation* validations = nullptr;
  RadixScratch<CompositeKey> scratch{};
};

/// Selects from the lists of rows that have several parts.
template <class Exec, Rows R, class CompositeKey>
void select_from_lists(char const* label, Exec const& exec, PartLists<R, CompositeKey> const& lists,
                       RadixScratch<CompositeKey> const& scratch) {
  if (lists.parts == 1) return;
  Problem<R> const& problem = lists.sink.problem;
  launch_each(label, exec, problem.shape.rows, lists);
  radix_select(exec,
               ListSource<R, CompositeKey>{problem, lists.list, lists.stride(), lists.validations},
               scratch, lists.sink);
}

}  // namespace ktopk::detail
