// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "portable/run/launch.hpp"
#include "support/run.hpp"

// Every launch of a portable implementation states on hosts, too, what shared memory a team of a device would need, and
// throws where devices have less. Here that is asked over a grid of shapes; the answers are other tests' matter.

namespace ktopk::testing {
namespace {

/// One key type of each width.
using WidthTypes = std::tuple<std::uint8_t, float16, float, double>;

using Exec = Kokkos::DefaultHostExecutionSpace;

template <class T, class Layout>
void select_uniform(std::int64_t rows, std::int64_t n, std::int64_t k) {
  Kokkos::View<T**, Layout, Kokkos::HostSpace> const keys("test::keys", rows, n),
      values("test::values", rows, k);
  for (auto const& info : algorithms()) {
    INFO(info.name << ", " << rows << " x " << n << ", k = " << k);
    CHECK_NOTHROW(top_k(Exec(), keys, values, nothing, {.algorithm = info.algorithm}));
  }
}

/// Rows of n keys in all, the first of them half of all.
template <class T>
void select_ragged(std::int64_t rows, std::int64_t n, std::int64_t k) {
  Kokkos::View<T*, Kokkos::HostSpace> const keys("test::keys", n);
  Kokkos::View<T**, Kokkos::HostSpace> const values("test::values", rows, k);
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const offsets("test::offsets", rows + 1);
  for (std::int64_t row = 1; row <= rows; ++row) offsets(row) = n / 2 + n / 2 * row / rows;
  for (auto const& info : algorithms()) {
    INFO(info.name << ", " << rows << " ragged rows of " << n << " keys, k = " << k);
    CHECK_NOTHROW(
        top_k(Exec(), ragged(keys, offsets), values, nothing, {.algorithm = info.algorithm}));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("no portable launch needs more shared memory than devices have",
                        "[shared_memory]", WidthTypes) {
  ktopk::detail::ForcePortable const portable;
  for (std::int64_t rows : {1, 70})
    for (std::int64_t n : {1, 600, 5000, 40'000})
      for (std::int64_t k : {std::int64_t{1}, n / 17 + 1, std::min<std::int64_t>(n, 2048), n}) {
        select_uniform<TestType, Kokkos::LayoutRight>(rows, n, k);
        select_uniform<TestType, Kokkos::LayoutLeft>(rows, n, k);
      }
  for (std::int64_t rows : {1, 64})
    for (std::int64_t n : {0, 30, 5000, 100'000})
      for (std::int64_t k : {8, 256, 2048, 20'000}) select_ragged<TestType>(rows, n, k);
}

TEST_CASE("a team that needs more shared memory than devices have is refused", "[shared_memory]") {
  using ktopk::detail::check_shared_bytes;
  CHECK_NOTHROW(check_shared_bytes("test", 256, 47'072));
  CHECK_THROWS_AS(check_shared_bytes("test", 256, 47'073), std::logic_error);
  CHECK_THROWS_AS(check_shared_bytes("test", 1024, 47'072), std::logic_error);
}

}  // namespace ktopk::testing
