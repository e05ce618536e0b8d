// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "portable/bitonic/kernels.hpp"
#include "portable/run/launch.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/algorithm.hpp"

// The network with runs of every length and any number of columns, and the implementation that uses it.

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;

/// The best of some ranks, in `columns` runs of `length` at a time.
template <class Bits>
struct BestRun {
  std::vector<Bits> const& ranks;
  int length, columns;
  std::vector<Bits>& best;
  std::vector<Bits>& next;
  std::vector<Bits>& out;

  template <class Group>
  void operator()(Group const& group) const {
    auto const read = [&](std::int64_t i) { return ranks[static_cast<std::size_t>(i)]; };
    Bits const* const run =
        best_run(TeamSteps<Group>{group}, best.data(), next.data(), length, columns,
                 FillInOrder<Group, decltype(read)>{group, {0, std::ssize(ranks)}, read});
    each(group, 0, length, [&](std::int64_t i) { out[static_cast<std::size_t>(i)] = run[i]; });
  }
};

/// By a thread alone, and by two that are a team.
template <class Bits>
void check_network(std::vector<Bits> const& ranks, int length, int columns) {
  std::vector<Bits> best(static_cast<std::size_t>(length * columns)), next(best), sorted(ranks);
  sorted.resize(std::max(sorted.size(), static_cast<std::size_t>(length)), Bits{0});
  std::sort(sorted.begin(), sorted.end(), std::greater<Bits>());
  std::vector<Bits> out(static_cast<std::size_t>(length));
  auto const is_right = [&] { return std::equal(out.begin(), out.end(), sorted.begin()); };
  CAPTURE(sizeof(Bits), ranks.size(), length, columns);
  BestRun<Bits> const body{ranks, length, columns, best, next, out};
  body(ThreadGroup(0, nullptr, 0));
  CHECK(is_right());
#if defined(KOKKOS_ENABLE_OPENMP)
  std::fill(out.begin(), out.end(), Bits{0});
  Kokkos::OpenMP const exec;
  Kokkos::TeamPolicy<Kokkos::OpenMP> const policy(exec, 1, std::min(2, exec.concurrency()));
  Kokkos::parallel_for("test::network", policy, OnTeams<BestRun<Bits>>{body, 0});
  exec.fence();
  CHECK(is_right());
#endif
}

}  // namespace

TEMPLATE_TEST_CASE("a group's network keeps the best run, in order", "[bitonic]", std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  for (int length = 1; length <= 256; length *= 2)
    for (int columns = 1; columns <= 128; columns *= 4)
      for (Input input : {Input::uniform, Input::ascending, Input::few_values}) {
        std::int64_t const size = length * columns;
        check_network(make_keys<TestType>(input, size, 3), length, columns);
        check_network(make_keys<TestType>(input, size / 2 + 1, 4), length, columns);
        check_network(make_keys<TestType>(input, 3 * size - 1, 5), length, columns);
      }
}

using BitonicTypes = std::tuple<std::uint8_t, bfloat16, float, std::int64_t, double>;

// Larger k are radix's but on CUDA.
TEMPLATE_LIST_TEST_CASE("bitonic around the limits of runs and vectors", "[bitonic]",
                        BitonicTypes) {
  Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {63, 257, 512, 1000, 2049, 8193, 20000})
      for (std::int64_t k : {1, 2, 5, 16, 33, 64, 250, 256, 257, 700, 1024}) {
        if (k <= n) expect_algorithm<TestType>(Algorithm::bitonic, input, 2, n, k, validation);
      }
  validation.close();
}

/// Whole groups of rows that a block of a device reads together, and groups with too few of them.
TEMPLATE_LIST_TEST_CASE("bitonic of rows whose keys lie side by side", "[bitonic]", BitonicTypes) {
  Validation validation;
  for (Input input : {Input::uniform, Input::ascending, Input::few_values})
    for (auto [rows, n, k] :
         {std::tuple(2, 3001, 1000), std::tuple(8, 20'000, 32), std::tuple(13, 9001, 100),
          std::tuple(17, 70, 5), std::tuple(300, 600, 64)})
      expect_algorithm<TestType>(Algorithm::bitonic, input, rows, n, k, validation,
                                 testing::Keys::of_neighbors);
  validation.close();
}

}  // namespace ktopk::detail
