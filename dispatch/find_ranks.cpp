// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "find_ranks.hpp"

#include <algorithm>
#include <string>

#include <ktopk/core/testing.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../portable/ranks/held.hpp"
#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/ranks/ranks.hpp"
#include "../portable/ranks/search.hpp"
#endif

namespace ktopk::detail {

#if KTOPK_ENABLE_HOST_TUNED
/// A group of one thread.
struct RankStorer {
  KOKKOS_FUNCTION int rank() const { return 0; }
  KOKKOS_FUNCTION int size() const { return 1; }
};

/// Stores the keys of a row that the tuned implementation found, as the portable one does.
template <class Bits>
void store_ranks(void const* context, std::int64_t row, std::int64_t const* nth,
                 Bits const* ordered) {
  auto const& search = *static_cast<RankSearch<StoredRows<Bits>> const*>(context);
  RankRow<Bits> found;
  found.present = static_cast<Count64>(search.rows.length(row));
  for (int key = 0; key < search.keys; ++key) {
    found.need[key] = static_cast<Count64>(nth[key]);
    found.ordered[key] = ordered[key];
  }
  search.store(RankStorer{}, found, row);
}

/// Whether the tuned implementation for hosts found all values of a call.
template <class Exec, class Bits>
bool are_found_by_host(Exec const& exec, RankCall<StoredRows<Bits>> const& call, void* workspace) {
  if constexpr (is_host_space<Exec> && sizeof(Bits) >= 4) {
    Device const device = device_of(exec);
    if (portable_alone || call.skips_nan || call.rows.step != 1 || call.shape.n == 0 ||
        !host::serves_ranks(device, call.shape))
      return false;
    // Of the portable search's memory none is used.
    RankLayout<Bits> const none(nullptr, device, call.shape, 1);
    std::int64_t const each = call.request.keys_of_value(), at_once = call.request.most_values();
    for (std::int64_t first = 0; first < call.shape.k; first += at_once) {
      auto const values = static_cast<int>(std::min(at_once, call.shape.k - first));
      RankSearch<StoredRows<Bits>> const search{call.rows,    call.rank,
                                                call.worst,   Bits{0},
                                                call.out,     call.request_from(first),
                                                none.scratch, first,
                                                values,       static_cast<int>(values * each)};
      host::RanksAsked<Bits> const asked{call.rows,      call.shape, call.rank,
                                         search.request, first,      search.keys};
      if (!host::find_ranks(exec, asked, {&search, store_ranks<Bits>}, workspace)) return false;
    }
    return true;
  } else {
    return false;
  }
}
#endif

/// Searches keys in memory: by the tuned implementation where it finds the ranks, else portably, short rows in registers.
struct SearchStored {
  template <class Exec, class Bits>
  void operator()(Exec const& exec, RankCall<StoredRows<Bits>> const& call, void* workspace) const {
#if KTOPK_ENABLE_HOST_TUNED
    if (are_found_by_host(exec, call, workspace)) return;
#endif
    if (are_ranks_held(call)) return find_held_ranks(exec, call);
    search_ranks(exec, call, workspace);
  }
};

KTOPK_INLINE void check_kth(char const* function, Shape const& shape, std::int64_t k) {
  if (k < 1 || (!shape.ragged && !shape.masked && shape.rows > 0 && k > shape.n))
    reject(function, "k = " + std::to_string(k) +
                         " is not from 1 to the row length n = " + std::to_string(shape.n));
}

KTOPK_INLINE void check_ranks(char const* function, Shape const& shape, IntegerArray const& ranks) {
  bool const is_bounded = !shape.ragged && !shape.masked && shape.rows > 0;
  for (std::int64_t i = 0; i < shape.k; ++i)
    if (ranks[i] < 0 || (is_bounded && ranks[i] >= shape.n))
      reject(function, "rank " + std::to_string(i) + " is " + std::to_string(ranks[i]) +
                           ", not from 0 to n - 1 = " + std::to_string(shape.n - 1));
}

KTOPK_INLINE void check_parts(char const* function, Shape const& shape, double const* parts,
                              std::int64_t step) {
  for (std::int64_t i = 0; i < shape.k; ++i)
    if (!(parts[i * step] >= 0 && parts[i * step] <= 1))
      reject(function, "q " + std::to_string(i) + " is " + std::to_string(parts[i * step]) +
                           ", not from 0 to 1");
}

KTOPK_INLINE void check_interpolation(char const* function, Interpolation interpolation,
                                      bool values_are_keys, bool values_are_integers) {
  auto const number = static_cast<int>(interpolation);
  if (number < 0 || number > static_cast<int>(Interpolation::midpoint))
    reject(function, "interpolation = " + std::to_string(number) + " is not from 0 to 4");
  bool const is_between =
      interpolation == Interpolation::linear || interpolation == Interpolation::midpoint;
  if (values_are_integers && (is_between || !values_are_keys))
    reject(function, "interpolation = " + std::to_string(number) +
                         " makes numbers between keys, but values are integers; make them double");
}

template <class Exec>
std::size_t ranks_bytes(Exec const& exec, Shape const& shape) {
  return ranks_bytes_on(device_of(exec), shape);
}

template <class Exec, class Bits>
void find_ranks_in(Exec const& exec, RankCall<StoredRows<Bits>> const& call, std::byte* buffer,
                   std::size_t size) {
  run_ranks_in(exec, call, buffer, size, SearchStored{});
}

template <class Exec, class Bits>
void find_ranks_allocating(Exec const& exec, RankCall<StoredRows<Bits>> const& call) {
  run_ranks_allocating(exec, call, SearchStored{});
}

#define KTOPK_FIND_RANKS_BITS(Space, Bits)                                                 \
  template void find_ranks_in(Space const&, RankCall<StoredRows<Bits>> const&, std::byte*, \
                              std::size_t);                                                \
  template void find_ranks_allocating(Space const&, RankCall<StoredRows<Bits>> const&);
#define KTOPK_FIND_RANKS(Space)                                 \
  template std::size_t ranks_bytes(Space const&, Shape const&); \
  KTOPK_FIND_RANKS_BITS(Space, std::uint8_t)                    \
  KTOPK_FIND_RANKS_BITS(Space, std::uint16_t)                   \
  KTOPK_FIND_RANKS_BITS(Space, std::uint32_t)                   \
  KTOPK_FIND_RANKS_BITS(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_FIND_RANKS)
#undef KTOPK_FIND_RANKS
#undef KTOPK_FIND_RANKS_BITS

}  // namespace ktopk::detail
