// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "scene.hpp"

/// Wrong answers, to see that they are noticed.

namespace ktopk::fuzz {

enum class Spoil {
  nothing,
  value_bits,  ///< another value than the key
  index_twice,
  index_out_of_row,
  order,      ///< the first and the last in each other's place
  worse_key,  ///< a key that is not among the best
  tie,        ///< an equal key, but not the one of the tie rule
  padding,
  count,
  outside,   ///< something written beside the slots
  keys,      ///< a key that the call changed
  left_out,  ///< a NaN that is skipped, or a key that a mask leaves out
  rank,      ///< another key in place of that of a rank
  by_bound,  ///< a count of keys that are better than a bound, or equal
  reaching   ///< another position in place of one that reaches, or a slot behind the last
};
inline constexpr int spoils = 15;
inline constexpr char const* spoil_names[] = {
    "nothing", "value_bits", "index_twice", "index_out_of_row", "order", "worse_key",
    "tie",     "padding",    "count",       "outside",          "keys",  "left_out",
    "rank",    "by_bound",   "reaching"};

/// Spoils the answer of a call, by one thread. Where the answer has no place for the mistake, it stays as it is.
struct SpoilAnswer {
  Scene s;
  Spoil how;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    if (how == Spoil::keys) return spoil_keys();
    if (how == Spoil::outside) return spoil_outside();
    for (std::int64_t r = 0; r < s.c.rows && s.report->spoiled == 0; ++r)
      s.report->spoiled = spoil_row(r, s.row(r)) ? 1 : 0;
  }

 private:
  KOKKOS_FUNCTION bool spoil_row(std::int64_t r, Row const& row) const {
    if (!s.c.has_answer_of_top_k()) return spoil_question(r, row);
    switch (how) {
      case Spoil::value_bits: return spoil_value(r, row);
      case Spoil::index_twice: return repeat_index(r, row);
      case Spoil::index_out_of_row: return leave_row(r, row);
      case Spoil::order: return exchange(r, row);
      case Spoil::worse_key: return take_other(r, row, -1);
      case Spoil::tie: return s.c.options.ties != Ties::any && take_other(r, row, 0);
      case Spoil::padding: return spoil_padding(r, row);
      case Spoil::count: return spoil_count(r, row);
      case Spoil::left_out: return take_left_out(r, row);
      default: return false;
    }
  }

  KOKKOS_FUNCTION bool spoil_question(std::int64_t r, Row const& row) const {
    switch (how) {
      case Spoil::count: return s.c.ask == Ask::reaching && spoil_count(r, row);
      case Spoil::rank: return s.c.asks_ranks() && take_other_rank(r, row);
      case Spoil::by_bound: return s.c.ask == Ask::count && spoil_tally(r);
      case Spoil::reaching: return s.c.ask == Ask::reaching && spoil_reaching(r, row);
      default: return false;
    }
  }

  KOKKOS_FUNCTION bool take_other_rank(std::int64_t r, Row const& row) const {
    std::int64_t const j = s.c.asked / 2;
    for (std::int64_t i = 0; i < row.length; ++i) {
      std::uint64_t const key = s.key(r, row, i);
      if (s.before(key, s.value(r, j)) == 0) continue;
      set(r, j, 0, key);
      return true;
    }
    return false;
  }

  KOKKOS_FUNCTION bool spoil_tally(std::int64_t r) const {
    std::int64_t const column = s.c.k / 2;
    set(r, column, s.index(r, column) + 1, 0);
    return true;
  }

  KOKKOS_FUNCTION bool spoil_reaching(std::int64_t r, Row const& row) const {
    if (s.c.k == 0 || row.length == 0) return false;
    std::int64_t const slot = s.c.k - 1, last = row.length - 1;
    bool const is_last = s.index(r, slot) == static_cast<std::uint64_t>(last);
    if (is_last && last == 0) return false;
    std::int64_t const position = is_last ? last - 1 : last;
    set(r, slot, static_cast<std::uint64_t>(position), s.key(r, row, position));
    return true;
  }

  KOKKOS_FUNCTION void set(std::int64_t r, std::int64_t slot, std::uint64_t index,
                           std::uint64_t value) const {
    if (s.c.has_indices())
      store(s.memory.indices, s.c.index_bytes(), s.c.index_place.at(r, slot), index);
    if (s.c.has_values())
      store(s.memory.values, bytes_of(s.c.type), s.c.value_place.at(r, slot), value);
  }
  KOKKOS_FUNCTION std::uint64_t index_or_0(std::int64_t r, std::int64_t slot) const {
    return s.c.has_indices() ? s.index(r, slot) : 0;
  }

  KOKKOS_FUNCTION bool spoil_value(std::int64_t r, Row const& row) const {
    bool const is_defined = s.c.has_indices() || s.c.options.ties != Ties::any;
    if (row.selected == 0 || !s.c.has_values() || !is_defined) return false;
    std::int64_t const slot = row.selected / 2;
    set(r, slot, index_or_0(r, slot), s.value(r, slot) ^ 1);
    return true;
  }

