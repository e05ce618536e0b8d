// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "../in_order.hpp"
#include "../scan.hpp"
#include "../strided_maxima.hpp"

// How heap reads a part of a row: keys that reject many others come first.

namespace ktopk::detail {

/// Calls visit(composite) for the keys at from[hits[0]], from[hits[1]] ... from the better end on, where `from` is
/// position `first`. The visited keys raise the threshold, so it filters the rest again now and then: in a sorted block
/// it visits few keys. It overwrites `hits`.
template <class Bits, class CompositeKey, class Threshold, class Visit>
void visit_best_end_first(HostLoops<Bits> const& loops,
                          CompositeKeyMap<Bits, CompositeKey> const& map, Stored<Bits> const* from,
                          std::uint16_t* hits, int found, std::int64_t first,
                          Threshold const& threshold, Visit const& visit) {
  auto const composite = [&](int h) {
    return map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h]));
  };
  for (int stride = 64; found > 0; stride *= 2) {
    int const visits = found <= 2 * stride ? found : stride;
    bool const from_last = composite(0) < composite(found - 1);
    for (int v = 0; v < visits; ++v) visit(composite(from_last ? found - 1 - v : v));
    if (visits == found) return;
    int const begin = from_last ? hits[0] : hits[visits];
    int const end = (from_last ? hits[found - 1 - visits] : hits[found - 1]) + 1;
    from += begin;
    first += begin;
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(first + end - begin), least))
      return;
    found = loops.filter(from, end - begin, map.rank, ranks_from(least), hits);
  }
}

/// Returns a composite key that k of the keys of begin .. end - 1 reach; or 0 if it costs more than it saves: for a
/// short range, or if the keys may be in order, so that those of one end reject the others.
template <class Bits, class CompositeKey>
CompositeKey threshold_by_maxima(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                 std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                                 std::int64_t begin, std::int64_t end, int k) {
  StridedMaxima const maxima(k);
  std::int64_t const count = end - begin, least = StridedMaxima::most_in_class * maxima.count;
  if (step != 1 || count < least || !maxima.serve(least)) return 0;
  if (may_be_in_order(map.rank, keys + begin, count)) return 0;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  int const length = static_cast<int>(std::min(count, most));
  return static_cast<CompositeKey>(maxima.kth(loops, map.rank, keys + begin, length).rank)
         << map.position_bits;
}

/// The same for every key of begin .. end - 1 that may reach threshold(), block by block. A few keys of both ends come
/// first if k is small, then the last block: if keys fall or rise, these reject the others. In a long row the first
/// block comes early too, and what is between is read by streams. Keys that k others beat may be left out.
template <class Bits, class CompositeKey, class Threshold, class Visit>
void for_each_reaching_best_end_first(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                      std::int64_t step,
                                      CompositeKeyMap<Bits, CompositeKey> const& map,
                                      std::int64_t begin, std::int64_t end, int block, int k,
                                      Threshold const& at_least, Visit const& visit) {
  CompositeKey const known = threshold_by_maxima(loops, keys, step, map, begin, end, k);
  auto const threshold = [&] { return std::max(known, at_least()); };
  auto const visit_blocks = [&](std::int64_t first, std::int64_t last, int length) {
    for_each_block_reaching(
        loops, keys, step, map, first, last, length, threshold,
        [&](Stored<Bits> const* from, std::uint16_t* hits, int found, std::int64_t position) {
          visit_best_end_first(loops, map, from, hits, found, position, threshold, visit);
        });
  };
  std::int64_t const head = std::min(begin + block, end), tail = std::max(head, end - block);
  visit_blocks(begin, head, block);
  visit_blocks(tail, end, block);
  std::int64_t const last = std::max(head, end - filter_block);
  visit_blocks(last, tail, block);
  constexpr std::int64_t worth_streams = std::int64_t{1} << 17;
  bool const by_streams = step == 1 && last - head >= worth_streams;
  std::int64_t const first_end = by_streams ? head + filter_block : last;
  visit_blocks(head, first_end, filter_block);
  if (by_streams)
    for_each_reaching_in_streams(loops, keys, step, map, first_end, last, threshold,
                                 [&](int found, auto const& composite) {
                                   for (int h = 0; h < found; ++h) visit(composite(h));
                                 });
}

}  // namespace ktopk::detail
