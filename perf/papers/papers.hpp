// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/ktopk.hpp>

#include "random.hpp"

// The papers' statements that do not depend on a machine, beside what is counted here; and one time.

namespace ktopk::papers {

using Exec = Kokkos::DefaultHostExecutionSpace;
using detail::Count;

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

/// Figures of one line, each with so many digits, as "1.23 4.56".
std::string row(std::vector<double> const& figures, int digits);

/// One line for each statement: the paper's figure, ours, and whether they agree.
class Report {
 public:
  void section(std::string const& title);
  /// What the lines up to the next section are compared with, where that is not the paper.
  void compare_with(std::string const& other) { m_other = other; }
  void note(std::string const& words);
  void line(std::string const& what, std::string const& paper, std::string const& ours,
            std::string const& agreement);
  /// Agrees where no figure is further off than `tolerance`; `why` explains a difference.
  void compare(std::string const& what, std::vector<double> const& paper,
               std::vector<double> const& ours, double tolerance, int digits = 2,
               std::string const& why = "");
  /// For statements without a figure.
  void claim(std::string const& what, std::string const& paper, std::string const& ours, bool holds,
             std::string const& why = "");
  void summary() const;

 private:
  std::string m_other = "paper";
  int m_agree = 0, m_differ = 0;
};

void rtopk(Report& report);
void drtopk(Report& report);
void block_max(Report& report);
void table_2(Report& report);
void radik(Report& report);
void air(Report& report);
void bitonic(Report& report);

/// Mean 0, deviation 1, by Box and Muller.
double normal(std::uint64_t seed, std::uint64_t i);

/// The inverse of the standard normal distribution.
double normal_quantile(double p);

template <class T>
using Rows = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Rows of key(i), i over all of them.
template <class T, class Key>
Rows<T> make_rows(std::int64_t rows, std::int64_t n, Key const& key) {
  Rows<T> const out(Kokkos::view_alloc(Kokkos::WithoutInitializing, "ktopk::papers::keys"), rows,
                    n);
  T* const to = out.data();
  Kokkos::parallel_for("ktopk::papers::keys",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, rows * n),
                       [=](std::int64_t i) { to[i] = static_cast<T>(key(i)); });
  Exec().fence();
  return out;
}

/// The sum of value(i).
template <class Value>
double parallel_sum(std::int64_t count, Value const& value) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "ktopk::papers::sum", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, count),
      [=](std::int64_t i, double& here) { here += value(i); }, sum);
  return sum;
}

bool has_implementation(Algorithm algorithm);

/// What an implementation counts on its way.
struct Counted {
  std::vector<std::int64_t> counts;
  double operator[](Count what) const {
    return static_cast<double>(counts[static_cast<std::size_t>(what)]);
  }
  /// Keys and composite keys moved.
  double moved() const {
    return (*this)[Count::keys_read] + (*this)[Count::composites_read] +
           (*this)[Count::composites_written];
  }
};

template <class T>
struct Selected {
  Rows<T> values;
  Rows<std::int32_t> indices;
  Counted counted;
};

/// The k best of each row, unsorted, by an implementation.
template <class T>
Selected<T> select(Rows<T> const& keys, std::int64_t k, Options options) {
  options.sorted = Sorted::no;
  auto const rows = static_cast<std::int64_t>(keys.extent(0));
  Selected<T> out{Rows<T>("ktopk::papers::values", rows, k),
                  Rows<std::int32_t>("ktopk::papers::indices", rows, k),
                  {}};
  detail::counters().clear();
  top_k(Exec(), keys, out.values, out.indices, options);
  Exec().fence();
  for (std::size_t c = 0; c < static_cast<std::size_t>(Count::number_of_counts); ++c)
    out.counted.counts.push_back(detail::counters()[static_cast<Count>(c)]);
  return out;
}

}  // namespace ktopk::papers
