// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "best_two.hpp"

#include "loops.hpp"
#include "targets.hpp"

namespace ktopk::detail {

/// Offers a rank to the sequences 0 .. lanes - 1; `late` wins a tie against an earlier one.
template <bool Late, class Bits>
[[gnu::always_inline]] inline void offer_to_lanes(Stored<Bits> const* keys, int lanes,
                                                  RankMap<Bits> const& map, Bits step,
                                                  BestTwo<Bits>& best) {
  for (int l = 0; l < lanes; ++l) {
    Bits const rank = map(keys[l]);
    Bits const top = best.ranks[0][l], next = best.ranks[1][l];
    bool const is_top = Late ? rank >= top : rank > top;
    bool const is_next = Late ? rank >= next : rank > next;
    Bits const step_below = is_next ? step : best.steps[1][l];
    Bits const rank_below = is_next ? rank : next;
    best.ranks[1][l] = is_top ? top : rank_below;
    best.steps[1][l] = is_top ? best.steps[0][l] : step_below;
    best.ranks[0][l] = is_top ? rank : top;
    best.steps[0][l] = is_top ? step : best.steps[0][l];
  }
}

/// The first two of each sequence.
template <bool Late, class Bits>
[[gnu::always_inline]] inline void begin_lanes(Stored<Bits> const* keys, RankMap<Bits> const& map,
                                               BestTwo<Bits>& best) {
  for (int l = 0; l < best_two_lanes; ++l) {
    Bits const a = map(keys[l]), b = map(keys[best_two_lanes + l]);
    bool const swapped = Late ? b >= a : b > a;
    best.ranks[0][l] = swapped ? b : a;
    best.ranks[1][l] = swapped ? a : b;
    best.steps[0][l] = swapped ? Bits{1} : Bits{0};
    best.steps[1][l] = swapped ? Bits{0} : Bits{1};
  }
}

/// Whether a step's keys may change the best two: a cheaper test, which all that do and few others pass.
/// Minus zero may be ordered one below its rank, and a NaN at the other end.
template <bool Late, class Bits>
[[gnu::always_inline]] inline bool may_enter(Stored<Bits> const* keys, RankMap<Bits> const& map,
                                             BestTwo<Bits> const& best) {
  Bits any = 0;
  for (int l = 0; l < best_two_lanes; ++l) {
    Bits const next = best.ranks[1][l];
    Bits const bar = Late ? static_cast<Bits>(next - (next != 0 ? 1 : 0)) : next;
    bool const reaches = map.ordered(keys[l]) >= bar;
    bool const is_nan = static_cast<Bits>(keys[l] & map.magnitude) > map.infinity;
    any = static_cast<Bits>(any | ((reaches | is_nan) ? 1 : 0));
  }
  return any != 0;
}

/// From which step on of random keys most steps change nothing.
inline constexpr int first_rare_step = 256;

template <bool Late, class Bits>
[[gnu::always_inline]] inline void offer_steps(Stored<Bits> const* keys, int count,
                                               RankMap<Bits> const& map, int step,
                                               BestTwo<Bits>& kept) {
  BestTwo<Bits> best = kept;
  int i = 0;
  if (step == 0) {
    begin_lanes<Late>(keys, map, best);
    i = 2 * best_two_lanes;
    step = 2;
  }
  constexpr int line = 64 / static_cast<int>(sizeof(Bits));
  for (; i + best_two_lanes <= count; i += best_two_lanes, ++step) {
    for (int j = 0; j < best_two_lanes; j += line) __builtin_prefetch(keys + i + j + filter_block);
    if (step >= first_rare_step && !may_enter<Late>(keys + i, map, best)) continue;
    offer_to_lanes<Late>(keys + i, best_two_lanes, map, static_cast<Bits>(step), best);
  }
  offer_to_lanes<Late>(keys + i, count - i, map, static_cast<Bits>(step), best);
  kept = best;
}

template <class Bits>
[[gnu::always_inline]] inline void best_two_plain(Stored<Bits> const* keys, int count,
                                                  RankMap<Bits> const& rank, int step, bool late,
                                                  BestTwo<Bits>& best) {
  RankMap<Bits> const map = rank;
  if (late)
    offer_steps<true>(keys, count, map, step, best);
  else
    offer_steps<false>(keys, count, map, step, best);
}

#define KTOPK_BEST_TWO(suffix, attribute)                                                          \
  template <class Bits>                                                                            \
  attribute void best_two_##suffix(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank, \
                                   int step, bool late, BestTwo<Bits>& best) {                     \
    best_two_plain(keys, count, rank, step, late, best);                                           \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_BEST_TWO)
#undef KTOPK_BEST_TWO

template <class Bits>
BestTwoLoop<Bits> pick_best_two() {
  return KTOPK_FASTEST_ON_HOST(best_two, Bits);
}

#if !defined(KTOPK_HEADER_ONLY)
template BestTwoLoop<std::uint8_t> pick_best_two();
template BestTwoLoop<std::uint16_t> pick_best_two();
template BestTwoLoop<std::uint32_t> pick_best_two();
template BestTwoLoop<std::uint64_t> pick_best_two();
#endif

}  // namespace ktopk::detail
