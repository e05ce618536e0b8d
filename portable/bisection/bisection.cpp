// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bisection.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <ktopk/core/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../finish/arrange.hpp"
#include "../one_pass/ragged.hpp"
#include "../run/launch.hpp"
#include "lanes.hpp"
#include "search.hpp"

namespace ktopk::detail {

/// Halves the interval `in` until exactly k keys reach it, one threshold is left, or the limits are met. It takes at
/// most twice as many steps as a key has bits. count(threshold) returns how many keys reach a threshold.
template <class Bits, class CountReaching>
KOKKOS_FUNCTION void bisect(Interval<Bits>& in, int k, OrderedBitsMap<Bits> const& rank,
                            BisectionLimits const& limits, CountReaching const& count) {
  Bisector<Bits> const bisector(rank, limits, in.most);
  int step = 0;
  for (; !bisector.is_done(in, k, step); ++step) {
    Bits const middle = bisector.middle(in, step);
    in.take(middle, count(middle), k);
  }
  tally(Count::iterations, step);
}

inline constexpr int bisection_head_bytes = 32;  // extremes, counters, slots

/// Whether the ordered bits of a row of n keys fit the memory that a group shares.
template <class Bits>
KOKKOS_INLINE_FUNCTION bool fits_shared_memory(std::int64_t n) {
  return n * static_cast<std::int64_t>(sizeof(Bits)) <= 32 * 1024;
}

template <class Bits>
int bisection_shared_bytes(std::int64_t n) {
  auto const row = static_cast<int>(n * static_cast<std::int64_t>(sizeof(Bits)));
  return bisection_head_bytes + (fits_shared_memory<Bits>(n) ? row : 0);
}

/// The ordered bits of a row that a group has to itself, in the group's shared memory if they fit.
template <class Group, class Bits, class CompositeKey>
class RowBits {
 public:
  KOKKOS_FUNCTION RowBits(Group const& group, StoredProblem<Bits> const& problem,
                          CompositeKeyMap<Bits, CompositeKey> const& map, std::int64_t row)
      : m_group(group),
        m_map(map),
        m_keys(problem.rows.pointer(row)),
        m_step(problem.rows.step),
        m_n(static_cast<int>(problem.shape.n)),
        m_held(fits_shared_memory<Bits>(m_n) ? group.template shared<Bits>(bisection_head_bytes)
                                             : nullptr) {}

  /// Reads the row for the first interval: all thresholds between its minimum and its maximum.
  KOKKOS_FUNCTION Interval<Bits> read() {
    auto* const extremes = m_group.template shared<Count64>();
    if (m_group.rank() == 0) {
      extremes[0] = ~0ull;
      extremes[1] = 0;
      counters()[0] = *slots() = 0;
    }
    m_group.barrier();
    Bits least = std::numeric_limits<Bits>::max(), most = 0;
    each(m_group, 0, m_n, [&](std::int64_t i) {
      Bits const bits = load(i);
      if (m_held != nullptr) m_held[i] = bits;
      least = bits < least ? bits : least;
      most = bits > most ? bits : most;
    });
    Kokkos::atomic_min(&extremes[0], static_cast<Count64>(least));
    Kokkos::atomic_max(&extremes[1], static_cast<Count64>(most));
    m_group.barrier();
    tally_read();
    return {static_cast<Bits>(extremes[0]), static_cast<Bits>(extremes[1]), m_n, 0};
  }

  /// How many keys reach a threshold.
  KOKKOS_FUNCTION int reaching(Bits threshold) {
    return count([=](Bits bits, std::int64_t) { return bits >= threshold; });
  }

  /// The second stage. Returns a place: the keys in the interval that reach it are selected.
  KOKKOS_FUNCTION CompositeKey last_place(Interval<Bits> const& in, int k) {
    CompositeKey low = 0;
    if (in.reaching <= k) return low;
    CompositeKey most = static_cast<CompositeKey>(m_map.position_mask);
    while (low < most) {
      CompositeKey const middle = low + (most - low) / 2 + 1;
      int const taken = count([&](Bits bits, std::int64_t i) {
        return bits >= in.low && bits <= in.most && place(i) >= middle;
      });
      if (taken >= k - in.above)
        low = middle;
      else
        most = middle - 1;
    }
    return low;
  }

  KOKKOS_FUNCTION void store(SelectedSink<StoredRows<Bits>, CompositeKey> const& sink,
                             std::int64_t row, Interval<Bits> const& in, CompositeKey last) const {
    visit([&](Bits bits, std::int64_t i) {
      if (bits > in.most || (bits >= in.low && place(i) >= last))
        sink.put(row, m_group.fetch_add(slots(), 1u),
                 m_map.join(bits, static_cast<std::uint64_t>(i)));
    });
  }

 private:
  KOKKOS_FUNCTION Bits load(std::int64_t i) const { return m_map.rank(m_keys[i * m_step]); }
  /// Returns a greater number for the position that the tie rule prefers.
  KOKKOS_FUNCTION CompositeKey place(std::int64_t i) const {
    return m_map.join(Bits{0}, static_cast<std::uint64_t>(i));
  }

  /// Calls body(bits, i) for every key.
  template <class Body>
  KOKKOS_FUNCTION void visit(Body const& body) const {
    if (m_held != nullptr) {
      each(m_group, 0, m_n, [&](std::int64_t i) { body(m_held[i], i); });
    } else {
      each(m_group, 0, m_n, [&](std::int64_t i) { body(load(i), i); });
      tally_read();
    }
  }

