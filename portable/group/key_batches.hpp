// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/rows.hpp>
#include <ktopk/core/unrolled.hpp>

#include "group.hpp"

// How the threads of a group load keys of a row: several at a time, so that many loads are under way at once, and 16
// bytes at a time if keys lie side by side.

namespace ktopk::detail {

/// The keys that a thread loads at a time: `vectors` vectors of `width` neighbors, of which the first `full` are
/// loaded.
template <class KeyBits, int vectors, int width>
struct KeyBatch {
  using Bits = KeyBits;
  static constexpr int size = vectors * width;
  static constexpr bool has_gaps = false;
  template <class OtherBits>
  using Of = KeyBatch<OtherBits, vectors, width>;

  Bits keys[size];
  std::int64_t first;   // position of the first key
  std::int64_t stride;  // from vector to vector
  int full;

  KOKKOS_FUNCTION bool holds(int j) const { return j / width < full; }
  /// A mask with a bit for each key that is loaded.
  KOKKOS_FUNCTION std::uint32_t held() const {
    static_assert(size <= 32);
    return full == 0 ? 0u : ~std::uint32_t{0} >> (32 - full * width);
  }
  KOKKOS_FUNCTION std::int64_t position(int j) const {
    return first + j / width * stride + j % width;
  }
  template <class CompositeKey>
  KOKKOS_FUNCTION Bits rank(CompositeKeyMap<Bits, CompositeKey> const& map, int j) const {
    return map.rank(keys[j]);
  }
  template <class CompositeKey>
  KOKKOS_FUNCTION CompositeKey join(CompositeKeyMap<Bits, CompositeKey> const& map, Bits rank,
                                    int j) const {
    return map.join(rank, static_cast<std::uint64_t>(position(j)));
  }
};

/// A batch of which a row may lack keys: bit j of `present` is set if there is a key. A gap ranks last.
template <class Batch>
struct BatchWithGaps : Batch {
  using Bits = typename Batch::Bits;
  static constexpr bool has_gaps = true;
  template <class OtherBits>
  using Of = typename Batch::template Of<OtherBits>;

  std::uint32_t present;

