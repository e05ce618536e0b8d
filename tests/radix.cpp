// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/algorithms/radix.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

#include "support/recorder.hpp"
#include "support/run.hpp"

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;
using Widths = std::tuple<bfloat16, std::int32_t, float, double>;

/// Every third of 0 .. n into one list, the others into another that is too short.
template <class Item>
struct Sort3 {
  std::int64_t n, capacity;
  Item *thirds, *others;
  Count64* counts;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    auto* const shared = group.template shared<std::byte>();
    Appender<Item, Group> third(group, shared, {thirds}, &counts[0], n);
    Appender<Item, Group> other(group, shared + appender_bytes<Item>(), {others}, &counts[1],
                                capacity);
    Range const range = part_of(n, group.index(), 3);
    each_together(
        group, range, range.begin % 7, [](std::int64_t i) { return static_cast<Item>(i); },
        [&](Item item) {
          third.add_if(item % 3 == 0, item);
          other.add_if(item % 3 != 0, item);
        },
        [&] { flush_fuller(group, third, other); });
    third.flush();
    other.flush();
  }
};

/// By teams, which on a host are small enough to fill their buffers many times.
template <class Item, class Exec>
void append_by_teams(Exec const& exec, std::int64_t n) {
  using Memory = typename Exec::memory_space;
  std::int64_t const capacity = n / 2;
  Kokkos::View<Item*, Memory> const thirds("test::thirds", n / 3 + 1);
  Kokkos::View<Item*, Memory> const others("test::others", capacity + 1);
  Kokkos::View<Count64*, Memory> const counts("test::counts", 2);
  int const threads =
      is_host_space<Exec> ? std::min(2, static_cast<int>(exec.concurrency())) : team_size;
  int const shared = 2 * appender_bytes<Item>();
  Kokkos::TeamPolicy<Exec> policy(exec, 3, threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(shared + 16));
  using Body = Sort3<Item>;
  Kokkos::parallel_for(
      "test::append", policy,
      OnTeams<Body>{{n, capacity, thirds.data(), others.data(), counts.data()}, shared});
  exec.fence();
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), thirds);
  auto const rest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), others);
  auto const counted = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
  CAPTURE(exec.name(), n, threads);
  REQUIRE(static_cast<std::int64_t>(counted(0)) == (n + 2) / 3);
  REQUIRE(static_cast<std::int64_t>(counted(1)) == n - (n + 2) / 3);
  std::vector<std::int64_t> sorted;
  for (Count64 i = 0; i < counted(0); ++i) sorted.push_back(static_cast<std::int64_t>(found(i)));
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    REQUIRE(sorted[i] == 3 * static_cast<std::int64_t>(i));
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < capacity; ++i) kept.push_back(static_cast<std::int64_t>(rest(i)));
  std::sort(kept.begin(), kept.end());
  CHECK(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
  CHECK(std::none_of(kept.begin(), kept.end(), [](std::int64_t i) { return i % 3 == 0; }));
  CHECK(rest(capacity) == Item{0});
}

std::int64_t digit_passes(Recorder const& record) {
  auto const kernels = record.all(Event::Kind::kernel);
  return std::count_if(kernels.begin(), kernels.end(), [](Event const& event) {
    return event.label.find("ktopk::radix::digit") != std::string::npos;
  });
}

/// Passes over a row that several groups share: as many kernels, for a host stops when all is settled.
template <class T, class Exec>
std::int64_t passes(Exec const& exec, Input input, std::int64_t n, std::int64_t k) {
  UniformCall<Exec, T> call(exec, make_keys<T>(input, n, 9), 1, n, k);
  Recorder const record;
  call(k, {.algorithm = Algorithm::radix});
  return digit_passes(record);
}

template <class T>
void select_one(std::vector<T> const& keys, std::int64_t k, testing::Verdict& verdict) {
  auto const n = static_cast<std::int64_t>(keys.size());
  auto const all = all_options<T>();
  auto const question = uniform_question(keys, 1, n, k);
  for (std::size_t o = 0; o < all.size(); o += 3) {
    Options options = all[o];
    options.algorithm = Algorithm::radix;
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, 1, n, k);
      verdict.expect(question, truth, call(k, options), options,
                     [&] { return std::string(exec.name()) + ", k = " + std::to_string(k); });
    });
  }
}

}  // namespace

TEST_CASE("a team's buffer loses nothing and invents nothing", "[rooms]") {
  for_each_space([](auto const& exec) {
    for (std::int64_t n : {2, 100, 5003, 20'000}) {
      append_by_teams<std::uint64_t>(exec, n);
      append_by_teams<Item128>(exec, n);
    }
  });
}

TEST_CASE("parts of a row begin where lines do", "[rooms]") {
  for (std::int64_t n : {0, 1, 63, 64, 1000, 100'003})
    for (std::int64_t lead : {0, 1, 31, 63})
      for (std::int64_t parts : {1, 2, 7, 40}) {
        std::int64_t next = 0;
        for (std::int64_t part = 0; part < parts; ++part) {
          Range const range = part_of_padded(n, lead, part, parts);
          CAPTURE(n, lead, parts, part, range.begin, range.end);
          REQUIRE(range.begin == next);
          REQUIRE(range.end >= range.begin);
          if (range.begin > 0 && range.begin < n) REQUIRE((range.begin + lead) % 64 == 0);
          next = range.end;
        }
        REQUIRE(next == n);
      }
}

TEST_CASE("clustered keys take no more passes than uniform ones", "[rooms]") {
  std::int64_t const n = 300'000;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    if constexpr (runs_at_once<Exec>) {
      for (std::int64_t k : {std::int64_t{1000}, n / 2}) {
        CAPTURE(exec.name(), k);
        auto const uniform = passes<float>(exec, Input::uniform, n, k);
        CHECK(uniform >= 1);
        CHECK(uniform <= 3);
        CHECK(passes<float>(exec, Input::leading_bits, n, k) <= uniform);
        CHECK(passes<float>(exec, Input::all_equal, n, k) == 1);
        CHECK(passes<double>(exec, Input::all_equal, n, k) == 1);
      }
    }
  });
}

TEMPLATE_LIST_TEST_CASE("a sample that misleads costs time alone", "[rooms]", Widths) {
  std::int64_t const n = 70'001, count = n / 64 < team_size ? n / 64 : team_size;
  testing::Verdict verdict;
  for (Input input : {Input::uniform, Input::leading_bits, Input::extremes}) {
    // What the sample sees is one key; the others are anywhere.
    auto keys = make_keys<TestType>(input, n, 5);
    Strata const strata(n, count);
    for (std::int64_t i = 0; i < count; ++i)
      keys[static_cast<std::size_t>(strata.place(i))] = keys[7];
    for (std::int64_t k : {std::int64_t{1}, std::int64_t{300}, n / 2, n - 1})
      select_one(keys, k, verdict);
  }
  verdict.close();
}

}  // namespace ktopk::detail
