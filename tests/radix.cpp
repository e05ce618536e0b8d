// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include <ktopk/core/testing.hpp>

#include "backends/host/radix/reading.hpp"
#include "portable/group/key_batches.hpp"
#include "portable/radix/lists.hpp"
#include "portable/run/launch.hpp"
#include "support/recorder.hpp"
#include "support/rows.hpp"

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;
using RadixTypes = std::tuple<bfloat16, std::int32_t, float, double>;

/// Every third of 0 .. n into one list, the others into another that is too short.
template <class CompositeKey>
struct Sort3 {
  std::int64_t n, capacity;
  CompositeKey *thirds, *others;
  Count64* counts;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    auto* const shared = group.template shared<std::byte>();
    Appender<CompositeKey, Group> third(group, shared, {thirds}, &counts[0], n);
    Appender<CompositeKey, Group> other(group, shared + appender_bytes<CompositeKey>(), {others},
                                        &counts[1], capacity);
    Range const range = part_of(n, group.index(), 3);
    each_together(
        group, range, range.begin % 7, [](std::int64_t i) { return static_cast<CompositeKey>(i); },
        [&](CompositeKey composite) {
          third.add_if(composite % 3 == 0, composite);
          other.add_if(composite % 3 != 0, composite);
        },
        [&] { flush_fuller(group, third, other); });
    third.flush();
    other.flush();
  }
};

/// The same by the lists of radix.
template <class CompositeKey>
struct List3 {
  std::int64_t n, capacity;
  CompositeKey *thirds, *others;
  Count64* counts;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RadixLists<CompositeKey, Group> const lists(group, group.template shared<std::byte>());
    RadixOutput<PutInList<CompositeKey>> const third{{thirds}, &counts[0], n};
    RadixOutput<PutInList<CompositeKey>> const other{{others}, &counts[1], capacity};
    Range const range = part_of(n, group.index(), 3);
    each_composites<CompositeKey, radix_added_at_once<CompositeKey>>(
        group, range.end - range.begin,
        [&](std::int64_t i) { return static_cast<CompositeKey>(range.begin + i); },
        [&](auto const& composites, std::uint32_t present) {
          lists.template add<radix_added_at_once<CompositeKey>>(
              [&](auto j) { return composites[j] % 3 == 0; },
              [&](auto j) { return (present >> j & 1u) != 0; },
              [&](auto j) { return composites[j]; });
        },
        [&] { lists.write_fuller(third, other); });
    lists.write_all(third, other);
  }
};

/// By teams, which on a host are small enough to fill their buffers many times.
template <template <class> class Body, class CompositeKey, class Exec>
void append_by_teams(Exec const& exec, std::int64_t n) {
  using Memory = typename Exec::memory_space;
  std::int64_t const capacity = n / 2;
  Kokkos::View<CompositeKey*, Memory> const thirds("test::thirds", n / 3 + 1);
  Kokkos::View<CompositeKey*, Memory> const others("test::others", capacity + 1);
  Kokkos::View<Count64*, Memory> const counts("test::counts", 2);
  int const threads =
      is_host_space<Exec> ? std::min(2, static_cast<int>(exec.concurrency())) : team_size;
  int const shared = std::max(2 * appender_bytes<CompositeKey>(), radix_lists_bytes<CompositeKey>);
  Kokkos::TeamPolicy<Exec> policy(exec, 3, threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(shared + 16));
  Kokkos::parallel_for("test::append", policy,
                       OnTeams<Body<CompositeKey>>{
                           {n, capacity, thirds.data(), others.data(), counts.data()}, shared});
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
  CHECK(rest(capacity) == CompositeKey{0});
}

[[maybe_unused]] std::int64_t digit_passes(Recorder const& record) {
  auto const kernels = record.all(Event::Kind::kernel);
  return std::count_if(kernels.begin(), kernels.end(), [](Event const& event) {
    return event.label.find("radix::digit") != std::string::npos;
  });
}

/// Passes over a row that several groups share: as many as kernels, because the implementation for hosts stops when the row is finished.
template <class T, class Exec>
std::int64_t passes(Exec const& exec, Input input, std::int64_t n, std::int64_t k) {
  UniformCall<Exec, T> call(exec, make_keys<T>(input, n, 9), 1, n, k);
  Recorder const record;
  call(k, {.algorithm = Algorithm::radix});
  return digit_passes(record);
}

