// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include "baseline_names.hpp"
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
#include <functional>

namespace ktopk::perf {

namespace {

// Other libraries' selections. Each gets a scratch copy of the keys, which it may destroy, and moves the k largest of
// each row to its front (values alone: positions, which ktopk finds too, would cost it more).

/// The key types that baselines are measured with: few, since each takes long to compile.
template <class T>
inline constexpr bool baselines_take =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

template <class T>
void nth_element_row(T* row, Case const& c) {
  if (c.k < c.n) std::nth_element(row, row + c.k, row + c.n, std::greater<T>());
  if (c.sorted == Sorted::yes) std::sort(row, row + c.k, std::greater<T>());
}

template <class T>
void partial_sort_row(T* row, Case const& c) {
  std::partial_sort(row, row + c.k, row + c.n, std::greater<T>());
}

/// The k best so far are a heap whose top is the worst of them: std::priority_queue's own steps, without its
/// allocations.
template <class T>
void priority_queue_row(T* row, Case const& c) {
  T* const end = row + c.k;
  std::make_heap(row, end, std::greater<T>());
  for (T* key = end; key != row + c.n; ++key) {
    if (!(*key > *row)) continue;
    std::pop_heap(row, end, std::greater<T>());
    end[-1] = *key;
    std::push_heap(row, end, std::greater<T>());
  }
  if (c.sorted == Sorted::yes) std::sort_heap(row, end, std::greater<T>());
}

#ifdef KTOPK_PERF_GNU_PARALLEL
template <class T>
void gnu_parallel_row(T* row, Case const& c) {
  if (c.k < c.n) __gnu_parallel::nth_element(row, row + c.k, row + c.n, std::greater<T>());
  if (c.sorted == Sorted::yes) __gnu_parallel::sort(row, row + c.k, std::greater<T>());
}
#endif

/// A row is one thread's work; many rows are shared out.
template <class Exec, class T, class Row>
void over_rows(Exec const& exec, KeyView<Exec, T> const& scratch, Case const& c,
               Row const& select_row) {
  if (c.rows == 1) return select_row(scratch.data(), c);
  Kokkos::parallel_for("ktopk::perf::baseline", Kokkos::RangePolicy<Exec>(exec, 0, c.rows),
                       [&](std::int64_t row) { select_row(&scratch(row, 0), c); });
}

/// Kokkos has no descending sort of a View: ascending, and the k last are the best.
template <class Exec, class T>
void sort_and_choose(Exec const& exec, KeyView<Exec, T> const& scratch, Case const& c,
                     KeyView<Exec, T> const& chosen) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    auto const keys = Kokkos::subview(scratch, row, Kokkos::ALL);
    Kokkos::sort(exec, keys);
    Kokkos::deep_copy(exec, testing::bytes_of(Kokkos::subview(chosen, row, Kokkos::ALL)),
                      testing::bytes_of(Kokkos::subview(keys, Kokkos::make_pair(c.n - c.k, c.n))));
  }
}

template <class Exec, class T>
void run_host_baseline(Exec const& exec, Case const& c, KeyView<Exec, T> const& scratch) {
  if (c.method == "std::nth_element")
    return over_rows<Exec, T>(exec, scratch, c, nth_element_row<T>);
  if (c.method == "std::partial_sort")
    return over_rows<Exec, T>(exec, scratch, c, partial_sort_row<T>);
  if (c.method == "priority_queue")
    return over_rows<Exec, T>(exec, scratch, c, priority_queue_row<T>);
#ifdef KTOPK_PERF_GNU_PARALLEL
  for (std::int64_t row = 0; row < c.rows; ++row) gnu_parallel_row(&scratch(row, 0), c);
#endif
}

/// Calls `select` on copies of the keys, which it may destroy.
template <class Exec, class T, class Select>
void measure_on_copies(benchmark::State& state, Exec const& exec, Case const& c,
                       Select const& select) {
  auto const keys = key_cache.get<Exec, T>(c);
  auto const scratch = uninitialized<Exec, T>("ktopk::perf::scratch", c.rows, c.n);
  measure<Exec, T>(
      state, exec, keys,
      [&] { Kokkos::deep_copy(exec, testing::bytes_of(scratch), testing::bytes_of(keys)); },
      [&] { select(scratch); });
}

template <class Exec, class T>
void measure_sort(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const chosen = make_places<Exec, T>("ktopk::perf::chosen", c);
  measure_on_copies<Exec, T>(state, exec, c, [&](KeyView<Exec, T> const& scratch) {
    sort_and_choose<Exec, T>(exec, scratch, c, chosen);
  });
}

template <class Exec, class T>
void measure_host_baseline(benchmark::State& state, Exec const& exec, Case const& c) {
  measure_on_copies<Exec, T>(state, exec, c, [&](KeyView<Exec, T> const& scratch) {
    run_host_baseline<Exec, T>(exec, c, scratch);
  });
}

#ifdef KTOPK_PERF_CUB
template <class T>
void measure_cub(benchmark::State& state, Kokkos::Cuda const& exec, Case const& c) {
  auto const keys = key_cache.get<Kokkos::Cuda, T>(c);
  auto const values = make_places<Kokkos::Cuda, T>("ktopk::perf::values", c);
  auto const indices = make_places<Kokkos::Cuda, std::int32_t>("ktopk::perf::indices", c);
  CubTopK const cub{c.type, keys.data(), c.n, c.k, values.data(), indices.data()};
  if (c.rows != 1 || c.sorted == Sorted::yes || !cub.supported())
    return state.SkipWithError(
        "one row of f16, bf16, f32, f64 or i32, and no sorted output, is what it serves");
  auto const bytes = cub.workspace_bytes();
  Kokkos::View<std::byte*, Kokkos::CudaSpace> const workspace("ktopk::perf::workspace", bytes);
  measure<Kokkos::Cuda, T>(
      state, exec, keys, [] {}, [&] { cub.run(workspace.data(), bytes, exec.cuda_stream()); });
  verify(exec, c, keys, values, indices);
}
#endif

template <class Exec, class T>
void measure_typed(benchmark::State& state, Exec const& exec, Case const& c) {
#ifdef KTOPK_PERF_CUB
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>)
    if (c.method == "cub::DeviceTopK") return measure_cub<T>(state, exec, c);
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
