// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/copies.hpp"
#include "support/results.hpp"
#include "support/rows.hpp"

namespace ktopk::testing {
namespace {

/// One key type of each width.
using RowTypes = std::tuple<std::uint8_t, float16, float, std::int64_t>;

/// Rows of every length up to `longest`, some empty; the first key of all belongs to no row.
template <class T>
Question<T> ragged_question(std::int64_t rows, std::int64_t longest, std::int64_t width,
                            Input input, std::uint64_t seed) {
  Question<T> question{{}, {1}, {}, width};
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const length = static_cast<std::int64_t>(random_bits(seed, 2 * row) % (longest + 1));
    question.begins.push_back(question.begins.back() + (row % 5 == 3 ? 0 : length));
    question.ks.push_back(width);
  }
  question.keys = make_keys<T>(input, question.begins.back() + 2, seed);
  return question;
}

/// Options that differ from case to case, and the default.
template <class T>
std::vector<Options> two_options(std::uint64_t seed) {
  auto const all = every_option<T>();
  return {Options{}, all[random_bits(seed, 1000) % all.size()]};
}

template <class T, class Ask>
void ask_everyone(Question<T> const& question, std::uint64_t seed, std::string const& what,
                  Validation& validation, Ask const& ask) {
  for (Options options : two_options<T>(seed)) {
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      for (Algorithm algorithm : algorithms_on(exec)) {
        options.algorithm = algorithm;
        validation.expect(question, truth, ask(exec, options), options, [&] {
          return std::string(exec.name()) + ", " + what +
                 ", rows = " + std::to_string(question.rows()) +
                 ", width = " + std::to_string(question.width) + ", seed = " + std::to_string(seed);
        });
      }
    });
  }
}

/// Rows of any offsets, and the same rows one behind the other, as the oracle takes them.
template <class T>
struct LyingOffsets {
  Question<T> asked, meant;

  LyingOffsets(std::vector<T> const& keys, std::vector<std::int64_t> const& offsets,
               std::int64_t width)
      : asked{keys, offsets, {}, width}, meant{{}, {0}, {}, width} {
    auto const size = static_cast<std::int64_t>(keys.size());
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      std::int64_t const begin = std::clamp<std::int64_t>(offsets[row], 0, size);
      std::int64_t const end =
          std::clamp<std::int64_t>(offsets[row + 1], begin, std::max(begin, size));
      meant.keys.insert(meant.keys.end(), keys.begin() + begin, keys.begin() + end);
      meant.begins.push_back(std::ssize(meant.keys));
      meant.ks.push_back(width);
    }
    asked.ks = meant.ks;
  }
};

template <class T>
void ask_lying(LyingOffsets<T> const& rows, Options options, Validation& validation) {
  auto const truth = solve(rows.meant, options);
  for_each_space([&](auto const& exec) {
    RowsCall<std::decay_t<decltype(exec)>, T, std::int64_t> call(exec, rows.asked);
    for (Algorithm algorithm : algorithms_on(exec)) {
      options.algorithm = algorithm;
      validation.expect(rows.meant, truth, call.ragged_rows_counted(options), options, [&] {
        return std::string(exec.name()) + ", rows = " + std::to_string(rows.meant.rows()) +
               ", keys = " + std::to_string(rows.asked.keys.size());
      });
    }
  });
}

/// Rows that begin and end anywhere in those of a matrix, and the same rows one behind the other, as the oracle takes
/// them.
template <class T>
struct PartsOfRows {
  std::int64_t rows, columns;
  std::vector<T> keys;
  std::vector<std::int64_t> begins, ends;
  Question<T> meant;

  PartsOfRows(std::int64_t rows_, std::int64_t columns_, std::int64_t width, Input input,
              std::uint64_t seed, bool from_first)
      : rows(rows_),
        columns(columns_),
        keys(filled<T>(input, rows, columns)),
        meant{{}, {0}, {}, width} {
    for (std::int64_t row = 0; row < rows; ++row) {
      auto const draw = [&](std::int64_t what) {
        return static_cast<std::int64_t>(random_bits(seed, 2 * row + what) % (columns + 4)) - 2;
      };
      begins.push_back(from_first ? 0 : draw(0));
      ends.push_back(row % 3 == 0 ? columns : draw(1));
      auto const begin = std::clamp<std::int64_t>(begins.back(), 0, columns);
      auto const end = std::max(begin, std::clamp<std::int64_t>(ends.back(), 0, columns));
      auto const first = keys.begin() + row * columns;
      meant.keys.insert(meant.keys.end(), first + begin, first + end);
      meant.begins.push_back(std::ssize(meant.keys));
      meant.ks.push_back(width);
    }
  }
};