/// Tasks of up to `longest` lines, some without any, as a kernel appends them.
std::vector<RadixTask> random_tasks(RadixTaskList& list, Count64& appended, std::int64_t count,
                                    std::int64_t longest, std::uint64_t seed) {
  std::vector<RadixTask> tasks(static_cast<std::size_t>(count));
  list.appended = &appended;
  list.tasks = tasks.data();
  for (std::int64_t row = 0; row < count; ++row)
    list.append(row, static_cast<std::int64_t>(random_bits(seed, row) % (longest + 1)));
  return tasks;
}

/// Checks that each line of each task belongs to one group, that no group has more than its share, and that a piece
/// has the right number of groups for its row.
void check_shares(RadixShares const& shares, std::int64_t groups) {
  std::vector<std::vector<int>> taken(shares.count);
  std::vector<std::int64_t> expected(shares.count), met(shares.count);
  for (std::int64_t t = 0; t < shares.count; ++t)
    taken[shares.tasks[t].row].assign(shares.tasks[t].lines, 0);
  for (std::int64_t group = 0; group < groups; ++group) {
    RadixCursor cursor(shares, group);
    std::int64_t mine = 0;
    for (RadixPiece piece; cursor.next(piece); ++met[piece.row]) {
      REQUIRE(piece.lines.begin < piece.lines.end);
      if (met[piece.row] == 0) expected[piece.row] = piece.groups;
      REQUIRE(piece.groups == expected[piece.row]);
      for (std::int64_t line = piece.lines.begin; line < piece.lines.end; ++line)
        ++taken[piece.row].at(line);
      mine += piece.lines.end - piece.lines.begin;
    }
    REQUIRE(mine <= shares.share);
  }
  REQUIRE(met == expected);
  for (auto const& row : taken) REQUIRE(std::count(row.begin(), row.end(), 1) == std::ssize(row));
}

#if KTOPK_ENABLE_HOST_TUNED
/// A selection of floats on a host whose lists are inspected.
class ListedSelection {
 public:
  ListedSelection(std::vector<float> keys, std::vector<std::int64_t> begins, std::int64_t k)
      : m_keys(std::move(keys)), m_begins(std::move(begins)), m_positions(rows() * k), m_k(k) {}

  template <class Exec>
  void run(Exec const& exec, bool ragged) {
    Options const options{.sorted = Sorted::no};
    auto const all = static_cast<std::int64_t>(m_keys.size());
    Shape shape = make_shape<float>(rows(), ragged ? all : all / rows(), m_k);
    shape.ragged = ragged;
    auto problem = make_stored_problem<Bits>(shape);
    problem.rank = make_ordered_bits_map<float>(options);
    problem.rows.keys = reinterpret_cast<Bits const*>(m_keys.data());
    problem.rows.row_stride = ragged ? 0 : shape.n;
    problem.out.indices = m_positions.data();
    problem.out.index_row = m_k;
    if (ragged) problem.rows.offsets = {m_begins.data(), 1, 8};
    WorkspaceLayout sizes;
    host::RadixScratch<CompositeKey64>(sizes, device_of(exec), shape, true);
    m_memory.resize(sizes.bytes());
    WorkspaceLayout layout(m_memory.data());
    m_scratch = host::RadixScratch<CompositeKey64>(layout, device_of(exec), shape, true);
    auto const map = make_composite_key_map<CompositeKey64>(problem.rank, shape.n, options.ties);
    host::radix_select(
        exec, host::KeySource<Bits, CompositeKey64>{problem, map, nullptr, pick_host_loops<Bits>()},
        m_scratch, host::BulkSink<Bits, CompositeKey64>{problem, map, nullptr});
  }

  RadixShares pass(int number) const { return m_scratch.schedule.of_pass(number).shares(); }
  RadixShares gather() const { return m_scratch.schedule.of_gather().shares(); }

 private:
  using Bits = std::uint32_t;
  std::int64_t rows() const { return std::ssize(m_begins) - 1; }

  std::vector<float> m_keys;
  std::vector<std::int64_t> m_begins, m_positions;
  std::int64_t m_k;
  std::vector<std::byte> m_memory;
  host::RadixScratch<CompositeKey64> m_scratch;
};
#endif

