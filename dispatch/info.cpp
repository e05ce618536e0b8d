// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sstream>
#include <string>

#include <ktopk/commit.hpp>
#include <ktopk/config.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/info.hpp>
#include <ktopk/version.hpp>

#include "../portable/bisection/bisection.hpp"
#include "../portable/bitonic/bitonic.hpp"
#include "../portable/heap/heap.hpp"
#include "../portable/one_pass/one_pass.hpp"
#include "../portable/queue/queue.hpp"
#if KTOPK_ENABLE_CUDA_TUNED
#include "../backends/cuda/algorithms.hpp"
#include "../backends/cuda/common/key_widths.hpp"
#endif

namespace ktopk {

KTOPK_INLINE std::string version() { return KTOPK_VERSION_STRING; }

namespace detail {

#if KTOPK_ENABLE_CUDA_TUNED
constexpr bool is_tuned_for_cuda(Algorithm algorithm) { return cuda::has_kernels(algorithm); }

/// "CUDA", and the widths of keys if some are left out.
inline std::string cuda_and_widths() {
  std::string widths;
  for (int const bytes : {1, 2, 4, 8})
    if (cuda::has_key_bytes(bytes)) widths += " " + std::to_string(bytes);
  return widths == " 1 2 4 8" ? "CUDA" : "CUDA, keys of" + widths + " bytes";
}
#else
constexpr bool is_tuned_for_cuda(Algorithm) { return false; }
inline std::string cuda_and_widths() { return "CUDA"; }
#endif

}  // namespace detail

KTOPK_INLINE std::vector<AlgorithmInfo> algorithms() {
  constexpr bool host = KTOPK_ENABLE_HOST_TUNED != 0;
  auto const cuda = detail::is_tuned_for_cuda;
  constexpr std::int64_t any = detail::longest_row;
  return {
      {Algorithm::one_pass, "one_pass",
       "long rows, k well below n: one read of the input; any k of short rows on CPUs", any / 16,
       cuda(Algorithm::one_pass), host},
      {Algorithm::radix, "radix", "any k of any row; behind all others", any,
       cuda(Algorithm::radix), host},
      {Algorithm::heap, "heap", "k up to 128 on CPUs", detail::Heap<detail::Generic>::largest_k,
       false, host},
      {Algorithm::bitonic, "bitonic", "small k, in a time that does not depend on the keys",
       detail::Bitonic<detail::Generic>::largest_k, cuda(Algorithm::bitonic), false},
      {Algorithm::queue, "queue", "k up to 2048; takes keys on the fly",
       detail::Queue<detail::Generic>::largest_k, cuda(Algorithm::queue), false},
      {Algorithm::sort, "sort", "nearly all keys wanted in order; the baseline", any, false, false},
      {Algorithm::bisection, "bisection", "very many rows of some hundred keys; rows up to 2^16",
       detail::Bisection<detail::Generic>::longest_row, cuda(Algorithm::bisection), false},
      {Algorithm::bucket, "bucket", "any k of long rows with very many equal keys", any, false,
       false},
      {Algorithm::sample, "sample", "any k of long rows of any distribution", any, false, false},
      {Algorithm::quick, "quick", "any k of long rows, by one pivot at a time", any, false, false},
      {Algorithm::delegate, "delegate",
       "long rows, k well below n: the same work whatever the keys", any / 16,
       cuda(Algorithm::delegate), false},
  };
}

KTOPK_INLINE std::vector<std::string> backends() {
  std::vector<std::string> names;
#define KTOPK_NAME(Space) names.emplace_back(Space::name());
  KTOPK_FOR_EACH_SPACE(KTOPK_NAME)
#undef KTOPK_NAME
  return names;
}

namespace detail {

/// The names of the algorithms that are tuned for a backend, and the backend; empty if there are none.
KTOPK_INLINE std::string names_of_tuned(bool AlgorithmInfo::* tuned, char const* backend) {
  std::string names;
  for (AlgorithmInfo const& info : algorithms())
    if (info.*tuned) names += std::string(info.name) + " ";
  return names.empty() ? "" : names + "(" + backend + ")";
}

KTOPK_INLINE std::string tuned_algorithms() {
  std::string const host = names_of_tuned(&AlgorithmInfo::tuned_host, "hosts");
  std::string const cuda = names_of_tuned(&AlgorithmInfo::tuned_cuda, cuda_and_widths().c_str());
  if (host.empty() && cuda.empty()) return "none";
  return host + (host.empty() || cuda.empty() ? "" : ", ") + cuda;
}

}  // namespace detail

KTOPK_INLINE std::string configuration() {
  std::ostringstream out;
  out << "version: " << version() << "\n"
      << "commit: " << KTOPK_CONFIG_COMMIT << "\n"
      << "compiler: " << KTOPK_CONFIG_COMPILER << "\n"
      << "build type: " << KTOPK_CONFIG_BUILD_TYPE << "\n"
      << "kokkos: " << KOKKOS_VERSION / 10000 << "." << KOKKOS_VERSION / 100 % 100 << "."
      << KOKKOS_VERSION % 100 << "\n"
      << "backends: " << KTOPK_CONFIG_DEVICES << "\n"
      << "tuned: " << detail::tuned_algorithms() << "\n";
  return out.str();
}

}  // namespace ktopk
