// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "case.hpp"
#include "random.hpp"

namespace ktopk::fuzz {
namespace {

/// Often a power of two or a neighbor of one.
std::int64_t near_power(Draw& draw, std::int64_t x, std::int64_t most) {
  if (x < 2 || !draw.one_in(3)) return x;
  auto const power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(x)));
  return std::clamp<std::int64_t>(power + draw.between(-1, 1), 1, most);
}

std::int64_t draw_n(Draw& draw, std::int64_t low, std::int64_t high) {
  high = std::max<std::int64_t>(1, high);
  return near_power(draw, draw.between_in_powers(std::min(low, high), high), high);
}

std::int64_t draw_rows(Draw& draw, std::int64_t low, std::int64_t high) {
  return std::max<std::int64_t>(1, std::min(draw.between_in_powers(low, high), high));
}

void draw_rows_and_n(Draw& draw, Case& c, std::int64_t most) {
  auto const family = draw.below(20);
  if (family < 1) {  // hardly any keys
    c.rows = draw.between(0, 8);
    c.n = draw.between(0, 40);
  } else if (family < 4) {  // a long row
    c.rows = 1;
    c.n = draw_n(draw, 1 << 12, most);
  } else if (family < 9) {  // few rows
    c.rows = draw.between(2, 16);
    c.n = draw_n(draw, 1 << 9, std::min<std::int64_t>(1 << 18, most / c.rows));
  } else if (family < 13) {
    c.n = draw_n(draw, 200, std::min<std::int64_t>(1 << 15, most));
    c.rows = draw_rows(draw, 4, std::min<std::int64_t>(512, most / c.n));
  } else {  // a batch of short rows
    c.n = draw_n(draw, 1, std::min<std::int64_t>(1 << 12, most));
    c.rows = draw_rows(draw, 1, std::min<std::int64_t>(1 << 18, most / c.n));
  }
}

std::int64_t draw_k(Draw& draw, std::int64_t n) {
  switch (draw.below(10)) {
    case 0: return 1;
    case 1: return n;
    case 2: return n - std::min<std::int64_t>(n, draw.between_in_powers(1, 1 + n / 8));
    case 3:
    case 4: return n / draw.between(2, 40);
    case 5: return draw.between(0, n);
    default: return near_power(draw, draw.between_in_powers(1, n), n);
  }
}

/// Turns n keys in each row into n keys in all.
void make_ragged(Draw& draw, Case& c, std::int64_t most) {
  c.kind_of_rows = static_cast<Rows>(draw.between(1, ragged_kinds));
  std::int64_t const length = c.n;
  c.n *= c.rows;
  if (c.may_overlap()) c.n = std::min(c.n, most / std::max<std::int64_t>(1, c.rows));
  if (c.kind_of_rows == Rows::all_empty && draw.one_in(2)) c.n = 0;
  if (draw.one_in(8)) c.n += draw.between(0, 3);
  if (draw.one_in(4)) c.k = draw_k(draw, 4 * length);
  c.k = std::min(c.k, most / std::max<std::int64_t>(1, c.rows));
}

Placement place_by_rows(Draw& draw, std::int64_t rows, std::int64_t columns) {
  std::int64_t const pad = draw.one_in(2)   ? 0
                           : draw.one_in(2) ? draw.between(1, 9)
                                            : (16 - columns % 16) % 16;
  return {rows, columns, guard, columns + pad, 1};
}

Placement place_apart(Draw& draw, std::int64_t rows, std::int64_t columns) {
  std::int64_t const step = draw.between(2, 3);
  if (draw.one_in(2)) return {rows, columns, guard, columns * step + draw.between(0, 5), step};
  return {rows, columns, guard, step, rows * step + draw.between(0, 5)};
}

Placement place(Draw& draw, std::int64_t rows, std::int64_t columns) {
  auto const way = draw.below(8);
  Placement where = way < 5   ? place_by_rows(draw, rows, columns)
                    : way < 7 ? Placement{rows, columns, guard, 1, rows + draw.below(3)}
                              : place_apart(draw, rows, columns);
  if (draw.one_in(2)) where.shift += draw.below(8);
  return where;
}

/// The Placement of ragged keys, which have rank 1.
Placement place_in_line(Draw& draw, std::int64_t columns) {
  std::int64_t const step = draw.one_in(6) ? draw.between(2, 3) : 1;
  return {1, columns, guard + (draw.one_in(2) ? draw.below(8) : 0), columns * step, step};
}

