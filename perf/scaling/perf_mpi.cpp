// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/mpi.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

// What ktopk::mpi takes: mpirun -n 2 perf_mpi [keys of all ranks together]. Beside each call, top_k of as many keys as a rank
// has, in the same process: their difference is what the other ranks add. Each time is the least of some series, of the
// slowest rank. The constants of docs/scaling.md come first.

namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Keys = Kokkos::View<float*, Kokkos::HostSpace>;
using Positions = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;

int rank_of() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// The least of some series, of the slowest rank.
template <class Call>
double microseconds(int calls, Call const& call) {
  constexpr int series = 7;
  call();
  double best = 1e30;
  for (int s = 0; s < series; ++s) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    for (int c = 0; c < calls; ++c) call();
    double took = (MPI_Wtime() - start) / calls, slowest = 0;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = std::min(best, slowest);
  }
  return best * 1e6;
}

template <class... Numbers>
void print(char const* format, Numbers... numbers) {
  if (rank_of() == 0) std::printf(format, numbers...);
}

/// Half a round trip between the first two ranks.
double one_way(std::size_t bytes) {
  std::vector<char> buffer(bytes);
  int const rank = rank_of();
  return microseconds(
             bytes > 100000 ? 20 : 500,
             [&] {
               if (rank > 1) return;
               auto const count = static_cast<int>(bytes);
               if (rank == 0) {
                 MPI_Send(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                 MPI_Recv(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               } else {
                 MPI_Recv(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                 MPI_Send(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
               }
             }) /
         2;
}

void print_constants() {
  if (size_of() < 2) return;
  double const small = one_way(8), large = one_way(1 << 20);
  print("latency %.2f us, bandwidth %.2f GB/s", small, (1 << 20) / (large - small) * 1e-3);
  std::vector<std::int64_t> counts(2048);
  print(", sum of 2048 counts %.1f us\n", microseconds(100, [&] {
          MPI_Allreduce(MPI_IN_PLACE, counts.data(), 2048, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        }));
}

Keys keys_of_rank(std::int64_t n) {
  std::int64_t const begin = n * rank_of() / size_of(), end = n * (rank_of() + 1) / size_of();
  Keys const keys("keys", end - begin);
  for (std::int64_t i = begin; i < end; ++i) {
    auto x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    keys(i - begin) = static_cast<float>(x >> 40) * 0x1p-24F;
  }
  return keys;
}

void measure(Exec const& exec, Keys const& keys, std::int64_t k) {
  using ktopk::mpi::Result;
  using ktopk::mpi::Way;
  Keys const values("values", k);
  Positions const positions("positions", k);
  int const calls = keys.size() > 1000000 ? 5 : 50;
  ktopk::Options const fill{.short_rows = ktopk::ShortRows::fill};
  double const alone =
      microseconds(calls, [&] { ktopk::top_k(exec, keys, values, positions, fill); });
  print("%9lld %10.1f", static_cast<long long>(k), alone);
  for (auto const result : {Result::all, Result::owner})
    for (auto const way : {Way::candidates, Way::counts}) {
      ktopk::mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec, {}, {.result = result, .way = way});
      print(" %10.1f", microseconds(calls, [&] { plan.top_k(keys, values, positions); }));
    }
  print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    std::int64_t const n = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
    Exec const exec;
    print("%s, %d threads each\n", ktopk::mpi::describe(MPI_COMM_WORLD).c_str(),
          exec.concurrency());
    print_constants();
    Keys const keys = keys_of_rank(n);
    print("%lld floats; us:\n%9s %10s %10s %10s %10s %10s\n%9s %10s %10s %10s %10s %10s\n",
          static_cast<long long>(n), "", "", "all", "all", "owner", "owner", "k", "one rank's",
          "candidates", "counts", "candidates", "counts");
    for (std::int64_t const k : {1, 128, 2048, 32768, 1000000})
      if (k <= n / 10) measure(exec, keys, k);
    ktopk::mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec);
    Keys const value("value", 1);
    double const kth = microseconds(3, [&] { plan.kth(keys, n / 2, value); });
    double const alone = microseconds(
        3, [&] { ktopk::kth(exec, keys, static_cast<std::int64_t>(keys.size()) / 2, value); });
    print("kth n/2: %.1f, ktopk::kth of one rank's keys %.1f\n", kth, alone);
  }
  MPI_Finalize();
}
