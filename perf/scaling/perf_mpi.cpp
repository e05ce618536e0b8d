// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/mpi.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

// What ktopk::mpi takes: mpirun -n 2 perf_mpi [keys of all ranks together, in all rows [rows [equal bits [k...]]]]. Before the
// numbers may stand the name of an algorithm, which all calls take, and "candidates": then no other way is timed. Beside each call, top_k of as many keys as a rank has, in the same
// process: their difference is what the other ranks add; and top_k of all keys, by the first rank alone, whose answer is compared
// bit for bit. Each time is the least of some series, of the slowest rank. Keys are uniform, or have so many equal leading bits.
// The first line says which way messages go, which KTOPK_GPU_AWARE_MPI changes; then come the constants of docs/scaling.md.

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Keys = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
using Positions = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory>;

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

/// Columns begin .. end of the rows: their bits depend on their place alone. Also called with nvcc, which takes no lambda in
/// a function without a name.
struct FillKeys {
  Keys keys;
  std::int64_t n, begin;
  int equal_bits;  // leading ones, 9 at least so that all are numbers; 0 for uniform keys
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto const columns = static_cast<std::int64_t>(keys.extent(1));
    std::int64_t const row = i / columns, column = i % columns;
    auto x = static_cast<std::uint64_t>(row * n + begin + column + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    keys(row, column) =
        equal_bits == 0
            ? static_cast<float>(x >> 40) * 0x1p-24F
            : Kokkos::bit_cast<float>(0x3f800000u >> (32 - equal_bits) << (32 - equal_bits) |
                                      static_cast<std::uint32_t>(x >> (32 + equal_bits)));
  }
};
Keys keys_between(std::int64_t rows, std::int64_t n, std::int64_t begin, std::int64_t end,
                  int equal_bits) {
  Keys const keys(Kokkos::view_alloc(Kokkos::WithoutInitializing, "keys"), rows, end - begin);
  Kokkos::parallel_for("fill",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                           0, static_cast<std::int64_t>(keys.size())),
                       FillKeys{keys, n, begin, equal_bits});
  Kokkos::fence();
  return keys;
}

struct Selected {
  Keys values;
  Positions positions;
  Selected(std::int64_t rows, std::int64_t k)
      : values("values", rows, k), positions("positions", rows, k) {}
  bool same_as(Selected const& other) const {
    auto const own = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
    auto const others = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), other.values);
    auto const own_positions = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), positions);
    auto const other_positions =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), other.positions);
    return std::equal(own.data(), own.data() + own.size(), others.data()) &&
           std::equal(own_positions.data(), own_positions.data() + own_positions.size(),
                      other_positions.data());
  }
};

/// What the first rank takes for all keys.
template <class Call>
double microseconds_of_first(int calls, Call const& call) {
  return microseconds(calls, [&] {
    if (rank_of() == 0) call();
  });
}

void measure(Exec const& exec, Keys const& keys, Keys const& all, std::int64_t k,
             ktopk::Algorithm algorithm, bool every_way) {
  using ktopk::mpi::Result;
  using ktopk::mpi::Way;
  auto const rows = static_cast<std::int64_t>(keys.extent(0));
  Selected const found(rows, k), truth(rows, k);
  int const calls = keys.size() > 10000000 ? 5 : 50;
  auto const select = [&](Keys const& from) {
    ktopk::top_k(exec, from, truth.values, truth.positions,
                 {.short_rows = ktopk::ShortRows::fill, .algorithm = algorithm});
    exec.fence();
  };
  double const alone = microseconds(calls, [&] { select(keys); });
  double const of_all = microseconds_of_first(calls, [&] { select(all); });
  print("%9lld %10.1f %10.1f", static_cast<long long>(k), of_all, alone);
  bool is_right = true;
  for (auto const result : {Result::all, Result::owner})
    for (auto const way : {Way::candidates, Way::counts}) {
      if (!every_way && (result != Result::all || way != Way::candidates)) continue;
      ktopk::mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec, {.algorithm = algorithm},
                                  {.result = result, .way = way});
      print(" %10.1f",
            microseconds(calls, [&] { plan.top_k(keys, found.values, found.positions); }));
      if (result == Result::all && rank_of() == 0) is_right = is_right && found.same_as(truth);
    }
  print("  %s\n", is_right ? "same" : "WRONG");
}

void measure_kth(Exec const& exec, Keys const& keys, std::int64_t n) {
  ktopk::mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec);
  Kokkos::View<float*, Memory> const value("value", keys.extent(0));
  double const kth = microseconds(3, [&] { plan.kth(keys, n / 2, value); });
  double const alone = microseconds(3, [&] {
    ktopk::kth(exec, keys, static_cast<std::int64_t>(keys.extent(1)) / 2, value);
    exec.fence();
  });
  print("kth n/2: %.1f, ktopk::kth of one rank's keys %.1f\n", kth, alone);
}

/// Whether a number of equal leading bits is one that FillKeys takes.
bool is_number_of_bits(int bits) { return bits == 0 || (bits >= 9 && bits <= 31); }

}  // namespace

int main(int argc, char** argv) {
  auto const given = ktopk::algorithm_from_name(argc > 1 ? argv[1] : "");
  auto const named = given.value_or(ktopk::Algorithm::automatic);
  if (given) {
    --argc;
    ++argv;
  }
  bool const every_way = argc < 2 || std::string(argv[1]) != "candidates";
  if (!every_way) {
    --argc;
    ++argv;
  }
  if (argc > 3 && !is_number_of_bits(std::atoi(argv[3]))) {
    std::fprintf(stderr, "perf_mpi: %s equal bits; it must be 0 or from 9 to 31\n", argv[3]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    std::int64_t const total = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
    std::int64_t const rows = argc > 2 ? std::atoll(argv[2]) : 1, n = total / rows;
    int const equal_bits = argc > 3 ? std::atoi(argv[3]) : 0;
    std::vector<std::int64_t> wanted{1, 128, 2048, 32768, 1000000};
    if (argc > 4) wanted.clear();
    for (int i = 4; i < argc; ++i) wanted.push_back(std::atoll(argv[i]));
    Exec const exec;
    print("%s, %s, %d threads each\n", ktopk::mpi::describe<Exec>(MPI_COMM_WORLD).c_str(),
          exec.name(), exec.concurrency());
    print_constants();
    Keys const keys = keys_between(rows, n, n * rank_of() / size_of(),
                                   n * (rank_of() + 1) / size_of(), equal_bits);
    Keys const all = size_of() == 1   ? keys
                     : rank_of() == 0 ? keys_between(rows, n, 0, n, equal_bits)
                                      : Keys();
    print(
        "%s, %d ranks, %lld x %lld floats, %d equal bits; us:\n%9s %10s %10s %10s %10s %10s %10s\n",
        ktopk::name(named), size_of(), static_cast<long long>(rows), static_cast<long long>(n),
        equal_bits, "", "all keys", "", "all", "all", "owner", "owner");
    print("%9s %10s %10s %10s %10s %10s %10s\n", "k", "by one", "own keys", "candidates", "counts",
          "candidates", "counts");
    for (std::int64_t const k : wanted)
      if (k <= n / 10 && k * rows <= 4'000'000) measure(exec, keys, all, k, named, every_way);
    if (every_way) measure_kth(exec, keys, n);
  }
  MPI_Finalize();
}
