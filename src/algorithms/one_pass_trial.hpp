// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../group.hpp"

namespace ktopk::detail {

/// The parts in which a row is read. A trial reads one part of each of `tried` strata, then the others follow.
class RowParts {
 public:
  enum class Which { all, trial, others };

  RowParts(std::int64_t n, std::int64_t parts)
      : m_n(n), m_parts(parts), m_strata(parts, parts < tried ? 1 : tried) {}

  void read(Which which) { m_which = which; }
  KOKKOS_FUNCTION std::int64_t count() const { return m_which == Which::trial ? tried : m_parts; }

  /// The keys of the i-th part to be read, of which there are none where the trial has read it.
  KOKKOS_FUNCTION Range range(std::int64_t i) const {
    if (m_which == Which::others && is_tried(i)) return {0, 0};
    std::int64_t const part = m_which == Which::trial ? m_strata.place(i) : i;
    return part_of(m_n, part, m_parts);
  }

  /// Whether a trial keeps enough to tell more than a sample does, and not so much that ordering it takes longer
  /// than it saves.
  bool are_worth_a_trial(std::int64_t k) const {
    std::int64_t const expected = k / (m_parts / tried + 1);
    return m_parts >= 4 * tried && expected >= 1024 && expected <= 16384;
  }

  /// How much of the row the trial reads.
  double share() const {
    std::int64_t keys = 0;
    for (std::int64_t i = 0; i < tried; ++i) {
      Range const range = part_of(m_n, m_strata.place(i), m_parts);
      keys += range.end - range.begin;
    }
    return static_cast<double>(keys) / static_cast<double>(m_n);
  }

  /// Whether keys at position(0) .. position(count - 1) are spread over the parts of the trial as evenly as by
  /// chance, so that these can speak for the others. Those of a sorted row are not.
  template <class Position>
  bool are_alike(std::int64_t count, Position const& position) const {
    std::int64_t in_part[tried] = {};
    Range const first = part_of(m_n, 0, m_parts);
    for (std::int64_t i = 0; i < count; ++i)
      ++in_part[m_strata.of(position(i) / (first.end - first.begin))];
    double const mean = static_cast<double>(count) / tried;
    double squares = 0;
    for (std::int64_t const here : in_part) {
      double const off = static_cast<double>(here) - mean;
      squares += off * off;
    }
    return squares <= most_spread * mean * (tried - 1);
  }

 private:
  static constexpr std::int64_t tried = 64;
  /// By chance the variance is the mean, and in one case of four hundred more than this multiple of it.
  static constexpr double most_spread = 1.5;

  KOKKOS_FUNCTION bool is_tried(std::int64_t part) const {
    std::int64_t const stratum = m_strata.of(part);
    return stratum < tried && m_strata.place(stratum) == part;
  }

  std::int64_t m_n, m_parts;
  Strata m_strata;
  Which m_which = Which::all;
};

}  // namespace ktopk::detail
