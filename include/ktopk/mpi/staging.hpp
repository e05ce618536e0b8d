// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/collapse.hpp>
#include <ktopk/impl/portable/run/launch.hpp>

// Between an instance's memory and messages, which come from the memory of the host and go there.

namespace ktopk::detail::mpi {

/// Memory of the host that the instance's kernels reach: pinned, if the instance is of a GPU.
#if defined(KOKKOS_HAS_SHARED_HOST_PINNED_SPACE)
template <class Exec>
using HostMemory =
    std::conditional_t<Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible,
                       Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;
#else
template <class Exec>
using HostMemory = Kokkos::HostSpace;
#endif

/// Memory that grows when more is asked for, and is kept from call to call: pinned memory takes long to allocate.
template <class Memory>
class Buffer {
 public:
  explicit Buffer(char const* label) : m_label(label) {}

  /// Memory for `count` of X, which holds anything. What was got before is gone.
  template <class X>
  X* get(std::int64_t count) {
    auto const bytes = static_cast<std::size_t>(count) * sizeof(X);
    if (m_bytes.size() < bytes) {
      m_bytes = {};
      m_bytes = Bytes(Kokkos::view_alloc(Kokkos::WithoutInitializing, m_label), bytes);
    }
    return reinterpret_cast<X*>(m_bytes.data());
  }

 private:
  using Bytes = Kokkos::View<std::byte*, Memory>;
  std::string m_label;
  Bytes m_bytes;
};

/// What a Plan for all ranks keeps.
template <class Exec>
struct PlanMemory {
  using Memory = typename Exec::memory_space;

  Buffer<Memory> lists{"ktopk::mpi::lists"}, merged{"ktopk::mpi::merged"};
  Buffer<Memory> received{"ktopk::mpi::received"}, kept{"ktopk::mpi::kept"};
  Buffer<Memory> counts{"ktopk::mpi::counts"}, numbers{"ktopk::mpi::numbers"};
  Buffer<HostMemory<Exec>> rows{"ktopk::mpi::rows"};
  Buffer<HostMemory<Exec>> brought{"ktopk::mpi::brought"}, arrived{"ktopk::mpi::arrived"};
  Buffer<HostMemory<Exec>> values{"ktopk::mpi::values"}, positions{"ktopk::mpi::positions"};
};

/// Enqueues a copy of an array.
template <class To, class From, class Exec, class X>
void copy(Exec const& exec, X const* from, X* to, std::int64_t count) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  auto const size = static_cast<std::size_t>(count);
  Kokkos::deep_copy(exec, Kokkos::View<X*, To, Unmanaged>(to, size),
                    Kokkos::View<X const*, From, Unmanaged>(from, size));
}
/// From the instance's memory to that of the host.
template <class Exec, class X>
void copy_out(Exec const& exec, X const* from, X* to, std::int64_t count) {
  copy<HostMemory<Exec>, typename Exec::memory_space>(exec, from, to, count);
}
/// From the host's memory to that of the instance.
template <class Exec, class X>
void copy_in(Exec const& exec, X const* from, X* to, std::int64_t count) {
  copy<typename Exec::memory_space, HostMemory<Exec>>(exec, from, to, count);
}

/// Whether the host reads what the instance's kernels write.
template <class Exec>
inline constexpr bool host_reads =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// What the instance's work makes of an array in its memory, where the host can read it. Fences the instance.
template <class Exec, class X>
X const* brought(Exec const& exec, X const* from, std::int64_t count,
                 Buffer<HostMemory<Exec>>& memory) {
  if constexpr (!host_reads<Exec>) {
    X* const to = memory.template get<X>(count);
    copy_out(exec, from, to, count);
    from = to;
  }
  exec.fence("ktopk::mpi: before messages");
  return from;
}

template <class View, class X>
KOKKOS_FUNCTION void put(View const& view, std::int64_t row, std::int64_t slot, X x) {
  if constexpr (IsNothing<View>)
    return;
  else if constexpr (View::rank == 0)
    view() = static_cast<typename View::value_type>(x);
  else if constexpr (View::rank == 1)
    view(row + slot) = static_cast<typename View::value_type>(x);
  else
    view(row, slot) = static_cast<typename View::value_type>(x);
}

/// Stores two matrices of the host's memory, row after row, in outputs.
template <class A, class Views, class B, class OtherViews>
struct StoreMatrices {
  std::int64_t columns;
  A const* a;
  Views to_a;
  B const* b;
  OtherViews to_b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / columns, slot = i % columns;
    if constexpr (!IsNothing<Views>) put(to_a, row, slot, a[i]);
    if constexpr (!IsNothing<OtherViews>) put(to_b, row, slot, b[i]);
  }
};

}  // namespace ktopk::detail::mpi
