// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/computed_rows.hpp>

#include "../group/group.hpp"
#include "../group/key_batches.hpp"

// What the read of one_pass keeps: the composite keys that reach a row's threshold, in a list for each row.

namespace ktopk::detail {

/// A list to which many groups append. `capacity` bounds how many are put, not how many are counted.
template <class CompositeKey>
struct SharedList {
  CompositeKey* composites;
  Count64* count;
  std::int64_t capacity;

  KOKKOS_FUNCTION std::int64_t claim(std::int64_t amount) const {
    return static_cast<std::int64_t>(Kokkos::atomic_fetch_add(count, static_cast<Count64>(amount)));
  }
  KOKKOS_FUNCTION void put(std::int64_t slot, CompositeKey composite) const {
    if (slot < capacity) composites[slot] = composite;
  }
  KOKKOS_FUNCTION void add(CompositeKey composite) const { put(claim(1), composite); }
};

/// The lists of all rows, with their thresholds and counts.
template <class CompositeKey>
struct Kept {
  Kept(WorkspaceLayout& layout, std::int64_t rows, std::int64_t capacity_)
      : capacity(capacity_),
        thresholds(layout.take<CompositeKey>(rows)),
        validations(layout.take<RowValidation>(rows)),
        composites(layout.take<CompositeKey>(rows * capacity)) {}

  KOKKOS_FUNCTION CompositeKey* list(std::int64_t row) const { return composites + row * capacity; }
  KOKKOS_FUNCTION SharedList<CompositeKey> shared_list(std::int64_t row) const {
    return {list(row), &validations[row].kept, capacity};
  }
  KOKKOS_FUNCTION CompositeKey threshold(std::int64_t row) const { return thresholds[row]; }

  std::int64_t capacity;  // of a list
  CompositeKey* thresholds;
  RowValidation* validations;
  CompositeKey* composites;
};

/// The row that a mask leaves a part of, or a row itself. What it has is compared with the threshold, and the mask is asked
/// about keys that reach it alone, which are few mostly.
template <class Row>
KOKKOS_FORCEINLINE_FUNCTION Row const& before_mask(Row const& row) {
  return row;
}
template <Rows R, class Mask>
KOKKOS_FORCEINLINE_FUNCTION auto const& before_mask(ComputedRow<MaskedRows<R, Mask>> const& row) {
  return before_mask(row.inner);
}

/// Which keys of a row reach its threshold. It is asked about batches of the row, or of the one before its mask.
template <class Row, class CompositeKey>
struct ReachThreshold {
  using Bits = typename Row::Bits;

  KOKKOS_FUNCTION ReachThreshold(Row const& keys_, CompositeKeyMap<Bits, CompositeKey> const& map_,
                                 CompositeKey threshold_)
      : keys(keys_),
        map(map_),
        threshold(threshold_),
        reaching(map_.rank.reaching(map_.ordered_bits_of(threshold_))) {}

  Row keys;
  CompositeKeyMap<Bits, CompositeKey> map;
  CompositeKey threshold;
  OrderedRange<Bits> reaching;

  /// Returns a mask with a bit for each key of a batch whose rank reaches that of the threshold, and for some zeros.
  template <class Batch>
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t operator()(Batch const& batch) const {
    std::uint32_t passing = 0;
    unrolled<Batch::size>([&](auto j) {
      bool const passes = reaching.contains(map.rank.ordered(batch.keys[j]));
      passing |= static_cast<std::uint32_t>(passes) << j;
    });
    if constexpr (Batch::has_gaps) passing &= batch.present;
    if constexpr (Row::has_gaps)
      if (gaps_reach()) passing = ~std::uint32_t{0};
    return passing & batch.held();
  }
  /// Calls put(composite) for the composite keys of a batch that reach the threshold; one thread calls it. It reads
  /// these few keys again, which is cheaper than to choose among registers.
  template <class Batch, class Put>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(Batch const& batch, Put const& put) const {
    std::uint32_t left = (*this)(batch);
    if constexpr (Row::has_gaps && !Batch::has_gaps)
      if (Kokkos::Experimental::popcount_builtin(left) > most_asked_in_turn)
        left = without_gaps(batch, left);
    for (; left != 0; left &= left - 1) {
      std::int64_t const i = batch.position(Kokkos::Experimental::countr_zero_builtin(left));
      CompositeKey const composite = composite_at(map, keys, i);
      if (composite >= threshold) put(composite);
    }
  }

