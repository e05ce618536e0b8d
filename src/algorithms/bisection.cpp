// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bisection.hpp"

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../host_scan.hpp"
#include "../instantiate.hpp"
#include "../key_numbers.hpp"
#include "../short_rows.hpp"

namespace ktopk::detail {

/// The thresholds in question: at least k ranks reach `low`, fewer are above `most`.
template <class Bits>
struct Thresholds {
  Bits low, most;
  int reaching;  // how many ranks reach low
  int above;     // how many are above most
};

struct BisectionLimits {
  int max_iterations;
  double epsilon;
};

/// Where to cut the interval, and when it is narrow enough.
template <class Bits>
class Bisector {
 public:
  KOKKOS_FUNCTION Bisector(RankMap<Bits> const& rank, BisectionLimits const& limits, Bits best)
      : m_numbers{rank}, m_limits(limits), m_narrow(limits.epsilon * size(m_numbers(best))) {}

  KOKKOS_FUNCTION bool is_done(Thresholds<Bits> const& in, int k, int step) const {
    if (in.reaching <= k || in.low >= in.most) return true;
    if (m_limits.max_iterations > 0 && step >= m_limits.max_iterations) return true;
    return m_limits.epsilon > 0 && KeyNumbers<Bits>::is_finite(m_narrow) &&
           size(m_numbers(in.most) - m_numbers(in.low)) <= m_narrow;
  }

  /// Above in.low and not above in.most. Halves the interval between floating-point numbers, as long as
  /// these are finite and other than its ends; after as many steps as a rank has bits, that of ranks.
  KOKKOS_FUNCTION Bits middle(Thresholds<Bits> const& in, int step) const {
    if (m_numbers.floating() && step < std::numeric_limits<Bits>::digits) {
      double const low = m_numbers(in.low), most = m_numbers(in.most);
      double const middle = low + (most - low) / 2;
      Bits const rank = m_numbers.rank_of(middle);
      if (KeyNumbers<Bits>::is_finite(middle) && rank > in.low && rank <= in.most) return rank;
    }
    return static_cast<Bits>(in.low + static_cast<Bits>(in.most - in.low) / 2 + 1);
  }

 private:
  KOKKOS_FUNCTION static double size(double number) { return number < 0 ? -number : number; }

  KeyNumbers<Bits> m_numbers;
  BisectionLimits m_limits;
  double m_narrow;
};

/// Narrows `in` until k ranks reach it, one rank is left, or the limits say so; count(rank) tells how
/// many reach a rank. At most twice as many steps as a rank has bits.
template <class Bits, class CountReaching>
KOKKOS_FUNCTION void bisect(Thresholds<Bits>& in, int k, RankMap<Bits> const& rank,
                            BisectionLimits const& limits, CountReaching const& count) {
  Bisector<Bits> const bisector(rank, limits, in.most);
  int step = 0;
  for (; !bisector.is_done(in, k, step); ++step) {
    Bits const middle = bisector.middle(in, step);
    int const reaching = count(middle);
    if (reaching >= k) {
      in.low = middle;
      in.reaching = reaching;
    } else {
      in.most = static_cast<Bits>(middle - 1);
      in.above = reaching;
    }
  }
  tally(Count::iterations, step);
}

/// A row's ranks on a host, and in the cache those that thresholds in question can tell apart: all of a
/// row of up to `room` keys from the start, of a longer one when as few are left.
template <class Bits, class Item>
class HostRanks {
 public:
  HostRanks(KeyScan<Bits, Item> const& scan, int n) : m_scan(scan), m_n(n) {}

  /// All thresholds of the row.
  Thresholds<Bits> read() {
    Extremes<Bits> extremes;
    m_scan.blocks(0, m_n, [&](Stored<Bits> const* from, std::int64_t first, int count) {
      Bits* const ranks = m_n <= room ? m_ranks + first : m_ranks;
      m_scan.loops.ranks(from, count, m_scan.map.rank, ranks);
      m_scan.loops.extremes(ranks, count, extremes);
    });
    if (m_n <= room) m_held = m_n;
    tally(Count::keys_read, m_n);
    return {extremes.least, extremes.most, m_n, 0};
  }

  /// How many ranks reach `rank`, which is above in.low and not above in.most.
  int reaching(Bits rank, Thresholds<Bits> const& in) {
    if (m_held == 0 && in.reaching - in.above <= room) hold(in);
    if (m_held > 0) return m_above + m_scan.loops.reaching(m_ranks, m_held, rank);
    int reaching = 0;
    m_scan.blocks(0, m_n, [&](Stored<Bits> const* from, std::int64_t, int count) {
      m_scan.loops.ranks(from, count, m_scan.map.rank, m_ranks);
      reaching += m_scan.loops.reaching(m_ranks, count, rank);
    });
    tally(Count::keys_read, m_n);
    return reaching;
  }