/// Long rows among short ones, which finish after different numbers of passes.
template <class T>
Question<T> unequal_rows(Input input, std::uint64_t seed) {
  Question<T> question{{}, {0}, {}, 70'000};
  auto const add = [&](std::int64_t length, std::int64_t k) {
    question.begins.push_back(question.begins.back() + length);
    question.ks.push_back(k);
  };
  for (int i = 0; i < 40; ++i) add(i * i, i);
  add(150'001, 70'000);
  for (int i = 0; i < 40; ++i) add(64, 64 - i);
  add(66'000, 66'000);
  add(9000, 300);
  add(140'003, 1);
  add(0, 5);
  add(90'000, 0);
  add(20'001, 10'000);
  question.keys = make_keys<T>(input, question.begins.back(), seed);
  return question;
}

/// Replaces the keys that a sample of a row reads, on hosts, or by the portable radix with short or long composite keys.
template <class T>
void mislead(std::vector<T>& keys, T seen) {
  auto const n = std::ssize(keys);
  for (std::int64_t samples :
       {n / 128, std::int64_t{team_size}, std::min<std::int64_t>(n / 64, 1024),
        std::min<std::int64_t>(n / 64, 2048)}) {
    Strata const strata(n, samples);
    for (std::int64_t i = 0; i < samples; ++i)
      keys[static_cast<std::size_t>(strata.place(i))] = seen;
  }
}

/// A fifth of the keys, the median among them, are close together, and the sample reads none of them.
std::vector<float> hidden_cluster(std::int64_t n) {
  auto keys = make_keys<float>(Input::uniform, n, 5);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = i % 5 == 0 ? 0.5f + keys[i] / 1024 : std::round(keys[i]) / 2 + keys[i] / 4;
  mislead(keys, keys[7]);
  return keys;
}

template <class T>
void select_one(Algorithm algorithm, std::vector<T> const& keys, std::int64_t k,
                testing::Validation& validation) {
  auto const n = static_cast<std::int64_t>(keys.size());
  auto const all = all_options<T>();
  auto const question = uniform_question(keys, 1, n, k);
  // Four of them, of either order, sorted and not, by two tie rules or three.
  for (std::size_t o = 0; o < all.size(); o += is_float_key<T> ? 7 : 3) {
    Options options = all[o];
    options.algorithm = algorithm;
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, 1, n, k);
      validation.expect(question, truth, call(k, options), options,
                        [&] { return std::string(exec.name()) + ", k = " + std::to_string(k); });
    });
  }
}

template <class T>
std::vector<T> make_rows(Input input, std::int64_t rows, std::int64_t n) {
  std::vector<T> keys;
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const more = make_keys<T>(input, n, static_cast<std::uint64_t>(row + 1));
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

template <class T>
void select_batch(std::vector<T> const& keys, std::int64_t rows, std::int64_t n, std::int64_t k,
                  Ties ties, testing::Validation& validation) {
  Options const options{.ties = ties, .algorithm = Algorithm::one_pass};
  auto const question = uniform_question(keys, rows, n, k);
  auto const truth = solve(question, options);
  for_each_space([&](auto const& exec) {
    UniformCall<std::decay_t<decltype(exec)>, T> call(exec, keys, rows, n, k);
    validation.expect(question, truth, call(k, options), options,
                      [&] { return std::string(exec.name()) + ", k = " + std::to_string(k); });
  });
}

/// Each k with one of the tie rules, and with the other for the next input.
template <class T>
void select_batches_by_turns(Input input, std::int64_t rows, std::int64_t n,
                             std::vector<std::int64_t> const& ks, testing::Validation& validation) {
  auto const keys = make_rows<T>(input, rows, n);
  auto turn = static_cast<int>(input);
  for (std::int64_t k : ks)
    select_batch(keys, rows, n, k, ++turn % 2 == 0 ? Ties::lowest_index : Ties::highest_index,
                 validation);
}

template <class T>
void select_batches(std::vector<T> const& keys, std::int64_t rows, std::int64_t n,
                    std::vector<std::int64_t> const& ks, testing::Validation& validation) {
  for (std::int64_t k : ks)
    for (Ties ties : {Ties::lowest_index, Ties::highest_index})
      select_batch(keys, rows, n, k, ties, validation);
}

}  // namespace

