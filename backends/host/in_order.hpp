// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "loops.hpp"

// Rows whose ordered bits never fall or never rise. Their selected keys lie together at an end of the row, or at two
// places if a tie decides.

namespace ktopk::detail {

/// The places first .. first + count - 1.
struct PlaceInterval {
  int first, count;
};

/// Two intervals, of which the first comes before the second; each may be empty.
struct PlaceIntervals {
  PlaceInterval before, behind;
};

/// Whether the ordered bits of keys that are `apart` from each other never fall or never rise.
template <class Bits>
bool are_in_order(OrderedBitsMap<Bits> const& rank, Stored<Bits> const* keys, std::int64_t count,
                  std::int64_t apart) {
  Bits before = rank(keys[0]);
  bool rises = false, falls = false;
  for (std::int64_t i = apart; i < count && !(rises && falls); i += apart) {
    Bits const here = rank(keys[i]);
    rises |= here > before;
    falls |= here < before;
    before = here;
  }
  return !(rises && falls);
}

/// Whether the first keys of a row are in order. For most rows that is as good a test as keys all over the row, each of
/// which may have to come from memory.
template <class Bits>
bool starts_in_order(OrderedBitsMap<Bits> const& rank, Stored<Bits> const* keys,
                     std::int64_t count) {
  return are_in_order(rank, keys, std::min<std::int64_t>(count, 16), 1);
}

/// Whether the keys at some places all over a row are in order. They are if the row is, and in few other rows.
template <class Bits>
bool may_be_in_order(OrderedBitsMap<Bits> const& rank, Stored<Bits> const* keys,
                     std::int64_t count) {
  return are_in_order(rank, keys, count, std::max<std::int64_t>(count / 16, 1));
}

/// The places of the k best of a row whose order is `monotonicity`, 0 < k < count.
template <class Bits>
PlaceIntervals selected_in_order(Monotonicity monotonicity, OrderedBitsMap<Bits> const& rank,
                                 Stored<Bits> const* keys, int count, int k, bool last_wins) {
  bool const rises = monotonicity == Monotonicity::rises;
  int const at = rises ? count - k : k - 1, beside = rises ? at - 1 : at + 1;
  Bits const pivot = rank(keys[at]);
  if (rank(keys[beside]) != pivot) return {{rises ? at : 0, k}, {count, 0}};
  auto const places_until = [&](auto const& is_before) {
    return first_place_behind(0, count, [&](int i) { return is_before(keys[i]); });
  };
  int const first =
      places_until([&](Bits key) { return rises ? rank(key) < pivot : rank(key) > pivot; });
  int const last =
      places_until([&](Bits key) { return rises ? rank(key) <= pivot : rank(key) >= pivot; });
  PlaceInterval const better = rises ? PlaceInterval{last, count - last} : PlaceInterval{0, first};
  int const wanted = k - better.count;
  PlaceInterval const ties{last_wins ? last - wanted : first, wanted};
  return rises ? PlaceIntervals{ties, better} : PlaceIntervals{better, ties};
}

}  // namespace ktopk::detail