 private:
  /// A threshold need be no composite key, so that is_gap does not tell.
  KOKKOS_FUNCTION bool gaps_reach() const { return threshold <= map.position_mask; }

  /// Where a mask leaves out most of the best keys, it is asked about many of a batch at a time.
  static constexpr int most_asked_in_turn = 2;

  template <class Batch>
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t without_gaps(Batch const& batch,
                                                         std::uint32_t passing) const {
    if (gaps_reach()) return passing;
    std::uint32_t holding = passing;
    unrolled<Batch::size>([&](auto j) {
      if ((passing >> j & 1u) != 0 && !keys.holds(batch.position(j))) holding &= ~(1u << j);
    });
    return holding;
  }
};

inline constexpr int kept_by_group = 1024;
/// How much of the group's shared memory a GroupList needs.
template <class CompositeKey>
KOKKOS_FUNCTION constexpr int group_list_bytes() {
  return 16 + kept_by_group * static_cast<int>(sizeof(CompositeKey));
}

/// What a group keeps of its part of a row, in its shared memory, so that groups seldom meet at the counter of the
/// list. What the shared memory cannot hold goes to the list one by one.
template <class CompositeKey, class Group>
class GroupList {
 public:
  /// All threads call it together.
  /// \param shared  group_list_bytes<CompositeKey>() bytes, aligned to 16
  KOKKOS_FUNCTION GroupList(Group const& group, std::byte* shared,
                            SharedList<CompositeKey> const& list)
      : m_group(group),
        m_list(list),
        m_first(reinterpret_cast<std::int64_t*>(shared)),
        m_holds(reinterpret_cast<int*>(m_first + 1)),
        m_held(reinterpret_cast<CompositeKey*>(shared + 16)) {
    if (group.rank() == 0) *m_holds = 0;
    group.barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(CompositeKey composite) const {
    int const slot = m_group.fetch_add(m_holds, 1);
    if (slot < kept_by_group)
      m_held[slot] = composite;
    else
      m_list.add(composite);
  }

  /// Moves the held composite keys to the list if they are more than `most`. All threads call it together.
  KOKKOS_FUNCTION void list_above(int most) const {
    m_group.barrier();
    int const holds = *m_holds < kept_by_group ? *m_holds : kept_by_group;
    m_group.barrier();
    if (holds <= most) return;
    if (m_group.rank() == 0) {
      *m_first = m_list.claim(holds);
      *m_holds = 0;
    }
    m_group.barrier();
    std::int64_t const first = *m_first;
    each(m_group, 0, holds, [&](std::int64_t i) { m_list.put(first + i, m_held[i]); });
    m_group.barrier();
  }

 private:
  Group const& m_group;
  SharedList<CompositeKey> m_list;
  std::int64_t* m_first;
  int* m_holds;
  CompositeKey* m_held;
};

/// A group's part of a row. If the keys that reach the threshold are spread evenly, it keeps `expected` of them.
struct KeptPart {
  std::int64_t row;
  Range range;
  double expected;
};

/// Keeps the composite keys of a part of a row that reach the threshold. All threads call it together.
/// \param kept  the lists and thresholds of all rows
template <Rows R, class CompositeKey, class Lists, class Group>
KOKKOS_FUNCTION void keep_part(Group const& group, std::byte* shared, Problem<R> const& problem,
                               CompositeKeyMap<typename R::Bits, CompositeKey> const& map,
                               Lists const& kept, KeptPart const& part) {
  std::int64_t const row = part.row;
  GroupList<CompositeKey, Group> const out(group, shared, kept.shared_list(row));
  ReachThreshold<RowOf<R>, CompositeKey> const reach(problem.rows.row(row), map,
                                                     kept.threshold(row));
  bool const often = part.expected > kept_by_group * 3 / 4;
  for_each_batch(
      group, before_mask(reach.keys), part.range,
      [&](auto const& batch) {
        reach.for_each(batch, [&](CompositeKey composite) { out.add(composite); });
      },
      [&] {
        if (often) out.list_above(kept_by_group / 2);
      });
  out.list_above(0);
  if (group.rank() == 0) tally(Count::keys_read, part.range.end - part.range.begin);
}

/// What a group keeps of several rows, in its shared memory.
template <class CompositeKey, class Group>
class NeighborLists {
 public:
  static constexpr int most_rows = 64;
  static constexpr int most_kept = 24 * most_rows;
  static constexpr int bytes = most_rows * 16 + most_kept * static_cast<int>(sizeof(CompositeKey));

