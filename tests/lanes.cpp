// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include <barrier>
#include <thread>

#include "portable/bisection/lanes.hpp"
#include "support/run.hpp"

// A device's lanes where there is no device: its teams are threads of the host, one team after the other.

namespace ktopk::testing {
namespace {

using namespace ktopk::detail;

struct Scratch {
  std::byte* memory;
  void* get_shmem_aligned(std::size_t, int) const { return memory; }
};

/// A thread of a team, with what a member of a Kokkos team has.
struct Member {
  int league, rank, size;
  std::barrier<>* all_arrived;
  Scratch scratch;

  int league_rank() const { return league; }
  int team_rank() const { return rank; }
  int team_size() const { return size; }
  void team_barrier() const { all_arrived->arrive_and_wait(); }
  Scratch team_shmem() const { return scratch; }
};

/// Runs body(member) by each thread of a team.
template <class Body>
void run_team(int league, LaneLayout const& layout, Body const& body) {
  int const size = layout.lanes * layout.groups;
  std::vector<std::max_align_t> memory(
      static_cast<std::size_t>(layout.team_bytes()) / sizeof(std::max_align_t) + 1);
  std::memset(static_cast<void*>(memory.data()), 0xa5, memory.size() * sizeof(std::max_align_t));
  std::barrier<> all_arrived(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      body(Member{league, rank, size, &all_arrived, {reinterpret_cast<std::byte*>(memory.data())}});
    });
  for (auto& thread : threads) thread.join();
}

struct LaneCase {
  int n, k, lanes, groups;
  LaneMemory memory;
};

/// Up to 8 keys a lane; teams of one lane and of many, of one row and of several; parts that hold all that is selected
/// and that do not.
constexpr LaneCase lane_cases[] = {
    {1, 1, 1, 1, {1, 2}},   {8, 3, 1, 4, {2, 2}},        {16, 16, 2, 4, {16, 4}},
    {50, 7, 8, 2, {7, 16}}, {64, 40, 8, 4, {16, 0}},     {300, 20, 64, 1, {20, 16}},
    {10, 5, 8, 8, {5, 16}}, {500, 100, 64, 2, {32, 16}}, {1000, 77, 128, 1, {64, 16}}};

/// The rows of a question, by teams of lanes.
template <class T>
Answer<T> solve_by_lanes(Question<T> const& question, Options const& options, LaneCase const& c,
                         LaneLayout layout) {
  using Bits = bits_of<T>;
  using CompositeKey = std::conditional_t<sizeof(T) == 8, CompositeKey128, CompositeKey64>;
  std::int64_t const rows = question.rows();
  Answer<T> answer;
  answer.values.resize(static_cast<std::size_t>(rows * c.k));
  answer.indices.resize(static_cast<std::size_t>(rows * c.k));
  auto problem = make_stored_problem<Bits>(make_shape<T>(rows, c.n, c.k));
  problem.rank = make_ordered_bits_map<T>(options);
  problem.rows.keys = reinterpret_cast<Bits const*>(question.keys.data());
  problem.rows.row_stride = c.n;
  problem.out.values = reinterpret_cast<Bits*>(answer.values.data());
  problem.out.indices = answer.indices.data();
  problem.out.value_row = problem.out.index_row = c.k;
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(problem.rows.keys) % 16 == 0;
  KeyLoads const loads =
      is_aligned && c.n % most_in_chunk<Bits> == 0 ? KeyLoads::chunks : KeyLoads::keys;
  using Body = BisectHeldRows<Bits, CompositeKey, 8>;
  layout.own_bytes = c.memory.template bytes<Bits>(c.lanes);
  OnLanes<Body> const on_lanes{
      Body{
          {problem, make_composite_key_map<CompositeKey>(problem.rank, c.n, options.ties), nullptr},
          {options.max_iterations, options.epsilon},
          loads,
          c.memory,
          c.n},
      layout};
  for (int league = 0; league * layout.groups < rows; ++league) run_team(league, layout, on_lanes);
  return answer;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("lanes of a team select what the oracle does", "[lanes]", KeyTypes) {
  Validation validation;
  std::int64_t const rows = 5;
  int number = 0;
  for (LaneCase const& c : lane_cases) {
    int const log2_lanes = std::countr_zero(static_cast<unsigned>(c.lanes));
    int const log2_groups = std::countr_zero(static_cast<unsigned>(c.groups));
    LaneLayout const layouts[] = {{c.lanes, c.groups, 0, log2_lanes, 0},
                                  {c.lanes, c.groups, log2_groups, 0, 0}};
    if (c.lanes * c.groups > 64 && sizeof(TestType) != 4) continue;
    for (Input input : inputs_for<TestType>()) {
      auto const all = all_options<TestType>();
      Options options = all[random_bits(3, ++number) % all.size()];
      options.sorted = Sorted::no;
      auto const question =
          uniform_question(make_keys<TestType>(input, rows * c.n, 5), rows, c.n, c.k);
      auto const answer = solve_by_lanes(question, options, c, layouts[number % 2]);
      validation.expect(question, solve(question, options), answer, options,
                        [&] { return std::string(name(input)) + ", n = " + std::to_string(c.n); });
    }
  }
  validation.close();
}

}  // namespace ktopk::testing
