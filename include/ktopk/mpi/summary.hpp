// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/mpi/pattern.hpp>

// Quantile summaries of sorted lists, which can be merged (Greenwald and Khanna, SIGMOD 2001; Agarwal et al., PODS 2012).

namespace ktopk::detail::mpi {

/// About how many entries a summary has, for a threshold that `wanted` entries reach: the least bytes for it and the entries
/// that it leaves open, of which it takes fewer the longer it is.
inline std::int64_t summary_size(std::int64_t wanted) {
  auto const most = static_cast<double>(wanted);
  auto const levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(wanted)));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(most * levels)));
}

/// How many entries some ranks list that have so many of all keys: their share, and some more.
inline std::int64_t listed_share(std::int64_t wanted, std::int64_t keys, std::int64_t all_keys,
                                 double widening) {
  if (all_keys == 0) return 0;
  double const share = widening * static_cast<double>(wanted) * static_cast<double>(keys) /
                       static_cast<double>(all_keys);
  double const some = std::min(share + 4 * std::sqrt(share) + 16, static_cast<double>(wanted));
  return std::min(wanted, static_cast<std::int64_t>(some));
}

/// An entry of some ranks' lists, and how many entries of all these lists are at least as good.
struct SummaryEntry {
  CompositeKey128 number;
  std::int64_t least, most;
};

/// Some entries of a row of some ranks, best first: the best, the last, and some between.
struct Summary {
  std::vector<SummaryEntry> entries;
  /// `most` counts all keys of these ranks from here on. Of lesser ones there may be more.
  CompositeKey128 floor = 0;
  std::int64_t keys = 0;  // that the ranks have

  /// Of an entry of other ranks, before `place` and behind all of this summary's that are better.
  std::int64_t least_before(std::size_t place) const {
    return place > 0 ? entries[place - 1].least : 0;
  }
  std::int64_t most_before(std::size_t place) const {
    if (entries.empty()) return 0;
    return place < entries.size() ? entries[place].most - 1 : entries.back().most;
  }

  /// Leaves out what no threshold among the best `enough` needs, and so many entries that those left are about `step` apart.
  void thin(std::int64_t enough, std::int64_t step) {
    auto const last = std::find_if(entries.begin(), entries.end(), [&](SummaryEntry const& entry) {
      return entry.least >= enough;
    });
    if (last != entries.end() && last + 1 != entries.end()) {
      floor = std::max(floor, last->number);
      entries.erase(last + 1, entries.end());
    }
    if (entries.empty()) return;
    std::size_t kept = 1;
    for (std::size_t i = 1; i + 1 < entries.size(); ++i)
      if (entries[i + 1].least - entries[kept - 1].least > step) entries[kept++] = entries[i];
    if (entries.size() > 1) entries[kept++] = entries.back();
    entries.resize(kept);
  }
};

/// Of the lists of both. No number is in both.
inline Summary merged(Summary const& a, Summary const& b) {
  Summary both{{}, std::max(a.floor, b.floor), a.keys + b.keys};
  both.entries.reserve(a.entries.size() + b.entries.size());
  auto const append = [&](SummaryEntry const& entry, Summary const& other, std::size_t place) {
    both.entries.push_back({entry.number, entry.least + other.least_before(place),
                            entry.most + other.most_before(place)});
  };
  std::size_t i = 0, j = 0;
  while (i < a.entries.size() || j < b.entries.size()) {
    bool const is_of_a = j == b.entries.size() ||
                         (i < a.entries.size() && a.entries[i].number > b.entries[j].number);
    if (is_of_a)
      append(a.entries[i++], b, j);
    else
      append(b.entries[j++], a, i);
  }
  return both;
}

/// Writes a Message of numbers of up to 64 or 128 bits.
class MessageWriter {
 public:
  explicit MessageWriter(int number_bits) : m_is_wide(number_bits > 64) {}
  void put(std::int64_t word) { m_message.push_back(static_cast<std::uint64_t>(word)); }
  void put_number(CompositeKey128 number) {
    m_message.push_back(static_cast<std::uint64_t>(number));
    if (m_is_wide) m_message.push_back(static_cast<std::uint64_t>(number >> 64));
  }
  Message take() { return std::move(m_message); }

 private:
  bool m_is_wide;
  Message m_message;
};
class MessageReader {
 public:
  MessageReader(Words const& message, int number_bits)
      : m_next(message.data()), m_is_wide(number_bits > 64) {}
  std::int64_t word() { return static_cast<std::int64_t>(*m_next++); }
  CompositeKey128 number() {
    CompositeKey128 const low = *m_next++;
    return m_is_wide ? low | (CompositeKey128{*m_next++} << 64) : low;
  }

 private:
  std::uint64_t const* m_next;
  bool m_is_wide;
};

/// Where rows of all ranks are cut.
struct RowCut {
  std::int64_t wanted = 0;    // how many of the best
  std::int64_t all_keys = 0;  // of all ranks
};

/// Summaries of all rows, as lists that ranks merge.
class Summaries : public ReceiveBuffer {
 public:
  Summaries(std::vector<RowCut> const& cuts, int number_bits, double widening)
      : m_cuts(cuts), m_rows(cuts.size()), m_bits(number_bits), m_widening(widening) {}

