// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// heap on hosts: a thread keeps the k best keys that it reads in a min-heap, or for k <= 16 in a sorted list in
// registers. SIMD skips keys that do not beat the worst of them. Reads the input once.

namespace ktopk::detail {

template <>
struct Heap<Host> {
  static constexpr Algorithm algorithm = Algorithm::heap;
  static constexpr char const* label = "ktopk::host::heap";
  static constexpr std::int64_t largest_k = 2048;
  static Reason declines(Asked const& a) {
    return a.shape.k <= largest_k ? nullptr : "k above 2048";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

static_assert(Implementation<Heap<Host>, Kokkos::DefaultHostExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
