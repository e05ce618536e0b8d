// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/merge.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/recorder.hpp"
#include "support/rejects.hpp"
#include "support/run.hpp"
#include "support/sorted_options.hpp"
#include "support/spaces.hpp"

// A stream that is cut into chunks, and lists that are merged: the answer is that for the whole.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

template <class View>
auto flat(View const& view) {
  auto const host = on_host(view);
  std::vector<typename View::non_const_value_type> all;
  for (std::size_t r = 0; r < host.extent(0); ++r)
    for (std::size_t i = 0; i < host.extent(1); ++i) all.push_back(host(r, i));
  return all;
}

/// Contiguous, in memory that a mirror can have.
template <class T, class Memory, class View>
auto packed(View const& view) {
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> to("test::packed", view.extent(0), view.extent(1));
  Kokkos::deep_copy(to, view);
  return to;
}

template <class T, class Exec, class State>
void expect_state(Exec const& exec, State const& state, Question<T> const& question,
                  Options const& options, Validation& validation, char const* what) {
  using Memory = MemoryOf<Exec>;
  Kokkos::View<std::int32_t*, Memory> const counts("test::counts", question.rows());
  state.counts(counts);
  exec.fence();
  auto const host_counts = on_host(counts);
  auto const positions = flat(packed<std::int64_t, Memory>(state.positions()));
  Answer<T> const answer{flat(packed<T, Memory>(state.values())),
                         {positions.begin(), positions.end()},
                         {host_counts.data(), host_counts.data() + host_counts.size()}};
  validation.expect(question, solve(question, options), answer, options, [&] {
    return std::string(exec.name()) + ", " + what + ", n = " + std::to_string(question.length(0)) +
           ", k = " + std::to_string(question.width);
  });
}

/// Ends of chunks, some of them empty.
std::vector<std::int64_t> cuts(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> ends{0};
  for (int i = 0; ends.back() < n; ++i)
    ends.push_back(
        std::min(n, ends.back() + static_cast<std::int64_t>(random_bits(seed, i) % (n / 3 + 2))));
  return ends;
}

struct Size {
  std::int64_t rows, n, k;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("a stream gives the same bits however it is cut and ordered",
                        "[accumulator]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::uint64_t seed = 0;
    for (Input input : inputs_for<TestType>())
      for (Size const size : {Size{1, 5000, 30}, Size{3, 700, 100}, Size{2, 40, 60}}) {
        auto const options = sorted_options<TestType>();
        Options const& chosen = options[random_bits(3, ++seed) % options.size()];
        auto question =
            uniform_question(filled<TestType>(input, size.rows, size.n), size.rows, size.n, size.k);
        auto const keys =
            copied_to<MemoryOf<Exec>, Kokkos::LayoutRight>(question.keys, size.rows, size.n);
        Accumulator<TestType, std::int64_t, Exec> state(exec, size.rows, size.k, chosen);
        Accumulator<TestType, std::int64_t, Exec> other(exec, size.rows, size.k, chosen);
        auto ends = cuts(size.n, seed);
        std::vector<std::size_t> order(ends.size() - 1);
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[random_bits(seed, i) % i]);
        for (std::size_t const c : order) {
          auto const part = Kokkos::subview(
              keys, Kokkos::ALL, Kokkos::pair<std::int64_t, std::int64_t>(ends[c], ends[c + 1]));
          (c % 3 == 0 ? other : state).add(part, ends[c]);
        }
        state.merge(other);
        expect_state(exec, state, question, chosen, validation, name(input));
        state.clear();
        state.add(keys, 0);
        expect_state(exec, state, question, chosen, validation, "after clear");
      }
  });
  validation.close();
}

