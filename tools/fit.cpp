// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ktopk::tools {
namespace {

constexpr std::size_t figures_sought = Fitted().size();
constexpr double least_figure = 1e-6;

/// The least squares as normal equations: of the figures x, matrix x = target.
struct Squares {
  std::array<Fitted, figures_sought> matrix{};
  Fitted target{};
};

/// The sum of measured / predicted + predicted / measured is least where the weighted squares are that have these weights.
double weight_of(double measured, double predicted) {
  double const from = std::max(predicted, 1e-3 * measured);
  return (from + measured) / (measured * from * from);
}

Squares squares_of(std::vector<TimedEffort> const& all, Fitted const& figures) {
  Squares squares;
  for (TimedEffort const& timed : all) {
    double const weight = weight_of(timed.measured, predicted(timed, figures));
    for (std::size_t i = 0; i < figures_sought; ++i) {
      for (std::size_t j = 0; j < figures_sought; ++j)
        squares.matrix[i][j] += weight * timed.amounts[i] * timed.amounts[j];
      squares.target[i] += weight * timed.amounts[i] * (timed.measured - timed.known);
    }
  }
  return squares;
}

/// Improves one figure after the other, and leaves none below the least.
void descend(Squares const& squares, Fitted& figures) {
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < figures_sought; ++i) {
      double rest = squares.target[i];
      for (std::size_t j = 0; j < figures_sought; ++j)
        if (j != i) rest -= squares.matrix[i][j] * figures[j];
      figures[i] = squares.matrix[i][i] > 0 ? std::max(least_figure, rest / squares.matrix[i][i])
                                            : least_figure;
    }
}

}  // namespace

double predicted(TimedEffort const& timed, Fitted const& figures) {
  double time = timed.known;
  for (std::size_t i = 0; i < figures_sought; ++i) time += timed.amounts[i] * figures[i];
  return time;
}

Fitted fit(std::vector<TimedEffort> const& all) {
  constexpr int rounds = 20;
  Fitted figures;
  figures.fill(least_figure);
  for (int round = 0; round < rounds; ++round) descend(squares_of(all, figures), figures);
  return figures;
}

}  // namespace ktopk::tools
