// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/rows.hpp>
#include <ktopk/mpi/communicator.hpp>

// The k-th key of all ranks: radix selection by the ordered bits, whose histograms are added up over the ranks.

namespace ktopk::detail::mpi {

/// Where the search in a row stands: the keys whose ordered bits begin with `prefix`.
template <class Bits>
struct DigitState {
  Bits prefix = 0;
  int bits = std::numeric_limits<Bits>::digits;  // of the ordered bits that follow the prefix
  std::int64_t rank = 0;                         // of the wanted key among these, from 0
  bool is_missing = false;                       // the row has no key of that rank
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

/// Counts the next digit of the keys that have the prefix of their row. A part of a row is counted by one thread, in a
/// histogram of its own.
template <class R>
struct CountDigits {
  using Bits = typename R::Bits;
  R rows;
  OrderedBitsMap<Bits> rank;
  Kokkos::View<DigitState<Bits> const*, Kokkos::HostSpace> states;
  Kokkos::View<std::int64_t***, Kokkos::LayoutRight, Kokkos::HostSpace> counts;  // row, part, digit
  int digit_bits;
  bool skips_nan;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto const parts = static_cast<std::int64_t>(counts.extent(1));
    std::int64_t const row = i / parts, part = i % parts, n = rows.length(row);
    DigitState<Bits> const state = states(row);
    if (state.is_missing || state.bits == 0) return;
    auto const keys = rows.row(row);
    int const digit = state.bits < digit_bits ? state.bits : digit_bits;
    int const shift = state.bits - digit;
    constexpr int all = std::numeric_limits<Bits>::digits;
    for (std::int64_t k = n * part / parts; k < n * (part + 1) / parts; ++k) {
      if constexpr (R::has_gaps)
        if (!keys.holds(k)) continue;
      Bits const ordered = rank(keys[k]);
      if (skips_nan && ordered == 0) continue;
      if (state.bits < all && static_cast<Bits>(ordered >> state.bits) != state.prefix) continue;
      ++counts(row, part, (ordered >> shift) & static_cast<Bits>((std::uint64_t{1} << digit) - 1));
    }
  }
};

/// Finds the ordered bits of the keys of given ranks in rows that are spread over all ranks, in as many reads of the keys as
/// they have digits of 11 bits.
template <class Exec, class R>
std::vector<DigitState<typename R::Bits>> find_by_digits(
    Communicator const& comm, Exec const& exec, R const& rows,
    OrderedBitsMap<typename R::Bits> const& rank, bool skips_nan,
    std::vector<std::int64_t> const& ranks) {
  using Bits = typename R::Bits;
  auto const count = ranks.size();
  Kokkos::View<DigitState<Bits>*, Kokkos::HostSpace> const states("ktopk::mpi::states", count);
  for (std::size_t row = 0; row < count; ++row) states(row).rank = ranks[row];
  auto const digit_bits =
      std::clamp(20 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))), 4,
                 std::min(11, std::numeric_limits<Bits>::digits));
  std::int64_t const bins = std::int64_t{1} << digit_bits;
  auto const parts = static_cast<std::int64_t>(std::max<std::size_t>(
      1, static_cast<std::size_t>(exec.concurrency()) / std::max<std::size_t>(1, count)));
  Kokkos::View<std::int64_t***, Kokkos::LayoutRight, Kokkos::HostSpace> const counts(
      "ktopk::mpi::histograms", count, static_cast<std::size_t>(parts),
      static_cast<std::size_t>(bins));
  for (int left = std::numeric_limits<Bits>::digits; left > 0; left -= digit_bits) {
    Kokkos::deep_copy(counts, 0);
    Kokkos::parallel_for(
        "ktopk::mpi::digits",
        Kokkos::RangePolicy<Exec>(exec, 0, static_cast<std::int64_t>(count) * parts),
        CountDigits<R>{rows, rank, states, counts, digit_bits, skips_nan});
    exec.fence("ktopk::mpi: digits");
    std::vector<std::int64_t> sums(count * static_cast<std::size_t>(bins), 0);
    for (std::size_t row = 0; row < count; ++row)
      for (std::int64_t part = 0; part < parts; ++part)
        for (std::int64_t bin = 0; bin < bins; ++bin)
          sums[row * static_cast<std::size_t>(bins) + static_cast<std::size_t>(bin)] +=
              counts(row, part, bin);
    comm.reduce(sums, MPI_SUM);
    for (std::size_t row = 0; row < count; ++row) {
      DigitState<Bits>& state = states(row);
      if (state.is_missing) continue;
      int const digit = std::min(state.bits, digit_bits);
      std::int64_t bin = (std::int64_t{1} << digit) - 1;
      std::int64_t const* const of_row = sums.data() + row * static_cast<std::size_t>(bins);
      for (; bin >= 0 && of_row[bin] <= state.rank; --bin) state.rank -= of_row[bin];
      state.is_missing = bin < 0;
      state.prefix = static_cast<Bits>((static_cast<std::uint64_t>(state.prefix) << digit) |
                                       static_cast<std::uint64_t>(bin < 0 ? 0 : bin));
      state.bits -= digit;
    }
  }
  return {states.data(), states.data() + count};
}

}  // namespace ktopk::detail::mpi
