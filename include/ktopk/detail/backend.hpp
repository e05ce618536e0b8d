// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/config.hpp>
#include <ktopk/detail/workspace.hpp>
#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

// Which implementation runs an algorithm on an execution space. A tag names a backend, and a template names an
// algorithm. A backend has its own implementation if it specializes the template for its tag.

namespace ktopk::detail {

struct Generic {};
struct Host {};
struct Cuda {};

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
};

template <class Exec>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible &&
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// The backends of an execution space, in the order in which they are asked.
template <class... Backends>
struct BackendList {};

template <class Exec>
struct backends_of {
  using type =
      std::conditional_t<is_host_space<Exec>, BackendList<Host, Generic>, BackendList<Generic>>;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct backends_of<Kokkos::Cuda> {
  using type = BackendList<Cuda, Generic>;
};
#endif

template <class Exec>
Device device_of(Exec const& exec) {
  return {is_host_space<Exec>, static_cast<int>(exec.concurrency())};
}

/// What every implementation offers. `workspace_bytes` and `run` are called only for a shape that it supports.
template <class R, class Exec, class Bits>
concept Implementation =
    requires(Exec const& exec, Shape const& shape, Options const& options, Device const& device,
             Problem<Bits> const& problem, void* workspace) {
      { R::label } -> std::convertible_to<char const*>;
      { R::supports(device, shape, options) } -> std::same_as<bool>;
      { R::workspace_bytes(device, shape, options) } -> std::same_as<std::size_t>;
      R::run(exec, problem, options, workspace);
    };

}  // namespace ktopk::detail
