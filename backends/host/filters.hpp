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

/// The filters of HostLoops for one kind of processor, with a prefilter of a known kind.
#define KTOPK_HOST_FILTERS(Filters, attribute, ChunkOf)                                          \
  struct Filters {                                                                               \
    template <class Bits, bool by_ends>                                                          \
    using Chunk = ChunkOf<Bits, by_ends>;                                                        \
    template <bool fetches, class Bits, bool by_ends>                                            \
    attribute static int filter(Stored<Bits> const* keys, int count, Chunk<Bits, by_ends> chunk, \
                                std::uint16_t* hits) {                                           \
      constexpr int size = chunk.size;                                                           \
      int found = 0, i = 0;                                                                      \
      for (; i + size <= count; i += size) {                                                     \
        if constexpr (fetches) fetch_ahead<Bits, size>(keys + i);                                \
        found = chunk.add(keys + i, i, hits, found);                                             \
      }                                                                                          \
      for (; i < count; ++i) {                                                                   \
        hits[found] = static_cast<std::uint16_t>(i);                                             \
        found += chunk.range.has(chunk.map(keys[i]));                                            \
      }                                                                                          \
      return found;                                                                              \
    }                                                                                            \
    template <class Bits, bool by_ends>                                                          \
    attribute static int filter_streams(Stored<Bits> const* keys, std::int64_t apart,            \
                                        Chunk<Bits, by_ends> chunk, std::uint16_t* hits) {       \
      constexpr int size = chunk.size;                                                           \
      int found = 0;                                                                             \
      for (int i = 0; i < filter_block; i += size)                                               \
        for (int s = 0; s < streams; ++s) {                                                      \
          Stored<Bits> const* const from = keys + s * apart + i;                                 \
          found = chunk.add(from, s * filter_block + i, hits, found);                            \
        }                                                                                        \
      return found;                                                                              \
    }                                                                                            \
  };

/// Calls filter(chunk) with the kind of chunk that suits the range.
template <class Filters, class Bits, class Filter>
int with_chunk(OrderedBitsMap<Bits> const& rank, OrderedBitsRange<Bits> range,
               Filter const& filter) {
  Prefilter<Bits> const prefilter(rank, range);
  if (prefilter.by_ends())
    return filter(typename Filters::template Chunk<Bits, true>{rank, range, prefilter});
  return filter(typename Filters::template Chunk<Bits, false>{rank, range, prefilter});
}

template <class Filters, bool fetches, class Bits>
int filter(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
           OrderedBitsRange<Bits> range, std::uint16_t* hits) {
  return with_chunk<Filters>(rank, range, [=](auto const& chunk) {
    return Filters::template filter<fetches, Bits>(keys, count, chunk, hits);
  });
}

template <class Filters, class Bits>
int filter_streams(Stored<Bits> const* keys, std::int64_t apart, OrderedBitsMap<Bits> const& rank,
                   OrderedBitsRange<Bits> range, std::uint16_t* hits) {
  return with_chunk<Filters>(rank, range, [=](auto const& chunk) {
    return Filters::template filter_streams<Bits>(keys, apart, chunk, hits);
  });
}

}  // namespace ktopk::detail
