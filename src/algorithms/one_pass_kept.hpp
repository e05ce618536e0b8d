// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../group.hpp"
#include "../key_batches.hpp"

// What the read of one_pass keeps: the composite keys that reach a row's threshold, in a list for each row.

namespace ktopk::detail {

/// The lists of all rows, with what is known of them.
template <class Item>
struct Kept {
  Kept(Pieces& pieces, std::int64_t rows, std::int64_t capacity_)
      : capacity(capacity_),
        thresholds(pieces.take<Item>(rows)),
        verdicts(pieces.take<Verdict>(rows)),
        items(pieces.take<Item>(rows * capacity)) {}

  KOKKOS_FUNCTION Item* list(std::int64_t row) const { return items + row * capacity; }

  std::int64_t capacity;  // of a list
  Item* thresholds;
  Verdict* verdicts;
  Item* items;
};

/// Which keys of a batch reach a threshold.
template <class Bits, class Item>
struct ReachThreshold {
  KOKKOS_FUNCTION ReachThreshold(ItemMap<Bits, Item> const& map_, Item threshold_)
      : map(map_), threshold(threshold_), least(map_.rank_of(threshold_)) {}

  ItemMap<Bits, Item> map;
  Item threshold;
  Bits least;

  template <class Batch, class Place>
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(Batch const& batch, Place j) const {
    Bits const rank = map.rank(batch.keys[j]);
    if (rank < least || !batch.holds(j)) return false;
    return rank > least || item(batch, j) >= threshold;
  }
  template <class Batch, class Place>
  KOKKOS_FORCEINLINE_FUNCTION Item item(Batch const& batch, Place j) const {
    return map(batch.keys[j], static_cast<std::uint64_t>(batch.position(j)));
  }
  /// A bit for each key of a batch.
  template <class Batch>
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t operator()(Batch const& batch) const {
    static_assert(Batch::size <= 32);
    std::uint32_t passing = 0;
    unrolled<Batch::size>(
        [&](auto j) { passing |= (*this)(batch, j) ? std::uint32_t{1} << j : 0u; });
    return passing;
  }
};

/// Appends to a list that many groups fill. `capacity` bounds what is put, not what is counted.
template <class Item>
struct SharedList {
  Item* items;
  Count64* count;
  std::int64_t capacity;

  KOKKOS_FUNCTION std::int64_t claim(std::int64_t amount) const {
    return static_cast<std::int64_t>(Kokkos::atomic_fetch_add(count, static_cast<Count64>(amount)));
  }
  KOKKOS_FUNCTION void put(std::int64_t slot, Item item) const {
    if (slot < capacity) items[slot] = item;
  }
};

inline constexpr int kept_by_group = 1024;
/// What a GroupList needs of the memory that the group shares.
template <class Item>
KOKKOS_FUNCTION constexpr int group_list_bytes() {
  return 16 + kept_by_group * static_cast<int>(sizeof(Item));
}

/// What a group keeps of its part of a row: in the memory that it shares, so that groups seldom meet at the list's
/// counter; what finds no place there goes to the list by itself.
template <class Item, class Group>
class GroupList {
 public:
  /// \param shared  group_list_bytes<Item>(), aligned to 16 bytes. Together.
  KOKKOS_FUNCTION GroupList(Group const& group, std::byte* shared, SharedList<Item> const& list)
      : m_group(group),
        m_list(list),
        m_first(reinterpret_cast<std::int64_t*>(shared)),
        m_holds(reinterpret_cast<int*>(m_first + 1)),
        m_held(reinterpret_cast<Item*>(shared + 16)) {
    if (group.rank() == 0) *m_holds = 0;
    group.barrier();
  }

