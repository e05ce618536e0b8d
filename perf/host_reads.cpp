// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_reads.hpp"

#include <algorithm>

#include "src/host_targets.hpp"

// Knows no Kokkos, so that the host's own compiler translates it everywhere, as it does the library's loops.

namespace ktopk::perf {

/// The largest byte, by eight streams at once: some processors read faster so than front to back.
[[gnu::always_inline]] inline unsigned char largest_byte_of_streams(unsigned char const* bytes,
                                                                    std::size_t count) {
  std::size_t const n = count / 8;
  unsigned char a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (std::size_t i = 0; i < n; ++i) {
    a = std::max(a, bytes[i]);
    b = std::max(b, bytes[n + i]);
    c = std::max(c, bytes[2 * n + i]);
    d = std::max(d, bytes[3 * n + i]);
    e = std::max(e, bytes[4 * n + i]);
    f = std::max(f, bytes[5 * n + i]);
    g = std::max(g, bytes[6 * n + i]);
    h = std::max(h, bytes[7 * n + i]);
  }
  for (std::size_t i = 8 * n; i < count; ++i) a = std::max(a, bytes[i]);
  return std::max({a, b, c, d, e, f, g, h});
}

/// The largest byte, front to back, with lines fetched to the second cache before they are read.
[[gnu::always_inline]] inline unsigned char largest_byte_fetched_ahead(unsigned char const* bytes,
                                                                       std::size_t count) {
  constexpr std::size_t block = 512, line = 64, ahead = 8192;
  unsigned char best = 0;
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    for (std::size_t j = 0; j < block; j += line) __builtin_prefetch(bytes + i + j + ahead, 0, 2);
    for (std::size_t j = 0; j < block; ++j) best = std::max(best, bytes[i + j]);
  }
  for (; i < count; ++i) best = std::max(best, bytes[i]);
  return best;
}

// With wider vectors a core asks for more lines at a time.
#define KTOPK_READ_WAYS(suffix, attribute)                                                     \
  template <class Byte>                                                                        \
  attribute Byte read_streams_##suffix(Byte const* bytes, std::size_t n) {                     \
    return largest_byte_of_streams(bytes, n);                                                  \
  }                                                                                            \
  template <class Byte>                                                                        \
  attribute Byte read_ahead_##suffix(Byte const* bytes, std::size_t n) {                       \
    return largest_byte_fetched_ahead(bytes, n);                                               \
  }                                                                                            \
  template <class Byte>                                                                        \
  std::array<HostRead, 2> read_ways_##suffix() {                                               \
    return {read_streams_##suffix<Byte>, read_ahead_##suffix<Byte>};                           \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_READ_WAYS)
#undef KTOPK_READ_WAYS

std::array<HostRead, 2> host_read_ways() {
  using namespace ktopk::detail;
  return KTOPK_FASTEST_ON_HOST(read_ways, unsigned char)();
}

}  // namespace ktopk::perf
