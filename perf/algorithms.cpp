// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <ktopk/detail/testing.hpp>
#include <ktopk/ktopk.hpp>

#include <cstdint>
#include <limits>
#include <optional>

#include "measure.hpp"
#include "verify.hpp"

namespace ktopk::perf {

namespace {

template <class Keys>
using LeftView = Kokkos::View<typename Keys::non_const_data_type, Kokkos::LayoutLeft,
                              typename Keys::memory_space>;

/// The same keys, those of a row as far apart as there are rows.
template <class Exec, class Keys>
LeftView<Keys> laid_out_left(Exec const& exec, Keys const& keys) {
  LeftView<Keys> const left(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::perf::left"), keys.extent(0),
      keys.extent(1));
  Kokkos::deep_copy(exec, left, keys);
  return left;
}

template <class Exec, class T, class Index>
void measure_with_index(benchmark::State& state, Exec const& exec, Case const& c) {
  std::optional<detail::ForcePortable> portable;
  if (c.implementations == Implementations::portable) portable.emplace();
  auto const keys = key_cache.get<Exec, T>(c);
  auto const values = make_places<Exec, T>("ktopk::perf::values", c);
  auto const indices = make_places<Exec, Index>("ktopk::perf::indices", c);
  Options const options{
      .sorted = c.sorted, .ties = c.ties, .algorithm = algorithm_from_name(c.method).value()};
  Shape shape = make_shape<T, Index>(c.rows, c.n, c.k);
  shape.packed = c.layout == Layout::right || c.rows == 1;
  Plan<Exec> plan(exec, shape, options);
  auto const time = [&](auto const& laid_out) {
    measure<Exec, T>(state, exec, keys, [] {}, [&] { plan(laid_out, values, indices); });
  };
  c.layout == Layout::right ? time(keys) : time(laid_out_left(exec, keys));
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
