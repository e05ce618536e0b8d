// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "scene.hpp"

/// The kernels that verify an answer. They look at every slot and every key, and trust nothing of the library.

namespace ktopk::fuzz {

/// Every slot: its position is in the row and new, its value is the key, and it comes after the slot before it. Where
/// there are no indices, the padding alone.
struct VerifySlots {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t slot_of_all) const {
    std::int64_t const r = slot_of_all / s.c.k, slot = slot_of_all % s.c.k;
    Row const row = s.row(r);
    if (slot >= row.selected)
      verify_padding(r, slot);
    else if (s.c.has_indices())
      verify_selected(r, row, slot);
  }

 private:
  KOKKOS_FUNCTION void verify_padding(std::int64_t r, std::int64_t slot) const {
    std::uint64_t const none = ~std::uint64_t{0} >> (64 - 8 * s.c.index_bytes());
    if (s.c.has_indices() && s.index(r, slot) != none)
      s.fail(Wrong::padding_index, r, slot, s.index(r, slot), none);
    std::uint64_t const worst = worst_bits(s.c.type, s.c.options);
    if (s.c.has_values() && s.value(r, slot) != worst)
      s.fail(Wrong::padding_value, r, slot, s.value(r, slot), worst);
  }

  KOKKOS_FUNCTION void verify_selected(std::int64_t r, Row const& row, std::int64_t slot) const {
    std::uint64_t const index = s.index(r, slot);
    if (!s.is_position(index, row))
      return s.fail(Wrong::index_out_of_row, r, slot, index,
                    static_cast<std::uint64_t>(row.length));
    auto const position = static_cast<std::int64_t>(index);
    if (mark(s.mark_of(r, row, position))) s.fail(Wrong::index_twice, r, slot, index, index);
    std::uint64_t const key = s.key(r, row, position);
    if (!s.may_select(r, row, position)) s.fail(Wrong::left_out_selected, r, slot, index, key);
    if (s.c.has_values() && s.value(r, slot) != key)
      s.fail(Wrong::value_of_index, r, slot, s.value(r, slot), key);
    if (s.c.options.sorted == Sorted::yes && slot > 0) verify_order(r, row, slot, position);
  }

  KOKKOS_FUNCTION void verify_order(std::int64_t r, Row const& row, std::int64_t slot,
                                    std::int64_t position) const {
    std::uint64_t const previous = s.index(r, slot - 1);
    if (!s.is_position(previous, row)) return;
    if (s.before(r, row, position, static_cast<std::int64_t>(previous)) > 0)
      s.fail(Wrong::order, r, slot, static_cast<std::uint64_t>(position), previous);
  }

  /// Whether the key was marked before.
  KOKKOS_FUNCTION bool mark(std::int64_t at) const {
    std::uint32_t const bit = std::uint32_t{1} << (at % 32);
    return (Kokkos::atomic_fetch_or(s.marks + at / 32, bit) & bit) != 0;
  }
};

/// Slots of a row that one thread looks at, where all threads of a row meet at one word: millions of them would take
/// seconds.
inline constexpr std::int64_t slots_together = 256;

KTOPK_FUNCTION inline std::int64_t parts_of_row(Case const& c) {
  return (c.k + slots_together - 1) / slots_together;
}

/// The worst selected key of each row.
struct FindWorst {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t part_of_all) const {
    std::int64_t const r = part_of_all / parts_of_row(s.c);
    std::int64_t const first = part_of_all % parts_of_row(s.c) * slots_together;
    Row const row = s.row(r);
    std::int64_t const end = clipped(first + slots_together, row.selected);
    std::int64_t worst = -1;
    for (std::int64_t slot = first; slot < end; ++slot) {
      std::uint64_t const index = s.index(r, slot);
      if (!s.is_position(index, row)) continue;
      auto const position = static_cast<std::int64_t>(index);
      if (worst < 0 || s.before(r, row, worst, position) > 0) worst = position;
    }
    if (worst >= 0) lower(r, row, worst);
  }

 private:
  KOKKOS_FUNCTION void lower(std::int64_t r, Row const& row, std::int64_t position) const {
    long long seen = Kokkos::atomic_load(s.worst + r);
    while (seen < 0 || s.before(r, row, seen, position) > 0) {
      long long const found =
          Kokkos::atomic_compare_exchange(s.worst + r, seen, static_cast<long long>(position));
      if (found == seen) return;
      seen = found;
    }
  }
};

