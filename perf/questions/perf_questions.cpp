// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "dispatch/cost_model.hpp"

// What questions other than top_k take, as a multiple of a read of the keys that is timed in the same process:
// perf_questions [keys of a row] [rows]. Each time is the least of some series of calls in a row. Beside it stands how often
// the portable kernels read the keys by the cost model.

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Clock = std::chrono::steady_clock;

template <class T>
struct Add {
  Kokkos::View<T const*> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i, T& sum) const { sum += keys(i); }
};

/// Bell-shaped keys, the same on every machine but for rounding.
template <class T>
struct Bell {
  Kokkos::View<T*> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::uint64_t x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
    double sum = -6;
    for (int r = 0; r < 12; ++r) {
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
      x ^= x >> 27;
      sum += static_cast<double>(x >> 11) * 0x1p-53;
    }
    keys(i) = static_cast<T>(sum);
  }
};

template <class Call>
double microseconds(Exec const& exec, Call const& call) {
  constexpr int series = 8, calls = 10;
  call();
  exec.fence();
  double best = 1e30;
  for (int s = 0; s < series; ++s) {
    auto const start = Clock::now();
    for (int c = 0; c < calls; ++c) call();
    exec.fence();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / calls);
  }
  return best * 1e6;
}

template <class T>
void measure(char const* type, std::int64_t n, std::int64_t rows) {
  Exec const exec;
  Kokkos::View<T*> const flat("keys", rows * n);
  Kokkos::parallel_for("bell", Kokkos::RangePolicy<Exec>(exec, 0, rows * n), Bell<T>{flat});
  Kokkos::View<T**, Kokkos::LayoutRight> const keys(flat.data(), rows, n);
  Kokkos::View<T> const sum("sum");
  double const read = microseconds(exec, [&] {
    Kokkos::parallel_reduce("read", Kokkos::RangePolicy<Exec>(exec, 0, rows * n), Add<T>{flat},
                            sum);
  });
  auto const report = [&](char const* what, auto const& call) {
    double const time = microseconds(exec, call);
    std::printf("%-6s %6lld x %-10lld %-28s %10.1f us  %5.2f of a read\n", type,
                static_cast<long long>(rows), static_cast<long long>(n), what, time, time / read);
  };
  using ktopk::detail::QuestionKind;
  auto const report_reads = [&](char const* question, QuestionKind asked, double found = 0) {
    double const keys = ktopk::detail::keys_read(asked, ktopk::Algorithm::automatic,
                                                 ktopk::make_shape<T>(rows, n, n / 2), found);
    std::printf("%-6s %6lld x %-10lld %-28s reads by the model  %5.2f\n", type,
                static_cast<long long>(rows), static_cast<long long>(n), question,
                keys / static_cast<double>(rows * n));
  };
  std::printf("%-6s %6lld x %-10lld %-28s %10.1f us\n", type, static_cast<long long>(rows),
              static_cast<long long>(n), "read", read);

  ktopk::Shape const shape = ktopk::make_shape<T>(rows, n, 1);
  ktopk::RanksPlan<Exec> ranks(exec, shape);
  Kokkos::View<T*> const value("value", rows);
  Kokkos::View<T**> const seven("seven", rows, 7), sixteen("sixteen", rows, 16);
  report("kth, k = n / 2", [&] { ranks.kth(keys, n / 2, value); });
  report("kth, k = n / 1000", [&] { ranks.kth(keys, std::max<std::int64_t>(1, n / 1000), value); });
  report_reads("kth, k = n / 2", QuestionKind::kth);
  std::vector<double> const q{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95};
  report("7 quantiles, lower",
         [&] { ranks.quantiles(keys, q, seven, ktopk::Interpolation::lower); });
  report("7 quantiles, linear", [&] { ranks.quantiles(keys, q, seven); });

  Kokkos::View<T*> const bounds("bounds", 4);
  auto const host = Kokkos::create_mirror_view(bounds);
  for (int b = 0; b < 4; ++b) host(b) = static_cast<T>(b - 1);
  Kokkos::deep_copy(bounds, host);
  Kokkos::View<std::int64_t**> const better("better", rows, 4), equal("equal", rows, 4);
  report("count of 4 bounds", [&] { ktopk::count(exec, keys, bounds, better, equal); });

  report_reads("count", QuestionKind::count);

  ktopk::ReachingPlan<Exec> reaching(exec, shape);
  Kokkos::View<T> const threshold("threshold");
  Kokkos::deep_copy(threshold, static_cast<T>(3.09));
  Kokkos::View<T**> const found("found", rows, n / 100 + 1);
  Kokkos::View<std::int64_t**> const where("where", rows, n / 100 + 1);
  Kokkos::View<std::int64_t*> const counts("counts", rows);
  report("reaching, 0.1 %", [&] { reaching(keys, threshold, found, where, counts); });

  report_reads("reaching, 0.1 %", QuestionKind::reaching, 1e-3 * static_cast<double>(n));

  Kokkos::View<T**> const half("half", rows, n / 2);
  ktopk::Plan<Exec> top(exec, ktopk::make_shape<T>(rows, n, n / 2), {.sorted = ktopk::Sorted::no});
  report("top_k, k = n / 2, any order", [&] { top(keys, half, ktopk::nothing); });
  ktopk::Plan<Exec> sorted(exec, ktopk::make_shape<T>(rows, n, n / 2));
  report("top_k, k = n / 2, sorted", [&] { sorted(keys, half, ktopk::nothing); });
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  std::int64_t const n = argc > 1 ? std::stoll(argv[1]) : 10'000'000;
  std::int64_t const rows = argc > 2 ? std::stoll(argv[2]) : 1;
  measure<double>("double", n, rows);
  measure<float>("float", n, rows);
}
