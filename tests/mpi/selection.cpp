// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include <numeric>
#include <tuple>

#include <ktopk/computed.hpp>

#include "support.hpp"

// Rows that are spread over ranks: the answer is that of one process with all keys.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

/// Options that follow each other from case to case. Types and numbers of ranks make others meet.
template <class T>
Options const& next_options(std::uint64_t& seed) {
  static std::vector<Options> const all = [] {
    std::vector<Options> some;
    for (Options const& options : every_option<T>())
      if (options.ties != Ties::any) some.push_back(options);
    return some;
  }();
  return all[seed++ % all.size()];
}

/// The oracle's answer is sorted.
Options sorted(Options options) {
  options.sorted = Sorted::yes;
  return options;
}

template <class T, class Exec, class Keys>
void expect_selection(Exec const& exec, Keys const& keys, Question<T> const& question,
                      Part const& part, Options const& options, mpi::Distribution const& where,
                      Kokkos::View<std::int64_t*, MemoryOf<Exec>> const& wanted) {
  INFO(exec.name() << ", " << describe(options) << ", " << describe(where) << ", rank " << rank()
                   << " of " << ranks());
  RankOutputs<T, MemoryOf<Exec>> out(question.rows(), question.width);
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, exec, options, where);
  plan.top_k(keys, out.values, out.positions, per_row(wanted, out.counts));
  if (where.result == mpi::Result::root && rank() != where.root) {
    CHECK(out.are_untouched());
    return;
  }
  expect_same(out.answer(),
              expected(question, solve(question, sorted(options)), part, options, where.result));
}

struct Size {
  std::int64_t rows, n, k;
};
constexpr Size sizes[] = {{1, 3000, 40}, {3, 500, 120}, {2, 90, 90}, {1, 1, 1}, {4, 60, 0}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("equal rows are selected from as by one process", "[mpi][selection]",
                        Types) {
  std::uint64_t seed = 0;
  auto const all = distributions();
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for (Input input : inputs_for<TestType>())
      for (Size const size : sizes) {
        auto question =
            uniform_question(filled<TestType>(input, size.rows, size.n), size.rows, size.n, size.k);
        Options const& options = next_options<TestType>(seed);
        Cut const cut = cuts[seed % std::size(cuts)];
        INFO(name(input) << ", n = " << size.n << ", cut " << static_cast<int>(cut));
        Part const part = part_of(question, cut, seed, true);
        auto const keys = copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(
            keys_of(question, part).first, size.rows, part.ends[0] - part.begins[0]);
        expect_selection(exec, keys, question, part, options,
                         all[random_bits(1, seed) % all.size()],
                         copied_to<MemoryOf<Exec>>(question.ks));
      }
  });
}

TEMPLATE_LIST_TEST_CASE("ragged rows with a k each are selected from as by one process",
                        "[mpi][selection]", Types) {
  std::uint64_t seed = 0;
  auto const all = distributions();
  std::vector<std::int64_t> const lengths{700, 0, 3, 90, 2000};
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for (Input input : inputs_for<TestType>()) {
      Question<TestType> question;
      question.begins.push_back(0);
      for (std::int64_t const length : lengths)
        question.begins.push_back(question.begins.back() + length);
      question.keys = filled<TestType>(input, 1, question.begins.back());
      question.width = 50;
      question.ks = {50, 10, 7, 0, 49};
      Options const& options = next_options<TestType>(seed);
      Cut const cut = cuts[seed % std::size(cuts)];
      INFO(name(input) << ", cut " << static_cast<int>(cut));
      Part const part = part_of(question, cut, seed, false);
      auto const [mine, offsets] = keys_of(question, part);
      auto const keys = ragged(copied_to<MemoryOf<Exec>>(mine), copied_to<MemoryOf<Exec>>(offsets));
      expect_selection(exec, keys, question, part, options, all[random_bits(2, seed) % all.size()],
                       copied_to<MemoryOf<Exec>>(question.ks));
    }
  });
}

TEST_CASE("a row is found whoever has its best, and whatever ties", "[mpi][selection]") {
  // Ties on all ranks; and ranks whose keys all beat those of the others.
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for (mpi::Distribution const& where : distributions())
      for (Ties const ties : {Ties::lowest_index, Ties::highest_index})
        for (bool const ascend : {false, true})
          for (std::int64_t const k : {1, 99, 1000, 9999, 10000}) {
            std::vector<float> keys(10000, 1.0F);
            if (ascend) std::iota(keys.begin(), keys.end(), 0.0F);
            auto const question = uniform_question(keys, 1, 10000, k);
            Options const options{.ties = ties};
            Part const part = part_of(question, Cut::even, 0, true);
            INFO("k = " << k << ", ascending: " << ascend);
            auto const mine = copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(
                keys_of(question, part).first, 1, part.ends[0] - part.begins[0]);
            expect_selection(exec, mine, question, part, options, where,
                             copied_to<MemoryOf<Exec>>(question.ks));
          }
  });
}

