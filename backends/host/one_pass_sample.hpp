// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdlib>

#include <ktopk/detail/positions.hpp>

namespace ktopk::detail::host {

/// Of `count` keys at either end of a row of n, at least so many are in a sample of one key from each stratum.
inline std::int64_t least_at_end(std::int64_t n, std::int64_t samples, std::int64_t count) {
  Strata const strata(n, samples);
  std::int64_t const rest = n - samples * strata.length();
  return std::max<std::int64_t>(0, (count - rest) / strata.length());
}

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
