// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/top_k.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/run.hpp"
#include "support/sorted_options.hpp"
#include "support/spaces.hpp"

// What holds of answers beside each other, without an oracle: what a user would assume of them.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::int8_t, bfloat16, float, double>;

template <class T, class Memory>
struct Selected {
  Selected(std::int64_t rows, std::int64_t k)
      : values("test::values", rows, k), positions("test::positions", rows, k) {}
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> positions;
};

template <class T, class Exec, class Keys>
auto selected(Exec const& exec, Keys const& keys, std::int64_t k, Options const& options) {
  Selected<T, MemoryOf<Exec>> const out(static_cast<std::int64_t>(keys.extent(0)), k);
  top_k(exec, keys, out.values, out.positions, options);
  exec.fence();
  return out;
}

/// Whether the first slots of `longer` are those of `shorter`, bit for bit.
template <class T, class Memory>
bool begins_with(Selected<T, Memory> const& longer, Selected<T, Memory> const& shorter) {
  auto const values = on_host(longer.values), few_values = on_host(shorter.values);
  auto const positions = on_host(longer.positions), few = on_host(shorter.positions);
  for (std::size_t r = 0; r < few.extent(0); ++r)
    for (std::size_t s = 0; s < few.extent(1); ++s)
      if (positions(r, s) != few(r, s) || !same_bits(values(r, s), few_values(r, s))) return false;
  return true;
}

/// Calls body(exec, keys, options) with rows of every input, each with one set of options.
template <class T, class Body>
void for_each_input(std::int64_t rows, std::int64_t n, Body const& body) {
  for_each_space([&]<class Exec>(Exec const& exec) {
    auto const all = sorted_options<T>();
    std::uint64_t seed = 0;
    for (Input input : inputs_for<T>()) {
      Options const& options = all[random_bits(21, ++seed) % all.size()];
      CAPTURE(exec.name(), name(input), rows, n);
      auto const keys = filled<T>(input, rows, n);
      body(exec, copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(keys, rows, n), options);
    }
  });
}

struct Size {
  std::int64_t rows, n, k;
};
constexpr Size sizes[] = {{5, 70, 12}, {2, 5000, 129}, {1, 70'000, 300}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("the k best begin the k + 1 best", "[properties]", Types) {
  for (Size const& size : sizes)
    for_each_input<TestType>(
        size.rows, size.n, [&](auto const& exec, auto const& keys, Options options) {
          auto const few = selected<TestType>(exec, keys, size.k, options);
          CHECK(begins_with(selected<TestType>(exec, keys, size.k + 1, options), few));
          CHECK(begins_with(selected<TestType>(exec, keys, size.n, options), few));
        });
}

TEMPLATE_LIST_TEST_CASE("every algorithm has the same bits", "[properties]", Types) {
  Size const size{2, 5000, 129};
  for_each_input<TestType>(
      size.rows, size.n, [&](auto const& exec, auto const& keys, Options options) {
        auto const automatic = selected<TestType>(exec, keys, size.k, options);
        for (Algorithm const algorithm :
             {Algorithm::one_pass, Algorithm::radix, Algorithm::heap, Algorithm::sort,
              Algorithm::bitonic, Algorithm::queue, Algorithm::bisection, Algorithm::bucket,
              Algorithm::quick, Algorithm::sample, Algorithm::delegate}) {
          options.algorithm = algorithm;
          CAPTURE(ktopk::name(algorithm));
          CHECK(begins_with(selected<TestType>(exec, keys, size.k, options), automatic));
        }
      });
}

TEMPLATE_LIST_TEST_CASE("the best of the best of parts are the best", "[properties]", Types) {
  for (Size const& size : sizes)
    for_each_input<TestType>(
        size.rows, size.n,
        [&]<class Exec>(Exec const& exec, auto const& keys, Options const& options) {
          Accumulator<TestType, std::int64_t, Exec> state(exec, size.rows, size.k, options);
          std::int64_t const middle = size.n / 3;
          auto const columns = [&](std::int64_t begin, std::int64_t end) {
            return Kokkos::subview(keys, Kokkos::ALL,
                                   Kokkos::pair<std::int64_t, std::int64_t>(begin, end));
          };
          state.add(columns(middle, size.n), middle);
          state.add(columns(0, middle), 0);
          Selected<TestType, MemoryOf<Exec>> const parts(size.rows, size.k);
          Kokkos::deep_copy(exec, parts.values, state.values());
          Kokkos::deep_copy(exec, parts.positions, state.positions());
          exec.fence();
          CHECK(begins_with(parts, selected<TestType>(exec, keys, size.k, options)));
        });
}

TEMPLATE_LIST_TEST_CASE("reversed rows have the same keys, with the tie rule turned around",
                        "[properties]", Types) {
  for (Size const& size : sizes)
    for_each_space([&]<class Exec>(Exec const& exec) {
      for (Input input : inputs_for<TestType>()) {
        CAPTURE(exec.name(), name(input), size.n);
        auto const keys = filled<TestType>(input, size.rows, size.n);
        std::vector<TestType> reversed(keys.size());
        for (std::int64_t r = 0; r < size.rows; ++r)
          for (std::int64_t i = 0; i < size.n; ++i)
            reversed[r * size.n + i] = keys[r * size.n + size.n - 1 - i];
        auto const select = [&](std::vector<TestType> const& from, Ties ties) {
          return selected<TestType>(
              exec, copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(from, size.rows, size.n), size.k,
              {.ties = ties});
        };
        auto const forward = select(keys, Ties::lowest_index);
        auto const backward = select(reversed, Ties::highest_index);
        auto const there = on_host(forward.positions), back = on_host(backward.positions);
        auto const values = on_host(forward.values), others = on_host(backward.values);
        std::int64_t wrong = 0;
        for (std::int64_t r = 0; r < size.rows; ++r)
          for (std::int64_t s = 0; s < size.k; ++s)
            wrong +=
                there(r, s) != size.n - 1 - back(r, s) || !same_bits(values(r, s), others(r, s));
        CHECK(wrong == 0);
      }
    });
}

}  // namespace ktopk::testing