void draw_options(Draw& draw, Options& options) {
  options.order = draw.enumerator<Order>(2);
  options.sorted = draw.one_in(2) ? Sorted::yes : Sorted::no;
  options.ties = draw.enumerator<Ties>(3);
  options.nan = draw.enumerator<NaN>(3);
  if (draw.one_in(5)) options.by = By::magnitude;
  constexpr Algorithm inner[] = {Algorithm::automatic, Algorithm::radix, Algorithm::bucket,
                                 Algorithm::bitonic};
  auto const count = static_cast<std::int64_t>(detail::algorithm_names.size());
  if (draw.one_in(2)) return;
  options.algorithm = static_cast<Algorithm>(draw.between(1, count - 1));
  if (options.algorithm == Algorithm::delegate) options.inner = draw.one_of(inner);
}

void draw_call(Draw& draw, Case& c) {
  constexpr Way ways[] = {Way::allocating, Way::default_instance,
                          Way::workspace,  Way::workspace,
                          Way::plan,       Way::plan,
                          Way::plan,       Way::plan};
  c.way = draw.one_of(ways);
  c.repeats = c.way == Way::plan && draw.one_in(2) ? static_cast<int>(draw.between(2, 4)) : 1;
  c.is_replaced = c.repeats > 1 && draw.one_in(2);
  c.workspace_shift = draw.one_in(2) ? draw.below(64) : 0;
  c.index = draw.one_in(2) ? narrow_index(c.type) : wide_index(c.type);
  if (draw.one_in(5)) {
    // Such calls are compiled for both outputs and narrow indices alone.
    c.per_row = static_cast<PerRow>(draw.between(1, 3));
    c.index = narrow_index(c.type);
  } else if (draw.one_in(4)) {
    c.outputs = draw.one_in(2) ? Outputs::values : Outputs::indices;
  }
}

/// Gives rows begins and ends; such calls are compiled for both outputs and narrow indices alone. Or has rows that are
/// shorter than k.
void draw_ends(Draw& draw, Case& c, Limits const& limits) {
  bool const is_plain =
      c.outputs == Outputs::both && c.per_row == PerRow::none && c.index == narrow_index(c.type);
  if (is_plain && c.is_ragged()) {
    c.has_ends = draw.one_in(2);
  } else if (is_plain && draw.one_in(4)) {
    c.kind_of_rows = Rows::in_matrix;
  } else if (!c.is_ragged() && draw.one_in(12)) {
    c.options.short_rows = ShortRows::fill;
    std::int64_t const most = limits.most_keys / std::max<std::int64_t>(1, c.rows);
    c.k = std::min(c.n + draw.between(0, 40), std::max(c.k, most));
  }
}

/// What has the answer of top_k, of rows of one length, with values, wide indices and sorted slots.
void draw_other_selection(Draw& draw, Case& c, Limits const& limits) {
  c.ask = static_cast<Ask>(draw.between(1, first_other_answer - 1));
  if (c.ask == Ask::host_stream && !draw.one_in(8)) c.ask = Ask::stream;  // it allocates for long
  c.cut = draw.bits();
  c.outputs = Outputs::both;
  c.index = wide_index(c.type);
  c.per_row = PerRow::none;
  if (c.way != Way::plan) c.way = Way::allocating;
  if (c.ask == Ask::masked && is_signed(c.type)) c.options.by = By::value;
  if (c.ask == Ask::gathered) {
    if (c.options.nan == NaN::skip) c.options.nan = NaN::least;
    c.k = std::min(c.k, c.n);
    return;
  }
  c.options.short_rows = ShortRows::fill;
  if (c.ask == Ask::masked || c.ask == Ask::stream)
    c.per_row = draw.one_in(2) ? PerRow::counts : PerRow::none;
  if (c.ask == Ask::masked || c.ask == Ask::merged) return;
  c.options.sorted = Sorted::yes;
  if (c.options.ties == Ties::any) c.options.ties = Ties::lowest_index;
  if (c.ask != Ask::team) return;
  // One thread of a host, or one team, has a whole row.
  c.n = std::min<std::int64_t>(c.n, 1 << 15);
  c.k = std::min<std::int64_t>({c.k, c.n + 40, 512});
  c.rows = std::min(c.rows, std::max<std::int64_t>(1, limits.most_keys / 8 / c.n));
}