TEST_CASE("keys of a stream have positions, and chunks fewer rows", "[accumulator]") {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    std::int64_t const n = 3000, k = 50;
    auto question = uniform_question(filled<float>(Input::few_values, 1, n), 1, n, k);
    // Even positions first, then the odd ones.
    Accumulator<float, std::int64_t, Exec> state(exec, 1, k);
    for (std::int64_t const first : {0, 1}) {
      std::vector<float> some;
      std::vector<std::int64_t> where;
      for (std::int64_t i = first; i < n; i += 2) {
        some.push_back(question.keys[i]);
        where.push_back(i);
      }
      state.add(copied_to<Memory>(some), copied_to<Memory>(where));
    }
    expect_state(exec, state, question, {}, validation, "positions");

    // Two rows, of which the second gets nothing of the second chunk.
    auto const both = filled<float>(Input::normal, 2, n);
    auto const keys = copied_to<Memory, Kokkos::LayoutRight>(both, 2, n);
    Question<float> uneven{{both.begin(), both.begin() + n}, {0, n}, {k, k}, k};
    uneven.keys.insert(uneven.keys.end(), both.begin() + n, both.begin() + n + 1000);
    uneven.begins.push_back(n + 1000);
    Accumulator<float, std::int64_t, Exec> rows(exec, 2, k);
    using Range = Kokkos::pair<std::int64_t, std::int64_t>;
    rows.add(Kokkos::subview(keys, Kokkos::ALL, Range(0, 1000)), 0);
    rows.add(Kokkos::subview(keys, Range(0, 1), Range(1000, n)), 1000);
    expect_state(exec, rows, uneven, {}, validation, "fewer rows");
    rejects([&] { state.add(keys, 0); }, {"ktopk::Accumulator", "2 rows", "has 1"});
    rejects([&] { state.merge(rows); }, {"ktopk::Accumulator", "number of rows is 2", "1"});
  });
  validation.close();
}