/// The key that has a mark.
struct MarkedKey {
  std::int64_t r, position;
  Row row;
  KOKKOS_FUNCTION bool is_in_row() const { return position >= 0 && position < row.length; }
};

KTOPK_FUNCTION inline MarkedKey key_with_mark(Case const& c, std::int64_t at) {
  bool const by_row = c.may_overlap() || !c.is_ragged();
  std::int64_t const r = by_row ? at / c.n : row_with(c, at);
  Row const row = row_of(c, r);
  return {r, by_row ? at % c.n : at - row.begin, row};
}

/// Every key that is not selected: it does not come before the worst selected one.
struct VerifyOthers {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    if ((s.marks[at / 32] >> (at % 32)) % 2 != 0) return;
    MarkedKey const key = key_with_mark(s.c, at);
    auto const& [r, position, row] = key;
    if (!key.is_in_row() || s.row(r).selected == 0) return;
    if (!s.may_select(r, row, position)) return;
    std::int64_t const worst = s.worst[r];
    if (worst >= 0 && s.before(r, row, position, worst) > 0)
      s.fail(Wrong::better_key_left_out, r, position, s.key(r, row, position),
             s.key(r, row, worst));
  }
};

/// The keys of each row that may be selected. A thread counts some neighbors: to add to one word for every key of a row would
/// take seconds, too.
struct CountSelectable {
  static constexpr std::int64_t keys_together = 256;
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t part) const {
    std::int64_t const end = clipped((part + 1) * keys_together, mark_count(s.c));
    std::int64_t row = -1, count = 0;
    for (std::int64_t at = part * keys_together; at < end; ++at) {
      MarkedKey const key = key_with_mark(s.c, at);
      if (key.r != row) {
        add(row, count);
        row = key.r;
        count = 0;
      }
      bool const counts = key.is_in_row() && s.may_select(key.r, key.row, key.position);
      count += counts ? 1 : 0;
    }
    add(row, count);
  }

 private:
  KOKKOS_FUNCTION void add(std::int64_t row, std::int64_t count) const {
    if (count > 0) Kokkos::atomic_add(s.numbers + row, count);
  }
};

struct VerifyCounts {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    int const bytes = count_bytes(s.c.type);
    std::uint64_t const found = load(s.memory.counts, bytes, place_of_rows(s.c, s.c.rows).at(0, r));
    auto const expected = static_cast<std::uint64_t>(s.row(r).selected);
    if (found != expected) s.fail(Wrong::count, r, 0, found, expected);
  }
};

/// Whatever lies between and around the slots of an output was not written.
struct VerifyOutside {
  Scene s;
  void const* buffer;
  int bytes;
  Placement where;
  Wrong wrong;

  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    std::uint64_t const found = load(buffer, bytes, place);
    if (found != unwritten >> (64 - 8 * bytes) && !where.element(place).exists)
      s.fail(wrong, 0, place - where.shift, found, unwritten >> (64 - 8 * bytes));
  }
};

/// What fills the buffer of keys, between and around them too.
KTOPK_FUNCTION inline std::uint64_t key_or_other(Case const& c, std::int64_t place) {
  Element const element = c.key_place.element(place);
  if (element.exists) return key_bits(c, element.row, element.column);
  return mix(c.key_seed + 3, static_cast<std::uint64_t>(place)) & all_bits(c.type);
}

struct FillKeys {
  Scene s;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    store(s.memory.keys, bytes_of(s.c.type), place, key_or_other(s.c, place));
  }
};

