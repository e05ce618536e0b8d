// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_reads.hpp"

#include <algorithm>

#include "backends/host/targets.hpp"

// Includes no Kokkos, so that the host compiler compiles it everywhere, like the library's loops.

namespace ktopk::perf {

/// The largest of 512 contiguous bytes and `best`. `ahead` is the distance of prefetches to the L2 cache; 0 leaves
/// them to the processor.
template <int ahead>
[[gnu::always_inline]] inline unsigned char largest_of_chunk(unsigned char const* bytes,
                                                             unsigned char best) {
  constexpr int chunk = 512, line = 64;
  if constexpr (ahead > 0)
    for (int j = 0; j < chunk; j += line) __builtin_prefetch(bytes + j + ahead, 0, 2);
  for (int j = 0; j < chunk; ++j) best = std::max(best, bytes[j]);
  return best;
}

/// Reads so many streams in turn: some processors read faster that way than front to back.
template <int streams, int ahead>
[[gnu::always_inline]] inline unsigned char largest_byte(unsigned char const* bytes,
                                                         std::size_t count) {
  constexpr std::size_t chunk = 512;
  std::size_t const apart = count / (streams * chunk) * chunk;
  unsigned char best = 0;
  for (std::size_t i = 0; i < apart; i += chunk)
    for (std::size_t s = 0; s < streams; ++s)
      best = largest_of_chunk<ahead>(bytes + s * apart + i, best);
  for (std::size_t i = streams * apart; i < count; ++i) best = std::max(best, bytes[i]);
  return best;
}

std::array<HostRead, 4> host_read_ways() {
  // With wider vectors a core has more loads in flight.
  return detail::with_fastest_target([](auto target) -> std::array<HostRead, 4> {
    using Target = decltype(target);
    return {Target::template run<largest_byte<1, 8192>>, Target::template run<largest_byte<4, 0>>,
            Target::template run<largest_byte<4, 8192>>, Target::template run<largest_byte<8, 0>>};
  });
}

}  // namespace ktopk::perf
