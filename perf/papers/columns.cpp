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
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>

#include "alternate.hpp"
#include "random.hpp"

// One, two and three key columns and a value, after section 6.6 of Shanbhag et al. (SIGMOD 2018): columns [keys of a column].
// Several columns are also packed into one of 64 bits, outside the times. Three floats are 12 bytes, more than
// ktopk::lexicographic takes: two selections and three sorts of k rows are their answer. Beside them is a key of a float and two
// integers of 16 bits. The answers are compared; then come the least times of some rounds, and their ratio to one key column by
// the same algorithm.

namespace columns {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
template <class T>
using Column = Kokkos::View<T*, Memory>;
using ktopk::Algorithm;
using ktopk::Sorted;
using ktopk::papers::Method;
using ktopk::papers::uninitialized;

struct Table {
  Column<float> first, second, third;
  Column<std::int16_t> high, low;  // third and fourth, non-negative
  Column<std::uint64_t> packed, packed_three;
  Column<std::int32_t> value;

  explicit Table(std::int64_t n)
      : first(uninitialized("first"), n),
        second(uninitialized("second"), n),
        third(uninitialized("third"), n),
        high(uninitialized("high"), n),
        low(uninitialized("low"), n),
        packed(uninitialized("packed"), n),
        packed_three(uninitialized("packed_three"), n),
        value(uninitialized("value"), n) {}
};

/// Uniform keys in [0, 1); the first and the second column have so many different ones.
struct Make {
  Table table;
  double levels, levels_of_second;

  KOKKOS_FUNCTION static double draw(int column, std::int64_t i) {
    return 1 - ktopk::papers::uniform(static_cast<std::uint64_t>(column),
                                      static_cast<std::uint64_t>(i));
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    // Bits of floats that are not negative are in the order of the floats.
    auto const first = static_cast<float>(Kokkos::floor(draw(1, i) * levels) / levels);
    auto const second =
        static_cast<float>(Kokkos::floor(draw(2, i) * levels_of_second) / levels_of_second);
    auto const rest = static_cast<std::uint32_t>(draw(3, i) * 0x1p15) << 16 |
                      static_cast<std::uint32_t>(draw(4, i) * 0x1p15);
    auto const leading = static_cast<std::uint64_t>(Kokkos::bit_cast<std::uint32_t>(first)) << 32;
    table.first(i) = first;
    table.second(i) = second;
    table.third(i) = static_cast<float>(Kokkos::floor(draw(5, i) * 0x1p10) / 0x1p10);
    table.high(i) = static_cast<std::int16_t>(rest >> 16);
    table.low(i) = static_cast<std::int16_t>(rest & 0x7fff);
    table.packed(i) = leading | Kokkos::bit_cast<std::uint32_t>(second);
    table.packed_three(i) = leading | rest;
    table.value(i) = static_cast<std::int32_t>(i);
  }
};

Table make_table(Exec const& exec, std::int64_t n, double levels,
                 double levels_of_second = 0x1p53) {
  Table const table(n);
  Kokkos::parallel_for("table", Kokkos::RangePolicy<Exec>(exec, 0, n),
                       Make{table, levels, levels_of_second});
  return table;
}

/// Two columns in the order of their floats, which are not negative.
struct FirstTwo {
  Column<float> first, second;
  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    return std::uint64_t{Kokkos::bit_cast<std::uint32_t>(first(i))} << 32 |
           Kokkos::bit_cast<std::uint32_t>(second(i));
  }
};

/// Once the k best of two columns are known, the k best of three: those above the k-th pair, and of those with that pair the
/// best by the third column.
struct ThirdOfTies {
  FirstTwo pair;
  Column<float> third;
  Column<std::uint64_t> best;  // pairs, sorted
  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    std::uint64_t const own = pair(i), last = best(best.extent(0) - 1);
    if (own != last) return own > last ? std::uint64_t{2} << 32 : 0;
    return std::uint64_t{1} << 32 | Kokkos::bit_cast<std::uint32_t>(third(i));
  }
};

/// What a function of a row says of those of a list.
template <class F, class Rows>
struct OfListed {
  F f;
  Rows rows;
  KOKKOS_FUNCTION auto operator()(std::int64_t j) const { return f(rows(j)); }
};

/// Rows in the order of the three columns, sorted by the last one first.
struct InOrder {
  Column<std::int32_t> ascending, by_third, by_pair, rows;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t j) const { return ascending(by_third(j)); }
  KOKKOS_FUNCTION void operator()(int j) const { rows(j) = ascending(by_third(by_pair(j))); }
};