  /// How many keys are wanted. Three counters serve by turns: the group adds to one, while a slow thread may still read
  /// the previous one and the next is cleared.
  template <class Wanted>
  KOKKOS_FUNCTION int count(Wanted const& wanted) {
    unsigned* const counter = counters() + m_turn;
    m_turn = (m_turn + 1) % 3;
    if (m_group.rank() == 0) counters()[m_turn] = 0;
    unsigned here = 0;
    visit([&](Bits bits, std::int64_t i) { here += wanted(bits, i) ? 1u : 0u; });
    if (here > 0) m_group.fetch_add(counter, here);
    m_group.barrier();
    return static_cast<int>(*counter);
  }

  KOKKOS_FUNCTION void tally_read() const {
    if (m_group.rank() == 0) tally(Count::keys_read, m_n);
  }
  KOKKOS_FUNCTION unsigned* counters() const { return m_group.template shared<unsigned>(16); }
  KOKKOS_FUNCTION unsigned* slots() const { return counters() + 3; }

  Group const& m_group;
  CompositeKeyMap<Bits, CompositeKey> m_map;
  Stored<Bits> const* m_keys;
  std::int64_t m_step;
  int m_n;
  Bits* m_held;
  int m_turn = 0;
};

template <class Bits, class CompositeKey>
struct BisectRows {
  SelectedSink<StoredRows<Bits>, CompositeKey> sink;
  BisectionLimits limits;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    auto const k = static_cast<int>(sink.problem.selected_count(row));
    if (k == 0) return;
    RowBits<Group, Bits, CompositeKey> bits(group, sink.problem, sink.map, row);
    Interval<Bits> in = bits.read();
    bisect(in, k, sink.map.rank, limits, [&](Bits threshold) { return bits.reaching(threshold); });
    CompositeKey const last = bits.last_place(in, k);
    bits.store(sink, row, in, last);
  }
};

template <class CompositeKey>
struct BisectionLayout {
  BisectionLayout(void* workspace, Device const&, Shape const& shape, Options const& options)
      : layout(workspace), selected(layout, shape, options) {}
  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
};

KTOPK_INLINE std::size_t Bisection<Generic>::workspace_bytes(Device const& device,
                                                             Shape const& shape,
                                                             Options const& options) {
  return shape.ragged ? bytes_of<RaggedLayout>(device, shape, options)
                      : bytes_of<BisectionLayout>(device, shape, options);
}

/// \param longest  row that is held
template <class Exec, class Bits, class CompositeKey>
void bisect_held_rows(Exec const& exec, SelectedSink<StoredRows<Bits>, CompositeKey> const& sink,
                      BisectionLimits const& limits, std::int64_t longest) {
  using Body = BisectHeldRows<Bits, CompositeKey, most_held<Bits>>;
  StoredProblem<Bits> const& problem = sink.problem;
  int const lanes = std::max(lanes_for<Bits>(longest), forced_lanes.load());
  LaneMemory const memory{static_cast<int>(std::min({problem.shape.k, longest, std::int64_t{512}})),
                          std::max(std::min(4 * lanes, 16), std::min(lanes, 32))};
  auto const neighbors = problem.rows.step == 1 ? Neighbors::lanes : Neighbors::groups;
  launch_lanes("ktopk::bisection::lanes", exec, problem.shape.rows, lanes, neighbors,
               memory.bytes<Bits>(lanes), Body{sink, limits, loads_of(problem), memory, longest});
}

/// Most ragged rows are no longer than twice the mean; one_pass selects from those that are.
template <class Exec, class Bits, class CompositeKey>
void bisect_ragged(Exec const& exec, StoredProblem<Bits> const& problem,
                   CompositeKeyMap<Bits, CompositeKey> const& map, Options const& options,
                   void* workspace) {
  Shape const& shape = problem.shape;
  RaggedLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
  SelectedSink<StoredRows<Bits>, CompositeKey> const sink{problem, map, work.selected.composites};
  std::int64_t const longest =
      std::min<std::int64_t>(lanes_for<Bits>(2 * (shape.n / shape.rows) + 1) * most_held<Bits>,
                             bisection_longest_ragged(shape.key_bytes));
  bisect_held_rows(exec, sink, {}, longest);
  select_ragged(exec, sink, work.kept, longest);
  arrange(exec, problem, map, work.selected);
}

template <class Exec, class Bits>
void Bisection<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                             Options const& options, void* workspace) {
  using CompositeKey = BisectionCompositeKey<Bits>;
  Shape const& shape = problem.shape;
  auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
  if (shape.ragged) return bisect_ragged(exec, problem, map, options, workspace);
  BisectionLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
  SelectedSink<StoredRows<Bits>, CompositeKey> const sink{problem, map, work.selected.composites};
  BisectionLimits const limits{options.max_iterations, options.epsilon};
  if (!fits_lanes<Bits>(shape.n))
    launch("ktopk::bisection::rows", exec, shape.rows, bisection_shared_bytes<Bits>(shape.n),
           BisectRows<Bits, CompositeKey>{sink, limits});
  else
    bisect_held_rows(exec, sink, limits, shape.n);
  arrange(exec, problem, map, work.selected);
}

#define KTOPK_BISECTION(Space) KTOPK_RUN_ON(Bisection<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_BISECTION)
#undef KTOPK_BISECTION

static_assert(Implementation<Bisection<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
