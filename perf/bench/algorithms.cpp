// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <ktopk/core/testing.hpp>
#include <ktopk/ktopk.hpp>
#include <ktopk/recall.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/calibration.hpp"
#include "measure.hpp"
#include "verify.hpp"

namespace ktopk::perf {

namespace {

template <class Keys>
using LeftView = Kokkos::View<typename Keys::non_const_data_type, Kokkos::LayoutLeft,
                              typename Keys::memory_space>;

/// The same keys, those of a row as far apart as there are rows. One kernel: a deep_copy between layouts compiles many.
template <class Exec, class Keys>
LeftView<Keys> laid_out_left(Exec const& exec, Keys const& keys) {
  LeftView<Keys> const left(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::perf::left"), keys.extent(0),
      keys.extent(1));
  auto const n = static_cast<std::int64_t>(keys.extent(1));
  Kokkos::parallel_for(
      "ktopk::perf::left",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(keys.size())),
      KOKKOS_LAMBDA(std::int64_t i) { left(i / n, i % n) = keys(i / n, i % n); });
  return left;
}

/// Rows one behind the other, as the library takes them.
template <class Exec, class T>
auto ragged_rows(Exec const& exec, Case const& c, KeyView<Exec, T> const& keys) {
  using Offsets = Kokkos::View<std::int64_t*, typename Exec::memory_space>;
  auto const begins = row_begins(c);
  Offsets const offsets(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::perf::offsets"), begins.size());
  Kokkos::deep_copy(
      offsets, Kokkos::View<std::int64_t const*, Kokkos::HostSpace>(begins.data(), begins.size()));
  return ragged(Kokkos::View<T const*, typename Exec::memory_space>(keys.data(), keys.size()),
                offsets);
}

template <class T, class Index>
Shape shape_of(Case const& c, std::size_t keys) {
  bool const ragged = c.lengths == Lengths::ragged;
  Shape shape = make_shape<T, Index>(c.rows, ragged ? static_cast<std::int64_t>(keys) : c.n, c.k);
  shape.ragged = ragged;
  shape.packed = c.layout == Layout::right || c.rows == 1;
  return shape;
}

/// Whether the configuration lists tuned implementations for the backend.
bool has_tuned(std::string const& backend) {
  std::string const configuration = ktopk::configuration();
  auto const begin = configuration.find("tuned:");
  std::string const tuned = configuration.substr(begin, configuration.find('\n', begin) - begin);
  bool const host = backend != "Cuda" && backend != "HIP";
  return tuned.find(host ? "host" : "CUDA") != std::string::npos;
}

/// What the cost model predicts, if KTOPK_CALIBRATION names figures and the algorithm is one of those that have some.
template <class Exec>
void report_prediction(benchmark::State& state, Exec const& exec, Case const& c,
                       Algorithm algorithm, Shape const& shape) {
  bool const tuned = has_tuned(c.backend) && c.implementations == Implementations::tuned;
  auto const known = detail::calibrated_algorithms(detail::is_tuned_for_hosts(exec.name(), tuned));
  if (std::find(known.begin(), known.end(), algorithm) == known.end()) return;
  auto const figures = detail::calibrated_figures(exec.name(), tuned);
  if (!figures) return;
  state.counters["predicted_us"] =
      detail::predicted_us(algorithm, detail::device_of(exec), shape, *figures);
}

template <class Exec, class T, class Index>
void measure_with_index(benchmark::State& state, Exec const& exec, Case const& c) {
  std::optional<detail::ForcePortable> portable;
  if (c.implementations == Implementations::portable) portable.emplace();
  auto const keys = key_cache.get<Exec, T>(c);
  auto const values = make_places<Exec, T>("ktopk::perf::values", c);
  auto const indices = make_places<Exec, Index>("ktopk::perf::indices", c);
  Options const options{.sorted = c.sorted,
                        .ties = c.ties,
                        .algorithm = algorithm_from_name(c.method).value(),
                        .recall = std::stod(c.recall)};
  Shape const shape = shape_of<T, Index>(c, keys.size());
  Plan<Exec> plan(exec, shape, options);
  auto const check = [&] { verify(exec, c, keys, values, indices); };
  auto const time = [&](auto const& rows) {
    measure<Exec, T>(state, exec, c, keys, [] {}, [&] { plan(rows, values, indices); }, check);
    report_calls_in_a_row(state, exec, "one_shot_",
                          [&] { top_k(exec, rows, values, indices, options); });
  };
  if (c.lengths == Lengths::ragged)
    time(ragged_rows(exec, c, keys));
  else
    c.layout == Layout::right ? time(keys) : time(laid_out_left(exec, keys));
  Options served = options;
  served.algorithm = plan.algorithm();
  state.SetLabel(explain(exec, shape, served).kernel);
  report_prediction(state, exec, c, plan.algorithm(), plan.shape());
  if (options.recall < 1) {
    state.counters["promised"] = recall_of(shape, options);
    state.counters["found"] = part_found(exec, c, keys, values);
  }
  check();
}

template <class Exec, class T>
void measure_typed(benchmark::State& state, Exec const& exec, Case const& c) {
  if (c.n <= std::numeric_limits<std::int32_t>::max())
    measure_with_index<Exec, T, std::int32_t>(state, exec, c);
  else
    measure_with_index<Exec, T, std::int64_t>(state, exec, c);
}

}  // namespace

void measure_algorithm(benchmark::State& state, Case const& c) {
  if (c.implementations == Implementations::portable && !has_tuned(c.backend))
    return state.SkipWithError("this build lists no tuned implementations for the backend");
  with_backend_and_type(state, c, [&]<class Exec, class T>(Exec const& exec, KeyType<T>) {
    measure_typed<Exec, T>(state, exec, c);
  });
}

}  // namespace ktopk::perf