/// The rows of the k best keys of three floats, sorted.
class ThreeFloats {
 public:
  ThreeFloats(Exec const& exec, Table const& table, Column<std::int32_t> const& rows,
              Algorithm algorithm)
      : m_exec(exec), m_k(static_cast<std::int64_t>(rows.extent(0))), m_found("found", m_k) {
    auto const n = static_cast<std::int64_t>(table.first.extent(0));
    Column<std::uint64_t> const best("best", m_k);
    m_order = {list("ascending"), list("by third"), list("by pair"), rows};
    FirstTwo const pair{table.first, table.second};
    using ktopk::generate;
    plan_by(algorithm, generate<std::uint64_t>(n, pair), best, ktopk::nothing, Sorted::yes);
    plan_by(algorithm, generate<std::uint64_t>(n, ThirdOfTies{pair, table.third, best}),
            ktopk::nothing, m_found, Sorted::no);
    plan(m_found, m_order.ascending, ktopk::nothing, {.order = ktopk::Order::smallest});
    plan(generate<float>(m_k, OfListed{table.third, m_order.ascending}), ktopk::nothing,
         m_order.by_third, {});
    plan(generate<std::uint64_t>(m_k, OfListed{pair, m_order}), ktopk::nothing, m_order.by_pair,
         {});
  }
  void operator()() const {
    for (auto const& step : m_steps) step();
    Kokkos::parallel_for("in order",
                         Kokkos::RangePolicy<Exec, int>(m_exec, 0, static_cast<int>(m_k)), m_order);
  }

 private:
  Column<std::int32_t> list(char const* name) const {
    return Column<std::int32_t>(std::string(name), static_cast<std::size_t>(m_k));
  }

  template <class Keys, class Values, class Indices>
  void plan_by(Algorithm algorithm, Keys const& keys, Values const& values, Indices const& indices,
               Sorted sorted) {
    ktopk::Options const options{.sorted = sorted, .algorithm = algorithm};
    if (algorithm == Algorithm::bitonic)
      plan(ktopk::for_bitonic(keys), values, indices, options);
    else
      plan(keys, values, indices, options);
  }
  template <class Keys, class Values, class Indices>
  void plan(Keys const& keys, Values const& values, Indices const& indices,
            ktopk::Options const& options) {
    auto const plan = std::make_shared<ktopk::Plan<Exec>>(
        m_exec, ktopk::shape_of<std::int32_t>(keys, m_k), options);
    m_steps.push_back([=] { (*plan)(keys, values, indices); });
  }

  Exec m_exec;
  std::int64_t m_k;
  Column<std::int32_t> m_found;
  InOrder m_order;
  std::vector<std::function<void()>> m_steps;
};

/// The same by the host.
Column<std::int32_t> three_floats_by_host(Table const& table, int k) {
  auto const copy = [](auto const& column) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), column);
  };
  auto const first = copy(table.first), second = copy(table.second), third = copy(table.third);
  std::vector<std::int32_t> rows(first.extent(0));
  std::iota(rows.begin(), rows.end(), 0);
  std::partial_sort(rows.begin(), rows.begin() + k, rows.end(), [&](int a, int b) {
    return std::tuple(-first(a), -second(a), -third(a), a) <
           std::tuple(-first(b), -second(b), -third(b), b);
  });
  Column<std::int32_t> const best("best", k);
  auto const mirror = Kokkos::create_mirror_view(best);
  std::copy(rows.begin(), rows.begin() + k, mirror.data());
  Kokkos::deep_copy(best, mirror);
  return best;
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
  /// Of three floats.
  Selection(Exec const& exec, std::string name, Table const& table, int k, Algorithm algorithm)
      : m_name(std::move(name)), m_rows("rows", k), m_values("values", k) {
    m_select = [exec, table, select = ThreeFloats(exec, table, m_rows, algorithm), rows = m_rows,
                values = m_values] {
      select();
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
  std::vector<Case> all(4);
  auto const add = [&](Case& of, char const* columns, auto const& keys, Algorithm algorithm) {
    of.emplace_back(exec, std::string(columns) + ktopk::name(algorithm), table, keys, k, algorithm);
  };
  auto const two = ktopk::lexicographic(table.first, table.second);
  auto const three = ktopk::lexicographic(table.first, table.high, table.low);
  for (Algorithm const algorithm : {Algorithm::bitonic, Algorithm::radix, Algorithm::automatic}) {
    add(all[0], "KV,", table.first, algorithm);
    add(all[1], "KKV packed,", table.packed, algorithm);
    add(all[2], "KKKV in 8 bytes packed,", table.packed_three, algorithm);
    all[3].emplace_back(exec, std::string("KKKV of floats,") + ktopk::name(algorithm), table, k,
                        algorithm);
  }
  add(all[1], "KKV,", ktopk::for_bitonic(two), Algorithm::bitonic);
  add(all[2], "KKKV in 8 bytes,", ktopk::for_bitonic(three), Algorithm::bitonic);
  for (Algorithm const algorithm : {Algorithm::radix, Algorithm::automatic}) {
    add(all[1], "KKV,", two, algorithm);
    add(all[2], "KKKV in 8 bytes,", three, algorithm);
  }
  return all;
}

/// Whether three floats are compared as a host does; values are the numbers of rows.
bool agree_with_host(Case const& three_floats, Table const& table, int k) {
  three_floats.front()();
  return ktopk::papers::same(three_floats.front().name(), three_floats_by_host(table, k),
                             three_floats.front().values());
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
  // In the first table the second column decides nearly always, in the next the third one and the position, too.
  bool right = true;
  for (double const levels_of_second : {0x1p53, 4.0}) {
    Table const table = make_table(exec, 50000, 16, levels_of_second);
    auto const few = cases(exec, table, 100);
    right = agree(few) && agree_with_host(few[3], table, 100) && right;
  }
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