 private:
  static constexpr int room = 8192;

  void hold(Thresholds<Bits> const& in) {
    RankRange<Bits> const range{in.low, static_cast<Bits>(in.most - in.low)};
    std::uint16_t hits[filter_block + 1];
    m_scan.blocks(0, m_n, [&](Stored<Bits> const* from, std::int64_t, int count) {
      int const found = m_scan.loops.filter(from, count, m_scan.map.rank, range, hits);
      for (int h = 0; h < found; ++h) m_ranks[m_held++] = m_scan.map.rank(from[hits[h]]);
    });
    m_above = in.above;
    tally(Count::keys_read, m_n);
  }

  KeyScan<Bits, Item> m_scan;
  int m_n;
  int m_held = 0;
  int m_above = 0;
  ThreadArray<Bits> m_memory{std::min(m_n, room)};
  Bits* const m_ranks = m_memory.get();
};

inline constexpr int team_head_bytes = 32;  // extremes, counters, slots

/// A row as a team sees it; its ranks in the team's memory where they fit.
template <class Group, class Bits, class Item>
class TeamRanks {
 public:
  KOKKOS_FUNCTION TeamRanks(Group const& group, Problem<Bits> const& problem,
                            ItemMap<Bits, Item> const& map, std::int64_t row, bool holds)
      : m_group(group),
        m_map(map),
        m_keys(problem.row_keys(row)),
        m_step(problem.key_step),
        m_n(static_cast<int>(problem.shape.n)),
        m_ranks(holds ? group.template shared<Bits>(team_head_bytes) : nullptr) {}

  KOKKOS_FUNCTION Bits operator()(std::int64_t i) const {
    return m_ranks != nullptr ? m_ranks[i] : m_map.rank(m_keys[i * m_step]);
  }
  /// Greater for the position that wins a tie.
  KOKKOS_FUNCTION Item place(std::int64_t i) const {
    return m_map.join(Bits{0}, static_cast<std::uint64_t>(i));
  }

  KOKKOS_FUNCTION Thresholds<Bits> read() {
    auto* const extremes = m_group.template shared<Count64>();
    if (m_group.rank() == 0) {
      extremes[0] = ~0ull;
      extremes[1] = 0;
      counters()[0] = *slots() = 0;
    }
    m_group.barrier();
    Count64 least = ~0ull, most = 0;
    each(m_group, 0, m_n, [&](std::int64_t i) {
      Bits const rank = m_map.rank(m_keys[i * m_step]);
      if (m_ranks != nullptr) m_ranks[i] = rank;
      least = rank < least ? rank : least;
      most = rank > most ? rank : most;
    });
    Kokkos::atomic_min(&extremes[0], least);
    Kokkos::atomic_max(&extremes[1], most);
    m_group.barrier();
    return {static_cast<Bits>(extremes[0]), static_cast<Bits>(extremes[1]), m_n, 0};
  }

  /// How many positions are wanted. Three counters in turn: one is added to, while a slow thread may
  /// still read the one before and the next is cleared.
  template <class Wanted>
  KOKKOS_FUNCTION int count(Wanted const& wanted) {
    unsigned* const counter = counters() + m_turn;
    m_turn = (m_turn + 1) % 3;
    if (m_group.rank() == 0) counters()[m_turn] = 0;
    unsigned here = 0;
    each(m_group, 0, m_n, [&](std::int64_t i) { here += wanted(i) ? 1u : 0u; });
    if (here > 0) m_group.fetch_add(counter, here);
    m_group.barrier();
    return static_cast<int>(*counter);
  }

  /// The second stage: the place from which on the borderline is taken.
  KOKKOS_FUNCTION Item last_place(Thresholds<Bits> const& in, int k) {
    Item low = 0;
    if (in.reaching <= k) return low;
    Item most = static_cast<Item>(m_map.position_mask);
    while (low < most) {
      Item const middle = low + (most - low) / 2 + 1;
      int const taken = count([&](std::int64_t i) {
        Bits const rank = (*this)(i);
        return rank >= in.low && rank <= in.most && place(i) >= middle;
      });
      if (taken >= k - in.above)
        low = middle;
      else
        most = middle - 1;
    }
    return low;
  }

  KOKKOS_FUNCTION void emit(WinnerSink<Bits, Item> const& sink, std::int64_t row,
                            Thresholds<Bits> const& in, Item last) const {
    each(m_group, 0, m_n, [&](std::int64_t i) {
      Bits const rank = (*this)(i);
      if (rank > in.most || (rank >= in.low && place(i) >= last))
        sink.put(row, m_group.fetch_add(slots(), 1u),
                 m_map.join(rank, static_cast<std::uint64_t>(i)));
    });
  }

