// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The processors for which host loops are compiled: the oldest of the architecture, and newer ones by an attribute.

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
#endif

/// A processor to compile for: run<loop> is the inline function `loop`. A template cannot have the attribute as its
/// parameter.
#define KTOPK_HOST_TARGET(Target, attribute)               \
  struct Target {                                          \
    template <auto loop, class Result, class... Arguments> \
    attribute static Result run(Arguments... arguments) {  \
      return loop(arguments...);                           \
    }                                                      \
  };

namespace ktopk::detail {

KTOPK_HOST_TARGET(BaselineTarget, )
#if defined(KTOPK_HOST_TARGETS)
KTOPK_HOST_TARGET(Avx2Target, KTOPK_AVX2)
KTOPK_HOST_TARGET(Avx512Target, KTOPK_AVX512)

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
/// nothing prefetches the first lines of a stream. \see perf/results/host-xeon-streams.csv
inline bool gains_by_streams() { return !gains_by_fetching(); }

#else

inline bool gains_by_fetching() { return true; }
inline bool gains_by_fetching_blocks() { return true; }
inline bool gains_by_streams() { return false; }
#endif

/// Returns body(Target{}) for the target whose loops this processor runs fastest.
template <class Body>
auto with_fastest_target(Body const& body) {
#if defined(KTOPK_HOST_TARGETS)
  if (runs_avx512()) return body(Avx512Target{});
  if (runs_avx2()) return body(Avx2Target{});
#endif
  return body(BaselineTarget{});
}

}  // namespace ktopk::detail

#undef KTOPK_HOST_TARGET