  /// By one thread: the keys of a batch whose bits are set.
  template <class Batch, class Reach>
  KOKKOS_FORCEINLINE_FUNCTION void add(Batch const& batch, Reach const& reach,
                                       std::uint32_t passing) const {
    if (passing == 0) return;
    int const count = Kokkos::Experimental::popcount_builtin(passing);
    int const held = m_group.fetch_add(m_holds, count);
    int const fitting = kept_by_group - held;
    std::int64_t const listed =
        fitting >= count ? 0 : m_list.claim(count - (fitting > 0 ? fitting : 0));
    int taken = 0;
    unrolled<Batch::size>([&](auto j) {
      if ((passing >> j & 1u) == 0) return;
      Item const item = reach.item(batch, j);
      if (taken < fitting)
        m_held[held + taken] = item;
      else
        m_list.put(listed + taken - (fitting > 0 ? fitting : 0), item);
      ++taken;
    });
  }

  /// Lists what is held, if that is more than `most`. Together.
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
  SharedList<Item> m_list;
  std::int64_t* m_first;
  int* m_holds;
  Item* m_held;
};

/// A group's part of a row. `expected` keys of it are kept, where they are spread evenly.
struct KeptPart {
  std::int64_t row;
  Range range;
  double expected;
};

/// Keeps of a part of a row what reaches the threshold. Together.
template <class Bits, class Item, class Group>
KOKKOS_FUNCTION void keep_part(Group const& group, std::byte* shared, Problem<Bits> const& problem,
                               ItemMap<Bits, Item> const& map, Kept<Item> const& kept,
                               KeptPart const& part) {
  std::int64_t const row = part.row;
  GroupList<Item, Group> const out(group, shared,
                                   {kept.list(row), &kept.verdicts[row].kept, kept.capacity});
  ReachThreshold<Bits, Item> const reach(map, kept.thresholds[row]);
  bool const often = part.expected > kept_by_group * 3 / 4;
  for_each_batch<Bits>(
      group, problem.row_keys(row), problem.key_step, part.range,
      [&](auto const& batch) { out.add(batch, reach, reach(batch)); },
      [&] {
        if (often) out.list_above(kept_by_group / 2);
      });
  out.list_above(0);
  if (group.rank() == 0) tally(Count::keys_read, part.range.end - part.range.begin);
}

/// Keeps of the rows of a block what reaches their thresholds, where the keys of a row lie further apart than neighboring
/// rows do: neighboring threads read neighboring rows.
template <class Bits, class Item>
struct KeepOfNeighbors {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Kept<Item> kept;
  std::int64_t parts;

  static constexpr int most_rows = 64;
  /// How many rows a group of this size reads side by side.
  KOKKOS_FUNCTION static int rows_of_group(int group_size) {
    return group_size < most_rows ? group_size : most_rows;
  }

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    int const across = rows_of_group(group.size());
    std::int64_t const row = group.index() / parts * across + group.rank() % across;
    if (row >= problem.shape.rows) return;
    Range const range = part_of(problem.shape.n, group.index() % parts, parts);
    SharedList<Item> const out{kept.list(row), &kept.verdicts[row].kept, kept.capacity};
    ReachThreshold<Bits, Item> const reach(map, kept.thresholds[row]);
    for_each_spread_batch<Bits>(
        problem.row_keys(row), problem.key_step, range, group.rank() / across,
        group.size() / across, [&](auto const& batch) { put(out, batch, reach, reach(batch)); },
        [] {});
    if (group.rank() < across) tally(Count::keys_read, range.end - range.begin);
  }

 private:
  template <class Batch>
  KOKKOS_FUNCTION static void put(SharedList<Item> const& out, Batch const& batch,
                                  ReachThreshold<Bits, Item> const& reach, std::uint32_t passing) {
    if (passing == 0) return;
    std::int64_t slot = out.claim(Kokkos::Experimental::popcount_builtin(passing));
    unrolled<Batch::size>([&](auto j) {
      if ((passing >> j & 1u) != 0) out.put(slot++, reach.item(batch, j));
    });
  }
};

}  // namespace ktopk::detail