  KOKKOS_FUNCTION bool repeat_index(std::int64_t r, Row const& row) const {
    if (row.selected < 2 || !s.c.has_indices()) return false;
    auto const position = static_cast<std::int64_t>(s.index(r, 0));
    set(r, row.selected - 1, s.index(r, 0), s.key(r, row, position));
    return true;
  }

  KOKKOS_FUNCTION bool leave_row(std::int64_t r, Row const& row) const {
    if (row.selected == 0 || !s.c.has_indices()) return false;
    std::uint64_t const value = s.c.has_values() ? s.value(r, 0) : 0;
    set(r, 0, static_cast<std::uint64_t>(row.length), value);
    return true;
  }

  KOKKOS_FUNCTION bool exchange(std::int64_t r, Row const& row) const {
    if (row.selected < 2 || !s.c.has_indices() || s.c.options.sorted == Sorted::no) return false;
    std::int64_t const last = row.selected - 1;
    std::uint64_t const first_index = s.index(r, 0), last_index = s.index(r, last);
    auto const a = static_cast<std::int64_t>(first_index),
               b = static_cast<std::int64_t>(last_index);
    if (s.before(r, row, a, b) == 0) return false;
    set(r, 0, last_index, s.key(r, row, b));
    set(r, last, first_index, s.key(r, row, a));
    return true;
  }

  KOKKOS_FUNCTION std::int64_t slot_of_worst(std::int64_t r, Row const& row) const {
    std::int64_t worst = 0;
    for (std::int64_t slot = 1; slot < row.selected; ++slot)
      if (s.before(r, row, static_cast<std::int64_t>(s.index(r, worst)),
                   static_cast<std::int64_t>(s.index(r, slot))) > 0)
        worst = slot;
    return worst;
  }

  /// In place of the worst selected key one that is worse (-1) or equal (0), and not selected.
  KOKKOS_FUNCTION bool take_other(std::int64_t r, Row const& row, int sign) const {
    if (row.selected == 0 || !s.c.has_indices()) return false;
    std::int64_t const slot = slot_of_worst(r, row);
    auto const worst = static_cast<std::int64_t>(s.index(r, slot));
    for (std::int64_t i = 0; i < row.length; ++i) {
      if (!s.may_select(r, row, i)) continue;
      if (s.before(s.key(r, row, i), s.key(r, row, worst)) != sign) continue;
      if (i == worst || s.before(r, row, i, worst) > 0) continue;
      set(r, slot, static_cast<std::uint64_t>(i), s.key(r, row, i));
      return true;
    }
    return false;
  }

  KOKKOS_FUNCTION bool take_left_out(std::int64_t r, Row const& row) const {
    if (row.selected == 0 || !s.c.has_indices()) return false;
    for (std::int64_t i = 0; i < row.length; ++i) {
      if (s.may_select(r, row, i)) continue;
      set(r, 0, static_cast<std::uint64_t>(i), s.key(r, row, i));
      return true;
    }
    return false;
  }

  KOKKOS_FUNCTION bool spoil_padding(std::int64_t r, Row const& row) const {
    if (row.selected >= s.c.k) return false;
    std::uint64_t const worst = worst_bits(s.c.type, s.c.options);
    bool const by_value = s.c.has_values() && (r % 2 == 0 || !s.c.has_indices());
    set(r, s.c.k - 1, by_value ? ~std::uint64_t{0} : 0, by_value ? worst ^ 1 : worst);
    return true;
  }

  KOKKOS_FUNCTION bool spoil_count(std::int64_t r, Row const& row) const {
    if (!s.c.has_counts()) return false;
    store(s.memory.counts, count_bytes(s.c.type), place_of_rows(s.c, s.c.rows).at(0, r),
          static_cast<std::uint64_t>(row.selected + 1));
    return true;
  }

  KOKKOS_FUNCTION void spoil_outside() const {
    bool const by_value = s.c.has_values();
    Placement const& where = by_value ? s.c.value_place : s.c.index_place;
    std::int64_t const places[] = {
        0, where.shift - 1, where.shift + where.span(),
        where.shift + (where.row > where.step ? where.row : where.step) - 1};
    std::int64_t const place = places[s.c.key_seed % 4];
    if (place < 0 || where.element(place).exists) return;
    store(by_value ? s.memory.values : s.memory.indices,
          by_value ? bytes_of(s.c.type) : s.c.index_bytes(), place, 0);
    s.report->spoiled = 1;
  }

  KOKKOS_FUNCTION void spoil_keys() const {
    if (!s.c.keys_are_compared) return;
    std::int64_t const place =
        static_cast<std::int64_t>(s.c.key_seed % static_cast<std::uint64_t>(s.c.key_place.size()));
    std::uint64_t const key = load(s.memory.keys, bytes_of(s.c.type), place);
    store(s.memory.keys, bytes_of(s.c.type), place, key ^ 1);
    s.report->spoiled = 1;
  }
};

}  // namespace ktopk::fuzz