  KOKKOS_FUNCTION bool has_key(int j) const { return (present >> j & 1u) != 0; }
  template <class CompositeKey>
  KOKKOS_FUNCTION Bits rank(CompositeKeyMap<Bits, CompositeKey> const& map, int j) const {
    return has_key(j) ? map.rank(this->keys[j]) : Bits{0};
  }
  template <class CompositeKey>
  KOKKOS_FUNCTION CompositeKey join(CompositeKeyMap<Bits, CompositeKey> const& map, Bits rank,
                                    int j) const {
    return has_key(j) ? Batch::join(map, rank, j)
                      : map.gap(static_cast<std::uint64_t>(this->position(j)));
  }
};

/// What a row that is made of another makes of the other's batch: new keys, fewer keys, or both.
template <class Row, class Batch>
KOKKOS_FORCEINLINE_FUNCTION auto batch_of(Row const& row, Batch const& from) {
  typename Batch::template Of<typename Row::Bits> made;
  made.first = from.first;
  made.stride = from.stride;
  made.full = from.full;
  std::uint32_t present = from.held();
  if constexpr (Batch::has_gaps) present &= from.present;
  unrolled<Batch::size>([&](auto j) {
    if constexpr (Row::has_own_gaps)
      if ((present >> j & 1u) != 0 && !row.keeps(from.position(j))) present &= ~(1u << j);
    made.keys[j] = (present >> j & 1u) != 0 ? row.made_of(from.keys[j], from.position(j))
                                            : typename Row::Bits{0};
  });
  if constexpr (Row::has_gaps)
    return BatchWithGaps<decltype(made)>{made, present};
  else
    return made;
}

template <class Bits>
inline constexpr int keys_per_vector = 16 / static_cast<int>(sizeof(Bits));

/// How many keys a thread loads at a time, if they lie side by side.
template <class Bits>
inline constexpr int keys_per_batch = (sizeof(Bits) == 1 ? 2 : 4) * keys_per_vector<Bits>;

template <class Bits>
struct alignas(16) KeyVector {
  Stored<Bits> keys[keys_per_vector<Bits>];
};

/// How many of a thread's `vectors`, which lie a stride apart from `index` on, lie below `count`.
template <int vectors>
KOKKOS_FORCEINLINE_FUNCTION int full_vectors(std::int64_t index, std::int64_t stride,
                                             std::int64_t count) {
  int full = 0;  // counted, because a GPU divides in many instructions
  unrolled<vectors>([&](auto v) { full += index + v * stride < count ? 1 : 0; });
  return full;
}

/// Calls visit(batch) for the keys that a thread takes of a range, one in `threads` from the `thread`-th on, and
/// settle() after each stride of all threads.
template <int vectors = 8, class Row, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void for_each_spread_batch(Row const& row, Range range,
                                                       std::int64_t thread, std::int64_t threads,
                                                       Visit const& visit, Settle const& settle) {
  if constexpr (requires { row.inner; }) {
    for_each_spread_batch<vectors>(
        row.inner, range, thread, threads, [&](auto const& batch) { visit(batch_of(row, batch)); },
        settle);
  } else {
    using Bits = typename Row::Bits;
    for (std::int64_t begin = range.begin; begin < range.end; begin += vectors * threads) {
      KeyBatch<Bits, vectors, 1> batch;
      batch.first = begin + thread;
      batch.stride = threads;
      batch.full = full_vectors<vectors>(batch.first, threads, range.end);
      unrolled<vectors>(
          [&](auto j) { batch.keys[j] = batch.holds(j) ? row[batch.position(j)] : Bits{0}; });
      visit(batch);
      settle();
    }
  }
}

/// The same for `count` vectors from position `first`. Keys lie side by side from a multiple of 16 bytes on.
template <int vectors, class Group, class Bits, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void for_each_vector_batch(Group const& group, Stored<Bits> const* keys,
                                                       std::int64_t first, std::int64_t count,
                                                       Visit const& visit, Settle const& settle) {
  constexpr int width = keys_per_vector<Bits>;
  auto const* const from = reinterpret_cast<KeyVector<Bits> const*>(keys + first);
  std::int64_t const threads = group.size();
  for (std::int64_t begin = 0; begin < count; begin += vectors * threads) {
    std::int64_t const index = begin + group.rank();
    KeyVector<Bits> loaded[vectors];
    KeyBatch<Bits, vectors, width> batch;
    batch.first = first + index * width;
    batch.stride = threads * width;
    batch.full = full_vectors<vectors>(index, threads, count);
    unrolled<vectors>([&](auto v) {
      loaded[v] = v < batch.full ? from[index + v * threads] : KeyVector<Bits>{};
    });
    unrolled<vectors * width>([&](auto j) { batch.keys[j] = loaded[j / width].keys[j % width]; });
    visit(batch);
    settle();
  }
}

/// Calls visit(batch) for all keys of a range, which the group reads together; all its threads call settle() after each
/// stride.
/// \tparam most  keys of a batch, if not as many as suit keys of this width; if they lie further apart, no more than 8
template <int most = 0, class Group, class Row, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void for_each_batch(Group const& group, Row const& row, Range range,
                                                Visit const& visit, Settle const& settle) {
  if constexpr (requires { row.inner; })
    for_each_batch<most>(
        group, row.inner, range, [&](auto const& batch) { visit(batch_of(row, batch)); }, settle);
  else
    for_each_spread_batch<(most > 0 && most < 8 ? most : 8)>(row, range, group.rank(), group.size(),
                                                             visit, settle);
}

/// The same for keys that lie side by side in memory.
template <int vectors, class Group, class Bits, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void for_each_packed_batch(Group const& group, Stored<Bits> const* keys,
                                                       Range range, Visit const& visit,
                                                       Settle const& settle) {
  constexpr std::int64_t width = keys_per_vector<Bits>;
  std::int64_t const length = range.end - range.begin;
  auto const place = reinterpret_cast<std::uintptr_t>(keys + range.begin) / sizeof(Bits);
  std::int64_t const before = (width - static_cast<std::int64_t>(place % width)) % width;
  std::int64_t const head = before < length ? before : length;
  std::int64_t const count = (length - head) / width;
  std::int64_t const tail = range.begin + head + count * width;
  each(group, 0, length - count * width, [&](std::int64_t i) {
    std::int64_t const position = i < head ? range.begin + i : tail + i - head;
    visit(KeyBatch<Bits, 1, 1>{{keys[position]}, position, 1, 1});
  });
  for_each_vector_batch<vectors, Group, Bits>(group, keys, range.begin + head, count, visit,
                                              settle);
}

/// The same for keys in memory.
template <int most = 0, class Group, class Bits, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void for_each_batch(Group const& group, StoredRow<Bits> const& row,
                                                Range range, Visit const& visit,
                                                Settle const& settle) {
  constexpr int vectors = (most > 0 ? most : keys_per_batch<Bits>) / keys_per_vector<Bits>;
  if constexpr (vectors > 0)
    if (row.step == 1)
      return for_each_packed_batch<vectors, Group, Bits>(group, row.keys, range, visit, settle);
  for_each_spread_batch<(most > 0 && most < 8 ? most : 8)>(row, range, group.rank(), group.size(),
                                                           visit, settle);
}

inline constexpr int composites_at_once = 8;

/// Calls visit(composites, present) for the composite keys read(0) .. read(count - 1), and settle() after each stride of
/// all threads. A thread takes several at a time, so that their loads are under way at once; bit j of `present` is set
/// if there is a composites[j].
template <class CompositeKey, int at_once = composites_at_once, class Group, class Read,
          class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void each_composites(Group const& group, std::int64_t count,
                                                 Read const& read, Visit const& visit,
                                                 Settle const& settle) {
  for (std::int64_t begin = 0; begin < count; begin += at_once * group.size()) {
    CompositeKey composites[at_once];
    std::uint32_t present = 0;
    unrolled<at_once>([&](auto j) {
      std::int64_t const i = begin + group.rank() + j * group.size();
      composites[j] =
          read(i < count ? i : count - 1);  // without a branch, which would wait for the load
      present |= i < count ? 1u << j : 0u;
    });
    visit(composites, present);
    settle();
  }
}

template <class CompositeKey, class Group, class Read, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void each_composites(Group const& group, std::int64_t count,
                                                 Read const& read, Visit const& visit) {
  each_composites<CompositeKey>(group, count, read, visit, [] {});
}

/// Copies read(0) .. read(count - 1) to an array.
template <class CompositeKey, class Group, class Read>
KOKKOS_FORCEINLINE_FUNCTION void copy_composites(Group const& group, std::int64_t count,
                                                 Read const& read, CompositeKey* to) {
  std::int64_t first = group.rank();
  each_composites<CompositeKey>(group, count, read,
                                [&](auto const& composites, std::uint32_t present) {
                                  unrolled<composites_at_once>([&](auto j) {
                                    if ((present >> j & 1u) != 0)
                                      to[first + j * group.size()] = composites[j];
                                  });
                                  first += composites_at_once * group.size();
                                });
}

}  // namespace ktopk::detail