TEST_CASE("a team's buffer loses nothing and invents nothing", "[algorithms]") {
  for_each_space([](auto const& exec) {
    for (std::int64_t n : {2, 100, 5003, 20'000}) {
      append_by_teams<Sort3, std::uint64_t>(exec, n);
      append_by_teams<Sort3, CompositeKey128>(exec, n);
      append_by_teams<List3, std::uint64_t>(exec, n);
      append_by_teams<List3, CompositeKey128>(exec, n);
    }
  });
}

TEST_CASE("pieces of a row begin where lines do", "[algorithms]") {
  for (std::int64_t n : {0, 1, 63, 64, 1000, 100'003})
    for (std::int64_t lead : {0, 1, 31, 63})
      for (std::int64_t groups : {1, 2, 7, 40}) {
        std::int64_t const lines = lines_of(n + lead);
        RadixShares const shares{nullptr, 0, lines, (lines + groups - 1) / groups};
        std::int64_t next = 0;
        for (std::int64_t group = 0; group < groups; ++group) {
          Range const range = keys_in(shares.of_group(group), n, lead);
          CAPTURE(n, lead, groups, group, range.begin, range.end);
          REQUIRE(range.begin == next);
          REQUIRE(range.end >= range.begin);
          if (range.begin > 0 && range.begin < n) REQUIRE((range.begin + lead) % 64 == 0);
          next = range.end;
        }
        REQUIRE(next == n);
      }
}

TEST_CASE("there are lists for the most passes that there can be", "[algorithms]") {
  int most = 0;
  auto const visit = [&]<class Bits, bool OfKeys>(std::int64_t n) {
    with_composite_key_type<Bits>(n, [&](auto composite) {
      auto const map =
          make_composite_key_map<decltype(composite)>(OrderedBitsMap<Bits>{}, n, Ties::any);
      using CompositeKey = decltype(composite);
      for (int digit_bits : {8, 11}) {
        most =
            std::max(most, RadixDigits<Bits, CompositeKey, OfKeys>{map, digit_bits}.most_passes(1));
        most = std::max(
            most, host::HostDigits<Bits, CompositeKey, OfKeys>{map, digit_bits}.most_passes(1));
      }
    });
  };
  for (std::int64_t n = 1; n <= longest_row; n *= 2)
    for (std::int64_t near : {n - 1, n, n + 1}) {
      visit.template operator()<std::uint8_t, true>(near);
      visit.template operator()<std::uint32_t, true>(near);
      visit.template operator()<std::uint64_t, true>(near);
      visit.template operator()<std::uint64_t, false>(near);
    }
  // One for each pass and one after the last, and one for the rows to gather from.
  CHECK(most + 2 == RadixSchedule::most_lists);
}

TEST_CASE("the inner bins of a digit end with the interval that it is laid around",
          "[algorithms]") {
  auto const map = make_composite_key_map<CompositeKey64>(make_ordered_bits_map<float>({}), 1 << 20,
                                                          Ties::lowest_index);
  RadixDigits<std::uint32_t, CompositeKey64, true> const digits{map, 11};
  for (float end : {1e-30F, 0.01F, 1.0F, 3e38F}) {
    RadixRow<CompositeKey64> state{};
    state.high = ~CompositeKey64{0};
    digits.next(state);
    auto const least = map.rank(std::bit_cast<std::uint32_t>(-end));
    auto const most = map.rank(std::bit_cast<std::uint32_t>(end));
    CompositeKey64 const last_composite = map.join(most, 0) | map.position_mask;
    digits.lay_around(state, least, most);
    digits.end_inner_bins(state, last_composite);
    auto const digit = [&](CompositeKey64 composite) {
      return digits.digit_of(composite, state.base, state.shift, state.last);
    };
    CAPTURE(end, state.shift, state.last);
    CHECK(digit(map.join(least, 0)) == 1);
    CHECK(digit(last_composite) == state.last - 1u);
    CompositeKey64 const bin = CompositeKey64{1} << state.shift;
    CHECK(digit(last_composite + bin) == state.last);
    auto above = state;
    digits.keep_bin(above, state.last);
    CHECK(above.low > last_composite);
    CHECK(above.low <= last_composite + bin);
    CHECK(above.high == state.high);
  }
}

TEST_CASE("a great many groups are launched in portions", "[algorithms]") {
  std::vector<std::pair<std::int64_t, std::int64_t>> portions;
  auto const cut = [&](std::int64_t total, std::int64_t most) {
    portions.clear();
    for_each_portion(total, most, [&](auto... portion) { portions.emplace_back(portion...); });
    return portions;
  };
  using Portions = decltype(portions);
  CHECK(cut(0, 10) == Portions{});
  CHECK(cut(10, 10) == Portions{{0, 10}});
  CHECK(cut(11, 10) == Portions{{0, 10}, {10, 1}});
  CHECK(cut(25, 10) == Portions{{0, 10}, {10, 10}, {20, 5}});
  CHECK(cut(most_teams + 7, most_teams) == Portions{{0, most_teams}, {most_teams, 7}});
}

/// Fills a group's shared memory with its number, and checks that it stays.
struct FillShared {
  int words;
  std::int64_t* wrong;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    auto* const shared = group.template shared<int>();
    auto const number = static_cast<int>(group.index());
    each(group, 0, words, [&](std::int64_t i) { shared[i] = number; });
    group.barrier();
    std::int64_t others = 0;
    each(group, 0, words, [&](std::int64_t i) { others += shared[i] != number; });
    if (others > 0) Kokkos::atomic_add(wrong, others);
  }
};

TEST_CASE("a group has as much memory to share as it is launched with", "[algorithms]") {
  for_each_space([](auto const& exec) {
    using Memory = typename std::decay_t<decltype(exec)>::memory_space;
    Kokkos::View<std::int64_t, Memory> const wrong("test::wrong");
    for (int bytes : {4, 16 * 1024, 40'000}) {
      launch("test::shared", exec, 100, bytes, FillShared{bytes / 4, wrong.data()});
      exec.fence();
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wrong);
      CHECK(host() == 0);
    }
  });
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
/// Checks the last group when there are more than one launch can have.
struct SeeLast {
  std::int64_t groups;
  std::int64_t* seen;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const before_last = groups - 1 - group.index();
    if (group.rank() == 0 && before_last < 4) Kokkos::atomic_add(&seen[before_last], group.index());
  }
};

TEST_CASE("groups that are launched in portions have numbers of their own", "[algorithms]") {
  for_each_space([](auto const& exec) {
    using Memory = typename std::decay_t<decltype(exec)>::memory_space;
    Kokkos::View<std::int64_t*, Memory> const seen("test::seen", 4);
    std::int64_t const groups = 2 * most_teams + 2;
    launch("test::groups", exec, groups, 0, SeeLast{groups, seen.data()});
    exec.fence();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), seen);
    for (int i = 0; i < 4; ++i) CHECK(host(i) == groups - 1 - i);
  });
}
#endif

