// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "verify.hpp"

/// The kernels that verify answers other than top_k's: they count the keys on both sides of every rank and bound.

namespace ktopk::fuzz {

/// Where keys are compared with bounds, a thread has so many neighbors.
inline constexpr std::int64_t keys_tallied_together = 256;

/// How many threads tally.
KTOPK_FUNCTION inline std::int64_t tally_threads(Case const& c) {
  return (mark_count(c) + keys_tallied_together - 1) / keys_tallied_together * c.asked;
}

/// How many keys of each row are better than each bound, and how many are equal.
struct TallyKeys {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    std::int64_t const part = thread / s.c.asked, j = thread % s.c.asked;
    std::int64_t const end = clipped((part + 1) * keys_tallied_together, mark_count(s.c));
    std::int64_t row = -1, better = 0, equal = 0;
    for (std::int64_t at = part * keys_tallied_together; at < end; ++at) {
      MarkedKey const key = key_with_mark(s.c, at);
      if (key.r != row) {
        add(row, j, better, equal);
        row = key.r;
        better = equal = 0;
      }
      if (!key.is_in_row() || !s.may_select(key.r, key.row, key.position)) continue;
      int const sign = s.before(s.key(key.r, key.row, key.position), s.bound(key.r, j));
      better += sign > 0 ? 1 : 0;
      equal += sign == 0 ? 1 : 0;
    }
    add(row, j, better, equal);
  }

 private:
  KOKKOS_FUNCTION void add(std::int64_t r, std::int64_t j, std::int64_t better,
                           std::int64_t equal) const {
    if (better > 0) Kokkos::atomic_add(s.tally(r, j), better);
    if (equal > 0) Kokkos::atomic_add(s.tally(r, j) + 1, equal);
  }
};

/// Of equal keys with different bits the one that questions answer with.
KTOPK_FUNCTION inline std::uint64_t canonical_bits(Case const& c, std::uint64_t bits) {
  if (!is_float(c.type)) return bits;
  std::uint64_t const sign = sign_bit(c.type), magnitude = bits & ~sign;
  if (is_nan(c.type, bits))
    return infinity_bits(c.type) | (std::uint64_t{1} << (fraction_bits(c.type) - 1));
  return magnitude == 0 || c.options.by == By::magnitude ? magnitude : bits;
}

/// The value of every rank: so many keys are better, and it is one of the next.
struct VerifyRanks {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const r = i / s.c.asked, j = i % s.c.asked, keys = s.keys_of(r, row_of(s.c, r));
    std::int64_t const rank =
        s.c.ask == Ask::quantiles ? rank_of_quantile(s.c, j, keys) : rank_asked(s.c, r, j);
    bool const exists = keys > 0 && rank < keys;
    std::uint64_t const value = s.value(r, j);
    std::uint64_t const expected = exists ? canonical_bits(s.c, value) : value_of_none();
    if (value != expected) s.fail(Wrong::value_of_rank, r, j, value, expected);
    if (!exists) return;
    std::int64_t const better = s.tally(r, j)[0], equal = s.tally(r, j)[1];
    if (rank < better || rank >= better + equal)
      s.fail(Wrong::value_of_rank, r, j, static_cast<std::uint64_t>(better),
             static_cast<std::uint64_t>(rank));
  }

 private:
  /// The worst key; quantiles are of keys in ascending order.
  KOKKOS_FUNCTION std::uint64_t value_of_none() const {
    Options options = s.c.options;
    if (s.c.ask == Ask::quantiles) options.order = Order::smallest;
    return worst_bits(s.c.type, options);
  }
};

/// The better ones of all bounds, then the equal ones.
struct VerifyTallies {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const r = i / s.c.k, column = i % s.c.k;
    std::int64_t const expected = s.tally(r, column % s.c.asked)[column / s.c.asked];
    if (s.index(r, column) != static_cast<std::uint64_t>(expected))
      s.fail(Wrong::count_by_bound, r, column, s.index(r, column),
             static_cast<std::uint64_t>(expected));
  }
};