/// Those that this MPI takes messages from: of a GPU, only if the environment says so.
template <class Exec>
std::vector<ktopk::detail::mpi::MessageMemory> message_memories() {
  namespace lists = ktopk::detail::mpi;
  auto const known = lists::device_pointers<Exec>("test", MPI_COMM_WORLD);
  if (!lists::host_reads<Exec> && lists::memory_for(known) == lists::MessageMemory::host)
    return {lists::MessageMemory::host};
  return {lists::MessageMemory::host, lists::MessageMemory::instance};
}

template <class Exec>
void expect_instance_lists(Exec const& exec, mpi::Distribution const& where, Cut cut,
                           ktopk::detail::mpi::MessageMemory messages) {
  namespace lists = ktopk::detail::mpi;
  std::int64_t const n = 900, k = 60;
  auto const question = uniform_question(filled<float>(Input::few_values, 2, n), 2, n, k);
  Part const part = part_of(question, cut, 3, true);
  std::int64_t const length = part.ends[0] - part.begins[0];
  auto const keys =
      copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(keys_of(question, part).first, 2, length);
  lists::PlanMemory<Exec> memory;
  memory.messages = messages;
  using Keys = std::remove_const_t<decltype(keys)>;
  lists::RankKeys<Exec, Keys> const mine{
      exec, keys, lists::local_options({}), memory, {length, length}, part.begins, {n, n}, n};
  lists::Ranks all(MPI_COMM_WORLD, where.root, where.node_size);
  lists::RankSelection<Exec, Keys> const selection(all, mine, where);
  for (std::vector<std::int64_t> const& limits :
       {std::vector<std::int64_t>{k, k}, {k, 7}, {0, k}, {0, 0}}) {
    auto const wanted = selection.run(limits);
    auto const found = selection.run_on_instance(limits);
    RankOutputs<float, MemoryOf<Exec>> out(2, k);
    found.store(k, out.values, out.positions, out.counts);
    exec.fence();
    if (where.result == mpi::Result::root && rank() != where.root) continue;
    auto const answer = out.answer();
    for (std::int64_t row = 0; row < 2; ++row) {
      REQUIRE(answer.counts[row] == wanted.count(row));
      for (std::int64_t slot = 0; slot < k; ++slot) {
        bool const is_there = slot < wanted.count(row);
        std::int64_t const entry = wanted.begin(row) + slot;
        CHECK(answer.indices[row * k + slot] == (is_there ? wanted.position(entry) : -1));
        CHECK(same_bits(answer.values[row * k + slot],
                        is_there ? wanted.value(entry) : wanted.order().worst()));
      }
    }
  }
}

TEST_CASE("kernels merge lists as the host does", "[mpi][few][selection]") {
  for_each_exec([]<class Exec>(Exec const& exec) {
    for (mpi::Distribution const& where : distributions())
      if (where.way == mpi::Way::candidates && where.result != mpi::Result::owner)
        for (Cut const cut : cuts)
          for (auto const messages : message_memories<Exec>())
            expect_instance_lists(exec, where, cut, messages);
  });
}

TEST_CASE("one row may be a View of rank 1, and outputs what top_k takes",
          "[mpi][few][selection]") {
  std::int64_t const n = 2000, k = 33;
  auto const question = uniform_question(filled<double>(Input::normal, 1, n), 1, n, k);
  Part const part = part_of(question, Cut::random, 5, true);
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const keys = copied_to<Kokkos::HostSpace>(keys_of(question, part).first);
  auto const truth = solve(question, Options{});
  Kokkos::View<double*, Kokkos::HostSpace> const values("test::values", k);
  Kokkos::View<std::uint32_t*, Kokkos::HostSpace> const positions("test::positions", k);
  auto const expect = [&](bool has_values, bool has_positions) {
    for (std::int64_t slot = 0; slot < k; ++slot) {
      CHECK((!has_values || values(slot) == truth.values[slot]));
      CHECK((!has_positions || positions(slot) == truth.indices[slot]));
      values(slot) = 0;
      positions(slot) = 0;
    }
  };
  mpi::top_k(MPI_COMM_WORLD, exec, keys, values, positions);
  expect(true, true);
  mpi::top_k(MPI_COMM_WORLD, exec, keys, values, nothing);
  expect(true, false);
  mpi::top_k(MPI_COMM_WORLD, exec, keys, nothing, positions, Options{.sorted = Sorted::no});
  expect(false, true);
  struct Handle {
    MPI_Comm comm() const { return MPI_COMM_WORLD; }
    Kokkos::DefaultHostExecutionSpace exec() const { return {}; }
  };
  mpi::top_k(Handle{}, keys, values, positions);
  expect(true, true);
}