  /// How much is kept of each of so many rows.
  KOKKOS_FUNCTION static constexpr int kept_of_row(int rows) { return most_kept / rows; }

  /// All threads call it together.
  /// \param shared  `bytes` bytes, aligned to 16
  KOKKOS_FUNCTION NeighborLists(Group const& group, std::byte* shared, int rows)
      : m_group(group),
        m_kept_of_row(kept_of_row(rows)),
        m_held(reinterpret_cast<CompositeKey*>(shared)),
        m_firsts(reinterpret_cast<std::int64_t*>(m_held + most_kept)),
        m_holds(reinterpret_cast<int*>(m_firsts + most_rows)) {
    each(group, 0, rows, [&](std::int64_t r) { m_holds[r] = 0; });
    group.barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(int row, CompositeKey composite,
                                       SharedList<CompositeKey> const& list) const {
    int const slot = m_group.fetch_add(&m_holds[row], 1);
    if (slot < m_kept_of_row)
      m_held[row * m_kept_of_row + slot] = composite;
    else
      list.add(composite);
  }

  /// Moves the held composite keys of the first `rows` rows to list_of(row). All threads call it together.
  template <class ListOf>
  KOKKOS_FUNCTION void list_all(int rows, ListOf const& list_of) const {
    m_group.barrier();
    each(m_group, 0, rows, [&](std::int64_t r) {
      if (m_holds[r] > m_kept_of_row) m_holds[r] = m_kept_of_row;
      if (m_holds[r] > 0) m_firsts[r] = list_of(r).claim(m_holds[r]);
    });
    m_group.barrier();
    each(m_group, 0, std::int64_t{rows} * m_kept_of_row, [&](std::int64_t i) {
      int const held = static_cast<int>(i), r = held / m_kept_of_row, slot = held % m_kept_of_row;
      if (slot < m_holds[r]) list_of(r).put(m_firsts[r] + slot, m_held[i]);
    });
  }

 private:
  Group const& m_group;
  int m_kept_of_row;
  CompositeKey* m_held;
  std::int64_t* m_firsts;
  int* m_holds;
};

/// The one read if the keys of a row lie further apart than the rows: neighboring threads read neighboring rows. A
/// group keeps the composite keys of its rows that reach their thresholds.
template <Rows R, class CompositeKey>
struct KeepOfNeighbors {
  Problem<R> problem;
  CompositeKeyMap<typename R::Bits, CompositeKey> map;
  Kept<CompositeKey> kept;
  std::int64_t parts;

  /// How many of the rows a group of this size reads side by side: a power of two, so that all threads have work.
  KOKKOS_FUNCTION static int rows_of_group(int group_size, std::int64_t rows) {
    constexpr int most = NeighborLists<CompositeKey, int>::most_rows;
    int across = 1;
    while (across < rows && across < most && across < group_size) across *= 2;
    return across;
  }

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    int const across = rows_of_group(group.size(), problem.shape.rows);
    int const own = group.rank() % across;
    std::int64_t const first = group.index() / parts * across, row = first + own;
    std::int64_t const left = problem.shape.rows - first;
    NeighborLists<CompositeKey, Group> const out(group, group.template shared<std::byte>(), across);
    if (own < left)
      keep(group, out, own, row, part_of(problem.shape.n, group.index() % parts, parts), across);
    out.list_all(static_cast<int>(left < across ? left : across),
                 [&](std::int64_t r) { return kept.shared_list(first + r); });
  }

 private:
  template <class Group>
  KOKKOS_FUNCTION void keep(Group const& group, NeighborLists<CompositeKey, Group> const& out,
                            int own, std::int64_t row, Range range, int across) const {
    ReachThreshold<RowOf<R>, CompositeKey> const reach(problem.rows.row(row), map,
                                                       kept.threshold(row));
    SharedList<CompositeKey> const list = kept.shared_list(row);
    for_each_spread_batch(
        before_mask(reach.keys), range, group.rank() / across, group.size() / across,
        [&](auto const& batch) {
          reach.for_each(batch, [&](CompositeKey composite) { out.add(own, composite, list); });
        },
        [] {});
    if (group.rank() < across) tally(Count::keys_read, range.end - range.begin);
  }
};

}  // namespace ktopk::detail
