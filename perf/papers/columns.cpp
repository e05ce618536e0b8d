// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed_bitonic.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/ktopk.hpp>
#include <ktopk/lexicographic.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>

#include "alternate.hpp"
#include "random.hpp"

// One, two and three key columns and a value, after section 6.6 of Shanbhag et al. (SIGMOD 2018): columns [keys of a column].
// Several columns are also packed into one of 64 bits, outside the times. Three floats are 12 bytes, more than
// ktopk::lexicographic takes; the third line is a float and two integers of 16 bits. The answers are compared; then come the
// least times of some rounds, and their ratio to one key column by the same algorithm.

namespace columns {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
template <class T>
using Column = Kokkos::View<T*, Memory>;
using ktopk::Algorithm;
using ktopk::papers::Method;
using ktopk::papers::uninitialized;

struct Table {
  Column<float> first, second;
  Column<std::int16_t> high, low;  // third and fourth, non-negative
  Column<std::uint64_t> packed, packed_three;
  Column<std::int32_t> value;

  explicit Table(std::int64_t n)
      : first(uninitialized("first"), n),
        second(uninitialized("second"), n),
        high(uninitialized("high"), n),
        low(uninitialized("low"), n),
        packed(uninitialized("packed"), n),
        packed_three(uninitialized("packed_three"), n),
        value(uninitialized("value"), n) {}
};

/// Uniform keys in [0, 1); the first column has so many different ones.
struct Make {
  Table table;
  double levels;

  KOKKOS_FUNCTION static double draw(int column, std::int64_t i) {
    return 1 - ktopk::papers::uniform(static_cast<std::uint64_t>(column),
                                      static_cast<std::uint64_t>(i));
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    // Bits of floats that are not negative are in the order of the floats.
    auto const first = static_cast<float>(Kokkos::floor(draw(1, i) * levels) / levels);
    auto const second = static_cast<float>(draw(2, i));
    auto const rest = static_cast<std::uint32_t>(draw(3, i) * 0x1p15) << 16 |
                      static_cast<std::uint32_t>(draw(4, i) * 0x1p15);
    auto const leading = static_cast<std::uint64_t>(Kokkos::bit_cast<std::uint32_t>(first)) << 32;
    table.first(i) = first;
    table.second(i) = second;
    table.high(i) = static_cast<std::int16_t>(rest >> 16);
    table.low(i) = static_cast<std::int16_t>(rest & 0x7fff);
    table.packed(i) = leading | Kokkos::bit_cast<std::uint32_t>(second);
    table.packed_three(i) = leading | rest;
    table.value(i) = static_cast<std::int32_t>(i);
  }
};

Table make_table(Exec const& exec, std::int64_t n, double levels) {
  Table const table(n);
  Kokkos::parallel_for("table", Kokkos::RangePolicy<Exec>(exec, 0, n), Make{table, levels});
  return table;
}

/// The rows of the k best keys, and their values.
class Selection {
 public:
  /// Of keys, or of columns that are compared one after the other.
  template <class Keys>
  Selection(Exec const& exec, std::string name, Table const& table, Keys const& keys, int k,
            Algorithm algorithm)
      : m_name(std::move(name)), m_rows("rows", k), m_values("values", k) {
    auto const plan = std::make_shared<ktopk::Plan<Exec>>(
        exec, ktopk::shape_of<std::int32_t>(keys, k), ktopk::Options{.algorithm = algorithm});
    m_select = [exec, table, keys, plan, rows = m_rows, values = m_values] {
      (*plan)(keys, ktopk::nothing, rows);
      ktopk::gather(exec, rows, ktopk::payload(table.value, values));
    };
  }
  std::string const& name() const { return m_name; }
  Column<std::int32_t> const& values() const { return m_values; }
  void operator()() const { m_select(); }

 private:
  std::string m_name;
  Column<std::int32_t> m_rows, m_values;
  std::function<void()> m_select;
};

/// Selections that have one answer, by an algorithm each.
using Case = std::vector<Selection>;

std::vector<Case> cases(Exec const& exec, Table const& table, int k) {
  std::vector<Case> all(3);
  auto const add = [&](Case& of, char const* columns, auto const& keys, Algorithm algorithm) {
    of.emplace_back(exec, std::string(columns) + ktopk::name(algorithm), table, keys, k, algorithm);
  };
  auto const two = ktopk::lexicographic(table.first, table.second);
  auto const three = ktopk::lexicographic(table.first, table.high, table.low);
  for (Algorithm const algorithm : {Algorithm::bitonic, Algorithm::radix, Algorithm::automatic}) {
    add(all[0], "KV,", table.first, algorithm);
    add(all[1], "KKV packed,", table.packed, algorithm);
    add(all[2], "KKKV in 8 bytes packed,", table.packed_three, algorithm);
  }
  add(all[1], "KKV,", ktopk::for_bitonic(two), Algorithm::bitonic);
  add(all[2], "KKKV in 8 bytes,", ktopk::for_bitonic(three), Algorithm::bitonic);
  for (Algorithm const algorithm : {Algorithm::radix, Algorithm::automatic}) {
    add(all[1], "KKV,", two, algorithm);
    add(all[2], "KKKV in 8 bytes,", three, algorithm);
  }
  return all;
}

/// Whether all selections of each case agree.
bool agree(std::vector<Case> const& cases) {
  bool right = true;
  for (Case const& one : cases) {
    for (Selection const& selection : one) selection();
    for (Selection const& selection : one)
      right =
          ktopk::papers::same(selection.name(), one.front().values(), selection.values()) && right;
  }
  return right;
}

/// "bitonic" of "KV,bitonic".
std::string algorithm_of(std::string const& name) { return name.substr(name.find(',') + 1); }

void measure(Exec const& exec, std::vector<Case> const& cases, int k) {
  std::vector<Method> methods;
  for (Case const& one : cases)
    for (Selection const& selection : one)
      methods.push_back({selection.name(), [&selection] { selection(); }});
  auto const ms = ktopk::papers::alternate(exec, methods, 9);
  for (std::size_t m = 0; m < methods.size(); ++m) {
    std::size_t one_column = 0;  // the first case comes first
    while (algorithm_of(methods[one_column].name) != algorithm_of(methods[m].name)) ++one_column;
    std::printf("%d,%s,%.4f,%.3f\n", k, methods[m].name.c_str(), ms[m], ms[m] / ms[one_column]);
  }
  std::fflush(stdout);
}

bool run(Exec const& exec, std::int64_t n) {
  // In the first table the second column decides nearly always.
  bool right = agree(cases(exec, make_table(exec, 50000, 16), 100));
  std::printf(
      "# %lld rows on %s; ratios are over one key column by the same algorithm\n"
      "k,columns,algorithm,ms,ratio\n",
      static_cast<long long>(n), exec.name());
  Table const table = make_table(exec, n, 0x1p24);
  for (int k : {32, 256}) {
    auto const selections = cases(exec, table, k);
    right = agree(selections) && right;
    measure(exec, selections, k);
  }
  return right;
}

}  // namespace columns

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  try {
    std::int64_t const n = ktopk::papers::size_argument(argc, argv, 1 << 24, 1000);
    return columns::run(columns::Exec(), n) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
