// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/plan.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

#include <Kokkos_Core.hpp>

#include "least_time.hpp"

// What keys that a functor makes or a mask leaves take, beside a plain call and beside a copy and a plain call:
// perf_computed [keys of a row] [rows] [k]. Each time is the least of some, by Plans, sorted.

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<float**, Kokkos::LayoutRight>;
using Marks = Kokkos::View<bool**, Kokkos::LayoutRight>;

/// Keys from -1 to 1, and marks of which `share` of 2^16 are true.
struct Fill {
  Keys keys;
  Marks marks;
  std::uint64_t share;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t i) const {
    std::uint64_t const x = mixed(row * static_cast<std::int64_t>(keys.extent(1)) + i);
    keys(row, i) = static_cast<float>(x >> 40) * 0x1p-23F - 1;
    marks(row, i) = (x & 0xffff) < share;
  }
};

struct Square {
  KOKKOS_FUNCTION float operator()(float key) const { return key * key; }
};
struct Weighted {
  Keys a;
  KOKKOS_FUNCTION float operator()(std::int64_t row, std::int64_t i) const {
    return 0.5F * a(row, i) + 1;
  }
};

/// Writes what a call would compute.
struct CopySquares {
  Keys from, to;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t i) const {
    to(row, i) = Square{}(from(row, i));
  }
};
struct CopyWeighted {
  Weighted f;
  Keys to;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t i) const {
    to(row, i) = f(row, i);
  }
};
struct CopyMarked {
  Keys from;
  Marks marks;
  Keys to;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t i) const {
    to(row, i) = marks(row, i) ? from(row, i) : -Kokkos::Experimental::infinity_v<float>;
  }
};

/// A team has a part of a row.
template <class Body>
struct EachKey {
  Body body;
  std::int64_t n, part;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const parts = (n + part - 1) / part, row = team.league_rank() / parts;
    std::int64_t const begin = team.league_rank() % parts * part;
    std::int64_t const end = begin + part < n ? begin + part : n;
    Body const own = body;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                         [&](std::int64_t i) { own(row, i); });
  }
};

class Comparison {
 public:
  static constexpr int calls = 9;

  Comparison(Exec const& exec, std::int64_t rows, std::int64_t n, std::int64_t k)
      : keys("keys", rows, n),
        marks("marks", rows, n),
        m_exec(exec),
        m_copy("copy", rows, n),
        m_values("values", rows, k),
        m_indices("indices", rows, k),
        m_plan(exec, ktopk::make_shape<float>(rows, n, k)) {
    fill(0x8000);
    m_plain = least_microseconds(exec, calls, [&] { m_plan(keys, m_values, m_indices); });
    std::printf("%lld x %lld, k = %lld: plain %.1f us\n", static_cast<long long>(rows),
                static_cast<long long>(n), static_cast<long long>(k), m_plain);
  }

  void fill(std::uint64_t share) { for_each(Fill{keys, marks, share}); }

  /// \param copy  makes the functor that writes the same keys to a View
  template <class Source, class Copy>
  void report(std::string const& what, Source const& source, Copy const& copy) {
    auto const k = static_cast<std::int64_t>(m_values.extent(1));
    ktopk::Plan<Exec> plan(m_exec, ktopk::shape_of(source, k));
    double const one_call =
        least_microseconds(m_exec, calls, [&] { plan(source, m_values, m_indices); });
    double const by_copy = least_microseconds(m_exec, calls, [&] {
      for_each(copy(m_copy));
      m_plan(m_copy, m_values, m_indices);
    });
    std::printf("  %-20s %10.1f us, %5.2f of plain, %5.2f of copy and plain\n", what.c_str(),
                one_call, one_call / m_plain, one_call / by_copy);
  }

  Keys keys;
  Marks marks;

 private:
  template <class Body>
  void for_each(Body const& body) const {
    auto const rows = static_cast<std::int64_t>(keys.extent(0)),
               n = static_cast<std::int64_t>(keys.extent(1));
    constexpr std::int64_t part = 4096;
    Kokkos::parallel_for(
        "ktopk::perf::copy",
        Kokkos::TeamPolicy<Exec>(m_exec, static_cast<int>(rows * ((n + part - 1) / part)),
                                 Kokkos::AUTO),
        EachKey<Body>{body, n, part});
  }

  Exec m_exec;
  Keys m_copy;
  Keys m_values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight> m_indices;
  ktopk::Plan<Exec> m_plan;
  double m_plain;
};

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  auto const number = [&](int at, std::int64_t otherwise) {
    return argc > at ? std::stoll(argv[at]) : otherwise;
  };
  std::int64_t const n = number(1, 10'000'000), rows = number(2, 1), k = number(3, 100);
  Exec const exec;
  Comparison all(exec, rows, n, k);
  all.report("transform", ktopk::transform(all.keys, Square{}),
             [&](Keys const& to) { return CopySquares{all.keys, to}; });
  Weighted const weighted{all.keys};
  all.report("generate", ktopk::generate<float>(rows, n, weighted),
             [&](Keys const& to) { return CopyWeighted{weighted, to}; });
  for (int const percent : {1, 10, 50, 90}) {
    all.fill(0x10000u * static_cast<unsigned>(percent) / 100);
    all.report("where, " + std::to_string(percent) + " %", ktopk::where(all.keys, all.marks),
               [&](Keys const& to) { return CopyMarked{all.keys, all.marks, to}; });
  }
}
