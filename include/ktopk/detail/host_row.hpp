// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <ktopk/config.hpp>
#include <ktopk/core/key_order.hpp>
#include <ktopk/core/stored.hpp>
#include <ktopk/options.hpp>

// Selection inside a caller's kernel by one thread of a host: the SIMD loops of the library find the best of
// keys that lie together, or that it copied to its stack.

namespace ktopk::detail {

#if KTOPK_ENABLE_HOST_TUNED && !defined(KTOPK_HEADER_ONLY)
inline constexpr bool has_host_rows = true;
#else
inline constexpr bool has_host_rows = false;
#endif

/// How many keys are looked at together; such a chunk and its ranks must fit a stack.
template <class Bits>
inline constexpr int host_chunk = sizeof(Bits) == 8 ? 2048 : 4096;

/// Finds the places of the k best of some keys, best first if they are sorted. Part of the compiled library.
/// \param count  1 .. host_chunk
/// \param k      1 .. count
template <class Bits>
void select_from_chunk(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
                       Options const& options, int k, std::uint32_t* places);

/// The largest k.
inline constexpr std::int64_t most_of_host_row = 512;

/// The k best keys of a source.
template <class T, class Source>
class HostRow {
 public:
  /// \param k  1 .. most_of_host_row, and at most the number of keys
  HostRow(Source const& source, KeyOrder<T> const& order, int k) : m_order(order), m_count(k) {
    std::int64_t const n = source.size();
    for (; n - m_next > chunk - m_held; keep()) {
      read(source, chunk - m_held);
      select(chunk, Sorted::no);
    }
    auto const rest = static_cast<int>(n - m_next);
    bool const may_stay = n <= chunk && order.compares_stored_bits();
    if (may_stay && source.stored() != nullptr)
      m_keys = source.stored();
    else
      read(source, rest);
    select(m_held + rest, Sorted::yes);
    while (m_count > 0 && !order.is_key(order.map()(m_keys[m_places[m_count - 1]]))) --m_count;
  }

  int count() const { return m_count; }
  /// Where a selected key lies: that of slot 0 is the best.
  std::int64_t position(int slot) const { return position_at(m_places[slot]); }

 private:
  using Bits = bits_of<T>;
  static constexpr int chunk = host_chunk<Bits>;

  /// Puts the next keys of the source behind those that are held.
  void read(Source const& source, int count) {
    KeyOrder<T> const order = m_order;  // a copy that no store can change stays in registers
    Bits* const to = m_copy + m_held;
    for (int i = 0; i < count; ++i) to[i] = order.compared(source[m_next + i]);
    m_first = m_next;
    m_next += count;
  }
  void select(int count, Sorted sorted) {
    Options options;
    options.sorted = sorted;
    options.ties = m_order.highest_wins() ? Ties::highest_index : Ties::lowest_index;
    select_from_chunk<Bits>(m_keys, count, m_order.map(), options, m_count, m_places);
  }
  /// Holds what was selected, in the order of positions, which ties depend on.
  void keep() {
    std::sort(m_places, m_places + m_count);
    for (int slot = 0; slot < m_count; ++slot) {
      m_positions[slot] = position_at(m_places[slot]);
      m_copy[slot] = m_copy[m_places[slot]];
    }
    m_held = m_count;
  }
  std::int64_t position_at(std::uint32_t place) const {
    auto const at = static_cast<int>(place);
    return at < m_held ? m_positions[at] : m_first + at - m_held;
  }

  KeyOrder<T> m_order;
  int m_count;
  int m_held = 0;                              // the best of the keys before m_first
  std::int64_t m_first = 0, m_next = 0;        // the other keys
  Stored<Bits> const* m_keys = m_copy;         // those held, then the others
  alignas(64) Bits m_copy[chunk];              // of them, if they do not lie together
  std::int64_t m_positions[most_of_host_row];  // of those held
  std::uint32_t m_places[most_of_host_row];    // in m_keys, of what was selected
};

}  // namespace ktopk::detail
