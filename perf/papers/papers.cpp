// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papers.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace ktopk::papers {

std::string text(char const* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::string row(std::vector<double> const& figures, int digits) {
  std::string out;
  for (double figure : figures) out += text("%s%.*f", out.empty() ? "" : " ", digits, figure);
  return out;
}

void Report::section(std::string const& title) {
  m_other = "paper";
  std::printf("\n%s\n", title.c_str());
}

void Report::note(std::string const& words) { std::printf("  . %s\n", words.c_str()); }

void Report::line(std::string const& what, std::string const& paper, std::string const& ours,
                  std::string const& agreement) {
  std::printf("  %-48s | %s %-38s | ours %-38s | %s\n", what.c_str(), m_other.c_str(),
              paper.c_str(), ours.c_str(), agreement.c_str());
  std::fflush(stdout);
}

void Report::compare(std::string const& what, std::vector<double> const& paper,
                     std::vector<double> const& ours, double tolerance, int digits,
                     std::string const& why) {
  double furthest = 0;
  for (std::size_t i = 0; i < paper.size(); ++i)
    furthest = std::max(furthest, std::abs(paper[i] - ours[i]));
  bool const agrees = furthest <= tolerance;
  ++(agrees ? m_agree : m_differ);
  std::string const by = text(" by %.*f", digits, furthest);
  line(what, row(paper, digits), row(ours, digits),
       agrees ? "agrees" : "differs" + by + (why.empty() ? "" : ": " + why));
}

void Report::claim(std::string const& what, std::string const& paper, std::string const& ours,
                   bool holds, std::string const& why) {
  ++(holds ? m_agree : m_differ);
  line(what, paper, ours, (holds ? "agrees" : "differs") + (why.empty() ? "" : ": " + why));
}

void Report::summary() const { std::printf("\n%d lines agree, %d differ\n", m_agree, m_differ); }

double normal(std::uint64_t seed, std::uint64_t i) {
  double const length = std::sqrt(-2 * std::log(uniform(seed, 2 * i)));
  return length * std::cos(6.283185307179586 * uniform(seed, 2 * i + 1));
}

double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int step = 0; step < 60; ++step) {
    double const middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

bool has_implementation(Algorithm algorithm) {
  auto const all = algorithms();
  return std::any_of(all.begin(), all.end(),
                     [=](AlgorithmInfo const& info) { return info.algorithm == algorithm; });
}

}  // namespace ktopk::papers

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const guard(argc, argv);
  auto const begin = std::chrono::steady_clock::now();
  ktopk::papers::Report report;
  ktopk::papers::rtopk(report);
  ktopk::papers::drtopk(report);
  ktopk::papers::block_max(report);
  ktopk::papers::table_2(report);
  ktopk::papers::radik(report);
  ktopk::papers::air(report);
  ktopk::papers::bitonic(report);
  report.summary();
  std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f s on %d threads\n", time.count(), ktopk::papers::Exec().concurrency());
}