template <class Exec>
void expect_computed_keys(Exec const& exec) {
  std::int64_t const n = 1500, k = 70;
  auto const all = filled<float>(Input::normal, 1, n);
  std::vector<float> squares;
  for (float const x : all) squares.push_back(x * x);
  auto const question = uniform_question(squares, 1, n, k);
  Part const part = part_of(question, Cut::random, 9, true);
  auto const keys = copied_to<MemoryOf<Exec>>(keys_of(uniform_question(all, 1, n, k), part).first);
  RankOutputs<float, MemoryOf<Exec>> out(1, k);
  auto const row = [&](auto const& view) { return Kokkos::subview(view, 0, Kokkos::ALL); };
  mpi::top_k(MPI_COMM_WORLD, exec,
             transform(
                 keys, KOKKOS_LAMBDA(float x) { return x * x; }),
             row(out.values), row(out.positions), per_row(nothing, out.counts));
  expect_same(out.answer(),
              expected(question, solve(question, Options{}), part, Options{}, mpi::Result::all));

  // Only every third global position: each rank masks by what it has.
  std::int64_t const first = part.begins[0];
  mpi::top_k(MPI_COMM_WORLD, exec,
             where(
                 keys, KOKKOS_LAMBDA(std::int64_t i) { return (first + i) % 3 == 0; }),
             row(out.values), row(out.positions), per_row(nothing, out.counts));
  std::vector<float> kept;
  for (std::int64_t i = 0; i < n; i += 3) kept.push_back(all[i]);
  auto const thirds = uniform_question(kept, 1, static_cast<std::int64_t>(kept.size()), k);
  auto truth = solve(thirds, Options{});
  for (auto& position : truth.indices) position *= 3;
  expect_same(out.answer(), expected(question, truth, part, Options{}, mpi::Result::all));
}

TEST_CASE("computed and masked keys are selected from on all ranks", "[mpi][few][selection]") {
  for_each_exec([](auto const& exec) { expect_computed_keys(exec); });
}

TEST_CASE("a Distribution says where keys are", "[mpi][few][selection]") {
  Kokkos::DefaultHostExecutionSpace const exec;
  // The ranks in reverse order, far behind the first 2^33 positions.
  std::int64_t const each = 100, far = std::int64_t{1} << 33;
  std::int64_t const n = each * ranks(), k = 30;
  auto const question = uniform_question(filled<float>(Input::few_values, 1, n), 1, n, k);
  auto const truth = solve(question, Options{});
  std::int64_t const first = each * (ranks() - 1 - rank());
  std::vector<float> const mine(question.keys.begin() + first,
                                question.keys.begin() + first + each);
  auto const keys = copied_to<Kokkos::HostSpace>(mine);
  Kokkos::View<float*, Kokkos::HostSpace> const values("test::values", k);
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const positions("test::positions", k);
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> const firsts("test::firsts", 1);
  firsts(0) = far + first;
  for (auto const way : {mpi::Way::candidates, mpi::Way::counts})
    for (bool const by_row : {false, true}) {
      mpi::Distribution where{.way = way};
      (by_row ? where.firsts = firsts, 0 : where.first = far + first);
      mpi::top_k(MPI_COMM_WORLD, exec, keys, values, positions, Options{}, where);
      for (std::int64_t slot = 0; slot < k; ++slot) {
        CHECK(values(slot) == truth.values[slot]);
        CHECK(positions(slot) == far + truth.indices[slot]);
      }
    }
}

TEST_CASE("a Plan selects again, from other numbers of keys", "[mpi][few][selection]") {
  Kokkos::DefaultHostExecutionSpace const exec;
  mpi::Plan<Kokkos::DefaultHostExecutionSpace> plan(MPI_COMM_WORLD, exec,
                                                    {.short_rows = ShortRows::fill});
  for (std::int64_t const n : {0, 5, 1000, 17}) {
    auto const question = uniform_question(filled<std::int64_t>(Input::normal, 2, n), 2, n, 20);
    Part const part = part_of(question, Cut::even, 0, true);
    auto const keys = copied_to<Kokkos::HostSpace, Kokkos::LayoutLeft>(
        keys_of(question, part).first, 2, part.ends[0] - part.begins[0]);
    RankOutputs<std::int64_t> out(2, 20);
    plan.top_k(keys, out.values, out.positions, per_row(nothing, out.counts));
    expect_same(out.answer(),
                expected(question, solve(question, Options{}), part, Options{}, mpi::Result::all));
  }
}

}  // namespace ktopk::testing