KOKKOS_FUNCTION inline std::int64_t reaching_count(Scene const& s, std::int64_t r) {
  return s.tally(r, 0)[0] + s.tally(r, 0)[1];
}

/// The slots of keys that reach a threshold: positions ascend, and each key reaches it; slots behind stay as they were.
struct VerifyReachingSlots {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const r = i / s.c.k, slot = i % s.c.k;
    if (slot < reaching_count(s, r))
      verify(r, row_of(s.c, r), slot);
    else
      verify_unwritten(r, slot);
  }

 private:
  KOKKOS_FUNCTION void verify(std::int64_t r, Row const& row, std::int64_t slot) const {
    std::uint64_t const index = s.index(r, slot);
    if (!s.is_position(index, row))
      return s.fail(Wrong::index_out_of_row, r, slot, index,
                    static_cast<std::uint64_t>(row.length));
    auto const position = static_cast<std::int64_t>(index);
    Kokkos::atomic_or(s.marks + s.mark_of(r, row, position) / 32,
                      std::uint32_t{1} << (s.mark_of(r, row, position) % 32));
    std::uint64_t const key = s.key(r, row, position);
    if (!s.may_select(r, row, position) || s.before(key, s.bound(r, 0)) < 0)
      s.fail(Wrong::not_reaching, r, slot, index, key);
    if (slot > 0 && s.index(r, slot - 1) >= index)
      s.fail(Wrong::order, r, slot, index, s.index(r, slot - 1));
    if (s.c.has_values() && s.value(r, slot) != key)
      s.fail(Wrong::value_of_index, r, slot, s.value(r, slot), key);
  }

  KOKKOS_FUNCTION void verify_unwritten(std::int64_t r, std::int64_t slot) const {
    std::uint64_t const index = unwritten >> (64 - 8 * s.c.index_bytes());
    std::uint64_t const value = unwritten >> (64 - width_of(s.c.type));
    if (s.index(r, slot) != index)
      s.fail(Wrong::slot_behind_changed, r, slot, s.index(r, slot), index);
    if (s.c.has_values() && s.value(r, slot) != value)
      s.fail(Wrong::slot_behind_changed, r, slot, s.value(r, slot), value);
  }
};

/// Every key that reaches is in a slot, unless it comes behind the last of all slots.
struct VerifyReachingOthers {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    if ((s.marks[at / 32] >> (at % 32)) % 2 != 0) return;
    MarkedKey const key = key_with_mark(s.c, at);
    auto const& [r, position, row] = key;
    if (!key.is_in_row() || !s.may_select(r, row, position)) return;
    if (s.before(s.key(r, row, position), s.bound(r, 0)) < 0) return;
    bool const is_full = reaching_count(s, r) > s.c.k;
    if (is_full && (s.c.k == 0 || static_cast<std::uint64_t>(position) > s.index(r, s.c.k - 1)))
      return;
    s.fail(Wrong::reaching_left_out, r, position, s.key(r, row, position), s.bound(r, 0));
  }
};

struct VerifyReachingCounts {
  Scene s;

  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    int const bytes = count_bytes(s.c.type);
    std::uint64_t const found = load(s.memory.counts, bytes, place_of_rows(s.c, s.c.rows).at(0, r));
    auto const expected = static_cast<std::uint64_t>(reaching_count(s, r));
    if (found != expected) s.fail(Wrong::count, r, 0, found, expected);
  }
};

struct FillBounds {
  Scene s;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const r = i / s.c.asked, j = i % s.c.asked;
    store(s.memory.bounds, bytes_of(s.c.type), place_of_bounds(s.c).at(r, j),
          bound_bits(s.c, r, j));
  }
};

/// Quantiles, ranks, or the k of each row.
struct FillLists {
  Scene s;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto* const numbers = static_cast<std::int64_t*>(s.memory.lists);
    if (s.c.ask == Ask::quantiles)
      static_cast<double*>(s.memory.lists)[i] = quantile_asked(s.c, i);
    else if (s.c.ask == Ask::kth)
      numbers[i] = rank_asked(s.c, i, 0) + 1;
    else
      numbers[i] = rank_asked(s.c, 0, i);
  }
};

}  // namespace ktopk::fuzz