TEST_CASE("every line of every row falls to one group", "[algorithms]") {
  std::uint64_t seed = 0;
  for (std::int64_t count : {0, 1, 2, 30, 500})
    for (std::int64_t longest : {0, 1, 40, 700})
      for (std::int64_t groups : {1, 2, 8, 1056})
        for (std::int64_t least : {1, 32, 512}) {
          RadixTaskList list{nullptr, nullptr, groups, least};
          Count64 appended = 0;
          auto const tasks = random_tasks(list, appended, count, longest, ++seed);
          CAPTURE(count, longest, groups, least);
          check_shares(list.shares(), groups);
        }
}

#if KTOPK_ENABLE_HOST_TUNED
TEST_CASE("a pass is laid out for the rows and buffers that it finds unsettled", "[algorithms]") {
  std::int64_t const n = 100'000, lines = lines_of(n);
  for_each_space([&](auto const& exec) {
    if constexpr (is_host_space<std::decay_t<decltype(exec)>>) {
      CAPTURE(exec.name());
      std::vector<float> keys(n, 1.0f);
      auto const clustered = hidden_cluster(n);
      auto const uniform = make_keys<float>(Input::uniform, 2 * n, 7);
      keys.insert(keys.end(), clustered.begin(), clustered.end());
      ListedSelection equal(keys, {0, n, 2 * n}, n / 2);
      equal.run(exec, false);
      CHECK(equal.pass(0).count == 2);
      CHECK(equal.pass(0).lines == 2 * lines);
      for (int pass : {1, 2}) {
        CHECK(equal.pass(pass).count == 1);
        CHECK(equal.pass(pass).lines == lines);
      }
      CHECK(equal.pass(3).count == 1);
      CHECK(equal.pass(3).lines < lines);  // a buffer of many keys takes a pass of its own
      CHECK(equal.gather().count == 2);

      for (std::size_t i = n; i < keys.size(); ++i) keys[i] = std::floor(1000 * uniform[i]);
      ListedSelection few(keys, {0, n, 2 * n}, 1000);
      few.run(exec, false);
      CHECK(few.pass(1).count == 1);
      CHECK(few.pass(1).lines == lines);
      CHECK(few.pass(2).count == 0);  // what is left of a thousand values is ordered at once
      CHECK(few.gather().count == 2);

      std::vector<std::int64_t> begins(1001);
      for (int row = 0; row < 1000; ++row) begins[row] = 10 * row;
      begins[1000] = 2 * n;
      ListedSelection ragged(keys, begins, 5);
      ragged.run(exec, true);
      CHECK(ragged.pass(0).count == 1);
      CHECK(ragged.pass(0).lines == lines_of(2 * n - 9990));
      CHECK(ragged.gather().count == 1);
    }
  });
}
#endif

