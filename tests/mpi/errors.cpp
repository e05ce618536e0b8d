// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <new>
#include <stdexcept>

#include "support.hpp"

// What is wrong on one rank is an error on all, before anything is stored; and the next call works.

namespace ktopk::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Keys = Kokkos::View<float*, Kokkos::HostSpace>;

int last_rank() { return ranks() - 1; }
bool is_last() { return rank() == last_rank(); }

/// Calls body(), and expects every rank to throw with both texts.
template <class Body>
void expect_error(Body const& body, std::string const& text, std::string const& more = "") {
  std::string message = "nothing thrown";
  try {
    body();
  } catch (std::invalid_argument const& error) { message = error.what(); }
  CHECK_THAT(message, ContainsSubstring(text) && ContainsSubstring(more));
}

void expect_that_a_call_works() {
  Keys const keys("test::keys", 3);
  Kokkos::deep_copy(keys, static_cast<float>(rank()));
  Keys const values("test::values", 1);
  mpi::top_k(MPI_COMM_WORLD, Exec(), keys, values, nothing);
  CHECK(values(0) == static_cast<float>(last_rank()));
}

}  // namespace

TEST_CASE("a wrong argument of one rank is an error on all", "[mpi][few]") {
  Keys const keys("test::keys", 10);
  RankOutputs<float> out(1, 4);
  Keys const values = Kokkos::subview(out.values, 0, Kokkos::ALL);
  std::string const of_last = "rank " + std::to_string(last_rank()) + ": ";
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const positions("test::positions", 4);
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const too_few("test::positions", 3);
  Kokkos::deep_copy(positions, -77);
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, Exec());

  expect_error([&] { plan.top_k(keys, values, is_last() ? too_few : positions); }, of_last,
               "the k of values is 4");
  expect_error(
      [&] {
        plan.top_k(keys,
                   is_last() ? Keys(Kokkos::subview(keys, Kokkos::pair<int, int>(0, 4))) : values,
                   positions);
      },
      of_last, "overlap");
  for (int slot = 0; slot < 4; ++slot) CHECK(positions(slot) == -77);
  expect_that_a_call_works();
}

TEST_CASE("ranks that do not ask for the same are refused", "[mpi][few]") {
  if (ranks() == 1) SKIP("needs two ranks");
  Keys const keys("test::keys", 10), four("test::values", 4), five("test::values", 5);
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, Exec());
  expect_error([&] { plan.top_k(keys, is_last() ? five : four, nothing); },
               "ktopk::mpi::top_k: the ranks differ in k, from 4 to 5");
  expect_error(
      [&] {
        mpi::top_k(MPI_COMM_WORLD, Exec(), keys, four, nothing,
                   Options{.order = is_last() ? Order::smallest : Order::largest});
      },
      "the ranks differ in Options::order");
  expect_error([&] { mpi::Plan<Exec>(MPI_COMM_WORLD, Exec(), {}, {.root = is_last() ? 1 : 0}); },
               "the ranks differ in Distribution::root");
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const wanted("test::wanted", 1);
  wanted(0) = is_last() ? 2 : 3;
  expect_error([&] { plan.top_k(keys, four, nothing, per_row(wanted)); },
               "the ranks differ in the k of rows");
  Kokkos::View<int*, Kokkos::HostSpace> const positions("test::positions", 4);
  expect_error(
      [&] {
        if (is_last())
          plan.top_k(keys, four, positions);
        else
          plan.top_k(keys, four, nothing);
      },
      "the ranks differ in the size of a position, from 0 to 4");
  expect_error([&] { plan.kth(keys, is_last() ? 2 : 3, Keys("test::value", 1)); },
               "ktopk::mpi::kth: the ranks differ in k, from 2 to 3");
  expect_that_a_call_works();
}

