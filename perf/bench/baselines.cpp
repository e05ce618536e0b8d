// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include "baseline_names.hpp"
#include "baseline_rows.hpp"
#include "measure.hpp"
#include "verify.hpp"
#ifdef KTOPK_PERF_CUB
#include "baselines_cub.hpp"
#endif
#ifdef KTOPK_PERF_GNU_PARALLEL
#include <parallel/algorithm>
#endif

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ktopk::perf {

namespace {

// Other libraries' selections. Each gets a scratch copy of the keys, which it may destroy, and moves the k largest of
// each row to its front (values alone: positions, which ktopk finds too, would cost it more).

/// The key types that baselines are measured with: few, since each takes long to compile.
template <class T>
inline constexpr bool baselines_take =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

template <class T>
void partial_sort_row(Row<T> const& row) {
  std::partial_sort(row.begin, row.best(), row.end(), std::greater<T>());
}

/// The k best so far are a heap whose top is the worst of them: std::priority_queue's own steps, without its
/// allocations.
template <class T>
void priority_queue_row(Row<T> const& row) {
  T *const begin = row.begin, *const end = row.best();
  std::make_heap(begin, end, std::greater<T>());
  for (T* key = end; key != row.end(); ++key) {
    if (!(*key > *begin)) continue;
    std::pop_heap(begin, end, std::greater<T>());
    end[-1] = *key;
    std::push_heap(begin, end, std::greater<T>());
  }
  if (row.sorted == Sorted::yes) std::sort_heap(begin, end, std::greater<T>());
}

#ifdef KTOPK_PERF_GNU_PARALLEL
template <class T>
void gnu_parallel_row(Row<T> const& row) {
  if (row.k < row.n)
    __gnu_parallel::nth_element(row.begin, row.best(), row.end(), std::greater<T>());
  if (row.sorted == Sorted::yes) __gnu_parallel::sort(row.begin, row.best(), std::greater<T>());
}
#endif

/// Kokkos has no descending sort of a View: ascending, and the k last are the best.
template <class Exec, class T>
void sort_and_choose(Exec const& exec, std::vector<Row<T>> const& rows,
                     KeyView<Exec, T> const& chosen) {
  using RowView = Kokkos::View<T*, typename Exec::memory_space>;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto const [begin, n, k, sorted] = rows[row];
    RowView const keys(begin, static_cast<std::size_t>(n));
    Kokkos::sort(exec, keys);
    Kokkos::deep_copy(
        exec,
        testing::bytes_of(Kokkos::subview(chosen, row, Kokkos::make_pair(std::int64_t(0), k))),
        testing::bytes_of(Kokkos::subview(keys, Kokkos::make_pair(n - k, n))));
  }
}

template <class Exec, class T>
void run_host_baseline(Exec const& exec, std::string const& method,
                       std::vector<Row<T>> const& rows) {
  if (method == "std::nth_element") return over_rows(exec, rows, nth_element_row<T>);
  if (method == "std::partial_sort") return over_rows(exec, rows, partial_sort_row<T>);
  if (method == "priority_queue") return over_rows(exec, rows, priority_queue_row<T>);
#ifdef KTOPK_PERF_GNU_PARALLEL
  for (auto const& row : rows) gnu_parallel_row(row);
#endif
}

/// Calls `select` on copies of the keys, which it may destroy; values_of(row) are then the values it selected.
template <class Exec, class T, class Select, class Values>
void measure_on_copies(benchmark::State& state, Exec const& exec, Case const& c,
                       Select const& select, Values const& values_of) {
  auto const keys = key_cache.get<Exec, T>(c);
  auto const scratch =
      uninitialized<Exec, T>("ktopk::perf::scratch", keys.extent(0), keys.extent(1));
  auto const rows = rows_of(c, scratch.data());
  auto const check = [&] {
    mark_if_wrong<Exec>(state, c, keys, [&](std::int64_t row) { return values_of(rows, row); });
  };
  measure<Exec, T>(
      state, exec, c, keys,
      [&] { Kokkos::deep_copy(exec, testing::bytes_of(scratch), testing::bytes_of(keys)); },
      [&] { select(rows); }, check);
}

template <class Exec, class T>
void measure_sort(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const chosen = make_places<Exec, T>("ktopk::perf::chosen", c);
  measure_on_copies<Exec, T>(
      state, exec, c, [&](auto const& rows) { sort_and_choose(exec, rows, chosen); },
      [&](auto const&, std::int64_t row) { return row_begin(chosen, row); });
}

template <class Exec, class T>
void measure_host_baseline(benchmark::State& state, Exec const& exec, Case const& c) {
  measure_on_copies<Exec, T>(
      state, exec, c, [&](auto const& rows) { run_host_baseline(exec, c.method, rows); },
      [](auto const& rows, std::int64_t row) { return rows[static_cast<std::size_t>(row)].begin; });
}

#ifdef KTOPK_PERF_CUB
template <class T, class Cub>
void measure_cub_call(benchmark::State& state, Kokkos::Cuda const& exec, Case const& c, Cub cub) {
  auto const keys = key_cache.get<Kokkos::Cuda, T>(c);
  auto const values = make_places<Kokkos::Cuda, T>("ktopk::perf::values", c);
  auto const indices = make_places<Kokkos::Cuda, std::int32_t>("ktopk::perf::indices", c);
  cub.keys = keys.data();
  cub.values = values.data();
  cub.indices = indices.data();
  auto const bytes = cub.workspace_bytes();
  Kokkos::View<std::byte*, Kokkos::CudaSpace> const workspace("ktopk::perf::workspace", bytes);
  measure<Kokkos::Cuda, T>(
      state, exec, c, keys, [] {}, [&] { cub.run(workspace.data(), bytes, exec.cuda_stream()); },
      [&] { verify(exec, c, keys, values, indices); });
}

/// Even rows in any order are what CUB serves.
bool asks_what_cub_serves(Case const& c) {
  return c.lengths == Lengths::even && c.sorted == Sorted::no;
}

template <class T>
void measure_cub(benchmark::State& state, Kokkos::Cuda const& exec, Case const& c) {
  CubTopK const cub{c.type, nullptr, c.n, c.k, nullptr, nullptr};
  if (c.rows != 1 || !asks_what_cub_serves(c) || !cub.supported())
    return state.SkipWithError(
        "one row of f16, bf16, f32, f64 or i32, and no sorted output, is what it serves");
  measure_cub_call<T>(state, exec, c, cub);
}

template <class T>
void measure_cub_batched(benchmark::State& state, Kokkos::Cuda const& exec, Case const& c) {
  CubBatchedTopK const cub{c.type, nullptr, c.rows, c.n, c.k, nullptr, nullptr};
  if (!asks_what_cub_serves(c) || !cub.supported())
    return state.SkipWithError(
        "rows of up to 8192 keys of bf16 or f32, and no sorted output, are what it serves, from "
        "CCCL 3.5 on");
  measure_cub_call<T>(state, exec, c, cub);
}
#endif

template <class Exec, class T>
void measure_typed(benchmark::State& state, Exec const& exec, Case const& c) {
#ifdef KTOPK_PERF_CUB
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    if (c.method == "cub::DeviceTopK") return measure_cub<T>(state, exec, c);
    if (c.method == "cub::DeviceBatchedTopK") return measure_cub_batched<T>(state, exec, c);
  }
#endif
  if constexpr (!baselines_take<T>) {
    state.SkipWithError("baselines are measured with f32, f64 and i32");
  } else {
    if (has_nans(c)) return state.SkipWithError("baselines do not order NaNs");
    if (c.method == "Kokkos::sort") return measure_sort<Exec, T>(state, exec, c);
    if constexpr (on_host<Exec>) measure_host_baseline<Exec, T>(state, exec, c);
  }
}

}  // namespace

void measure_baseline(benchmark::State& state, Case const& c) {
  with_backend_and_type(state, c, [&]<class Exec, class T>(Exec const& exec, KeyType<T>) {
    measure_typed<Exec, T>(state, exec, c);
  });
}

}  // namespace ktopk::perf
