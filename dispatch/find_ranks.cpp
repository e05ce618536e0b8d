// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "find_ranks.hpp"

#include <string>

#include <ktopk/detail/instantiate.hpp>

namespace ktopk::detail {

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
  run_ranks_in(exec, call, buffer, size);
}

template <class Exec, class Bits>
void find_ranks_allocating(Exec const& exec, RankCall<StoredRows<Bits>> const& call) {
  run_ranks_allocating(exec, call);
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
