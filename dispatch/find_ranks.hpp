// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>

#include <ktopk/config.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/find_ranks.hpp>

#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/ranks/layout.hpp"
#endif
#include "../portable/ranks/ranks.hpp"
#include "run_call.hpp"

// How a call for order statistics is run, whatever its keys come from.

namespace ktopk::detail {

/// The workspace of a call: what a host's `wanted` is copied to, the memory of a host's threads, and that of the search.
struct RankCallLayout {
  RankCallLayout(void* buffer, Device const& device, Shape const& shape)
      : layout(buffer),
        wanted(layout.take<std::byte>(wanted_bytes(shape))),
        memory(layout, device, shape) {}
  WorkspaceLayout layout;
  std::byte* wanted;
  HostMemory memory;
};

template <class Bits>
std::size_t search_bytes(Device const& device, Shape const& shape) {
  return RankLayout<Bits>(nullptr, device, shape, 1).layout.bytes();
}

inline std::size_t ranks_bytes_of(Device const& device, Shape const& shape) {
  RankCallLayout call(nullptr, device, shape);
  auto const own = shape.key_bytes == 1   ? search_bytes<std::uint8_t>(device, shape)
                   : shape.key_bytes == 2 ? search_bytes<std::uint16_t>(device, shape)
                   : shape.key_bytes == 4 ? search_bytes<std::uint32_t>(device, shape)
                                          : search_bytes<std::uint64_t>(device, shape);
#if KTOPK_ENABLE_HOST_TUNED
  std::size_t const needed = std::max(own, host::ranks_bytes(device, shape));
#else
  std::size_t const needed = own;
#endif
  call.layout.take<std::byte>(static_cast<std::int64_t>(needed));
  return call.layout.bytes();
}

/// Of all numbers of rows that groups share, the largest needs most; of others, that of the shape.
inline std::size_t ranks_bytes_on(Device const& device, Shape const& shape) {
  Shape shared = shape;
  shared.rows =
      std::clamp<std::int64_t>(groups_on(device) / 2, 1, std::max<std::int64_t>(1, shape.rows));
  return std::max(ranks_bytes_of(device, shape), ranks_bytes_of(device, shared));
}

struct SearchPortably {
  template <class Exec, Rows R>
  void operator()(Exec const& exec, RankCall<R> const& call, void* workspace) const {
    search_ranks(exec, call, workspace);
  }
};

/// \param search  search(exec, call, workspace)
template <class Exec, Rows R, class Search>
void run_ranks(Exec const& exec, RankCall<R> call, std::byte* buffer, Search const& search) {
  RankCallLayout own(buffer, device_of(exec), call.shape);
  if (call.host_wanted)
    call.request.integers = bring_wanted(exec, call.shape.rows, call.host_wanted, own.wanted);
  UseHostMemory const use(own.memory);
  search(exec, call, own.layout.template take<std::byte>(1));
}

template <class Exec, Rows R, class Search = SearchPortably>
void run_ranks_in(Exec const& exec, RankCall<R> const& call, std::byte* buffer, std::size_t size,
                  Search const& search = {}) {
  if (is_empty(call.shape)) return;
  check_workspace(call.function, size, ranks_bytes_on(device_of(exec), call.shape));
  run_ranks(exec, call, buffer, search);
}

template <class Exec, Rows R, class Search = SearchPortably>
void run_ranks_allocating(Exec const& exec, RankCall<R> const& call, Search const& search = {}) {
  if (is_empty(call.shape)) return;
  std::size_t const bytes = ranks_bytes_on(device_of(exec), call.shape);
  with_workspace(exec, check_needed(call.function, bytes),
                 [&](std::byte* buffer) { run_ranks(exec, call, buffer, search); });
}

}  // namespace ktopk::detail
