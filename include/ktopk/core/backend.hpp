// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/config.hpp>
#include <ktopk/core/kokkos_version.hpp>
#include <ktopk/core/problem.hpp>
#include <ktopk/core/workspace.hpp>
#include <ktopk/options.hpp>

// What an implementation of an algorithm is to the dispatcher. A tag names a backend, and a template names an algorithm.

namespace ktopk::detail {

struct Generic {};
struct Host {};

template <class Backend>
struct OnePass;
template <class Backend>
struct Radix;
template <class Backend>
struct Bitonic;
template <class Backend>
struct Heap;
template <class Backend>
struct Bucket;
template <class Backend>
struct Sample;
template <class Backend>
struct Quick;
template <class Backend>
struct Sort;
template <class Backend>
struct Bisection;
template <class Backend>
struct Queue;
template <class Backend>
struct Delegate;

/// What the choice of an algorithm and the size of a workspace depend on, of the device behind an instance.
struct Device {
  bool host = true;
  int concurrency = 1;
  int number = 0;  ///< of a CUDA device, in the process
};

template <class Exec>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible &&
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// Where the next key of a row is: beside the key; beyond the keys of the same place in all rows, as in LayoutLeft; or
/// anywhere else.
enum class KeyLayout { packed, side_by_side, apart };

inline constexpr KeyLayout key_layouts[]{KeyLayout::packed, KeyLayout::side_by_side,
                                         KeyLayout::apart};

/// What a call asks of an implementation. `packed` of the shape says the same as the layout.
struct Asked {
  Device device;
  Shape shape;
  Options options;
  KeyLayout layout = KeyLayout::packed;
};

/// Why an implementation does not serve a call, in some words; nullptr if it does.
using Reason = char const*;

template <class Exec>
Device device_of(Exec const& exec) {
  Device device{is_host_space<Exec>, static_cast<int>(exec.concurrency())};
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) device.number = exec.cuda_device();
#endif
  return device;
}

/// Implementations, in order of preference.
template <class... Implementations>
struct KernelList {};

/// What every implementation offers. `workspace_bytes` and `run` are called only for what it does not decline.
template <class R, class Exec, class Bits>
concept Implementation =
    requires(Exec const& exec, Asked const& asked, Shape const& shape, Options const& options,
             Device const& device, StoredProblem<Bits> const& problem, void* workspace) {
      { R::algorithm } -> std::convertible_to<Algorithm>;
      { R::label } -> std::convertible_to<char const*>;
      { R::declines(asked) } -> std::same_as<Reason>;
      { R::workspace_bytes(device, shape, options) } -> std::same_as<std::size_t>;
      R::run(exec, problem, options, workspace);
    };

}  // namespace ktopk::detail
