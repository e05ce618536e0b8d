// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/testing.hpp>

#include "../portable/bisection/bisection.hpp"
#include "../portable/bitonic/bitonic.hpp"
#include "../portable/bucket/bucket.hpp"
#include "../portable/delegate/delegate.hpp"
#include "../portable/delegate/two_stage.hpp"
#include "../portable/heap/heap.hpp"
#include "../portable/one_pass/one_pass.hpp"
#include "../portable/queue/queue.hpp"
#include "../portable/quick/quick.hpp"
#include "../portable/radix/radix.hpp"
#include "../portable/sample/sample.hpp"
#include "../portable/sort/sort.hpp"
#include "tuned.hpp"

// The table of an execution space: every implementation that may run there, in order of preference. The only file that
// names all algorithms.

namespace ktopk::detail {

using PortableKernels =
    KernelList<OnePass<Generic>, Radix<Generic>, Heap<Generic>, Bitonic<Generic>, Queue<Generic>,
               Sort<Generic>, Bisection<Generic>, Bucket<Generic>, Quick<Generic>, Sample<Generic>,
               TwoStage, Delegate<Generic>>;

/// The tuned implementations of a space, and for which widths of keys this build has them.
template <class Exec>
struct TunedKernels {
#if KTOPK_ENABLE_HOST_TUNED
  using type = std::conditional_t<is_host_space<Exec>, host::Kernels, KernelList<>>;
#else
  using type = KernelList<>;
#endif
  static constexpr bool has_key_bytes(int) { return true; }
};
#if KTOPK_ENABLE_CUDA_TUNED
template <>
struct TunedKernels<Kokkos::Cuda> {
  using type = cuda::Kernels;
  static constexpr bool has_key_bytes(int bytes) { return cuda::has_key_bytes(bytes); }
};
#endif

template <class Exec, class Bits>
using Run = void(Exec const&, StoredProblem<Bits> const&, Options const&, void*);

/// How a tuned implementation runs; nullptr if this build leaves out keys of these bits.
template <class Exec, class Bits, class Tuned>
constexpr Run<Exec, Bits>* tuned_run() {
  if constexpr (TunedKernels<Exec>::has_key_bytes(sizeof(Bits)))
    return &Tuned::run;
  else
    return nullptr;
}

template <class Exec, class Bits, class... Tuned, class... Portable>
constexpr auto runs_in(KernelList<Tuned...>, KernelList<Portable...>) {
  return std::array<Run<Exec, Bits>*, sizeof...(Tuned) + sizeof...(Portable)>{
      tuned_run<Exec, Bits, Tuned>()..., &Portable::run...};
}

/// How each line of the table runs for one width of keys. Header-only code compiles the widths that it selects from.
template <class Exec, class Bits>
std::span<Run<Exec, Bits>* const> runs_of() {
  static constexpr auto runs =
      runs_in<Exec, Bits>(typename TunedKernels<Exec>::type{}, PortableKernels{});
  return runs;
}

/// A line of the table: an implementation by its functions. \see Implementation
template <class Exec>
struct Kernel {
  Algorithm algorithm;
  char const* label;
  bool tuned;
  bool serves_computed;  // keys that a functor makes
  Reason (*declines)(Asked const&);
  std::size_t (*workspace_bytes)(Device const&, Shape const&, Options const&);
  std::size_t place;  // in the table

  template <class Bits>
  void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
           void* workspace) const {
    runs_of<Exec, Bits>()[place](exec, problem, options, workspace);
  }
};

template <class Exec, class R>
constexpr Kernel<Exec> line_of(bool tuned) {
  static_assert(Implementation<R, Exec, std::uint32_t>);
  constexpr bool serves_computed = requires { R::serves_computed; };
  return {R::algorithm, R::label, tuned, serves_computed, &R::declines, &R::workspace_bytes, 0};
}

template <class Exec, class... Tuned, class... Portable>
constexpr auto table_of(KernelList<Tuned...>, KernelList<Portable...>) {
  std::array lines{line_of<Exec, Tuned>(true)..., line_of<Exec, Portable>(false)...};
  for (std::size_t place = 0; place < lines.size(); ++place) lines[place].place = place;
  return lines;
}

template <class Exec>
std::span<Kernel<Exec> const> kernels_of() {
  static constexpr auto table =
      table_of<Exec>(typename TunedKernels<Exec>::type{}, PortableKernels{});
  return table;
}

/// Why a line of the table does not serve a call; nullptr if it does.
template <class Exec>
Reason reason_against(Kernel<Exec> const& kernel, Asked const& asked, Algorithm algorithm) {
  if (kernel.algorithm != algorithm) return "another algorithm is chosen";
  if (kernel.tuned && portable_alone) return "the portable implementations are forced";
  if (kernel.tuned && !TunedKernels<Exec>::has_key_bytes(asked.shape.key_bytes))
    return "this build leaves out keys of this width";
  if (asked.shape.computed && !kernel.serves_computed) return "keys that a functor makes";
  return kernel.declines(asked);
}

template <class Exec>
Kernel<Exec> const* first_of(Algorithm algorithm, Asked const& asked) {
  for (Kernel<Exec> const& kernel : kernels_of<Exec>())
    if (reason_against(kernel, asked, algorithm) == nullptr) return &kernel;
  return nullptr;
}

}  // namespace ktopk::detail
