// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include <cmath>
#include <tuple>

#include "support.hpp"

// The k-th key, counts, and what reaches a threshold, of all ranks: the answers of one process.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

template <class T>
std::vector<Options> orders_of_questions() {
  auto all = orders_of<T>();
  if (!is_float_key<T>) all.push_back({.order = Order::smallest});
  return all;
}

/// Two rows, of which every rank has a part.
template <class T, class Memory>
struct Rows {
  static constexpr std::int64_t rows = 2;
  std::int64_t n;
  std::vector<T> all;
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> whole, mine;
  Part part;

  Rows(Input input, std::int64_t columns, Cut cut, std::uint64_t seed)
      : n(columns), all(filled<T>(input, rows, n)) {
    auto const question = uniform_question(all, rows, n, 0);
    part = part_of(question, cut, seed, true);
    whole = copied_to<Memory, Kokkos::LayoutRight>(all, rows, n);
    mine = copied_to<Memory, Kokkos::LayoutRight>(keys_of(question, part).first, rows,
                                                  part.ends[0] - part.begins[0]);
  }
};

template <class T, class Exec, class Body>
void for_each_question(Exec const& exec, Body const& body) {
  std::uint64_t seed = 0;
  for (Input input : inputs_for<T>())
    for (std::int64_t const n : {1, 700}) {
      auto const options = orders_of_questions<T>();
      Options const& chosen = options[++seed % options.size()];
      Cut const cut = cuts[random_bits(1, seed) % std::size(cuts)];
      INFO(exec.name() << ", " << name(input) << ", " << describe(chosen) << ", n = " << n
                       << ", rank " << rank() << " of " << ranks());
      body(Rows<T, MemoryOf<Exec>>(input, n, cut, seed), chosen);
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the k-th key is that of one process", "[mpi]", Types) {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for_each_question<TestType>(exec, [&](auto const& rows, Options const& options) {
      mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec, options);
      for (std::int64_t const k : {std::int64_t{1}, (rows.n + 1) / 2, rows.n}) {
        Kokkos::View<TestType*, MemoryOf<Exec>> const value("test::value", rows.rows);
        Kokkos::View<TestType*, MemoryOf<Exec>> const wanted("test::wanted", rows.rows);
        plan.kth(rows.mine, k, value);
        ktopk::kth(exec, rows.whole, k, wanted, options);
        exec.fence();
        auto const found = on_host(value), truth = on_host(wanted);
        for (std::int64_t row = 0; row < rows.rows; ++row) CHECK(same_bits(found(row), truth(row)));
      }
    });
  });
}

TEMPLATE_LIST_TEST_CASE("counts are those of one process", "[mpi]", Types) {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for_each_question<TestType>(exec, [&](auto const& rows, Options const& options) {
      using Memory = MemoryOf<Exec>;
      std::vector<TestType> some;
      for (std::size_t i = 0; i < 3; ++i) some.push_back(rows.all[rows.all.size() * i / 3]);
      auto const bounds = copied_to<Memory>(some);
      Kokkos::View<std::int64_t**, Memory> better("test::better", 2, 3);
      Kokkos::View<std::int32_t**, Memory> equal("test::equal", 2, 3);
      Kokkos::View<std::int64_t**, Memory> all_better("test::all_better", 2, 3);
      Kokkos::View<std::int32_t**, Memory> all_equal("test::all_equal", 2, 3);
      mpi::Plan<Exec>(MPI_COMM_WORLD, exec, options).count(rows.mine, bounds, better, equal);
      ktopk::count(exec, rows.whole, bounds, all_better, all_equal, options);
      exec.fence();
      auto const found_better = on_host(better), true_better = on_host(all_better);
      auto const found_equal = on_host(equal), true_equal = on_host(all_equal);
      for (int row = 0; row < 2; ++row)
        for (int i = 0; i < 3; ++i) {
          CHECK(found_better(row, i) == true_better(row, i));
          CHECK(found_equal(row, i) == true_equal(row, i));
        }
    });
  });
}

TEMPLATE_LIST_TEST_CASE("each rank finds its part of what reaches a threshold", "[mpi]", Types) {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for_each_question<TestType>(exec, [&](auto const& rows, Options const& options) {
      auto const thresholds = copied_to<MemoryOf<Exec>>(
          std::vector<TestType>{rows.all[0], rows.all[rows.all.size() / 2]});
      RankOutputs<TestType, MemoryOf<Exec>> all(2, rows.n), mine(2, rows.n);
      ktopk::reaching(exec, rows.whole, thresholds, all.values, all.positions, all.counts, options);
      exec.fence();
      mpi::Plan<Exec>(MPI_COMM_WORLD, exec, options)
          .reaching(rows.mine, thresholds, mine.values, mine.positions, mine.counts);
      Answer<TestType> const truth = all.answer(), found = mine.answer();
      for (std::int64_t row = 0; row < 2; ++row) {
        std::int64_t count = 0;
        for (std::int64_t slot = row * rows.n; slot < row * rows.n + truth.counts[row]; ++slot) {
          std::int64_t const position = truth.indices[slot];
          if (position < rows.part.begins[row] || position >= rows.part.ends[row]) continue;
          CHECK(found.indices[row * rows.n + count] == position);
          CHECK(same_bits(found.values[row * rows.n + count], truth.values[slot]));
          ++count;
        }
        CHECK(found.counts[row] == count);
      }
    });
  });
}

