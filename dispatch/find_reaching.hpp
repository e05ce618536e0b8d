// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/find_reaching.hpp>

#include "../portable/reaching/count.hpp"
#include "../portable/reaching/reaching.hpp"
#include "run_call.hpp"

// How calls for what reaches a threshold are run, whatever their keys come from.

namespace ktopk::detail {

/// The workspace of a call: the memory of a host's threads, and that of the kernels.
struct ReachingCallLayout {
  ReachingCallLayout(void* buffer, Device const& device, Shape const& shape)
      : layout(buffer), memory(layout, device, shape) {}
  WorkspaceLayout layout;
  HostMemory memory;
};

inline std::size_t reaching_bytes_of(Device const& device, Shape const& shape) {
  ReachingCallLayout call(nullptr, device, shape);
  call.layout.take<std::byte>(
      static_cast<std::int64_t>(ReachingLayout(nullptr, device, shape).layout.bytes()));
  return call.layout.bytes();
}

/// Of all numbers of rows that groups share, the largest has most parts; of others, that of the shape.
inline std::size_t reaching_bytes_on(Device const& device, Shape shape) {
  shape.k = 1;
  Shape shared = shape;
  shared.rows =
      std::clamp<std::int64_t>(groups_on(device), 1, std::max<std::int64_t>(1, shape.rows));
  return std::max(reaching_bytes_of(device, shape), reaching_bytes_of(device, shared));
}

/// The kernels that run everywhere, from any rows.
struct PortableReaching {
  template <class Exec, Rows R>
  void operator()(Exec const& exec, ReachingParts<R> const& of) const {
    store_reaching(exec, of);
  }
};

template <class Exec, Rows R, class Store>
void run_reaching(Exec const& exec, ReachingCall<R> const& call, std::byte* buffer,
                  Store const& store) {
  Shape shape = call.shape;
  shape.k = 1;
  ReachingCallLayout own(buffer, device_of(exec), shape);
  UseHostMemory const use(own.memory);
  ReachingLayout const layout(own.layout.template take<std::byte>(1), device_of(exec), call.shape);
  store(exec, ReachingParts<R>{call, layout.scratch});
}

template <class Exec, Rows R, class Store = PortableReaching>
void run_reaching_in(Exec const& exec, ReachingCall<R> const& call, std::byte* buffer,
                     std::size_t size, Store const& store = {}) {
  if (call.shape.rows == 0) return;
  check_workspace(call.function, size, reaching_bytes_on(device_of(exec), call.shape));
  run_reaching(exec, call, buffer, store);
}

template <class Exec, Rows R, class Store = PortableReaching>
void run_reaching_allocating(Exec const& exec, ReachingCall<R> const& call,
                             Store const& store = {}) {
  if (call.shape.rows == 0) return;
  std::size_t const bytes = reaching_bytes_on(device_of(exec), call.shape);
  with_workspace(exec, check_needed(call.function, bytes),
                 [&](std::byte* buffer) { run_reaching(exec, call, buffer, store); });
}

/// On hosts each thread needs memory for sorted bounds.
template <class Exec, Rows R>
void run_count(Exec const& exec, CountCall<R> const& call) {
  if (is_empty(call.shape)) return;
  if constexpr (is_host_space<Exec>) {
    HostMemory memory;
    memory.threads = exec.concurrency();
    memory.part_bytes = 1024;
    static_assert(sizeof(CountedBounds<typename R::Bits>) + 64 <= 1024);
    with_workspace(exec, static_cast<std::size_t>(memory.threads * memory.part_bytes),
                   [&](std::byte* buffer) {
                     memory.parts = buffer;
                     UseHostMemory const use(memory);
                     count_keys(exec, call);
                   });
  } else {
    count_keys(exec, call);
  }
}

}  // namespace ktopk::detail
