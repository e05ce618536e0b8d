// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <ranges>
#include <vector>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/mpi/communicator.hpp>
#include <ktopk/mpi/lists.hpp>

// The second way: counts travel instead of keys. Each rank has a list of its best; the ranks find together, digit by digit,
// which entries are among the best of all.

namespace ktopk::detail::mpi {

/// Key and global position of an entry as one number, of which the larger is the better; no two are equal.
template <class T>
class EntryOrder {
 public:
  using Number = CompositeKey128;

  /// \param positions  all are less
  EntryOrder(KeyOrder<T> const& order, std::int64_t positions)
      : m_order(order),
        m_position_bits(position_bits_for(positions)),
        m_mask((std::uint64_t{1} << m_position_bits) - 1) {}

  int bits() const { return std::numeric_limits<bits_of<T>>::digits + m_position_bits; }
  Number operator()(T key, std::int64_t position) const {
    auto const low = static_cast<std::uint64_t>(position);
    return (Number{m_order.rank(key)} << m_position_bits) |
           (m_order.highest_wins() ? low : low ^ m_mask);
  }

 private:
  KeyOrder<T> m_order;
  int m_position_bits;
  std::uint64_t m_mask;
};

/// The entries of a row among which the threshold lies.
struct Bracket {
  CompositeKey128 low = 0;          // the least number of any
  int bits = 0;                     // of a number that differ among them
  std::int64_t wanted = 0;          // how many of them are among the best
  std::int64_t begin = 0, end = 0;  // this rank's, in its list
  bool is_settled = false;          // they all are
};

/// Finds in each row the threshold: the least number among the best of what all ranks list.
template <class T>
class ThresholdSearch {
 public:
  ThresholdSearch(Communicator const& comm, EntryOrder<T> const& number, Lists<T> const& lists)
      : m_comm(comm), m_number(number), m_lists(lists), m_brackets(lists.rows()) {
    for (std::int64_t row = 0; row < lists.rows(); ++row)
      m_brackets[row] = {0,
                         number.bits(),
                         lists.limit(row),
                         lists.begin(row),
                         lists.end(row),
                         lists.limit(row) == 0};
    settle_short_rows();
    while (std::any_of(m_brackets.begin(), m_brackets.end(),
                       [](Bracket const& bracket) { return !bracket.is_settled; }))
      narrow();
  }

  /// How many of this rank's entries of a row are among the best: its first ones.
  std::int64_t selected(std::int64_t row) const {
    Bracket const& bracket = m_brackets[row];
    if (m_lists.limit(row) == 0) return 0;
    return bracket.end - m_lists.begin(row);
  }

 private:
  /// The digit of all unsettled rows together has 2^20 counts at most, and 11 bits of one.
  int digit_bits(std::int64_t rows) const {
    int const bits = 20 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)));
    return std::clamp(bits, 1, 11);
  }
  CompositeKey128 number(std::int64_t entry) const {
    return m_number(m_lists.value(entry), m_lists.position(entry));
  }

  /// Rows of which no more are listed than wanted.
  void settle_short_rows() {
    std::vector<std::int64_t> counts(m_brackets.size());
    for (std::size_t row = 0; row < counts.size(); ++row)
      counts[row] = m_lists.count(static_cast<std::int64_t>(row));
    m_comm.reduce(counts, MPI_SUM);
    for (std::size_t row = 0; row < counts.size(); ++row)
      if (counts[row] <= m_brackets[row].wanted) m_brackets[row].is_settled = true;
  }

  /// Counts the next digit of all rows, on all ranks.
  void narrow() {
    std::vector<Bracket*> open;
    for (Bracket& bracket : m_brackets)
      if (!bracket.is_settled) open.push_back(&bracket);
    int const digit = digit_bits(static_cast<std::int64_t>(open.size()));
    std::int64_t const bins = std::int64_t{1} << digit;
    std::vector<std::int64_t> counts(open.size() * static_cast<std::size_t>(bins), 0);
    for (std::size_t i = 0; i < open.size(); ++i) {
      Bracket const& bracket = *open[i];
      int const shift = std::max(bracket.bits - digit, 0);
      for (std::int64_t entry = bracket.begin; entry < bracket.end; ++entry)
        ++counts[static_cast<std::int64_t>(i) * bins +
                 static_cast<std::int64_t>((number(entry) - bracket.low) >> shift)];
    }
    m_comm.reduce(counts, MPI_SUM);
    for (std::size_t i = 0; i < open.size(); ++i)
      narrow(*open[i], std::max(open[i]->bits - digit, 0),
             counts.data() + static_cast<std::int64_t>(i) * bins, bins);
  }

  void narrow(Bracket& bracket, int shift, std::int64_t const* counts, std::int64_t bins) {
    std::int64_t bin = bins - 1;
    for (; counts[bin] < bracket.wanted; --bin) bracket.wanted -= counts[bin];
    bracket.low += static_cast<CompositeKey128>(bin) << shift;
    bracket.bits = shift;
    bracket.is_settled = counts[bin] == bracket.wanted;
    // The list descends: those of higher bins come first.
    CompositeKey128 const beyond = bracket.low + ((CompositeKey128{1} << shift) - 1);
    bracket.begin = first_below(bracket, beyond + 1);
    bracket.end = first_below(bracket, bracket.low);
  }
  /// The first of the bracket's entries whose number is less.
  std::int64_t first_below(Bracket const& bracket, CompositeKey128 bound) const {
    auto const entries = std::views::iota(bracket.begin, bracket.end);
    auto const first = std::ranges::partition_point(
        entries, [&](std::int64_t entry) { return number(entry) >= bound; });
    return bracket.begin + (first - entries.begin());
  }

  Communicator const& m_comm;
  EntryOrder<T> m_number;
  Lists<T> const& m_lists;
  std::vector<Bracket> m_brackets;
};

}  // namespace ktopk::detail::mpi
