// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include <ktopk/core/positions.hpp>
#include <ktopk/core/rows.hpp>

// Keys of rows that lie side by side are copied to a tile, in which the keys of a row are neighbors.

namespace ktopk::detail::host {

// GCC and Clang name the instruction differently, and nvcc understands GCC's name alone.
#if defined(__GNUC__) && !defined(__clang__)
#define KTOPK_SHUFFLE(Vector, a, b, ...) __builtin_shuffle(a, b, Vector{__VA_ARGS__})
#elif defined(__clang__) && !defined(__CUDACC__)
#define KTOPK_SHUFFLE(Vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif

#if defined(KTOPK_SHUFFLE)

/// 16 bytes of keys.
template <class Bits>
struct KeysOfRegister {
  static constexpr int size = 16 / static_cast<int>(sizeof(Bits));
  typedef Bits Type __attribute__((vector_size(16)));
};

/// Turns `size` registers of `size` keys, of which each has one place of some rows, to where each has some places of one
/// row: log2(size) times the two halves of all keys are interleaved.
template <class Bits>
class Square {
 public:
  static constexpr int size = KeysOfRegister<Bits>::size;

  [[gnu::always_inline]] void load(Stored<Bits> const* keys, std::int64_t step) {
    for (int j = 0; j < size; ++j) std::memcpy(&m_keys[j], keys + j * step, sizeof(Keys));
  }
  [[gnu::always_inline]] void turn() {
    for (int done = 1; done < size; done *= 2) interleave(std::make_index_sequence<size>());
  }
  [[gnu::always_inline]] void store(Bits* tile, std::int64_t row_stride) const {
    for (int r = 0; r < size; ++r) std::memcpy(tile + r * row_stride, &m_keys[r], sizeof(Keys));
  }

 private:
  using Keys = typename KeysOfRegister<Bits>::Type;

  template <std::size_t... i>
  [[gnu::always_inline]] void interleave(std::index_sequence<i...>) {
    Keys next[size];
    for (int j = 0; j < size / 2; ++j) {
      Keys const a = m_keys[j], b = m_keys[j + size / 2];
      next[2 * j] = KTOPK_SHUFFLE(Keys, a, b, static_cast<Bits>(i / 2 + i % 2 * size)...);
      next[2 * j + 1] =
          KTOPK_SHUFFLE(Keys, a, b, static_cast<Bits>(size / 2 + i / 2 + i % 2 * size)...);
    }
    for (int j = 0; j < size; ++j) m_keys[j] = next[j];
  }

  Keys m_keys[size];
};

#endif

/// Copies the keys of some positions of `count` rows from `first` on.
/// \param row_stride  of the tile
template <class Bits>
void copy_to_tile(StoredRows<Bits> const& from, std::int64_t first, int count, Range positions,
                  Bits* tile, std::int64_t row_stride) {
  constexpr int ahead = 32;  // a processor does not foresee which line is next
  constexpr int line = 64 / static_cast<int>(sizeof(Bits));
  std::int64_t const n = positions.end - positions.begin, step = from.step;
  Stored<Bits> const* const keys = from.pointer(first) + positions.begin * step;
  auto const fetch = [&](std::int64_t i) {
    Stored<Bits> const* const next = keys + (i + ahead < n ? i + ahead : i) * step;
    for (int r = 0; r < count; r += line) __builtin_prefetch(next + r, 0, 2);
  };
  auto const copy = [&](std::int64_t i, int from_row) {
    for (int r = from_row; r < count; ++r) tile[r * row_stride + i] = keys[i * step + r];
  };
  std::int64_t i = 0;
#if defined(KTOPK_SHUFFLE)
  constexpr int size = Square<Bits>::size;
  int const squares = count / size * size;
  for (; i + size <= n; i += size) {
    for (int j = 0; j < size; ++j) fetch(i + j);
    for (int r = 0; r < squares; r += size) {
      Square<Bits> square;
      square.load(keys + i * step + r, step);
      square.turn();
      square.store(tile + r * row_stride + i, row_stride);
    }
    for (int j = 0; j < size && squares < count; ++j) copy(i + j, squares);
  }
#endif
  for (; i < n; ++i) {
    fetch(i);
    copy(i, 0);
  }
}

#undef KTOPK_SHUFFLE

}  // namespace ktopk::detail::host