namespace {

/// This rank's ten keys of 0, 1, 2, ... with an instance and a communicator.
struct Numbers {
  Kokkos::View<float*, Kokkos::HostSpace> keys{"test::keys", 10};
  Numbers() {
    for (int i = 0; i < 10; ++i) keys(i) = static_cast<float>(10 * rank() + i);
  }
  MPI_Comm comm() const { return MPI_COMM_WORLD; }
  Kokkos::DefaultHostExecutionSpace exec() const { return {}; }
};

/// Calls `ask` with the questions' first arguments: a communicator and an instance, and what has both.
template <class Ask>
void by_both_handles(Ask const& ask) {
  Numbers const numbers;
  ask(numbers, numbers);
  ask(numbers, MPI_COMM_WORLD, numbers.exec());
}

}  // namespace

TEST_CASE("questions are asked without a Plan, by a communicator or by a handle", "[mpi][few]") {
  using Counts = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;
  Kokkos::View<float*, Kokkos::HostSpace> const bound("test::bound", 1), value("test::value", 1);
  Kokkos::View<float*, Kokkos::HostSpace> const values("test::values", 10);
  Counts const better("test::better", 1), equal("test::equal", 1), counts("test::counts", 1);
  Counts const positions("test::positions", 10);
  Kokkos::deep_copy(bound, 4.0f);
  by_both_handles([&](Numbers const& numbers, auto const&... where) {
    mpi::kth(where..., numbers.keys, 3, value);
    CHECK(value(0) == static_cast<float>(10 * ranks() - 3));
    mpi::kth(where..., numbers.keys, 3, value, Options{.order = Order::smallest});
    CHECK(value(0) == 2);
    mpi::count(where..., numbers.keys, bound, better, equal);
    CHECK(better(0) == 10 * ranks() - 5);
    CHECK(equal(0) == 1);
    mpi::reaching(where..., numbers.keys, bound, values, positions, counts,
                  Options{.order = Order::smallest}, mpi::Distribution{.first = 100 * rank()});
    CHECK(counts(0) == (rank() == 0 ? 5 : 0));
    if (rank() == 0) CHECK((values(4) == 4 && positions(4) == 4));
  });
}

TEST_CASE("the way that the model finds faster is chosen", "[mpi][few]") {
  auto const way = [](int ranks, std::int64_t k) {
    return mpi::choose_way({.ranks = ranks, .k = k});
  };
  for (int const ranks : {2, 64, 1000, 100000}) {
    CHECK(way(ranks, 1) == mpi::Way::candidates);
    CHECK(way(ranks, 128) == mpi::Way::candidates);
    CHECK(way(ranks, 1000000) == mpi::Way::counts);
  }
  CHECK(way(2, 2048) == mpi::Way::candidates);
  CHECK(way(64, 2048) == mpi::Way::counts);
  // A network without latency makes counts cheaper, an owner's result too.
  mpi::WayShape const small{.ranks = 64, .k = 100};
  CHECK(mpi::choose_way(small) == mpi::Way::candidates);
  CHECK(mpi::choose_way(small, {.latency = 0, .bytes_per_second = 1e15}) == mpi::Way::counts);
  mpi::WayShape const all{.ranks = 8, .k = 20000};
  auto owner = all;
  owner.result = mpi::Result::owner;
  CHECK(mpi::modeled_seconds(mpi::Way::counts, owner) <
        mpi::modeled_seconds(mpi::Way::counts, all));
  CHECK(mpi::modeled_seconds(mpi::Way::candidates, owner) ==
        mpi::modeled_seconds(mpi::Way::candidates, all));
}

TEST_CASE("the model predicts what docs/scaling.md says", "[mpi][few]") {
  struct Prediction {
    int ranks;
    std::int64_t k;
    double candidates_us, counts_us;
  };
  // Rounded as they stand there.
  for (Prediction const p :
       {Prediction{2, 128, 10, 11.2}, Prediction{64, 128, 41, 35}, Prediction{1000, 128, 65, 55},
        Prediction{64, 2048, 472, 124}, Prediction{1000, 2048, 745, 161},
        Prediction{64, 1000000, 224400, 33800}, Prediction{100000, 1000000, 580800, 35100}}) {
    INFO(p.ranks << " ranks, k = " << p.k);
    mpi::WayShape const shape{.ranks = p.ranks, .k = p.k};
    CHECK(std::abs(1e6 * mpi::modeled_seconds(mpi::Way::candidates, shape) / p.candidates_us - 1) <
          0.05);
    CHECK(std::abs(1e6 * mpi::modeled_seconds(mpi::Way::counts, shape) / p.counts_us - 1) < 0.05);
  }
}

}  // namespace ktopk::testing