TEMPLATE_LIST_TEST_CASE("rows of very different length", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  auto const all = all_options<TestType>();
  std::uint64_t seed = 50;
  for (Input input : {Input::random_bits, Input::few_values, Input::all_equal, Input::descending}) {
    auto const question = unequal_rows<TestType>(input, ++seed);
    for (Algorithm algorithm : {Algorithm::one_pass, Algorithm::radix}) {
      auto const drawn = random_bits(seed, static_cast<std::uint64_t>(algorithm));
      Options options = all[drawn % all.size()];
      options.algorithm = algorithm;
      auto const truth = solve(question, options);
      for_each_space([&](auto const& exec) {
        RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t> call(exec, question);
        validation.expect(question, truth, call.ragged_rows_wanting(options), options,
                          [&] { return std::string(exec.name()) + ", " + name(input); });
      });
    }
  }
  validation.close();
}

/// The k best of rows whose keys are strided, so a host thread counts each of them alone.
template <class T, class Exec>
void count_strided_rows(Exec const& exec, Input input) {
  using Memory = typename Exec::memory_space;
  constexpr std::int64_t rows = 9, n = 20'000, k = 3000;
  auto const drawn = make_keys<T>(input, rows * n, 6);
  Kokkos::View<T**, Kokkos::LayoutLeft, Memory> const keys("test::keys", rows, n);
  auto const mirror = Kokkos::create_mirror_view(Kokkos::HostSpace(), keys);
  for (std::int64_t i = 0; i < rows * n; ++i) mirror(i / n, i % n) = drawn[i];
  Kokkos::deep_copy(keys, mirror);
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const sorted("test::sorted", rows, k),
      counted("test::counted", rows, k);
  top_k(exec, keys, nothing, sorted, {.algorithm = Algorithm::sort});
  top_k(exec, keys, nothing, counted, {.algorithm = Algorithm::radix});
  exec.fence();
  auto const want = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sorted);
  auto const got = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counted);
  CAPTURE(exec.name(), name(input));
  CHECK(std::equal(want.data(), want.data() + want.size(), got.data()));
}

TEMPLATE_LIST_TEST_CASE("counts that are added up before they are too large", "[algorithms]",
                        RadixTypes) {
  testing::Validation validation;
  Options const options{.algorithm = Algorithm::radix};
  constexpr std::array inputs{Input::random_bits, Input::few_values, Input::leading_bits};
  constexpr std::array<std::int64_t, 3> limits{64, 1000, 30'000};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Input const input = inputs[i];
    auto const question = unequal_rows<TestType>(input, 17);
    auto const truth = solve(question, options);
    for (std::int64_t most : limits) {
      ForceMostCounted const force(most);
      for_each_space([&](auto const& exec) {
        RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t> call(exec, question);
        validation.expect(question, truth, call.ragged_rows_wanting(options), options,
                          [&] { return std::string(exec.name()) + ", " + name(input); });
        if (most == limits[i]) count_strided_rows<TestType>(exec, input);
      });
    }
  }
  validation.close();
}

#if defined(KOKKOS_ENABLE_SERIAL)
bool has_memory(std::int64_t bytes) {
  return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE) > bytes;
}

