// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/summary.hpp>

// The second way: each rank has a list of its best, and the ranks find together which entries may be among the best of all.
// They merge summaries of their lists, which bracket the threshold.

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

/// What this rank lists of a row, and how many keys it has.
struct RowPart {
  std::int64_t length = 0;
  bool is_cut = false;  // not all keys are listed
};

/// Brackets in each row the threshold: the least number among the best of all ranks' keys.
template <class T>
class ThresholdSearch {
 public:
  /// \param parts      of each row, on this rank
  /// \param widening   how many times its share of the best ranks list and summaries keep
  /// \param merge_all  merge_all(lists) merges such lists of all ranks, on all ranks
  template <class MergeAll>
  ThresholdSearch(EntryOrder<T> const& number, Lists<T> const& lists,
                  std::vector<RowPart> const& parts, std::vector<RowCut> const& cuts,
                  double widening, MergeAll const& merge_all)
      : m_number(number), m_lists(lists), m_cuts(cuts) {
    Summaries summaries(cuts, number.bits(), widening);
    for (std::size_t row = 0; row < cuts.size(); ++row)
      summaries.set(row, own_summary(row, parts[row]));
    merge_all(summaries);
    for (std::size_t row = 0; row < cuts.size(); ++row)
      m_brackets.push_back(bracket_of(summaries[row], cuts[row].wanted));
  }

  /// Whether no key that is not listed can be among the best of a row. The same on all ranks.
  bool is_found() const { return std::ranges::all_of(m_brackets, &Bracket::is_found); }
  /// How many of this rank's entries of a row may be among the best, or are once settle() was called: its first ones.
  std::int64_t selected(std::int64_t row) const {
    if (m_cuts[row].wanted == 0) return 0;
    return first_below(row, m_brackets[row].low) - m_lists.begin(row);
  }

  /// Merges the entries within brackets, so that all thresholds are known, if they were found.
  template <class MergeAll>
  void settle(MergeAll const& merge_all) {
    if (std::ranges::all_of(m_brackets, &Bracket::is_settled)) return;
    std::vector<BracketEntries::Row> rows;
    for (std::size_t row = 0; row < m_brackets.size(); ++row) rows.push_back(own_entries(row));
    BracketEntries entries(std::move(rows), m_number.bits());
    merge_all(entries);
    for (std::size_t row = 0; row < m_brackets.size(); ++row) {
      Bracket& bracket = m_brackets[row];
      if (std::exchange(bracket.is_settled, true)) continue;
      std::int64_t const left = m_cuts[row].wanted - entries[row].better;
      bracket.low = left == 0 ? *bracket.high : entries[row].numbers[left - 1];
    }
  }

 private:
  CompositeKey128 number(std::int64_t entry) const {
    return m_number(m_lists.value(entry), m_lists.position(entry));
  }
  Summary own_summary(std::size_t row, RowPart const& part) const {
    auto const r = static_cast<std::int64_t>(row);
    Summary summary{{}, 0, part.length};
    for (std::int64_t i = 0; i < m_lists.count(r); ++i)
      summary.entries.push_back({number(m_lists.begin(r) + i), i + 1, i + 1});
    if (part.is_cut && !summary.entries.empty()) summary.floor = summary.entries.back().number;
    return summary;
  }
  BracketEntries::Row own_entries(std::size_t row) const {
    Bracket const& bracket = m_brackets[row];
    auto const r = static_cast<std::int64_t>(row);
    if (bracket.is_settled) return {};
    std::int64_t begin = m_lists.begin(r), end = first_below(r, bracket.low);
    if (bracket.high) begin = first_below(r, *bracket.high);
    BracketEntries::Row own{bracket.needed, begin - m_lists.begin(r), {}};
    for (std::int64_t i = begin; i < std::min(end, begin + bracket.needed); ++i)
      own.numbers.push_back(number(i));
    return own;
  }
  /// The first entry of a row whose number is less.
  std::int64_t first_below(std::int64_t row, CompositeKey128 bound) const {
    auto const entries = std::views::iota(m_lists.begin(row), m_lists.end(row));
    auto const first = std::ranges::partition_point(
        entries, [&](std::int64_t entry) { return number(entry) >= bound; });
    return m_lists.begin(row) + (first - entries.begin());
  }

  EntryOrder<T> m_number;
  Lists<T> const& m_lists;
  std::vector<RowCut> const& m_cuts;
  std::vector<Bracket> m_brackets;
};

}  // namespace ktopk::detail::mpi
