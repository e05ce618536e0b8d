// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "portable/heap/lists.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <barrier>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "support/algorithm.hpp"

// The list that a thread of heap keeps, in registers and as a heap, alone and in a team.

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;

/// Composite keys in no particular order, including the smallest and the largest possible.
template <class CompositeKey>
std::vector<CompositeKey> some_composites(int count, std::uint64_t seed) {
  std::vector<CompositeKey> composites{CompositeKey{0},
                                       static_cast<CompositeKey>(~CompositeKey{0})};
  while (static_cast<int>(composites.size()) < count) {
    auto const i = static_cast<std::uint64_t>(composites.size());
    CompositeKey composite = static_cast<CompositeKey>(random_bits(seed, i));
    if constexpr (sizeof(CompositeKey) == 16)
      composite = composite << 64 | random_bits(seed + 1, i);
    composites.push_back(composite);
  }
  std::rotate(composites.begin(), composites.begin() + 1, composites.end());
  return composites;
}

template <class CompositeKey>
std::vector<CompositeKey> best_of(std::vector<CompositeKey> composites, std::int64_t k) {
  std::sort(composites.begin(), composites.end(), std::greater<CompositeKey>());
  composites.resize(static_cast<std::size_t>(k));
  return composites;
}

template <class CompositeKey, int Capacity>
void check_register_list() {
  for (int k = 1; k <= Capacity; ++k)
    for (int count : {k, k + 1, 100}) {
      auto const composites =
          some_composites<CompositeKey>(std::max(count, 2), static_cast<std::uint64_t>(k));
      RegisterList<CompositeKey, Capacity> list(k);
      for (CompositeKey composite : composites) list.offer(composite);
      std::vector<CompositeKey> kept(static_cast<std::size_t>(k));
      list.visit([&](int slot, CompositeKey composite) {
        kept.at(static_cast<std::size_t>(slot)) = composite;
      });
      CAPTURE(Capacity, k, count);
      CHECK((kept == best_of(composites, k)));
      CHECK((list.threshold() == kept.back()));
    }
}

/// Host threads in place of a device's team.
struct Crew {
  std::barrier<> meeting{team_size};
  std::vector<std::byte> memory;
};

class CrewGroup {
 public:
  CrewGroup(Crew& crew, int rank) : m_crew(&crew), m_memory(crew.memory.data()), m_rank(rank) {}

  KOKKOS_FUNCTION int rank() const { return m_rank; }
  KOKKOS_FUNCTION int size() const { return team_size; }
  KOKKOS_FUNCTION void barrier() const { KOKKOS_IF_ON_HOST((m_crew->meeting.arrive_and_wait();)) }
  template <class T>
  KOKKOS_FUNCTION T* shared() const {
    return reinterpret_cast<T*>(m_memory);
  }
  template <class T>
  KOKKOS_FUNCTION T fetch_add(T* counter, T amount) const {
    return Kokkos::atomic_fetch_add(counter, amount);
  }

 private:
  [[maybe_unused]] Crew* m_crew;
  std::byte* m_memory;
  int m_rank;
};

/// Keys distributed over a team: the k best begin at the third.
template <class CompositeKey, class Bits>
void check_team(std::vector<Bits> const& keys, std::int64_t k) {
  auto const n = static_cast<std::int64_t>(keys.size());
  Options const options{.ties = Ties::highest_index};
  auto const map =
      make_composite_key_map<CompositeKey>(make_ordered_bits_map<Bits>(options), n, options.ties);
  std::vector<CompositeKey> composites, kept(static_cast<std::size_t>(k));
  for (std::int64_t i = 2; i < n; ++i)
    composites.push_back(map(keys[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i)));
  Crew crew;
  crew.memory.resize(static_cast<std::size_t>(TeamHeaps<CrewGroup, CompositeKey>::shared_bytes(k)));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < team_size; ++rank)
    threads.emplace_back([&, rank] {
      CrewGroup const group(crew, rank);
      TeamHeaps<CrewGroup, CompositeKey> const heaps(group, k);
      CompositeKey const* const best = heaps.best_of(map, keys.data(), 1, {2, n});
      each(group, 0, k, [&](std::int64_t i) { kept[static_cast<std::size_t>(i)] = best[i]; });
    });
  for (auto& thread : threads) thread.join();
  CAPTURE(k, n);
  CHECK((kept == best_of(composites, k)));
}

}  // namespace

TEST_CASE("a list in registers keeps the best, in order", "[heap]") {
  check_register_list<CompositeKey64, 4>();
  check_register_list<CompositeKey64, 8>();
  check_register_list<CompositeKey64, 16>();
  check_register_list<CompositeKey128, 4>();
  check_register_list<CompositeKey128, 8>();
}

