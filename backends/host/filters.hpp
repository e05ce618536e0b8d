// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "loops.hpp"
#include "prefilter.hpp"
#include "targets.hpp"

// The loops that reject most keys, made of functions that treat a chunk of neighbors.

namespace ktopk::detail {

/// Returns a mask: bit j is byte j of the eight at `flags`, each 0 or 1.
inline std::uint64_t pack_flags(std::uint8_t const* flags) {
  constexpr std::uint64_t spread =
      std::endian::native == std::endian::little ? 0x0102040810204080ull : 0x8040201008040201ull;
  std::uint64_t word;
  std::memcpy(&word, flags, 8);
  return (word * spread) >> 56;
}

inline std::uint64_t pack_flags_of_64(std::uint8_t const* flags) {
  std::uint64_t mask = 0;
  for (int b = 0; b < 8; ++b) mask |= pack_flags(flags + 8 * b) << (8 * b);
  return mask;
}

/// Appends place + j for every bit j that is set; returns how many places there are then.
[[gnu::always_inline]] inline int append_bits(std::uint64_t mask, int place, std::uint16_t* hits,
                                              int found) {
  for (; mask != 0; mask &= mask - 1)
    hits[found++] = static_cast<std::uint16_t>(place + std::countr_zero(mask));
  return found;
}

/// Prefetches to the second cache: a core has few buffers for lines on their way to the first, and more for the second.
template <class Bits, int count>
[[gnu::always_inline]] inline void fetch_ahead(Stored<Bits> const* keys) {
  constexpr int read_only = 0, second_cache = 2;
  constexpr int line = 64 / static_cast<int>(sizeof(Bits));
  for (int j = 0; j < count; j += line)
    __builtin_prefetch(keys + j + filter_block, read_only, second_cache);
}

/// How a filter treats `size` neighbors, with a prefilter whose kind is known at compile time.
template <class Bits, bool by_ends>
struct PlainChunk {
  static constexpr int size = 128;
  OrderedBitsMap<Bits> map;
  OrderedBitsRange<Bits> range;
  Prefilter<Bits> prefilter;

  /// Appends the places of the keys in the range; the first key is at `place`.
  [[gnu::always_inline]] int add(Stored<Bits> const* keys, int place, std::uint16_t* hits,
                                 int found) const {
    if (!prefilter.template passes_any<by_ends, size>(keys)) return found;
    std::uint8_t in[size];
    for (int j = 0; j < size; ++j) in[j] = range.has(map(keys[j])) ? 1 : 0;
    for (int w = 0; w < size; w += 64)
      found = append_bits(pack_flags_of_64(in + w), place + w, hits, found);
    return found;
  }
};

// The filters of HostLoops for one kind of processor.
#define KTOPK_FILTERS(suffix, attribute, Chunk)                                                   \
  template <bool fetches, bool by_ends, class Bits>                                               \
  attribute int filter_chunks_##suffix(Stored<Bits> const* keys, int count,                       \
                                       Chunk<Bits, by_ends> chunk, std::uint16_t* hits) {         \
    constexpr int size = chunk.size;                                                              \
    int found = 0, i = 0;                                                                         \
    for (; i + size <= count; i += size) {                                                        \
      if constexpr (fetches) fetch_ahead<Bits, size>(keys + i);                                   \
      found = chunk.add(keys + i, i, hits, found);                                                \
    }                                                                                             \
    for (; i < count; ++i) {                                                                      \
      hits[found] = static_cast<std::uint16_t>(i);                                                \
      found += chunk.range.has(chunk.map(keys[i]));                                               \
    }                                                                                             \
    return found;                                                                                 \
  }                                                                                               \
  template <bool by_ends, class Bits>                                                             \
  attribute int filter_chunks_of_streams_##suffix(Stored<Bits> const* keys, std::int64_t apart,   \
                                                  Chunk<Bits, by_ends> chunk,                     \
                                                  std::uint16_t* hits) {                          \
    constexpr int size = chunk.size;                                                              \
    int found = 0;                                                                                \
    for (int i = 0; i < filter_block; i += size)                                                  \
      for (int s = 0; s < streams; ++s) {                                                         \
        Stored<Bits> const* const from = keys + s * apart + i;                                    \
        found = chunk.add(from, s * filter_block + i, hits, found);                               \
      }                                                                                           \
    return found;                                                                                 \
  }                                                                                               \
  template <bool fetches, class Bits>                                                             \
  int filter_##suffix(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,      \
                      OrderedBitsRange<Bits> range, std::uint16_t* hits) {                        \
    Prefilter<Bits> const prefilter(rank, range);                                                 \
    if (prefilter.by_ends())                                                                      \
      return filter_chunks_##suffix<fetches, true, Bits>(keys, count, {rank, range, prefilter},   \
                                                         hits);                                   \
    return filter_chunks_##suffix<fetches, false, Bits>(keys, count, {rank, range, prefilter},    \
                                                        hits);                                    \
  }                                                                                               \
  template <class Bits>                                                                           \
  int filter_streams_##suffix(Stored<Bits> const* keys, std::int64_t apart,                       \
                              OrderedBitsMap<Bits> const& rank, OrderedBitsRange<Bits> range,     \
                              std::uint16_t* hits) {                                              \
    Prefilter<Bits> const prefilter(rank, range);                                                 \
    if (prefilter.by_ends())                                                                      \
      return filter_chunks_of_streams_##suffix<true, Bits>(keys, apart, {rank, range, prefilter}, \
                                                           hits);                                 \
    return filter_chunks_of_streams_##suffix<false, Bits>(keys, apart, {rank, range, prefilter},  \
                                                          hits);                                  \
  }                                                                                               \
  template <class Bits>                                                                           \
  void set_filters_##suffix(HostLoops<Bits>& loops) {                                             \
    bool const fetches = gains_by_fetching();                                                     \
    loops.filter = fetches ? filter_##suffix<true, Bits> : filter_##suffix<false, Bits>;          \
    loops.filter_streams = filter_streams_##suffix<Bits>;                                         \
  }

}  // namespace ktopk::detail
