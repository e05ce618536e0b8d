// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/positions.hpp>

#include "host_memory.hpp"
#include "host_shares.hpp"

// How implementations for hosts use threads. A kernel has ended when the call that launches it returns, so the caller
// may look at what it wrote.

namespace ktopk::detail::host {

template <class Body>
struct OnThreads {
  Body body;
  HostShares* shares;
  HostMemory memory;
  void operator()(std::int64_t thread) const {
    UseThreadMemory const use(memory.part(thread));
    shares->work(thread, body);
  }
};

/// Calls body() as a kernel of this name, on this thread: the work is too little to wake others for.
template <class Exec, class Body>
void call_alone(char const* label, Exec const& exec, Body const& body) {
  bool const is_watched = Kokkos::Tools::profileLibraryLoaded();
  std::uint64_t kernel = 0;
  if (is_watched)
    Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(exec), &kernel);
  body();
  if (is_watched) Kokkos::Tools::endParallelFor(kernel);
}

/// Calls body(i) for i of 0 .. count - 1. The body may make arrays of its thread. Every thread starts with the same
/// neighbors in every call, and then helps the others. Not inlined, because the shares of several launches would add up
/// in the caller's frame.
template <class Exec, class Body>
[[gnu::noinline]] void launch(char const* label, Exec const& exec, std::int64_t count,
                              Body const& body) {
  if (count == 0) return;
  HostMemory const memory = call_memory;
  std::int64_t const all = exec.concurrency();
  HostShares shares(count, memory.threads > 0 ? std::min(all, memory.threads) : all);
  OnThreads<Body> const on_threads{body, &shares, memory};
  if (shares.threads() == 1) return call_alone(label, exec, [&] { on_threads(0); });
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0,
                                                                          shares.threads());
  Kokkos::parallel_for(label, policy, on_threads);
}

/// The same for many short bodies of equal length, which make no arrays.
template <class Exec, class Body>
void launch_each(char const* label, Exec const& exec, std::int64_t count, Body const& body) {
  if (count == 0) return;
  if (count == 1) return body(std::int64_t{0});
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0, count);
  Kokkos::parallel_for(label, policy, body);
}

/// How many parts, of all rows together, keep the threads busy to the end.
inline std::int64_t parts_on(Device const& device) { return std::int64_t{4} * device.concurrency; }

/// How many keys are worth a part.
inline constexpr std::int64_t smallest_part = 32768;

/// How many parts a row is read in.
inline std::int64_t parts_of_row(Device const& device, std::int64_t rows, std::int64_t n) {
  std::int64_t const by_size = n / smallest_part;
  std::int64_t const by_device = rows > 0 ? host::parts_on(device) / rows : 1;
  return std::max<std::int64_t>(1, std::min(by_size, by_device));
}

}  // namespace ktopk::detail::host
