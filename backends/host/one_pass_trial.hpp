// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/detail/positions.hpp>

namespace ktopk::detail::host {

/// The parts in which a row is read. A trial reads the first keys of one part of each of `tried` strata, all else
/// follows.
class RowParts {
 public:
  enum class Which { all, trial, others };
  static constexpr std::int64_t tried = 64;

  RowParts(std::int64_t n, std::int64_t parts)
      : m_n(n),
        m_parts(parts),
        m_piece(std::min(part_of(n, 0, parts).end, n / (32 * tried) / 64 * 64)),
        m_strata(parts, std::min(parts, tried)),
        m_strata_per_key(1 / static_cast<double>(part_of(n, 0, parts).end * m_strata.length())) {}

  void read(Which which) { m_which = which; }
  std::int64_t count() const { return m_which == Which::trial ? tried : m_parts; }

  /// The keys of the i-th part to be read.
  Range range(std::int64_t i) const {
    if (m_which == Which::trial) return piece_of(m_strata.place(i));
    Range const part = part_of(m_n, i, m_parts);
    bool const has_piece = m_which == Which::others && is_tried(i);
    return {has_piece ? piece_of(i).end : part.begin, part.end};
  }

  /// Whether a trial keeps enough to tell more than a sample does, and not so much that ordering it takes longer
  /// than it saves.
  bool are_worth_a_trial(std::int64_t k) const {
    auto const expected = static_cast<std::int64_t>(static_cast<double>(k) * share());
    return m_n >= smallest_row && m_parts >= 2 * tried && expected >= 512 && expected <= 16384;
  }

  /// How much of the row the trial reads.
  double share() const {
    std::int64_t keys = 0;
    for (std::int64_t stratum = 0; stratum < tried; ++stratum) {
      Range const piece = piece_of(m_strata.place(stratum));
      keys += piece.end - piece.begin;
    }
    return static_cast<double>(keys) / static_cast<double>(m_n);
  }

  /// The stratum of a key that the trial has read.
  int stratum(std::int64_t position) const {
    return static_cast<int>((static_cast<double>(position) + 0.5) * m_strata_per_key);
  }

 private:
  static constexpr std::int64_t smallest_row = std::int64_t{1} << 24;

  Range piece_of(std::int64_t part) const {
    auto const [begin, end] = part_of(m_n, part, m_parts);
    return {begin, begin + m_piece < end ? begin + m_piece : end};
  }

  bool is_tried(std::int64_t part) const {
    std::int64_t const stratum = m_strata.of(part);
    return stratum < tried && m_strata.place(stratum) == part;
  }

  std::int64_t m_n, m_parts, m_piece;
  Strata m_strata;
  double m_strata_per_key;
  Which m_which = Which::all;
};

/// How many keys each stratum of a trial holds.
class Spread {
 public:
  /// Neighbors are often of one stratum, and would wait for each other if each were added in memory.
  void add(int stratum, bool counts) {
    if (stratum != m_last) settle();
    m_last = stratum;
    m_run += counts ? 1 : 0;
  }

  /// Whether they are spread as evenly as by chance, so that the trial can speak for the rest of the row. Those of a
  /// sorted row are not.
  bool is_by_chance() {
    settle();
    double sum = 0, squares = 0;
    for (int const here : m_in_stratum) {
      sum += here;
      squares += static_cast<double>(here) * here;
    }
    double const mean = sum / RowParts::tried;
    return squares - sum * mean <= most_spread * mean * (RowParts::tried - 1);
  }

 private:
  /// By chance the variance is the mean, and in one case of four hundred more than this multiple of it.
  static constexpr double most_spread = 1.5;

  void settle() {
    m_in_stratum[m_last] += m_run;
    m_run = 0;
  }

  int m_in_stratum[RowParts::tried] = {};
  int m_last = 0, m_run = 0;
};

}  // namespace ktopk::detail::host
