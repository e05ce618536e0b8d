// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The processors for which host loops are compiled. KTOPK_FOR_EACH_HOST_TARGET(X) expands to X(suffix, attribute) for
// each of them; KTOPK_FASTEST_ON_HOST(function, Bits) is then the function_suffix<Bits> that this processor runs
// fastest.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__)
#define KTOPK_HOST_TARGETS 1
#if defined(__clang__)
#define KTOPK_WHOLE_VECTORS
#else
#define KTOPK_WHOLE_VECTORS ",prefer-vector-width=512"
#endif
#define KTOPK_AVX2 [[gnu::target("avx2,bmi")]]
#define KTOPK_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,bmi" KTOPK_WHOLE_VECTORS)]]
#define KTOPK_VBMI2 \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,bmi,popcnt" KTOPK_WHOLE_VECTORS)]]
#define KTOPK_FOR_EACH_HOST_TARGET(X) \
  X(portable, )                       \
  X(avx2, KTOPK_AVX2)                 \
  X(avx512, KTOPK_AVX512)
#define KTOPK_FASTEST_ON_HOST(function, Bits) \
  (runs_avx512() ? function##_avx512<Bits>    \
   : runs_avx2() ? function##_avx2<Bits>      \
                 : function##_portable<Bits>)

namespace ktopk::detail {

inline bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"); }
inline bool runs_avx512() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi");
}
inline bool runs_vbmi2() {
  return runs_avx512() && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt");
}
/// AMD's processors from Zen 5 on: the older ones lack this instruction.
inline bool is_zen_5() {
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect");
}
/// Whether prefetching makes reading faster. AMD's older processors prefetch by themselves, several streams at a time,
/// and better.
inline bool gains_by_fetching() { return !__builtin_cpu_is("amd") || is_zen_5(); }
/// The same for loops that take no longer than the read itself. Zen 5 took longer with prefetching.
inline bool gains_by_fetching_blocks() { return !__builtin_cpu_is("amd"); }
/// Whether a row is read faster by several streams than front to back, as it may be without prefetching. With it,
/// nothing prefetches the first lines of a stream. \see perf/results/host-xeon-streams.json
inline bool gains_by_streams() { return !gains_by_fetching(); }

}  // namespace ktopk::detail
#else
#define KTOPK_FOR_EACH_HOST_TARGET(X) X(portable, )
#define KTOPK_FASTEST_ON_HOST(function, Bits) function##_portable<Bits>

namespace ktopk::detail {

inline bool gains_by_fetching() { return true; }
inline bool gains_by_fetching_blocks() { return true; }
inline bool gains_by_streams() { return false; }

}  // namespace ktopk::detail
#endif
