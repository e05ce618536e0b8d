// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fit.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

using Catch::Matchers::WithinRel;

namespace ktopk::tools {
namespace {

TimedEffort timed(Fitted const& amounts, Fitted const& figures, double known) {
  TimedEffort effort{known, amounts, 0};
  effort.measured = predicted(effort, figures);
  return effort;
}

/// Efforts of very different sizes, as a long row and a short one have.
std::vector<TimedEffort> efforts(Fitted const& figures) {
  std::vector<TimedEffort> all;
  for (double const rows : {1, 1000})
    for (double const keys : {100, 1'000'000})
      for (double const selected : {1, 5000})
        all.push_back(timed({rows, rows * keys, rows * selected}, figures, 0.5 * rows));
  return all;
}

}  // namespace

TEST_CASE("fit: the figures that times were made from") {
  Fitted const figures{0.7, 2e-4, 3e-3};
  Fitted const found = fit(efforts(figures));
  for (std::size_t i = 0; i < figures.size(); ++i)
    CHECK_THAT(found[i], WithinRel(figures[i], 1e-3));
}

TEST_CASE("fit: a figure that would be negative is small and positive") {
  Fitted const figures{0.7, -1e-4, 3e-3};
  for (double const figure : fit(efforts(figures))) CHECK(figure > 0);
  CHECK(fit(efforts(figures))[1] < 1e-5);
}

TEST_CASE("fit: a time twice too long and one twice too short are equally wrong") {
  auto all = std::vector{timed({1, 0, 0}, {1, 0, 0}, 0), timed({1, 0, 0}, {4, 0, 0}, 0)};
  CHECK_THAT(fit(all)[0], WithinRel(2.0, 1e-3));
}

TEST_CASE("fit: nothing measured gives positive figures") {
  for (double const figure : fit({})) CHECK(figure > 0);
}

}  // namespace ktopk::tools
