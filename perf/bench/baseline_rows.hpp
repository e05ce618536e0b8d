// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "case.hpp"
#include "verify.hpp"
#include "workloads.hpp"

// Selection from rows of a scratch copy by other libraries, on hosts.

namespace ktopk::perf {

/// A row of the scratch copy; its k best are to be moved to its front.
template <class T>
struct Row {
  T* begin;
  std::int64_t n, k;
  Sorted sorted;

  T* best() const { return begin + k; }
  T* end() const { return begin + n; }
};

template <class T>
void nth_element_row(Row<T> const& row) {
  if (row.k < row.n) std::nth_element(row.begin, row.best(), row.end(), std::greater<T>());
  if (row.sorted == Sorted::yes) std::sort(row.begin, row.best(), std::greater<T>());
}

/// The rows of a scratch copy.
template <class T>
std::vector<Row<T>> rows_of(Case const& c, T* scratch) {
  auto const begins = row_begins(c);
  std::vector<Row<T>> rows;
  for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
    std::int64_t const n = begins[row + 1] - begins[row];
    rows.push_back({scratch + begins[row], n, std::min(c.k, n), c.sorted});
  }
  return rows;
}

/// A row is one thread's work; many rows are shared out.
template <class Exec, class T, class Select>
void over_rows(Exec const& exec, std::vector<Row<T>> const& rows, Select const& select_row) {
  if (rows.size() == 1) return select_row(rows.front());
  Kokkos::parallel_for("ktopk::perf::baseline", Kokkos::RangePolicy<Exec>(exec, 0, rows.size()),
                       [&](std::size_t row) { select_row(rows[row]); });
}

/// A wrong baseline is marked; its time stays, for others to see. On a device values alone are not verified.
template <class Exec, class T, class Values>
void mark_if_wrong(benchmark::State& state, Case const& c, KeyView<Exec, T> const& keys,
                   Values const& values_of) {
  if constexpr (on_host<Exec>) {
    bool right = true;
    for_some_rows<Exec>(c, keys, [&](std::int64_t row, KeyRow<T> const& expected) {
      right = right && are_the_best(expected, values_of(row));
    });
    if (!right) state.SetLabel("WRONG ANSWER");
  }
}

}  // namespace ktopk::perf
