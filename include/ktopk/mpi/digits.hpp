// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/rows.hpp>
#include <ktopk/impl/portable/ranks/reading.hpp>
#include <ktopk/impl/portable/run/launch.hpp>
#include <ktopk/mpi/communicator.hpp>
#include <ktopk/mpi/staging.hpp>

// The k-th key of all ranks: radix selection by the ordered bits, whose histograms are added up over the ranks (RadixSelect:
// Alabi et al., JEA 2012). A rank that has few keys left copies them, and reads no others from then on (AIR Top-K, Zhang et
// al., SC '23, 3.2).

namespace ktopk::detail::mpi {

/// Where the search in a row stands: the keys whose ordered bits begin with `prefix`.
template <class Bits>
struct DigitState {
  Bits prefix = 0;
  bool is_missing = false;                // the row has no key of that rank
  std::int64_t rank = 0;                  // of the wanted key among these, from 0
  std::int64_t kept_begin = 0, kept = 0;  // this rank's copies of them
};

/// The key of such ordered bits, as ktopk::kth gives it: of both zeros the positive one, as of all of one magnitude, and of
/// all NaNs the quiet one.
template <class Bits>
Bits key_of(OrderedBitsMap<Bits> const& rank, Bits ordered) {
  if (rank.has_one_key(ordered) || (rank.is_by_magnitude() && ordered != rank.ordered_nan))
    return rank.key_of(ordered);
  if (ordered != rank.ordered_nan) return 0;
  auto const lowest = static_cast<Bits>(rank.infinity & (Bits{0} - rank.infinity));
  return static_cast<Bits>(rank.infinity | (lowest >> 1));
}

/// What a pass reads: this rank's keys, which it copies or not, or copies.
enum class DigitSource { keys, keys_to_copy, copies };

/// Counts the next digit of the keys that have the prefix of their row. `parts` groups share a row.
template <Rows R>
struct CountDigits {
  using Bits = typename R::Bits;
  static constexpr int most_bits = 11;
  static constexpr int lists_begin = 4 << most_bits;
  static constexpr int shared_bytes = lists_begin + radix_lists_bytes<Bits>;
  static constexpr std::int64_t most_counted = std::int64_t{1} << 31;  // by a counter of 32 bits

  R rows;
  OrderedBitsMap<Bits> rank;
  Bits lowest;  // keys whose ordered bits are less are none
  DigitState<Bits> const* states;
  Count64 *counts, *filled;  // of each digit of each row; of each row, copies
  Bits* copies;
  std::int64_t parts;
  int shift, digit_bits;  // of the digit
  DigitSource source;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    DigitState<Bits> const state = states[row];
    if (state.is_missing) return;
    Bits* const copies_of_row = copies + state.kept_begin;
    auto const ordered_of = [&](Bits key) { return rank(key); };
    if (source == DigitSource::copies) {
      StoredRow<Bits> const kept{reinterpret_cast<Stored<Bits> const*>(copies_of_row), 1};
      count(
          group, state, row, kept, part_of(state.kept, part, parts), Bits{0},
          [](Bits bits) { return bits; }, NoRankFilter{});
    } else if (source == DigitSource::keys) {
      count(group, state, row, rows.row(row), part_of(rows.length(row), part, parts), lowest,
            ordered_of, NoRankFilter{});
    } else {
      RankFilter<Bits, Group> const filter(group, group.template shared<std::byte>(lists_begin),
                                           copies_of_row, state.kept, filled + row);
      count(group, state, row, rows.row(row), part_of(rows.length(row), part, parts), lowest,
            ordered_of, filter);
    }
  }

 private:
  template <class Group, class Row, class Ordered, class Filter>
  KOKKOS_FUNCTION void count(Group const& group, DigitState<Bits> const& state, std::int64_t row,
                             Row const& keys, Range range, Bits least, Ordered const& ordered_of,
                             Filter const& filter) const {
    auto* const histogram = group.template shared<unsigned>();
    std::int64_t const bins = std::int64_t{1} << digit_bits;
    int const width = shift + digit_bits;
    auto const mask = static_cast<Bits>(bins - 1);
    for (Range piece{range.begin, range.begin}; piece.begin < range.end; piece.begin = piece.end) {
      piece.end = range.end - piece.begin < most_counted ? range.end : piece.begin + most_counted;
      each(group, 0, bins, [&](std::int64_t bin) { histogram[bin] = 0; });
      group.barrier();
      for_each_ordered(
          group, keys, piece, least, ordered_of,
          [&](Bits ordered) {
            if (width < std::numeric_limits<Bits>::digits &&
                static_cast<Bits>(ordered >> width) != state.prefix)
              return false;
            group.fetch_add(&histogram[static_cast<Bits>(ordered >> shift) & mask], 1u);
            return true;
          },
          filter);
      group.barrier();
      each(group, 0, bins, [&](std::int64_t bin) {
        if (histogram[bin] != 0)
          Kokkos::atomic_add(&counts[row * bins + bin], Count64{histogram[bin]});
      });
      group.barrier();
    }
  }
};