TEST_CASE("chunks of one shape are selected from by a Plan", "[accumulator]") {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    std::int64_t const rows = 2, n = 8000, k = 300;
    auto const question = uniform_question(filled<float>(Input::normal, rows, n), rows, n, k);
    auto const keys = copied_to<Memory, Kokkos::LayoutRight>(question.keys, rows, n);
    Accumulator<float, std::int64_t, Exec> state(exec, rows, k);
    std::int64_t first = 0;
    std::vector<std::int64_t> allocations;
    // Three shapes, one of them shorter than k.
    for (std::int64_t const length :
         {1000, 1000, 1000, 1000, 1000, 1000, 1000, 100, 100, 100, 700}) {
      Recorder const record;
      state.add(Kokkos::subview(keys, Kokkos::ALL,
                                Kokkos::pair<std::int64_t, std::int64_t>(first, first + length)),
                first);
      exec.fence();
      allocations.push_back(std::ssize(record.all(Event::Kind::allocation)));
      first += length;
    }
    CAPTURE(exec.name(), allocations);
    CHECK(allocations[2] == 0);
    CHECK(allocations[6] == 0);
    CHECK(allocations[9] == 0);
    expect_state(exec, state, question, {}, validation, "chunks of three shapes");
  });
  validation.close();
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEST_CASE("a host reads a chunk for what reaches the thresholds", "[accumulator]") {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::int64_t const rows = 2, m = 2000, k = 10;
    Accumulator<int, std::int64_t, Exec> state(exec, rows, k);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> const keys("test::keys", rows, m);
    std::int64_t first = 8 * m;
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> const long_keys("test::long", rows,
                                                                                first);
    for (std::int64_t i = 0; i < rows * first; ++i)
      long_keys(i / first, i % first) = static_cast<int>(1000 + i % first);
    state.add(long_keys, 0);
    auto const add = [&](auto const& key) {
      for (std::int64_t i = 0; i < rows * m; ++i) keys(i / m, i % m) = key(i % m);
      Recorder const record;
      state.add(keys, first);
      first += m;
      bool const reads =
          record.ran("ktopk::host::reaching::list") || record.ran("ktopk::reaching::count");
      return std::string(reads ? "reads" : "") +
             (record.ran("ktopk::Accumulator::sort") ? " sorts" : "") +
             (record.ran("ktopk::Accumulator::merge") ? " merges" : "");
    };
    auto const expect_best = [&](std::vector<std::int64_t> const& positions) {
      auto of_rows = positions;
      of_rows.insert(of_rows.end(), positions.begin(), positions.end());
      CHECK(flat(state.positions()) == of_rows);
    };
    CHECK(add([](std::int64_t) { return 5; }) == "reads");
    CHECK(add([](std::int64_t i) { return i == 7 ? 99'999 : 6; }) == "reads sorts merges");
    expect_best({18'007, 15'999, 15'998, 15'997, 15'996, 15'995, 15'994, 15'993, 15'992, 15'991});
    // Ties of the worst come later: they reach the threshold, and change nothing.
    CHECK(add([](std::int64_t i) { return i < 3 ? 16'991 : 0; }) == "reads sorts merges");
    expect_best({18'007, 15'999, 15'998, 15'997, 15'996, 15'995, 15'994, 15'993, 15'992, 15'991});
    // More than k: top_k takes over, and the next chunk is its own.
    CHECK(add([](std::int64_t i) { return static_cast<int>(200'000 + i); }) == "reads merges");
    CHECK(add([](std::int64_t) { return 1; }) == " merges");
    CHECK(add([](std::int64_t) { return 2; }) == "reads");
    expect_best({23'999, 23'998, 23'997, 23'996, 23'995, 23'994, 23'993, 23'992, 23'991, 23'990});
  });
}
#endif

TEST_CASE("a copy of an Accumulator is another name for it", "[accumulator]") {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::int64_t const n = 3000, k = 90;
    auto const question = uniform_question(filled<float>(Input::few_values, 1, n), 1, n, k);
    auto const keys = copied_to<MemoryOf<Exec>>(question.keys);
    using Range = Kokkos::pair<std::int64_t, std::int64_t>;
    Accumulator<float, std::int64_t, Exec> const begun(exec, 1, k);
    auto first = begun, second = first;
    bool is_second = false;
    for (std::int64_t begin = 0; begin < n; begin += 500, is_second = !is_second)
      (is_second ? second : first).add(Kokkos::subview(keys, Range(begin, begin + 500)), begin);
    expect_state(exec, begun, question, {}, validation, "copies");
  });
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a part of a stream is of some of the rows", "[accumulator]", Types) {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    using State = Accumulator<TestType, std::int64_t, Exec>;
    std::int64_t const rows = 9, k = 20, length = 50;
    std::uint64_t seed = 0;
    for (Input input : {Input::few_values, Input::random_bits})
      for (Options const& options : sorted_options<TestType>()) {
        State state(exec, rows, k, options);
        std::vector<State> of_row;
        for (std::int64_t row = 0; row < rows; ++row) of_row.emplace_back(exec, 1, k, options);
        for (std::int64_t turn = 0; turn < 6; ++turn) {
          // In any order, and two that the state does not have.
          std::vector<int> numbers{-1, static_cast<int>(rows)};
          for (int row = 0; row < rows - 2; ++row)
            if (random_bits(7, ++seed) % 2 == 0)
              numbers.insert(numbers.begin() + random_bits(8, seed) % numbers.size(), row);
          auto const count = std::ssize(numbers);
          auto const keys = copied_to<Memory, Kokkos::LayoutLeft>(
              filled<TestType>(input, count, length), count, length);
          state.add_rows(copied_to<Memory>(numbers), keys, turn * length);
          for (std::int64_t i = 0; i < count; ++i)
            if (0 <= numbers[i] && numbers[i] < rows)
              of_row[numbers[i]].add(Kokkos::subview(keys, i, Kokkos::ALL), turn * length);
        }
        exec.fence();
        auto const values = flat(packed<TestType, Memory>(state.values()));
        auto const positions = flat(packed<std::int64_t, Memory>(state.positions()));
        for (std::int64_t row = 0; row < rows; ++row) {
          INFO(exec.name() << ", " << name(input) << ", row " << row);
          auto const one = flat(packed<TestType, Memory>(of_row[row].values()));
          auto const at = flat(packed<std::int64_t, Memory>(of_row[row].positions()));
          REQUIRE(std::equal(at.begin(), at.end(), positions.begin() + row * k));
          REQUIRE(std::equal(one.begin(), one.end(), values.begin() + row * k, [](auto a, auto b) {
            using Bits = ktopk::detail::bits_of<TestType>;
            return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
          }));
        }
      }
  });
}

TEST_CASE("a result is copied to Views of any layout", "[accumulator]") {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    std::int64_t const rows = 3, n = 40, k = 50;
    auto const keys =
        copied_to<Memory, Kokkos::LayoutRight>(filled<float>(Input::normal, rows, n), rows, n);
    Accumulator<float, std::int32_t, Exec> state(exec, rows, k);
    state.add(keys, 0);
    Kokkos::View<float**, Kokkos::LayoutLeft, Memory> const values("values", rows, k);
    Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const positions("positions", rows, k);
    Kokkos::View<std::int32_t**, Kokkos::LayoutLeft, Memory> const alone("positions", rows, k);
    Kokkos::View<std::int64_t*, Memory> const counts("counts", rows);
    state.result(values, positions, counts);
    state.result(nothing, alone);
    exec.fence();
    auto const expected = flat(packed<std::int32_t, Memory>(state.positions()));
    CHECK(std::ranges::equal(flat(positions), expected));
    CHECK(flat(alone) == expected);
    CHECK(flat(values) == flat(packed<float, Memory>(state.values())));
    auto const host_counts = on_host(counts);
    for (std::int64_t row = 0; row < rows; ++row) CHECK(host_counts(row) == n);

    Kokkos::View<float*, Memory> const row("row", k);
    Kokkos::View<std::int32_t**, Memory> const narrow("narrow", rows, k - 1);
    rejects([&] { state.result(row, nothing); },
            {"ktopk::Accumulator", "rows of values is 1", "must be 3"});
    rejects([&] { state.result(nothing, narrow); },
            {"ktopk::Accumulator", "columns of indices is 49", "50"});
    // Before anything is written.
    Kokkos::View<float**, Kokkos::LayoutLeft, Memory> const untouched("values", rows, k);
    Kokkos::View<int*, Memory> const few("counts", rows - 1);
    rejects([&] { state.result(untouched, nothing, few); },
            {"ktopk::Accumulator", "length of counts is 2", "3"});
    exec.fence();
    CHECK(flat(untouched) == std::vector<float>(static_cast<std::size_t>(rows * k)));
    Accumulator<float, std::int32_t, Exec> one(exec, 1, k);
    one.add(Kokkos::subview(keys, 1, Kokkos::ALL), 0);
    one.result(row, nothing);
    exec.fence();
    auto const all = flat(values);
    auto const host_row = on_host(row);
    CHECK(std::equal(host_row.data(), host_row.data() + k, all.begin() + k));
  });
}

TEST_CASE("what an Accumulator cannot take in is rejected", "[accumulator]") {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  char const* const name = "ktopk::Accumulator";
  Exec const exec;
  Kokkos::View<float*, Memory> const keys("keys", 10);
  Kokkos::View<int*, Memory> const nine("positions", 9), counts("counts", 2);
  Accumulator<float, std::int32_t, Exec> state(exec, 1, 4);
  rejects([&] { Accumulator<float>(exec, 1, -4); }, {name, "negative size", "k = -4"});
  rejects([&] { state.add(keys, -1); }, {name, "first position is -1"});
  std::int64_t const most = std::numeric_limits<std::int32_t>::max();
  rejects([&] { state.add(keys, most - 8); }, {name, "2147483647", "2147483648"});
  rejects([&] { state.add(keys, std::numeric_limits<std::int64_t>::max()); },
          {name, "9223372036854775807", "10 keys"});
  CHECK_NOTHROW(state.add(keys, most - 9));
  // Rows in a line have as many keys together as the host knows, each of them fewer.
  Kokkos::View<int*, Memory> const offsets("offsets", 2);
  CHECK_NOTHROW(state.add(ragged(keys, offsets), most - 8));
  rejects([&] { state.add(keys, nine); }, {name, "number of positions is 9", "10"});
  rejects([&] { state.counts(counts); }, {name, "length of counts is 2", "1"});
  Kokkos::View<float**, Memory> const two("keys", 2, 10);
  rejects([&] { state.add_rows(nine, two, 0); }, {name, "number of row numbers is 9", "2"});
  rejects([&] { state.add_rows(counts, two, 0); }, {name, "2 rows", "has 1"});
  using State = Accumulator<float, std::int32_t, Exec>;
  auto const rejects_other = [&](std::int64_t k, Options const& options,
                                 std::vector<std::string> const& parts) {
    State const other(exec, 1, k, options);
    rejects([&] { state.merge(other); }, parts);
  };
  rejects_other(5, {}, {name, "k is 5", "4"});
  rejects_other(4, {.order = Order::smallest}, {name, "the order of the other one is 1", "0"});
  rejects_other(4, {.ties = Ties::highest_index}, {name, "the tie rule of the other one"});
  rejects_other(4, {.nan = NaN::skip}, {name, "the NaN rule of the other one"});
  rejects_other(4, {.by = By::magnitude}, {name, "Options::by of the other one"});
  CHECK_NOTHROW(state.merge(State(exec, 1, 4, {.sorted = Sorted::no})));
  exec.fence();
}

TEST_CASE("a state that was saved goes on in another object", "[accumulator]") {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    using State = Accumulator<float, std::int64_t, Exec>;
    std::int64_t const rows = 3, n = 400, k = 70;
    auto const question = uniform_question(filled<float>(Input::few_values, rows, n), rows, n, k);
    auto const keys = copied_to<Memory, Kokkos::LayoutRight>(question.keys, rows, n);
    using Range = Kokkos::pair<std::int64_t, std::int64_t>;
    auto const chunk = [&](std::int64_t begin, std::int64_t end) {
      return Kokkos::subview(keys, Kokkos::ALL, Range(begin, end));
    };
    // Saved full, and with less than k keys.
    for (std::int64_t const cut : {150, 30}) {
      State first(exec, rows, k), second(exec, rows, k);
      first.add(chunk(0, cut), 0);
      auto const values = on_host(packed<float, Memory>(first.values()));
      auto const positions = on_host(packed<std::int64_t, Memory>(first.positions()));
      exec.fence();
      Kokkos::deep_copy(second.values(), values);
      Kokkos::deep_copy(second.positions(), positions);
      second.add(chunk(cut, n), cut);
      expect_state(exec, second, question, {}, validation, "saved");
    }
  });
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("lists of any order and length are merged", "[merge]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    std::int64_t const parts = 5, rows = 3, slots = 40;
    for (Input input : inputs_for<TestType>())
      for (std::int64_t const k : {1, 30, 200, 250})
        for (Options const& options : sorted_options<TestType>()) {
          if (random_bits(5, static_cast<int>(input) * 1000 + k) % 4 != 0) continue;
          // Position p of a row is in part p % parts; some entries are not there.
          auto const all = filled<TestType>(input, rows, parts * slots);
          Question<TestType> question{{}, {0}, std::vector<std::int64_t>(rows, k), k};
          Kokkos::View<TestType***, Kokkos::LayoutRight, Memory> const values("values", parts, rows,
                                                                              slots);
          Kokkos::View<std::int32_t***, Kokkos::LayoutLeft, Memory> const positions(
              "positions", parts, rows, slots);
          auto const host_values = Kokkos::create_mirror_view(values);
          auto const host_positions = Kokkos::create_mirror_view(positions);
          Kokkos::deep_copy(host_positions, -1);
          for (std::int64_t r = 0; r < rows; ++r) {
            std::int64_t const length = parts * slots - 7 * r * slots / 4;
            for (std::int64_t p = 0; p < length; ++p) {
              std::int64_t const slot = slots - 1 - p / parts;
              host_values(p % parts, r, slot) = all[r * parts * slots + p];
              host_positions(p % parts, r, slot) = static_cast<std::int32_t>(p);
              question.keys.push_back(all[r * parts * slots + p]);
            }
            question.begins.push_back(std::ssize(question.keys));
          }
          Kokkos::deep_copy(values, host_values);
          Kokkos::deep_copy(positions, host_positions);
          Kokkos::View<TestType**, Kokkos::LayoutRight, Memory> const to("to", rows, k);
          Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const at("at", rows, k);
          merge(exec, values, positions, to, at, options);
          exec.fence();
          validation.expect(question, solve(question, options),
                            Answer<TestType>{flat(to), flat(at), {}}, options, [&] {
                              return std::string(exec.name()) + ", " + name(input) +
                                     ", k = " + std::to_string(k);
                            });
        }
    Kokkos::View<TestType**, Memory> const values("values", 2, 10);
    Kokkos::View<int**, Memory> const positions("positions", 2, 9);
    Kokkos::View<TestType*, Memory> const to("to", 4);
    Kokkos::View<int*, Memory> const at("at", 4);
    rejects([&] { merge(exec, values, positions, to, at); },
            {"ktopk::merge", "an extent of the parts' positions is 9", "10"});
  });
  validation.close();
}