 private:
  KOKKOS_FUNCTION unsigned* counters() const { return m_group.template shared<unsigned>(16); }
  KOKKOS_FUNCTION unsigned* slots() const { return counters() + 3; }

  Group const& m_group;
  ItemMap<Bits, Item> m_map;
  Stored<Bits> const* m_keys;
  std::int64_t m_step;
  int m_n;
  Bits* m_ranks;
  int m_turn = 0;
};

template <class Bits, class Item>
struct BisectRows {
  WinnerSink<Bits, Item> sink;
  BisectionLimits limits;
  ShortRows<Bits, Item> short_rows;
  bool is_short;     // a host stores whole rows at once
  bool holds_ranks;  // a team has room for a row's ranks

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    auto const k = static_cast<int>(sink.problem.winners(row));
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((select_alone(row, k);))
    } else {
      if (k > 0) select_together(group, row, k);
    }
  }

  void select_alone(std::int64_t row, int k) const {
    Problem<Bits> const& problem = sink.problem;
    if (k > 0) {
      KeyScan<Bits, Item> const scan{short_rows.loops, problem.row_keys(row), problem.key_step,
                                     sink.map};
      HostRanks<Bits, Item> ranks(scan, static_cast<int>(problem.shape.n));
      Thresholds<Bits> in = ranks.read();
      bisect(in, k, sink.map.rank, limits, [&](Bits rank) { return ranks.reaching(rank, in); });
      emit(scan, row, in, k);
    }
    if (is_short) finish(row, k);
  }

  void emit(KeyScan<Bits, Item> const& scan, std::int64_t row, Thresholds<Bits> const& in,
            int k) const {
    Borderline<Bits> borderline({in.low, static_cast<Bits>(in.most - in.low)}, in.reaching - k,
                                k - in.above, short_rows.last_wins());
    std::uint16_t hits[filter_block + 1];
    std::int64_t slot = 0;
    scan.blocks(0, sink.problem.shape.n,
                [&](Stored<Bits> const* from, std::int64_t first, int count) {
                  int const found = borderline.filter(scan.loops, scan.map.rank, from, count, hits);
                  if (is_short)
                    short_rows.store(row, from, hits, k);
                  else
                    sink.put_hits(row, slot, from, hits, found, first);
                  slot += found;
                });
    tally(Count::keys_read, sink.problem.shape.n);
  }

  /// What arrange does for longer rows.
  void finish(std::int64_t row, int k) const {
    Problem<Bits> const& problem = sink.problem;
    if (problem.counts) problem.counts.store(row, k);
    for (std::int64_t slot = k; slot < problem.shape.k; ++slot) problem.store_missing(row, slot);
  }

  template <class Group>
  KOKKOS_FUNCTION void select_together(Group const& group, std::int64_t row, int k) const {
    TeamRanks<Group, Bits, Item> ranks(group, sink.problem, sink.map, row, holds_ranks);
    Thresholds<Bits> in = ranks.read();
    bisect(in, k, sink.map.rank, limits, [&](Bits rank) {
      return ranks.count([&](std::int64_t i) { return ranks(i) >= rank; });
    });
    Item const last = ranks.last_place(in, k);
    ranks.emit(sink, row, in, last);
  }
};

/// Whether a host's rows are so short that their winners are known at once.
inline bool is_one_block(Device const& device, Shape const& shape) {
  return are_short_rows(device, shape) && shape.n <= filter_block;
}

template <class Item>
struct BisectionPieces {
  BisectionPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace) {
    if (!is_one_block(device, shape)) winners = Winners<Item>(pieces, shape, options);
  }
  Pieces pieces;
  Winners<Item> winners;
};

KTOPK_INLINE std::size_t Bisection<Generic>::workspace_bytes(Device const& device,
                                                             Shape const& shape,
                                                             Options const& options) {
  return bytes_of<BisectionPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Bisection<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                             void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    BisectionPieces<Item> const work(workspace, device_of(exec), shape, options);
    bool const is_short = is_one_block(device_of(exec), shape);
    constexpr std::int64_t most_held = 32 * 1024;
    auto const bytes = static_cast<std::int64_t>(shape.n * sizeof(Bits));
    bool const holds = bytes <= most_held;
    WinnerSink<Bits, Item> const sink{problem, map, work.winners.items};
    launch(
        "ktopk::bisection::rows", exec, shape.rows,
        static_cast<int>(team_head_bytes + (holds ? bytes : 0)),
        BisectRows<Bits, Item>{sink,
                               {options.max_iterations, options.epsilon},
                               {{problem, map, nullptr}, pick_host_loops<Bits>(), options.sorted},
                               is_short,
                               holds});
    if (!is_short) arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_BISECTION(Space) KTOPK_RUN_ON(Bisection<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_BISECTION)
#undef KTOPK_BISECTION

static_assert(Implementation<Bisection<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