TEST_CASE("the list in registers is the shortest that holds k", "[heap]") {
  auto const capacity = []<class CompositeKey>(CompositeKey, std::int64_t k) {
    int found = 0;
    with_register_capacity<CompositeKey>(k, [&](auto capacity) { found = capacity; });
    return found;
  };
  for (int k = 1; k <= 16; ++k) {
    CHECK(capacity(CompositeKey64{}, k) == (k <= 4 ? 4 : k <= 8 ? 8 : 16));
    if (k <= 8) CHECK(capacity(CompositeKey128{}, k) == (k <= 4 ? 4 : 8));
  }
}

TEST_CASE("a heap keeps the best, wherever its composite keys lie", "[heap]") {
  for (std::int64_t k : {1, 2, 3, 17, 64})
    for (std::int64_t held : {std::int64_t{0}, k}) {
      auto const composites = some_composites<CompositeKey64>(300, static_cast<std::uint64_t>(k));
      std::vector<CompositeKey64> places(static_cast<std::size_t>(3 * k), 0);
      Column<CompositeKey64> const column{places.data() + 1, 3};
      MinHeap<CompositeKey64, Column<CompositeKey64>> heap(column, k, held);
      for (CompositeKey64 composite : composites) heap.offer(composite);
      std::vector<CompositeKey64> kept;
      for (std::int64_t i = 0; i < k; ++i) kept.push_back(column[i]);
      CAPTURE(k, held);
      CHECK(heap.threshold() == *std::min_element(kept.begin(), kept.end()));
      CHECK(best_of(kept, k) == best_of(composites, k));
      for (std::int64_t i = 0; i < 3 * k; ++i)
        if (i % 3 != 1) CHECK(places[static_cast<std::size_t>(i)] == 0);
    }
}

TEST_CASE("lists of a team lie side by side, each place once", "[heap]") {
  for (std::int64_t k : {1, 5, 16, 17, 100, 2048}) {
    TeamLists<CompositeKey128> const lists(k);
    std::vector<CompositeKey128> composites(static_cast<std::size_t>(lists.size()));
    for (int t = 0; t < lists.count; ++t)
      for (int j = 0; j < lists.length; ++j) ++lists.list(composites.data(), t)[j];
    CAPTURE(k, lists.count, lists.length);
    CHECK(lists.length >= k);
    CHECK(std::all_of(composites.begin(), composites.end(),
                      [](CompositeKey128 visits) { return visits == 1; }));
    if (lists.half() > 1)
      CHECK(&lists.list(composites.data(), 1)[0] == &lists.list(composites.data(), 0)[0] + 1);
    if (k <= most_in_registers<CompositeKey128>) CHECK(lists.count == team_size);
  }
}

TEST_CASE("a team keeps the best in registers, in heaps of its own and in shared ones", "[heap]") {
  auto const rising = make_keys<std::uint32_t>(Input::ascending, 1500, 3);
  auto const few = make_keys<std::uint32_t>(Input::few_values, 1500, 3);
  for (std::int64_t k : {1, 4, 7, 16, 17, 200}) {
    check_team<CompositeKey64>(rising, k);
    check_team<CompositeKey64>(few, k);
  }
  for (std::int64_t k : {8, 9, 1000}) check_team<CompositeKey128>(rising, k);
}

using HeapTypes = std::tuple<std::uint8_t, bfloat16, float, std::int64_t, double>;

TEMPLATE_LIST_TEST_CASE("heap for k around the limits of its lists", "[heap]", HeapTypes) {
  Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {17, 700, 5000})
      for (std::int64_t k : {1, 3, 4, 5, 8, 9, 15, 16, 17, 33, 300}) {
        if (k <= n) expect_algorithm<TestType>(Algorithm::heap, input, 3, n, k, validation);
      }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("heap and queue on rows long enough for a threshold by strided maxima",
                        "[heap]", HeapTypes) {
  Validation validation;
  for (Algorithm algorithm : {Algorithm::heap, Algorithm::queue})
    for (Input input : inputs_for<TestType>())
      for (std::int64_t n : {8191, 8192, 40'000})
        for (std::int64_t k : {1, 33, 64, 65, 256})
          expect_algorithm<TestType>(algorithm, input, 2, n, k, validation);
  validation.close();
}

TEST_CASE("few numbers among NaNs of one sign win or lose as asked", "[heap]") {
  Validation validation;
  std::int64_t const n = 20'000, k = 40;
  for (float nan :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> keys(n, nan);
    for (std::size_t i = 0; i < keys.size(); i += keys.size() / 16)
      keys[i] = 10.0f - static_cast<float>(i % 7);
    auto const question = uniform_question(keys, 1, n, k);
    for (Options options : all_options<float>())
      for (Algorithm algorithm : {Algorithm::heap, Algorithm::queue, Algorithm::radix}) {
        options.algorithm = algorithm;
        auto const truth = solve(question, options);
        for_each_space([&](auto const& exec) {
          UniformCall<std::decay_t<decltype(exec)>, float> call(exec, question.keys, 1, n, k);
          validation.expect(question, truth, call(k, options), options,
                            [&] { return std::string(exec.name()) + ", " + name(algorithm); });
        });
      }
  }
  validation.close();
}

}  // namespace ktopk::detail
