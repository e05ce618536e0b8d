// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <Kokkos_Core.hpp>

#include <ktopk/core/workspace.hpp>

namespace ktopk::detail::host {

/// The workspace that a call allocates for itself. A View would fence all instances of all spaces when it is freed, in
/// vain: kernels of hosts have ended when their launch returns. Profiling tools see this memory as they see a View's.
class CallWorkspace {
 public:
  explicit CallWorkspace(std::size_t bytes) : m_memory(allocate(bytes), Free{bytes}) {
    Kokkos::Tools::allocateData(space(), label, data(), bytes);
  }
  std::byte* data() const { return m_memory.get(); }

 private:
  static constexpr char const* label = "ktopk::workspace";
  static constexpr std::align_val_t alignment{WorkspaceLayout::alignment};

  struct Free {
    std::size_t bytes;
    void operator()(std::byte* data) const {
      Kokkos::Tools::deallocateData(space(), label, data, bytes);
      ::operator delete(data, alignment);
    }
  };

  static std::byte* allocate(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new(bytes, alignment));
  }
  static Kokkos::Tools::SpaceHandle space() {
    return Kokkos::Tools::make_space_handle(Kokkos::HostSpace::name());
  }

  std::unique_ptr<std::byte, Free> m_memory;
};

}  // namespace ktopk::detail::host
