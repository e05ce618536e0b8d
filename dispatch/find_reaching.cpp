// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "find_reaching.hpp"

#include <ktopk/config.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/detail/instantiate.hpp>

#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/count.hpp"
#include "../backends/host/reaching.hpp"
#endif

namespace ktopk::detail {

template <class Exec>
std::size_t reaching_bytes(Exec const& exec, Shape const& shape) {
  return reaching_bytes_on(device_of(exec), shape);
}

/// Keys that lie in memory: hosts read neighbors with SIMD.
struct StoredReaching {
  template <class Exec, class Bits>
  void operator()(Exec const& exec, ReachingParts<StoredRows<Bits>> const& of) const {
#if KTOPK_ENABLE_HOST_TUNED
    if constexpr (is_host_space<Exec>)
      if (!portable_alone && of.call.rows.step == 1) return host::store_reaching(exec, of);
#endif
    store_reaching(exec, of);
  }
};

template <class Exec, class Bits>
void find_reaching_in(Exec const& exec, ReachingCall<StoredRows<Bits>> const& call,
                      std::byte* buffer, std::size_t size) {
  run_reaching_in(exec, call, buffer, size, StoredReaching());
}

template <class Exec, class Bits>
void find_reaching_allocating(Exec const& exec, ReachingCall<StoredRows<Bits>> const& call) {
  run_reaching_allocating(exec, call, StoredReaching());
}

template <class Exec, class Bits>
void count_by_bounds(Exec const& exec, CountCall<StoredRows<Bits>> const& call) {
#if KTOPK_ENABLE_HOST_TUNED
  if constexpr (is_host_space<Exec>)
    if (!portable_alone && call.rows.step == 1) {
      if (is_empty(call.shape)) return;
      launch_each("ktopk::count::clear", exec, call.shape.rows * call.shape.k,
                  ClearCounts<StoredRows<Bits>>{call});
      return host::count(exec, call);
    }
#endif
  run_count(exec, call);
}

#define KTOPK_REACHING_BITS(Space, Bits)                                                          \
  template void find_reaching_in(Space const&, ReachingCall<StoredRows<Bits>> const&, std::byte*, \
                                 std::size_t);                                                    \
  template void find_reaching_allocating(Space const&, ReachingCall<StoredRows<Bits>> const&);    \
  template void count_by_bounds(Space const&, CountCall<StoredRows<Bits>> const&);
#define KTOPK_REACHING(Space)                                      \
  template std::size_t reaching_bytes(Space const&, Shape const&); \
  KTOPK_REACHING_BITS(Space, std::uint8_t)                         \
  KTOPK_REACHING_BITS(Space, std::uint16_t)                        \
  KTOPK_REACHING_BITS(Space, std::uint32_t)                        \
  KTOPK_REACHING_BITS(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_REACHING)
#undef KTOPK_REACHING
#undef KTOPK_REACHING_BITS

}  // namespace ktopk::detail