TEST_CASE("lists merged row by row are those merged entry by entry", "[accumulator]") {
  using ktopk::detail::ListedKeys;
  std::int64_t const rows = 40, kept = 20;
  Options const options{.ties = Ties::highest_index};
  ktopk::detail::KeyOrder<float> const order(options);
  for (std::int64_t const columns : {0, 1, 13, 40}) {
    CAPTURE(columns);
    // Of row r the first list has r % 14 entries, the second r * 5 % (columns + 1): equal keys, at positions of its own.
    auto const make = [&](std::int64_t most, std::int64_t factor, int first, auto& values,
                          auto& positions) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < most; ++i) {
          bool const is_there = i < r * factor % (most + 1);
          values.push_back(is_there ? static_cast<float>(100 - i / 3) : order.worst());
          positions.push_back(is_there ? 1000 - 2 * i + first : -1);
        }
    };
    std::vector<float> of_a, of_b;
    std::vector<std::int64_t> at_a, at_b, limits;
    make(13, 1, 0, of_a, at_a);
    make(columns, 5, 1, of_b, at_b);
    for (std::int64_t r = 0; r < rows; ++r) limits.push_back(r % 23);
    std::vector<float> values(rows * kept, 7), other_values(rows * kept, 8);
    std::vector<std::int64_t> positions(rows * kept, -5), other_positions(rows * kept, -6);
    ktopk::detail::MergeListed<float> merge{{13, at_a.data(), of_a.data()},
                                            {columns, at_b.data(), of_b.data()},
                                            {kept, positions.data(), values.data()},
                                            {kept, limits.data()},
                                            order};
    merge.rows_of_b = rows - 3;
    // Entries that no list has are nobody's by the first way: the slots behind all columns stay as they are.
    std::int64_t const reached = std::min(kept, 13 + columns);
    for (std::int64_t i = 0; i < rows * (13 + columns); ++i) merge(i);
    merge.to = {kept, other_positions.data(), other_values.data()};
    for (std::int64_t r = 0; r < rows; ++r) merge.merge_row(r);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t s = 0; s < reached; ++s) {
        CAPTURE(r, s);
        CHECK(positions[r * kept + s] == other_positions[r * kept + s]);
        CHECK(values[r * kept + s] == other_values[r * kept + s]);
      }
  }
}

}  // namespace ktopk::testing