struct VerifyKeys {
  Scene s;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    std::uint64_t const found = load(s.memory.keys, bytes_of(s.c.type), place);
    std::uint64_t const expected = key_or_other(s.c, place);
    if (found != expected)
      s.fail(Wrong::keys_changed, 0, place - s.c.key_place.shift, found, expected);
  }
};

struct FillWords {
  std::uint64_t* words;
  std::uint64_t word;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { words[i] = word; }
};

/// Offsets, or begins and ends, and wanted; row = rows is the last offset.
struct FillRows {
  Scene s;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    Case const& c = s.c;
    if (c.is_ragged())
      store(s.memory.offsets, offset_bytes(c.type), place_of_rows(c, c.rows + 1).at(0, r),
            static_cast<std::uint64_t>(offset(c, r)));
    if (c.is_in_matrix() && r < c.rows) {
      store_bound(r, begin_in_matrix(c, r));
      store_bound(c.rows + r, end_in_matrix(c, r));
    }
    if (c.per_row == PerRow::wanted && r < c.rows)
      store(s.memory.wanted, count_bytes(c.type), place_of_rows(c, c.rows).at(0, r),
            static_cast<std::uint64_t>(wanted(c, r)));
  }

 private:
  KOKKOS_FUNCTION void store_bound(std::int64_t at, std::int64_t bound) const {
    store(s.memory.offsets, offset_bytes(s.c.type), place_of_rows(s.c, 2 * s.c.rows).at(0, at),
          static_cast<std::uint64_t>(bound));
  }
};

/// The values of a call without indices, beside the verified ones of a call with both.
struct VerifyValues {
  Scene s, with_indices;
  /// Of each row; zero in the end, if the same values come in another order.
  unsigned long long* differences;

  KOKKOS_FUNCTION void operator()(std::int64_t part_of_all) const {
    std::int64_t const r = part_of_all / parts_of_row(s.c);
    std::int64_t const first = part_of_all % parts_of_row(s.c) * slots_together;
    Row const row = s.row(r);
    std::int64_t const end = clipped(first + slots_together, row.selected);
    std::int64_t const worst = with_indices.worst[r];
    if (first >= end || worst < 0) return;
    std::uint64_t const last = s.key(r, row, worst);
    unsigned long long difference = 0;
    for (std::int64_t slot = first; slot < end; ++slot) difference += difference_of(r, slot, last);
    if (difference != 0) Kokkos::atomic_add(differences + r, difference);
  }

 private:
  /// \param last  the worst selected key
  KOKKOS_FUNCTION std::uint64_t difference_of(std::int64_t r, std::int64_t slot,
                                              std::uint64_t last) const {
    std::uint64_t const found = s.value(r, slot), expected = with_indices.value(r, slot);
    if (s.c.options.sorted == Sorted::yes && !is_same(found, expected))
      s.fail(Wrong::values_alone, r, slot, found, expected);
    if (s.before(last, found) > 0) s.fail(Wrong::values_alone, r, slot, found, last);
    return digest(found, last) - digest(expected, last);
  }
  /// Of equal keys any may be selected if there is no rule.
  KOKKOS_FUNCTION bool is_same(std::uint64_t a, std::uint64_t b) const {
    return s.c.options.ties == Ties::any ? s.before(a, b) == 0 : a == b;
  }
  KOKKOS_FUNCTION std::uint64_t digest(std::uint64_t value, std::uint64_t last) const {
    bool const any_would_do = s.c.options.ties == Ties::any && s.before(value, last) == 0;
    return any_would_do ? 1 : mix(value + 1);
  }
};

struct VerifyDifferences {
  VerifyValues v;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    if (v.differences[r] != 0)
      v.s.fail(Wrong::values_alone, r, -1, static_cast<std::uint64_t>(v.differences[r]), 0);
  }
};

}  // namespace ktopk::fuzz
