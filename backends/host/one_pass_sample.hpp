// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdlib>

#include <ktopk/detail/positions.hpp>

namespace ktopk::detail::host {

/// Where a row is sampled: one key of every stratum, or of long rows two of a stratum twice as long, in one
/// page of memory, because to find a page costs more than to fetch a key. Where the keys of a page are
/// alike they say less, and one_pass falls back more often than its plan reckons with.
class SamplePlaces {
 public:
  SamplePlaces(std::int64_t n, std::int64_t samples, std::int64_t page_keys)
      : m_n(n),
        m_in_page(n / samples >= page_keys ? 2 : 1),
        m_twin(page_keys / 2),
        m_count((samples + m_in_page - 1) / m_in_page),
        m_strata(n, m_count) {}

  std::int64_t operator()(std::int64_t i) const {
    std::int64_t const place = m_strata.place(i / m_in_page), twin = place ^ m_twin;
    return i % m_in_page != 0 && twin < m_n ? twin : place;
  }

  /// Of `count` keys at either end of the row, at least so many are sampled.
  std::int64_t least_at_end(std::int64_t count) const {
    std::int64_t const rest = m_n - m_count * m_strata.length();
    std::int64_t const whole = (count - rest) / m_strata.length();
    return std::max<std::int64_t>(0, (whole - 1) * m_in_page);  // a twin may be in the next stratum
  }

 private:
  std::int64_t m_n, m_in_page, m_twin, m_count;
  Strata m_strata;
};

/// Whether place(0) .. place(count - 1) only rise or only fall, by no more than `span` in all: those of the best samples
/// of a row that is sorted or all equal there. Of other rows one in 20 000 looks like that if `count` is 8, and fewer
/// if it is more.
template <class Place>
bool are_in_line(std::int64_t count, std::int64_t span, Place const& place) {
  if (count < 8) return false;
  std::int64_t const way = place(count - 1) - place(0);
  if (std::abs(way) > span) return false;
  for (std::int64_t i = 1; i < count; ++i)
    if ((place(i) > place(i - 1)) != (way > 0)) return false;
  return true;
}

}  // namespace ktopk::detail::host
