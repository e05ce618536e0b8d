// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/collapse.hpp>
#include <ktopk/detail/listed_keys.hpp>
#include <ktopk/detail/pinned_memory.hpp>
#include <ktopk/impl/portable/run/launch.hpp>
#include <ktopk/mpi/pattern.hpp>
#include <ktopk/mpi/testing.hpp>

// Between an instance's memory and messages, most of which come from the memory of the host and go there.

namespace ktopk::detail::mpi {

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

/// Where messages lie whose lists kernels merge: in pinned memory of the host, or in the instance's, of which MPI must take
/// pointers.
enum class MessageMemory { host, instance };

/// What a Plan for all ranks keeps.
template <class Exec>
struct PlanMemory {
  using Memory = typename Exec::memory_space;

  MessageMemory messages = MessageMemory::host;
  Buffer<Memory> lists{"ktopk::mpi::lists"}, merged{"ktopk::mpi::merged"};
  Buffer<Memory> received{"ktopk::mpi::received"}, kept{"ktopk::mpi::kept"};
  Buffer<Memory> counts{"ktopk::mpi::counts"}, numbers{"ktopk::mpi::numbers"};
  Buffer<PinnedMemory<Exec>> rows{"ktopk::mpi::rows"};
  Buffer<PinnedMemory<Exec>> brought{"ktopk::mpi::brought"}, arrived{"ktopk::mpi::arrived"};
  Buffer<PinnedMemory<Exec>> values{"ktopk::mpi::values"}, positions{"ktopk::mpi::positions"};
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
  copy<PinnedMemory<Exec>, typename Exec::memory_space>(exec, from, to, count);
}
/// From the host's memory to that of the instance.
template <class Exec, class X>
void copy_in(Exec const& exec, X const* from, X* to, std::int64_t count) {
  copy<typename Exec::memory_space, PinnedMemory<Exec>>(exec, from, to, count);
}

/// Whether the host reads what the instance's kernels write.
template <class Exec>
inline constexpr bool host_reads =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// Whether kernels merge lists that travel: where the host would have to copy them.
template <class Exec>
bool merges_by_kernels() {
  return !host_reads<Exec> || forced_merge_kernels;
}

/// What the instance's work makes of an array in its memory, where the host can read it. Fences the instance.
template <class Exec, class X>
X const* brought(Exec const& exec, X const* from, std::int64_t count,
                 Buffer<PinnedMemory<Exec>>& memory) {
  if constexpr (!host_reads<Exec>) {
    X* const to = memory.template get<X>(count);
    copy_out(exec, from, to, count);
    from = to;
  }
  exec.fence("ktopk::mpi: before messages");
  return from;
}

/// Between lists in the instance's memory and their messages, which stay there or are copied to the host and back.
template <class Exec>
class Staging {
 public:
  Staging(Exec const& exec, PlanMemory<Exec>& memory) : m_exec(exec), m_memory(memory) {}

  /// Where kernels write a message for written().
  std::uint64_t* to_write(std::int64_t words) const {
    return is_copied() ? m_memory.brought.template get<std::uint64_t>(words)
                       : m_memory.merged.template get<std::uint64_t>(words);
  }
  /// What kernels wrote there. Fences the instance: MPI knows nothing of its work.
  Words written(std::int64_t words) const { return fenced(to_write(words), words); }
  /// Words of the instance's memory, as they are or copied. Fences the instance.
  Words sent(std::uint64_t const* from, std::int64_t words) const {
    if (!is_copied()) return fenced(from, words);
    auto* const to = m_memory.brought.template get<std::uint64_t>(words);
    copy_out(m_exec, from, to, words);
    return fenced(to, words);
  }

  /// Where a message is received. What was received before has been read then.
  std::uint64_t* receive_buffer(std::int64_t words) const {
    m_exec.fence("ktopk::mpi: before the next message");
    return is_copied() ? m_memory.arrived.template get<std::uint64_t>(words)
                       : m_memory.received.template get<std::uint64_t>(words);
  }
  /// Enqueues what brings a message from there to memory.received, if it is elsewhere.
  std::uint64_t* received(Words const& message) const {
    auto const words = static_cast<std::int64_t>(message.size());
    auto* const to = m_memory.received.template get<std::uint64_t>(words);
    if (is_copied()) copy_in(m_exec, message.data(), to, words);
    return to;
  }

 private:
  bool is_copied() const { return m_memory.messages == MessageMemory::host; }
  Words fenced(std::uint64_t const* message, std::int64_t words) const {
    m_exec.fence("ktopk::mpi: before a message");
    return {message, static_cast<std::size_t>(words)};
  }

  Exec const& m_exec;
  PlanMemory<Exec>& m_memory;
};

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