/// How many ranks or bounds: no more than can be verified soon.
int draw_asked(Draw& draw, Case const& c, Limits const& limits) {
  if (c.ask == Ask::kth || c.ask == Ask::reaching) return 1;
  std::int64_t const most = 2 * limits.most_keys / (c.rows * c.n);
  std::int64_t const drawn = draw.one_in(4) ? draw.between(1, 40) : draw.between(1, 8);
  return static_cast<int>(std::clamp<std::int64_t>(most, 1, drawn));
}

/// Questions whose answers are not those of top_k.
void draw_question(Draw& draw, Case& c, Limits const& limits) {
  c.ask = static_cast<Ask>(draw.between(first_other_answer, asks - 1));
  if (c.way != Way::plan) c.way = Way::allocating;
  c.options.short_rows = ShortRows::refuse;
  if (is_signed(c.type)) c.options.by = By::value;
  c.per_row = PerRow::none;
  c.on_device = draw.one_in(2);
  c.is_shared = draw.one_in(3);
  if (c.ask == Ask::count) c.way = Way::allocating, c.repeats = 1;  // it has no Plan
  c.asked = draw_asked(draw, c, limits);
  if (c.asks_ranks()) {
    c.outputs = Outputs::values;
    c.k = c.asked;
  } else if (c.ask == Ask::count) {
    c.outputs = Outputs::indices;
    c.index = count_bytes(c.type) == 4 ? IndexType::int32 : IndexType::int64;
    c.k = 2 * c.asked;  // better and equal ones
  } else {
    c.outputs = draw.one_in(4) ? Outputs::indices : Outputs::both;
    c.index = narrow_index(c.type);
    c.per_row = draw.one_in(2) ? PerRow::counts : PerRow::none;
  }
}

/// Asks something else than top_k, where it can be asked.
void draw_ask(Draw& draw, Case& c, Limits const& limits) {
  if (c.n == 0 || c.rows == 0 || !draw.one_in(3)) return;
  bool const is_uniform = c.kind_of_rows == Rows::uniform;
  if (is_uniform && has_all_asks(c.type) && !draw.one_in(4))
    draw_other_selection(draw, c, limits);
  else
    draw_question(draw, c, limits);
}

void draw_switches(Draw& draw, Case& c, Limits const& limits) {
  using Implementations = Limits::Implementations;
  bool const drawn = draw.one_in(4);
  c.portable = limits.implementations == Implementations::drawn
                   ? drawn
                   : limits.implementations == Implementations::portable;
  if (limits.threads > 0 || !draw.one_in(10)) return;
  c.threshold =
      draw.one_in(2) ? ktopk::detail::Threshold::too_high : ktopk::detail::Threshold::too_low;
}

}  // namespace

Case draw_case(std::uint64_t seed, Limits const& limits) {
  Draw draw(seed);
  Case c;
  c.seed = seed;
  c.type = draw.enumerator<KeyType>(key_types);
  c.keys = draw.one_in(3) ? Keys::random : draw.enumerator<Keys>(key_kinds);
  c.key_seed = draw.bits();
  draw_rows_and_n(draw, c, limits.most_keys);
  c.k = std::min(c.n, draw_k(draw, c.n));
  if (draw.one_in(4)) make_ragged(draw, c, limits.most_keys);
  draw_options(draw, c.options);
  draw_call(draw, c);
  draw_ends(draw, c, limits);
  draw_ask(draw, c, limits);
  c.key_place = c.is_ragged() ? place_in_line(draw, c.n) : place(draw, c.rows, c.n);
  c.value_place = place(draw, c.rows, c.k);
  c.index_place = place(draw, c.rows, c.k);
  c.row_step = draw.one_in(4) ? 2 : 1;
  c.keys_are_compared = draw.one_in(3);
  draw_switches(draw, c, limits);
  if (limits.threads > 0 && c.way == Way::default_instance) c.way = Way::allocating;
  return c;
}

Case case_of_call(Case c, int i) {
  c.key_seed += static_cast<std::uint64_t>(i);
  if (!c.is_replaced || i % 2 == 0) return c;
  for (Placement* const where : {&c.key_place, &c.value_place, &c.index_place})
    *where = where->packed();
  return c;
}

}  // namespace ktopk::fuzz