// Rows that overlap this much do not fit the list of shared rows.
TEST_CASE("a row of 2^32 + 5 keys that one thread counts alone", "[.long_row]") {
  if (!has_memory(std::int64_t{15} << 30)) SKIP("this takes 15 GiB of memory");
  constexpr std::int64_t n = (std::int64_t{1} << 32) + 5, k = 10;
  Kokkos::Serial const exec;
  using Host = Kokkos::HostSpace;
  Kokkos::View<std::uint8_t*, Host> const keys(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "test::keys"), n);
  std::fill_n(keys.data(), n, std::uint8_t{7});
  keys(n / 3) = keys(n - 2) = 200;
  Kokkos::View<std::int64_t[7], Host> const offsets("test::offsets");
  for (int i : {1, 3, 5}) offsets(i) = n;
  Kokkos::View<std::int64_t[6][k], Host> const indices("test::indices");
  top_k(exec, ragged(keys, offsets), nothing, indices, {.algorithm = Algorithm::radix});
  for (int row : {0, 2, 4}) {
    CAPTURE(row);
    CHECK(indices(row, 0) == n / 3);
    CHECK(indices(row, 1) == n - 2);
    for (std::int64_t place = 2; place < k; ++place) CHECK(indices(row, place) == place - 2);
    CHECK(indices(row + 1, 0) == -1);
  }
}
#endif

