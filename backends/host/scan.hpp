// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../runtime/thread_memory.hpp"
#include "loops.hpp"

// How a row is read: block by block, through the filter, for keys that may reach a threshold.

namespace ktopk::detail {

/// Memory for a copy of a block's keys, if they are not neighbors but `step` apart.
template <class Bits>
ThreadArray<Bits> memory_for_block(std::int64_t step) {
  return ThreadArray<Bits>(step == 1 ? 0 : filter_block);
}

/// Returns `count` > 0 keys one after the other: the keys themselves, or a copy if they are `step` apart.
template <class Bits>
Stored<Bits> const* neighbors(Stored<Bits> const* keys, std::int64_t step, int count,
                              Bits* packed) {
  if (step == 1) return keys;
  int i = 0;
  do packed[i] = keys[i * step];
  while (++i < count);
  return packed;
}

/// Calls body(from, hits, found, first) for each block of begin .. end - 1 in which some keys may reach threshold():
/// those at from[hits[0]], from[hits[1]] ..., where `from` is position `first`. It asks for the threshold once a block,
/// and the threshold may rise.
/// \param read         read(first, count) returns where the keys of a block lie one after the other
/// \param block, most  blocks grow from `block` to `most` keys, which are at most long_block
template <class Bits, class CompositeKey, class Read, class Threshold, class Body>
void for_each_read_block_reaching(HostLoops<Bits> const& loops, Read const& read,
                                  CompositeKeyMap<Bits, CompositeKey> const& map,
                                  std::int64_t begin, std::int64_t end, int block, int most,
                                  Threshold const& threshold, Body const& body) {
  std::uint16_t hits[long_block + 1];
  int next = std::min(block, most);
  for (std::int64_t first = begin; first < end; first += block) {
    block = next;
    next = std::min(block * 2, most);
    int const count = static_cast<int>(end - first < block ? end - first : block);
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(first + count), least))
      continue;
    Stored<Bits> const* const from = read(first, count);
    body(from, hits, loops.filter(from, count, map.rank, ranks_from(least), hits), first);
  }
}

/// The same of keys that are `step` apart. Blocks grow to filter_block keys, unless `block` is longer.
template <class Bits, class CompositeKey, class Threshold, class Body>
void for_each_block_reaching(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                             std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                             std::int64_t begin, std::int64_t end, int block,
                             Threshold const& threshold, Body const& body) {
  ThreadArray<Bits> const packed = memory_for_block<Bits>(step);
  int const most = step == 1 ? std::max(block, filter_block) : filter_block;
  auto const read = [&](std::int64_t first, int count) {
    return neighbors(keys + first * step, step, count, packed.get());
  };
  for_each_read_block_reaching(loops, read, map, begin, end, block, most, threshold, body);
}

/// Makes of body(found, composite) what a block is given to: composite(0) .. composite(found - 1) are those that may reach
/// the threshold.
template <class Bits, class CompositeKey, class Body>
auto with_composites(CompositeKeyMap<Bits, CompositeKey> const& map, Body const& body) {
  return [&](Stored<Bits> const* from, std::uint16_t const* places, int found, std::int64_t first) {
    body(found, [&](int h) {
      return map(from[places[h]], static_cast<std::uint64_t>(first + places[h]));
    });
  };
}

/// Calls body(begin, end) for the one or two intervals of a range in which either all keys that tie with `threshold`
/// reach it or none does. What the filter finds in an interval need not be examined again.
template <class Bits, class CompositeKey, class Body>
void for_each_side_of_ties(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold,
                           std::int64_t begin, std::int64_t end, Body const& body) {
  auto const boundary =
      std::clamp(static_cast<std::int64_t>(map.tie_boundary(threshold)), begin, end);
  if (begin < boundary) body(begin, boundary);
  if (boundary < end) body(boundary, end);
}

/// Calls body(found, composite) for each group of blocks of begin .. end - 1 in which some keys may reach threshold(),
/// which may rise: composite(0) .. composite(found - 1), in no particular order. It reads by one stream if keys are not
/// neighbors in memory, or if the processor gains nothing by more.
template <class Bits, class CompositeKey, class Threshold, class Body>
void for_each_reaching_in_streams(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                  std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                                  std::int64_t begin, std::int64_t end, Threshold const& threshold,
                                  Body const& body) {
  std::uint16_t hits[streams * filter_block + 1];
  std::int64_t const apart =
      step == 1 && loops.by_streams ? (end - begin) / (streams * filter_block) * filter_block : 0;
  for (std::int64_t first = begin; first < begin + apart; first += filter_block) {
    std::int64_t const end_of_last = first + (streams - 1) * apart + filter_block;
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(end_of_last), least))
      continue;
    int const found = loops.filter_streams(keys + first, apart, map.rank, ranks_from(least), hits);
    body(found, [&](int h) {
      std::int64_t const at = first + hits[h] / filter_block * apart + hits[h] % filter_block;
      return map(keys[at], static_cast<std::uint64_t>(at));
    });
  }
  for_each_block_reaching(loops, keys, step, map, begin + streams * apart, end, long_block,
                          threshold, with_composites(map, body));
}

}  // namespace ktopk::detail