TEST_CASE("what all ranks together lack is refused on all", "[mpi][few]") {
  Keys const keys("test::keys", 2), value("test::value", 1);
  Keys const many("test::values", static_cast<std::size_t>(2 * ranks() + 1));
  std::string const numbers = "k is " + std::to_string(2 * ranks() + 1) + ", but all ranks";
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, Exec());
  expect_error([&] { plan.top_k(keys, many, nothing); }, numbers);
  expect_error([&] { plan.kth(keys, 0, value); }, "k is 0, not from 1");
  expect_error([&] { plan.kth(keys, 2 * ranks() + 1, value); }, "not from 1");
  expect_error([&] { mpi::Plan<Exec>(MPI_COMM_WORLD, Exec(), {}, {.root = ranks()}); },
               "root is " + std::to_string(ranks()));
  // Positions beyond 2^31.
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> const small("test::positions", 1);
  expect_error(
      [&] {
        mpi::top_k(MPI_COMM_WORLD, Exec(), keys, value, small, {},
                   {.first = (std::int64_t{1} << 31) + 2 * rank()});
      },
      "ktopk::mpi::top_k");
  expect_that_a_call_works();
}

TEST_CASE("whichever rank is wrong, and in whatever call, all throw", "[mpi][few]") {
  int const wrong = ranks() / 2;
  bool const is_wrong = rank() == wrong;
  std::string const of_rank = "rank " + std::to_string(wrong) + ": ";
  Keys const keys("test::keys", 10), values("test::values", 4);
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const rows("test::rows", 2, 10);
  Keys const two("test::thresholds", 2), three("test::thresholds", 3);
  Kokkos::View<float**, Kokkos::HostSpace> const outputs("test::values", 2, 4);
  using Counts = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;
  Counts const counts("test::counts", 4), others("test::counts", 3);
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, Exec());

  expect_error([&] { plan.kth(keys, 1, is_wrong ? values : Keys("test::value", 1)); }, of_rank,
               "ktopk::mpi::kth: ");
  expect_error([&] { plan.count(keys, values, is_wrong ? others : counts, nothing); }, of_rank,
               "ktopk::mpi::count: ");
  expect_error(
      [&] {
        plan.reaching(rows, is_wrong ? three : two, outputs, nothing, Counts("test::counts", 2));
      },
      of_rank, "ktopk::mpi::reaching: ");
  if (ranks() > 1)
    expect_error(
        [&] { plan.count(keys, is_wrong ? three : values, is_wrong ? others : counts, nothing); },
        "ktopk::mpi::count: the ranks differ in k, from 3 to 4");
  expect_that_a_call_works();
}

TEST_CASE("want of memory on one rank is an exception on all", "[mpi][few]") {
  ktopk::detail::mpi::Communicator const comm(MPI_COMM_WORLD);
  auto const begin = [&](auto const& body) {
    return ktopk::detail::mpi::agree(comm, "test", 1, body);
  };
  using Terms = std::vector<ktopk::detail::mpi::Term>;
  auto const full = [&]() -> Terms {
    if (is_last()) throw std::bad_alloc();
    return {{"a term", 1}};
  };
  if (is_last())
    CHECK_THROWS_AS(begin(full), std::bad_alloc);
  else
    CHECK_THROWS_MATCHES(begin(full), std::runtime_error,
                         Catch::Matchers::MessageMatches(
                             ContainsSubstring("rank " + std::to_string(last_rank()) + ": ")));
  // The first rank that fails is the one that all name, a wrong argument or not.
  if (ranks() == 1) return;
  expect_error(
      [&] {
        begin([&]() -> Terms {
          if (rank() == 0) throw std::invalid_argument("wrong");
          return full();
        });
      },
      "rank 0: wrong");
  expect_that_a_call_works();
}

TEST_CASE("what ranks are is told", "[mpi][few]") {
  CHECK_THAT(mpi::describe(MPI_COMM_WORLD), ContainsSubstring(std::to_string(ranks()) + " rank"));
}

}  // namespace ktopk::testing