/// Asks for the k best of each row that source(exec) has, by every algorithm and by a Plan.
template <class T, class SourceOf>
void ask_source(Question<T> const& meant, SourceOf const& source_of, std::uint64_t seed,
                Validation& validation) {
  for (Options options : two_options<T>(seed)) {
    auto const truth = solve(meant, options);
    for_each_space([&](auto const& exec) {
      using Exec = std::decay_t<decltype(exec)>;
      auto const source = source_of(exec);
      for (Algorithm algorithm : algorithms_on(exec)) {
        options.algorithm = algorithm;
        Results<T, std::int32_t, typename Exec::memory_space> const out(meant.rows(), meant.width);
        Answer<T> answer;
        if (algorithm == Algorithm::automatic) {
          Plan<Exec> plan(exec, shape_of<std::int32_t>(source, meant.width), options);
          plan(source, nothing, out.indices, per_row(nothing, out.counts));
          exec.fence();
          answer = out.fetch();
          answer.values.clear();
        } else {
          top_k(exec, source, out.values, out.indices, per_row(nothing, out.counts), options);
          exec.fence();
          answer = out.fetch();
        }
        validation.expect(meant, truth, answer, options, [&] {
          return std::string(exec.name()) + ", rows = " + std::to_string(meant.rows()) +
                 ", width = " + std::to_string(meant.width) + ", seed = " + std::to_string(seed);
        });
      }
    });
  }
}

