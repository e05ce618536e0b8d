// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <ktopk/ktopk.hpp>

#include <cstdint>
#include <limits>

#include "measure.hpp"
#include "verify.hpp"

namespace ktopk::perf {

namespace {

template <class Exec, class T, class Index>
void measure_with_index(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const keys = key_cache.get<Exec, T>(c);
  auto const values = make_places<Exec, T>("ktopk::perf::values", c);
  auto const indices = make_places<Exec, Index>("ktopk::perf::indices", c);
  Options const options{
      .sorted = c.sorted, .ties = c.ties, .algorithm = algorithm_from_name(c.method).value()};
  Plan<Exec> plan(exec, make_shape<T, Index>(c.rows, c.n, c.k), options);
  measure<Exec, T>(state, exec, keys, [] {}, [&] { plan(keys, values, indices); });
  state.SetLabel(name(plan.algorithm()));
  verify(exec, c, keys, values, indices);
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
  with_backend_and_type(state, c, [&]<class Exec, class T>(Exec const& exec, KeyType<T>) {
    measure_typed<Exec, T>(state, exec, c);
  });
}

}  // namespace ktopk::perf
