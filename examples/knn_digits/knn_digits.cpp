// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// k nearest neighbors on handwritten digits: distances with Kokkos, neighbors with ktopk::top_k.

#include "backends.hpp"
#include "digits.hpp"
#include "draw.hpp"
#include "neighbors.hpp"
#include "timings.hpp"

#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int drawn_neighbors = 3;

struct Expectation {
  int k;
  int right;  ///< of 1797: computed with NumPy by integer distances and stable sorting
};
constexpr Expectation expectations[] = {{1, 1776}, {3, 1777}};

struct Arguments {
  std::filesystem::path folder = KNN_DIGITS_FOLDER;
  bool check = false;
};

void print_usage(char const* program) {
  std::printf(
      "usage: %s [--check] [FOLDER]\n\n"
      "Classifies every handwritten digit in FOLDER by its nearest neighbors among all others.\n"
      "  --check  neither drawings nor times; ends with an error if a figure is not the expected "
      "one,\n"
      "           or if an algorithm on some backend finds other neighbors than the rest\n",
      program);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--check") == 0) {
      arguments.check = true;
    } else if (argv[i][0] == '-') {
      print_usage(argv[0]);
      std::exit(std::strcmp(argv[i], "--help") == 0 ? EXIT_SUCCESS : 2);
    } else {
      arguments.folder = argv[i];
    }
  }
  return arguments;
}

void draw_with_neighbors(Digits const& digits, HostMatrix const& nearest, int digit) {
  std::vector<Picture> pictures{{"digit " + std::to_string(digit), digits.pixels_of(digit)}};
  for (int j = 0; j < drawn_neighbors; ++j) {
    int const other = nearest(digit, j);
    pictures.push_back(
        {"a " + std::to_string(digits.labels[other]) + ": digit " + std::to_string(other),
         digits.pixels_of(other)});
  }
  int const taken_for = vote(digits, nearest, digit);
  std::printf("  A %d, and its nearest neighbors say %d%s\n", digits.labels[digit], taken_for,
              taken_for == digits.labels[digit] ? "." : ": wrong.");
  draw(pictures);
}

int first_wrong(Digits const& digits, HostMatrix const& nearest) {
  for (int digit = 0; digit < digits.count(); ++digit)
    if (vote(digits, nearest, digit) != digits.labels[digit]) return digit;
  return 0;
}

void draw_some(Digits const& digits, HostMatrix const& nearest) {
  for (int digit : {2, digits.count() / 2, first_wrong(digits, nearest)})
    draw_with_neighbors(digits, nearest, digit);
}

/// Prints the accuracy for each k, and returns whether all are as expected.
template <class Exec>
bool report_accuracy(Digits const& digits, Matrix<Exec> const& distances) {
  bool as_expected = true;
  std::printf("Leave-one-out accuracy\n");
  for (auto const [k, expected] : expectations) {
    int const right = count_right(digits, neighbors(Exec(), distances, k));
    std::printf("  k = %d   %.2f %%   %d of %d\n", k, 100.0 * right / digits.count(), right,
                digits.count());
    as_expected &= right == expected;
  }
  if (!as_expected) std::printf("  these are not the figures expected of the UCI digits\n");
  return as_expected;
}

bool equal(HostMatrix const& a, HostMatrix const& b) {
  return std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size());
}

/// Whether every algorithm finds the same neighbors on this backend as `expected`.
template <class Exec>
bool agrees(Exec const& exec, Digits const& digits, HostMatrix const& expected) {
  bool same = true;
  auto const matrix = distances(exec, digits);
  int const k = static_cast<int>(expected.extent(1));
  for (auto const& info : ktopk::algorithms()) {
    if (k > info.largest_k || equal(neighbors(exec, matrix, k, nearest(info.algorithm)), expected))
      continue;
    std::printf("  %s on %s finds other neighbors\n", info.name, Exec::name());
    same = false;
  }
  return same;
}

bool report_agreement(Digits const& digits, HostMatrix const& expected) {
  bool same = true;
  for_each_backend([&](auto const& exec) { same &= agrees(exec, digits, expected); });
  if (same) std::printf("  Every algorithm finds the same neighbors on every backend.\n");
  std::printf("\n");
  return same;
}

void print_cell(std::optional<double> ms) {
  if (ms)
    std::printf("%12.2f", *ms);
  else
    std::printf("%12s", "-");
}

template <class Pick>
void print_line(char const* name, std::vector<Timings> const& columns, Pick const& pick) {
  std::printf("  %-26s", name);
  for (auto const& column : columns) print_cell(pick(column));
  std::printf("\n");
}

void print_timings(std::vector<Timings> const& columns) {
  std::printf("  %-26s", "");
  for (auto const& column : columns) std::printf("%12s", column.backend.c_str());
  std::printf("\n");
  print_line("all distances", columns, [](Timings const& t) { return std::optional(t.distances); });
  auto const algorithms = ktopk::algorithms();
  for (std::size_t i = 0; i < algorithms.size(); ++i)
    print_line((std::string("ktopk ") + algorithms[i].name).c_str(), columns,
               [i](Timings const& t) { return t.algorithms[i]; });
  print_line("std::partial_sort", columns, [](Timings const& t) { return t.partial_sort; });
  print_line("std::nth_element + sort", columns, [](Timings const& t) { return t.nth_element; });
}

void report_timings(Digits const& digits, int k) {
  std::printf(
      "Milliseconds to find the %d nearest neighbors of all %d digits\n"
      "  The distances are in memory and the plan is made; wall clock from the call until the\n"
      "  answer is there, median of up to %d runs after one to warm up. The standard library\n"
      "  works on a row at a time, the rows shared out over the backend's %d core%s (Serial: "
      "1).\n\n",
      k, digits.count(), most_runs, Kokkos::DefaultHostExecutionSpace().concurrency(),
      Kokkos::DefaultHostExecutionSpace().concurrency() == 1 ? "" : "s");
  std::vector<Timings> columns;
  for_each_backend([&](auto const& exec) { columns.push_back(time_backend(exec, digits, k)); });
  print_timings(columns);
}

bool run(Arguments const& arguments) {
  auto const digits = read_digits(arguments.folder);
  std::printf(
      "\n%d handwritten digits of 8 x 8 pixels (UCI, E. Alpaydin and C. Kaynak), each classified\n"
      "by its nearest neighbors among all the others.\n\n",
      digits.count());
  Kokkos::DefaultExecutionSpace const exec;
  auto const matrix = distances(exec, digits);
  auto const nearest = neighbors(exec, matrix, drawn_neighbors);
  if (!arguments.check) draw_some(digits, nearest);
  bool const as_expected = report_accuracy<Kokkos::DefaultExecutionSpace>(digits, matrix);
  bool const same = report_agreement(digits, nearest);
  if (!arguments.check) report_timings(digits, drawn_neighbors);
  return as_expected && same;
}

}  // namespace

int main(int argc, char** argv) {
  auto const arguments = parse(argc, argv);
  Kokkos::ScopeGuard const kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  try {
    return run(arguments) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
}