  Summary const& operator[](std::size_t row) const { return m_rows[row]; }
  void set(std::size_t row, Summary summary) {
    RowCut const& cut = m_cuts[row];
    std::int64_t const enough = listed_share(cut.wanted, summary.keys, cut.all_keys, m_widening);
    std::int64_t const size = summary_size(cut.wanted);
    summary.thin(enough, (enough + size - 1) / size);
    m_rows[row] = std::move(summary);
  }

  Message message() const {
    MessageWriter to(m_bits);
    for (Summary const& summary : m_rows) {
      to.put(static_cast<std::int64_t>(summary.entries.size()));
      to.put(summary.keys);
      to.put_number(summary.floor);
      for (SummaryEntry const& entry : summary.entries) {
        to.put_number(entry.number);
        to.put(entry.least);
        to.put(entry.most);
      }
    }
    return to.take();
  }
  void merge(Words const& message) {
    auto const other = read(message);
    for (std::size_t row = 0; row < m_rows.size(); ++row) set(row, merged(m_rows[row], other[row]));
  }
  void assign(Words const& message) { m_rows = read(message); }

 private:
  std::vector<Summary> read(Words const& message) const {
    std::vector<Summary> rows(m_rows.size());
    MessageReader from(message, m_bits);
    for (Summary& summary : rows) {
      summary.entries.resize(static_cast<std::size_t>(from.word()));
      summary.keys = from.word();
      summary.floor = from.number();
      for (SummaryEntry& entry : summary.entries) {
        entry.number = from.number();
        entry.least = from.word();
        entry.most = from.word();
      }
    }
    return rows;
  }

  std::vector<RowCut> const& m_cuts;
  std::vector<Summary> m_rows;
  int m_bits;
  double m_widening;
};

/// What ranks know of the threshold of a row: the least number among the best of all.
struct Bracket {
  bool is_found = false;    // else more has to be listed
  CompositeKey128 low = 0;  // the threshold is at least that
  // From here on all are among the best, if that is known of any.
  std::optional<CompositeKey128> high = {};
  std::int64_t needed = 0;  // how many listed entries below `high` may be among the best, at most
  bool is_settled = false;  // the threshold is `low`
};

/// Brackets the number that `wanted` entries reach.
inline Bracket bracket_of(Summary const& summary, std::int64_t wanted) {
  auto const& entries = summary.entries;
  bool const has_all = summary.floor == 0 && (entries.empty() || entries.back().least <= wanted);
  if (wanted == 0 || has_all) return {.is_found = true, .is_settled = true};
  Bracket bracket{.needed = wanted};
  auto const reached = std::find_if(entries.begin(), entries.end(), [&](SummaryEntry const& entry) {
    return entry.least >= wanted;
  });
  if (reached != entries.end()) bracket.low = reached->number;
  bracket.is_found = reached != entries.end() && bracket.low >= summary.floor;
  for (auto entry = entries.begin(); bracket.is_found && entry <= reached; ++entry) {
    if (entry->most > wanted) break;
    bracket.high = entry->number;
    bracket.needed = wanted - entry->least;
  }
  bracket.is_settled = bracket.high == bracket.low;
  return bracket;
}

/// The entries within brackets, as lists that ranks merge.
class BracketEntries : public ReceiveBuffer {
 public:
  struct Row {
    std::int64_t needed = 0;               // how many of the bracket matter, at most
    std::int64_t better = 0;               // how many are above it
    std::vector<CompositeKey128> numbers;  // within it, best first
  };

  BracketEntries(std::vector<Row> rows, int number_bits)
      : m_rows(std::move(rows)), m_bits(number_bits) {}

  Row const& operator[](std::size_t row) const { return m_rows[row]; }

  Message message() const {
    MessageWriter to(m_bits);
    for (Row const& row : m_rows) {
      to.put(row.better);
      to.put(static_cast<std::int64_t>(row.numbers.size()));
      for (CompositeKey128 const number : row.numbers) to.put_number(number);
    }
    return to.take();
  }
  void merge(Words const& message) {
    MessageReader from(message, m_bits);
    for (Row& row : m_rows) {
      Row other;
      read(from, other);
      row.better += other.better;
      std::vector<CompositeKey128> all(row.numbers.size() + other.numbers.size());
      std::merge(row.numbers.begin(), row.numbers.end(), other.numbers.begin(), other.numbers.end(),
                 all.begin(), std::greater<>());
      all.resize(std::min(all.size(), static_cast<std::size_t>(row.needed)));
      row.numbers = std::move(all);
    }
  }
  void assign(Words const& message) {
    MessageReader from(message, m_bits);
    for (Row& row : m_rows) read(from, row);
  }

 private:
  static void read(MessageReader& from, Row& row) {
    row.better = from.word();
    row.numbers.resize(static_cast<std::size_t>(from.word()));
    for (CompositeKey128& number : row.numbers) number = from.number();
  }

  std::vector<Row> m_rows;
  int m_bits;
};

}  // namespace ktopk::detail::mpi