struct Size {
  std::int64_t rows, longest, width;
};
constexpr Size sizes[] = {
    {1, 20, 4}, {7, 40, 64}, {100, 300, 10}, {5, 5000, 1100}, {3, 60'000, 30}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("ragged rows", "[contract][rows]", RowTypes) {
  Validation validation;
  std::uint64_t seed = 1;
  for (Size const& size : sizes)
    for (Input input : {Input::random_bits, Input::few_values, Input::descending}) {
      auto const question =
          ragged_question<TestType>(size.rows, size.longest, size.width, input, ++seed);
      ask_everyone(question, seed, "ragged by int32", validation,
                   [&](auto const& exec, Options const& options) {
                     return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t>(exec,
                                                                                           question)
                         .ragged_rows(options);
                   });
      ask_everyone(question, seed, "ragged by int64, counted", validation,
                   [&](auto const& exec, Options const& options) {
                     return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int64_t>(exec,
                                                                                           question)
                         .ragged_rows_counted(options);
                   });
    }
  validation.close();
}

/// What a step of a server may be: k is far beyond all rows, or there is no key at all.
TEMPLATE_LIST_TEST_CASE("ragged rows with hardly any key", "[contract][rows]", RowTypes) {
  Validation validation;
  std::uint64_t seed = 50;
  for (Size const& size : {Size{1, 0, 8}, Size{2, 0, 256}, Size{4, 0, 2048}, Size{64, 0, 20'000},
                           Size{70, 3, 600}, Size{33, 20, 2048}}) {
    auto question =
        ragged_question<TestType>(size.rows, size.longest, size.width, Input::random_bits, ++seed);
    if (size.longest == 0) question.keys.clear(), question.begins.assign(size.rows + 1, 0);
    ask_everyone(question, seed, "hardly any key", validation,
                 [&](auto const& exec, Options const& options) {
                   return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int64_t>(exec,
                                                                                         question)
                       .ragged_rows_counted(options);
                 });
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("ragged rows with a k for each", "[contract][rows]", RowTypes) {
  Validation validation;
  std::uint64_t seed = 100;
  for (Size const& size : sizes) {
    auto question =
        ragged_question<TestType>(size.rows, size.longest, size.width, Input::random_bits, ++seed);
    draw_ks(question, seed);
    ask_everyone(question, seed, "ragged, wanted and counts", validation,
                 [&](auto const& exec, Options const& options) {
                   return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t>(exec,
                                                                                         question)
                       .ragged_rows_wanting(options);
                 });
    ask_everyone(question, seed, "ragged, by a Plan", validation,
                 [&](auto const& exec, Options const& options) {
                   return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int64_t>(exec,
                                                                                         question)
                       .ragged_rows_by_plan(options);
                 });
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("equal rows with a k for each", "[contract][rows]", RowTypes) {
  Validation validation;
  std::uint64_t seed = 200;
  for (Size const& size : {Size{2, 20, 20}, Size{100, 200, 10}, Size{3, 50'000, 300},
                           Size{4, 3000, 2000}, Size{2, 270'000, 300}}) {
    auto question =
        uniform_question(make_keys<TestType>(Input::random_bits, size.rows * size.longest, ++seed),
                         size.rows, size.longest, size.width);
    ask_everyone(
        question, seed, "counted alone", validation, [&](auto const& exec, Options const& options) {
          return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t>(exec, question)
              .equal_rows_counted(options);
        });
    draw_ks(question, seed);
    ask_everyone(question, seed, "wanted by the device", validation,
                 [&](auto const& exec, Options const& options) {
                   return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int64_t>(exec,
                                                                                         question)
                       .equal_rows_wanting(options);
                 });
    ask_everyone(question, seed, "wanted by the host", validation,
                 [&](auto const& exec, Options const& options) {
                   return RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t>(exec,
                                                                                         question)
                       .equal_rows_wanting_by_host(options);
                 });
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("equal rows with a k for each, by what selects within delegate",
                        "[contract][rows]", RowTypes) {
  Validation validation;
  std::uint64_t seed = 300;
  for (Size const& size : {Size{3, 50'000, 300}, Size{4, 20'000, 256}, Size{1, 300'000, 100}}) {
    auto question =
        uniform_question(make_keys<TestType>(Input::few_values, size.rows * size.longest, ++seed),
                         size.rows, size.longest, size.width);
    draw_ks(question, seed);
    for (Options options : two_options<TestType>(seed)) {
      auto const truth = solve(question, options);
      options.algorithm = Algorithm::delegate;
      for (Algorithm inner : {Algorithm::radix, Algorithm::bucket, Algorithm::bitonic}) {
        options.inner = inner;
        for_each_space([&](auto const& exec) {
          RowsCall<std::decay_t<decltype(exec)>, TestType, std::int64_t> call(exec, question);
          validation.expect(question, truth, call.equal_rows_wanting(options), options, [&] {
            return std::string(exec.name()) + ", " + name(inner) + " within";
          });
        });
      }
    }
  }
  validation.close();
}

TEST_CASE("ragged rows without a row, and without a key", "[contract][rows]") {
  for_each_space([](auto const& exec) {
    using Memory = typename std::decay_t<decltype(exec)>::memory_space;
    Kokkos::View<float*, Memory> const keys("test::keys", 0);
    for (int rows : {0, 3})
      for (Algorithm algorithm : algorithms_on(exec)) {
        Kokkos::View<std::int32_t*, Memory> const offsets("test::offsets", rows + 1);
        Kokkos::View<float**, Memory> const values("test::values", rows, 2);
        Kokkos::View<std::uint32_t**, Memory> const indices("test::indices", rows, 2);
        Options const options{.order = Order::smallest, .algorithm = algorithm};
        INFO(exec.name() << ", " << describe(options) << ", rows = " << rows);
        CHECK_NOTHROW(top_k(exec, ragged(keys, offsets), values, indices, options));
        exec.fence();
        auto const value = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
        auto const index = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
        for (int row = 0; row < rows; ++row)
          for (int place = 0; place < 2; ++place) {
            CHECK(value(row, place) == std::numeric_limits<float>::infinity());
            CHECK(index(row, place) == std::numeric_limits<std::uint32_t>::max());
          }
      }
  });
}

TEMPLATE_LIST_TEST_CASE("offsets that descend or are no places of keys", "[contract][rows]",
                        RowTypes) {
  Validation validation;
  std::int64_t const far = std::int64_t{1} << 62;
  auto const keys = make_keys<TestType>(Input::random_bits, 1000, 400);
  for (std::vector<std::int64_t> const& offsets :
       {std::vector<std::int64_t>{0, 200, 100, 400, 5000, 5000},
        {-300, 50, -7, 1000, 990, 1010, 20},
        {1000, 999, 1001, 0, 1000, -1, 1000},
        {far, -far, far},
        {-far, far, -far},
        {-5, -1},
        {1001, 1002}})
    for (Options const& options : two_options<TestType>(400 + offsets.size()))
      ask_lying(LyingOffsets<TestType>(keys, offsets, 30), options, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("rows of a matrix that are not as long as it is wide", "[contract][rows]",
                        RowTypes) {
  Validation validation;
  std::uint64_t seed = 500;
  for (Size const& size : {Size{1, 20, 4}, Size{9, 40, 64}, Size{100, 300, 10}, Size{5, 5000, 1100},
                           Size{40, 9000, 60}, Size{3, 60'000, 30}}) {
    PartsOfRows<TestType> const from_first(size.rows, size.longest, size.width, Input::random_bits,
                                           ++seed, true);
    PartsOfRows<TestType> const anywhere(size.rows, size.longest, size.width, Input::few_values,
                                         ++seed, false);
    ask_source(
        from_first.meant,
        [&]<class Exec>(Exec const&) {
          using Memory = typename Exec::memory_space;
          return ktopk::rows(
              copied_to<Memory, Kokkos::LayoutRight>(from_first.keys, size.rows, size.longest),
              copied_to<Memory>(from_first.ends));
        },
        seed, validation);
    ask_source(
        anywhere.meant,
        [&]<class Exec>(Exec const&) {
          using Memory = typename Exec::memory_space;
          return ktopk::rows(
              copied_to<Memory, Kokkos::LayoutLeft>(anywhere.keys, size.rows, size.longest),
              copied_to<Memory>(anywhere.begins), copied_to<Memory>(anywhere.ends));
        },
        seed, validation);
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("rows that begin and end anywhere among some keys", "[contract][rows]",
                        RowTypes) {
  Validation validation;
  std::uint64_t seed = 600;
  for (Size const& size :
       {Size{1, 20, 4}, Size{60, 300, 10}, Size{5, 5000, 1100}, Size{4, 60'000, 30}}) {
    std::int64_t const all = 2 * size.longest;
    Question<TestType> meant{{}, {0}, {}, size.width};
    auto const keys = make_keys<TestType>(Input::random_bits, all, ++seed);
    std::vector<std::int32_t> begins, ends;
    for (std::int64_t row = 0; row < size.rows; ++row) {
      auto const begin = static_cast<std::int64_t>(random_bits(seed, row) % size.longest);
      auto const end = row % 4 == 3 ? all + 9 : begin + size.longest / 2;
      begins.push_back(static_cast<std::int32_t>(begin));
      ends.push_back(static_cast<std::int32_t>(end));
      meant.keys.insert(meant.keys.end(), keys.begin() + begin, keys.begin() + std::min(end, all));
      meant.begins.push_back(std::ssize(meant.keys));
      meant.ks.push_back(size.width);
    }
    ask_source(
        meant,
        [&]<class Exec>(Exec const&) {
          using Memory = typename Exec::memory_space;
          return ragged(copied_to<Memory>(keys), copied_to<Memory>(begins),
                        copied_to<Memory>(ends));
        },
        seed, validation);
  }
  validation.close();
}

/// More and longer rows than keys could fill without overlap: too many for groups to share, and too many for the buffer.
TEST_CASE("long rows that overlap", "[contract][rows]") {
  Validation validation;
  for (auto [n, rows, width] : {std::tuple(150'000, 40, 2000), std::tuple(20'000, 1200, 100),
                                std::tuple(300'000, 7, 40'000), std::tuple(300'000, 9, 300)}) {
    std::vector<std::int64_t> offsets;
    for (int row = 0; row <= rows; ++row) offsets.push_back(row % 2 == 0 ? row : n - row);
    auto const keys = make_keys<float>(Input::normal, n, 401);
    ask_lying(LyingOffsets<float>(keys, offsets, width), {}, validation);
  }
  validation.close();
}

TEST_CASE("ragged rows of every other key", "[contract][rows]") {
  Validation validation;
  auto const question = ragged_question<std::int16_t>(20, 500, 8, Input::uniform, 300);
  auto const truth = solve(question, {});
  for_each_space([&](auto const& exec) {
    using Memory = typename std::decay_t<decltype(exec)>::memory_space;
    Kokkos::View<std::int16_t**, Kokkos::LayoutRight, Memory> const pairs("test::pairs",
                                                                          question.keys.size(), 2);
    auto const host = Kokkos::create_mirror_view(pairs);
    for (std::size_t i = 0; i < question.keys.size(); ++i) host(i, 1) = question.keys[i];
    Kokkos::deep_copy(pairs, host);
    Kokkos::View<std::int64_t*, Memory> const offsets("test::offsets", question.begins.size());
    auto const host_offsets = Kokkos::create_mirror_view(offsets);
    std::copy(question.begins.begin(), question.begins.end(), host_offsets.data());
    Kokkos::deep_copy(offsets, host_offsets);
    Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const indices("test::indices", 20, 8);
    for (Algorithm algorithm : algorithms_on(exec)) {
      Options const options{.algorithm = algorithm};
      top_k(exec, ragged(Kokkos::subview(pairs, Kokkos::ALL, 1), offsets), nothing, indices,
            options);
      exec.fence();
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
      Answer<std::int16_t> const answer{{}, {found.data(), found.data() + found.size()}, {}};
      validation.expect(question, truth, answer, options, [&] { return std::string(exec.name()); });
    }
  });
  validation.close();
}

}  // namespace ktopk::testing
