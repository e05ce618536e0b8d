// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/detail/rank.hpp>

// The inner loop of every host room that keeps what reaches a threshold: plain C++ that vectorizes,
// compiled for the processors of a decade and picked at run time, so that a portable build is fast.

namespace ktopk::detail {

inline constexpr int filter_block = 2048;

/// Writes to `hits` the places of the keys whose rank is at least `threshold`; returns how many.
/// \param count  at most filter_block
/// \param hits   room for filter_block + 1
template <class Bits>
[[gnu::always_inline]] inline int filter_plain(Bits const* keys, int count,
                                               RankMap<Bits> const& rank, Bits threshold,
                                               std::uint16_t* hits) {
  constexpr int stripe = 256 / static_cast<int>(sizeof(Bits));
  RankMap<Bits> const map = rank;
  int found = 0;
  int i = 0;
  for (; i + stripe <= count; i += stripe) {
    Bits any = 0;
    for (int j = 0; j < stripe; ++j)
      any = static_cast<Bits>(any | (map(keys[i + j]) >= threshold ? Bits{1} : Bits{0}));
    if (any == 0) continue;
    for (int j = i; j < i + stripe; ++j) {
      hits[found] = static_cast<std::uint16_t>(j);
      found += map(keys[j]) >= threshold;
    }
  }
  for (; i < count; ++i) {
    hits[found] = static_cast<std::uint16_t>(i);
    found += map(keys[i]) >= threshold;
  }
  return found;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__)
#define KTOPK_HOST_TARGETS 1
template <class Bits>
[[gnu::target("avx2")]] int filter_avx2(Bits const* keys, int count, RankMap<Bits> const& rank,
                                        Bits threshold, std::uint16_t* hits) {
  return filter_plain(keys, count, rank, threshold, hits);
}
#if defined(__clang__)
#define KTOPK_AVX512 "avx512f,avx512bw,avx512vl,avx512dq"
#else
#define KTOPK_AVX512 "avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"
#endif
template <class Bits>
[[gnu::target(KTOPK_AVX512)]] int filter_avx512(Bits const* keys, int count,
                                                RankMap<Bits> const& rank, Bits threshold,
                                                std::uint16_t* hits) {
  return filter_plain(keys, count, rank, threshold, hits);
}
#endif

template <class Bits>
using Filter = int (*)(Bits const*, int, RankMap<Bits> const&, Bits, std::uint16_t*);

template <class Bits>
int filter_portable(Bits const* keys, int count, RankMap<Bits> const& rank, Bits threshold,
                    std::uint16_t* hits) {
  return filter_plain(keys, count, rank, threshold, hits);
}

/// The fastest filter that this processor runs.
template <class Bits>
Filter<Bits> pick_filter() {
#if defined(KTOPK_HOST_TARGETS)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return filter_avx512<Bits>;
  if (__builtin_cpu_supports("avx2")) return filter_avx2<Bits>;
#endif
  return filter_portable<Bits>;
}

/// Calls visit(item) for every key of begin .. end - 1 that may reach threshold(), in order.
/// `threshold` is asked once a block and may rise; blocks grow from `block` to filter_block keys.
template <class Bits, class Item, class Threshold, class Visit>
void for_each_reaching(Filter<Bits> filter, Bits const* keys, std::int64_t step,
                       ItemMap<Bits, Item> const& map, std::int64_t begin, std::int64_t end,
                       int block, Threshold const& threshold, Visit const& visit) {
  std::uint16_t hits[filter_block + 1];
  Bits packed[filter_block];
  int next = block;
  for (std::int64_t first = begin; first < end; first += block) {
    block = next;
    next = block * 2 < filter_block ? block * 2 : filter_block;
    int const count = static_cast<int>(end - first < block ? end - first : block);
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(first + count), least))
      continue;
    Bits const* from = keys + first * step;
    if (step != 1) {
      for (int i = 0; i < count; ++i) packed[i] = from[i * step];
      from = packed;
    }
    int const found = filter(from, count, map.rank, least, hits);
    for (int h = 0; h < found; ++h)
      visit(map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h])));
  }
}

}  // namespace ktopk::detail