TEST_CASE("clustered keys take no more passes than uniform ones", "[algorithms]") {
  std::int64_t const n = 300'000;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    if (is_host_space<Exec> && serves_tuned(exec)) {
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

TEMPLATE_LIST_TEST_CASE("rows about as long as one thread does alone", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n :
         {std::int64_t{700}, std::int64_t{8191}, std::int64_t{8192}, std::int64_t{8193}})
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{40}, n / 3, n - 1})
        for (Algorithm algorithm : {Algorithm::one_pass, Algorithm::radix})
          select_one(algorithm, make_keys<TestType>(input, n, 6), k, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("batches of rows about as long as one thread does alone", "[algorithms]",
                        RadixTypes) {
  testing::Validation validation;
  std::int64_t const rows = 3;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {std::int64_t{8193}, std::int64_t{32'768}, std::int64_t{32'769}})
      select_batches_by_turns<TestType>(input, rows, n, {50, n / 2}, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("many found early leave equal ones further back to win", "[algorithms]",
                        RadixTypes) {
  testing::Validation validation;
  std::size_t const n = 32'768;
  std::vector<TestType> keys(n, TestType(0));
  for (std::size_t i = 5; i < n; i += 10) keys[i] = TestType(2);
  for (std::size_t better : {std::size_t{0}, std::size_t{3}}) {
    for (std::size_t i = 0; i < better; ++i) keys[n - 2 - i] = TestType(3);
    select_batches(keys, 1, n, {32}, validation);
  }
  validation.close();
}

/// Enough rows for one thread per row.
TEMPLATE_LIST_TEST_CASE("batches of rows that fit a cache", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  std::int64_t const n = 40'000, rows = 9;
  for (Input input : inputs_for<TestType>())
    select_batches_by_turns<TestType>(input, rows, n, {1, 64, n / 9, n / 2}, validation);
  validation.close();
}

TEST_CASE("small k in rows that fit a cache", "[algorithms]") {
  testing::Validation validation;
  std::int64_t const n = 100'003, rows = 9;
  for (Input input : {Input::uniform, Input::descending, Input::bucket_killer, Input::few_values,
                      Input::winners_last, Input::rectified})
    select_batches(make_rows<float>(input, rows, n), rows, n, {1, 2, 300, 5000}, validation);
  validation.close();
}

TEST_CASE("a sample that misleads for small k only costs time", "[algorithms]") {
  testing::Validation validation;
  std::int64_t const n = 100'003, rows = 9;
  for (std::int64_t k : {300, 8333})
    for (float seen : {-1.0f, 2.0f}) {
      Samples const samples(static_cast<int>(n), static_cast<int>(k),
                            RowsInCache<std::uint32_t, CompositeKey64>::keys_of_few_per_sample);
      auto keys = make_rows<float>(Input::uniform, rows, n);
      for (std::int64_t row = 0; row < rows; ++row)
        for (int i = 0; i < samples.count; ++i)
          keys[static_cast<std::size_t>(row * n + samples.place(i))] = seen;
      select_batches(keys, rows, n, {k}, validation);
    }
  validation.close();
}

/// Many equal keys, selected by position, and some above them.
TEMPLATE_LIST_TEST_CASE("long rows of equal keys and a few others", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  for (std::int64_t n : {std::int64_t{20'000}, std::int64_t{150'001}})
    for (Input input : {Input::all_equal, Input::bucket_killer, Input::few_values})
      for (std::int64_t k : {std::int64_t{90}, n / 7, n / 2, n - 1})
        select_one(Algorithm::radix, make_keys<TestType>(input, n, 6), k, validation);
  validation.close();
}

/// The first of the best keys is far from the front of the row, or the last far from its end.
TEMPLATE_LIST_TEST_CASE("equal selected keys at one end of a long row", "[algorithms]",
                        RadixTypes) {
  testing::Validation validation;
  std::vector<TestType> keys(150'001, TestType(1));
  std::fill_n(keys.begin(), 100'000, TestType(2));
  for (std::int64_t k : {1000, 40'000}) {
    select_one(Algorithm::radix, keys, k, validation);
    std::reverse(keys.begin(), keys.end());
    select_one(Algorithm::radix, keys, k, validation);
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a sample that misleads only costs time", "[algorithms]", RadixTypes) {
  std::int64_t const n = 70'001;
  testing::Validation validation;
  for (Input input : {Input::uniform, Input::leading_bits, Input::extremes}) {
    // All sampled keys are equal; the others are anything.
    auto keys = make_keys<TestType>(input, n, 5);
    mislead(keys, keys[7]);
    for (std::int64_t k : {std::int64_t{1}, std::int64_t{300}, n / 2, n - 1})
      select_one(Algorithm::radix, keys, k, validation);
  }
  validation.close();
}

/// Then all keys that the first pass took to be selected, or none, are.
TEMPLATE_LIST_TEST_CASE("a sample of keys that are all better or worse only costs time",
                        "[algorithms]", RadixTypes) {
  std::int64_t const n = 150'001;
  testing::Validation validation;
  for (int seen : {1, 120}) {
    std::vector<TestType> keys(n);
    for (std::int64_t i = 0; i < n; ++i)
      keys[static_cast<std::size_t>(i)] = TestType(static_cast<float>(3 + i * 7919 % n % 100));
    mislead(keys, TestType(static_cast<float>(seen)));
    for (std::int64_t k : {n / 10, n / 2}) select_one(Algorithm::radix, keys, k, validation);
  }
  validation.close();
}

/// As a CUDA device holds them: what is surely selected is stored as it is.
TEMPLATE_LIST_TEST_CASE("long rows of which many keys are selected", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  std::int64_t const n = 140'003;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t k : {n / 100, n / 17})
      select_one(Algorithm::radix, make_keys<TestType>(input, n, 8), k, validation);
  validation.close();
}

/// Blocks of keys above all others, at distances that may be those at which the row is dealt to a device's blocks.
TEST_CASE("selected keys at regular places of a long row", "[algorithms]") {
  testing::Validation validation;
  for (std::size_t distance : {4096, 2112, 4224}) {
    auto keys = make_keys<float>(Input::uniform, 300'007, 3);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (i % distance < 96) keys[i] += 2;
    select_one(Algorithm::radix, keys, 6'000, validation);
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a k of its own for each of a few long rows", "[algorithms]", RadixTypes) {
  testing::Validation validation;
  std::int64_t const n = 140'003, most = 4'000;
  auto question = uniform_question(make_rows<TestType>(Input::ties1000, 4, n), 4, n, most);
  question.ks = {most, 1, 0, 900};
  for (Sorted sorted : {Sorted::no, Sorted::yes}) {
    Options const options{.sorted = sorted, .algorithm = Algorithm::radix};
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t> call(exec, question);
      validation.expect(question, truth, call.equal_rows_wanting(options), options,
                        [&] { return std::string(exec.name()); });
    });
  }
  validation.close();
}

TEST_CASE("a cluster that the sample does not see only costs time", "[algorithms]") {
  std::int64_t const n = 400'001;
  testing::Validation validation;
  select_one(Algorithm::radix, hidden_cluster(n), n / 2, validation);
  validation.close();
}

}  // namespace ktopk::detail