struct ClearCounts {
  Count64* counts;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { counts[i] = 0; }
};

/// Finds the ordered bits of the keys of given ranks in rows that are spread over all ranks.
template <class Exec, Rows R>
class DigitSearch {
 public:
  using Bits = typename R::Bits;

  /// \param lengths  of this rank's parts of the rows
  /// \param ranks    of the wanted keys, from 0
  DigitSearch(Communicator const& comm, Exec const& exec, PlanMemory<Exec>& memory, R const& keys,
              OrderedBitsMap<Bits> const& rank, bool skips_nan,
              std::vector<std::int64_t> const& lengths, std::vector<std::int64_t> const& ranks)
      : m_comm(comm),
        m_exec(exec),
        m_memory(memory),
        m_rows(static_cast<std::int64_t>(ranks.size())),
        m_states(memory.rows.template get<DigitState<Bits>>(m_rows)),
        m_width(
            std::clamp(20 - static_cast<int>(std::bit_width(ranks.size())), 4,
                       std::min(CountDigits<R>::most_bits, std::numeric_limits<Bits>::digits))) {
    std::int64_t longest = 0;
    for (std::size_t row = 0; row < ranks.size(); ++row) {
      std::construct_at(m_states + row)->rank = ranks[row];
      longest = std::max(longest, lengths[row]);
      m_keys += lengths[row];
    }
    std::int64_t const numbers = m_rows << m_width;
    auto* const counts = memory.counts.template get<Count64>(numbers + m_rows);
    m_pass = {keys,
              rank,
              static_cast<Bits>(skips_nan ? 1 : 0),
              m_states,
              counts,
              counts + numbers,
              nullptr,
              parts_of_row(device_of(exec), m_rows, longest),
              0,
              0,
              DigitSource::keys};
  }

  /// The states at the end: their prefixes are the ordered bits of the wanted keys.
  DigitState<Bits> const* run() {
    for (int left = std::numeric_limits<Bits>::digits; left > 0; left = m_pass.shift) {
      m_pass.digit_bits = std::min(left, m_width);
      m_pass.shift = left - m_pass.digit_bits;
      auto const here = counts_here();
      auto all = here;
      m_comm.reduce(all, MPI_SUM);
      for (std::int64_t row = 0; row < m_rows; ++row) narrow(m_states[row], row, here, all);
      choose_source();
    }
    return m_states;
  }

 private:
  /// A pass writes copies where this share of the keys is left, or less.
  static constexpr std::int64_t copied_share = 8;

  std::vector<std::int64_t> counts_here() {
    std::int64_t const numbers = m_rows << m_pass.digit_bits;
    m_pass.filled = m_pass.counts + numbers;
    launch_each("ktopk::mpi::clear", m_exec, numbers + m_rows, ClearCounts{m_pass.counts});
    launch("ktopk::mpi::digits", m_exec, m_rows * m_pass.parts, CountDigits<R>::shared_bytes,
           m_pass);
    Count64 const* const counts =
        brought(m_exec, static_cast<Count64 const*>(m_pass.counts), numbers, m_memory.brought);
    return {counts, counts + numbers};
  }

  void narrow(DigitState<Bits>& state, std::int64_t row, std::vector<std::int64_t> const& here,
              std::vector<std::int64_t> const& all) {
    if (state.is_missing) return;
    std::int64_t const bins = std::int64_t{1} << m_pass.digit_bits;
    std::int64_t bin = bins - 1;
    for (; bin >= 0 && all[row * bins + bin] <= state.rank; --bin)
      state.rank -= all[row * bins + bin];
    state.is_missing = bin < 0;
    if (state.is_missing) return;
    state.prefix = static_cast<Bits>(static_cast<std::uint64_t>(state.prefix) << m_pass.digit_bits |
                                     static_cast<std::uint64_t>(bin));
    m_left += here[row * bins + bin];
    // Copies are of an earlier prefix, and all of them are read.
    if (m_pass.source == DigitSource::keys) state.kept = here[row * bins + bin];
  }

  /// Copies are made in the pass that follows the one that has counted them.
  void choose_source() {
    std::int64_t const left = std::exchange(m_left, 0);
    if (m_pass.source != DigitSource::keys) {
      m_pass.source = DigitSource::copies;
      return;
    }
    if (left > m_keys / copied_share) return;
    m_pass.source = DigitSource::keys_to_copy;
    m_pass.copies = m_memory.kept.template get<Bits>(left);
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < m_rows; ++row)
      m_states[row].kept_begin = std::exchange(begin, begin + m_states[row].kept);
  }

  Communicator const& m_comm;
  Exec const& m_exec;
  PlanMemory<Exec>& m_memory;
  std::int64_t m_rows, m_keys = 0, m_left = 0;
  DigitState<Bits>* m_states;
  int m_width;
  CountDigits<R> m_pass;
};

}  // namespace ktopk::detail::mpi
