// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

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

}  // namespace ktopk::testing
