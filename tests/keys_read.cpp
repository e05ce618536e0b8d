// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cstdint>
#include <vector>

#include "dispatch/cost_model.hpp"

// What the cost model says that a call reads, beside how often the call makes a key.

namespace ktopk::testing {
namespace {

using Catch::Matchers::WithinRel;
using Exec = Kokkos::DefaultHostExecutionSpace;
template <class T>
using Column = Kokkos::View<T*, Kokkos::HostSpace>;
using detail::keys_read;
using detail::QuestionKind;

/// Keys from 0 to 2^24 in random order, counted as they are made.
struct Counted {
  Kokkos::View<std::int64_t, Kokkos::HostSpace> calls;
  KOKKOS_FUNCTION float operator()(std::int64_t i) const {
    Kokkos::atomic_inc(&calls());
    std::uint64_t x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    return static_cast<float>(x >> 40);
  }
};

/// How many keys a call makes.
template <class Call>
double made(std::int64_t n, Call const& call) {
  Counted const counted{Kokkos::View<std::int64_t, Kokkos::HostSpace>("calls")};
  call(generate<float>(n, counted));
  Exec().fence();
  return static_cast<double>(counted.calls());
}

double made_by_top_k(Algorithm algorithm, std::int64_t n, std::int64_t k) {
  Column<float> const values("values", k);
  return made(n, [&](auto const& keys) {
    top_k(Exec(), keys, values, nothing, {.sorted = Sorted::no, .algorithm = algorithm});
  });
}

double made_by_kth(std::int64_t n, std::int64_t k) {
  Kokkos::View<float, Kokkos::HostSpace> const value("value");
  return made(n, [&](auto const& keys) { kth(Exec(), keys, k, value); });
}

double made_by_reaching(std::int64_t n, double share) {
  Kokkos::View<float, Kokkos::HostSpace> const threshold("threshold");
  threshold() = static_cast<float>((1 - share) * 0x1p24);
  Column<float> const values("values", n);
  Column<std::int64_t> const positions("positions", n);
  Kokkos::View<std::int64_t, Kokkos::HostSpace> const count("count");
  return made(
      n, [&](auto const& keys) { reaching(Exec(), keys, threshold, values, positions, count); });
}

constexpr std::int64_t n = 1 << 20;

}  // namespace

TEST_CASE("top_k makes the keys that the cost model says", "[cost]") {
  for (Algorithm const algorithm : {Algorithm::one_pass, Algorithm::radix})
    for (std::int64_t const length : {std::int64_t{1} << 14, std::int64_t{1} << 17, n})
      for (std::int64_t const k : {std::int64_t{10}, length / 100, length / 2}) {
        if (algorithm == Algorithm::one_pass && k == length / 2) continue;  // left to radix
        INFO(name(algorithm) << ", n = " << length << ", k = " << k);
        CHECK_THAT(
            made_by_top_k(algorithm, length, k),
            WithinRel(keys_read(QuestionKind::top_k, algorithm, make_shape<float>(1, length, k)),
                      0.05));
      }
}

TEST_CASE("kth makes the keys that the cost model says", "[cost]") {
  for (std::int64_t const length :
       {std::int64_t{1000}, std::int64_t{8191}, std::int64_t{8192}, std::int64_t{1} << 17, n})
    for (std::int64_t const k : {length / 100, length / 2}) {
      INFO("n = " << length << ", k = " << k);
      CHECK_THAT(made_by_kth(length, k),
                 WithinRel(keys_read(QuestionKind::kth, Algorithm::automatic,
                                     make_shape<float>(1, length, k)),
                           0.05));
    }
}

TEST_CASE("ranks make the keys that the cost model says", "[cost]") {
  for (std::int64_t const length : {n, 4 * n})
    for (std::int64_t const count : {1, 2, 7, 16, 32}) {
      INFO("n = " << length << ", " << count << " ranks");
      std::vector<std::int64_t> wanted;
      for (std::int64_t i = 1; i <= count; ++i) wanted.push_back(length * i / (count + 1));
      Column<float> const values("values", count);
      CHECK_THAT(made(length, [&](auto const& keys) { ranks(Exec(), keys, wanted, values); }),
                 WithinRel(keys_read(QuestionKind::ranks, Algorithm::automatic,
                                     make_shape<float>(1, length, count)),
                           0.05));
    }
}

TEST_CASE("count makes each key once", "[cost]") {
  Column<float> const bounds("bounds", 3);
  Column<std::int64_t> const better("better", 3), equal("equal", 3);
  CHECK(made(n, [&](auto const& keys) { count(Exec(), keys, bounds, better, equal); }) ==
        keys_read(QuestionKind::count, Algorithm::automatic, make_shape<float>(1, n, 3)));
}

TEST_CASE("reaching makes the keys that the cost model says", "[cost]") {
  for (double const share : {0.001, 0.01, 0.5}) {
    INFO("share = " << share);
    CHECK_THAT(made_by_reaching(n, share),
               WithinRel(keys_read(QuestionKind::reaching, Algorithm::automatic,
                                   make_shape<float>(1, n, n), share * n),
                         0.05));
  }
}

}  // namespace ktopk::testing
