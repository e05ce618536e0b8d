// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>

// Kokkos does at a first launch what a Plan's call may not do. For CUDA it copies its locks to the device at the first
// launch from each source file, which waits for the device and cannot be captured in a graph; and each launch of teams
// allocates until a launch from the same instance has had scratch memory of level 1. So it all happens beforehand. A
// source file with kernels for devices includes this file.

namespace ktopk::detail {

#if defined(KOKKOS_ENABLE_CUDA)

/// The source files that have kernels, in a list that is complete before main begins.
class SourceFile {
 public:
  using Launch = void(Kokkos::Cuda const&);

  explicit SourceFile(Launch* launch) : m_launch(launch), m_next(first()) { first() = this; }

  static void launch_each_once(Kokkos::Cuda const& exec) {
    [[maybe_unused]] static bool const launched = [&] {
      for (SourceFile const* file = first(); file != nullptr; file = file->m_next)
        file->m_launch(exec);
      return true;
    }();
  }

 private:
  static SourceFile const*& first() {
    static SourceFile const* file = nullptr;
    return file;
  }

  Launch* m_launch;
  SourceFile const* m_next;
};

// Not inline: each source file is to have a kernel of its own.
namespace {

struct NoWork {
  KOKKOS_FUNCTION void operator()(int) const {}
};

SourceFile const this_source_file([](Kokkos::Cuda const& exec) {
  Kokkos::parallel_for("ktopk::first_launch", Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, 1),
                       NoWork{});
});

}  // namespace

struct NoTeamWork {
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const&) const {}
};

#endif

/// Makes later launches of portable kernels from `exec` asynchronous. Cost: two empty kernels; the first call in a process
/// launches one for each source file, and waits for the device.
template <class Exec>
void launch_first([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    SourceFile::launch_each_once(exec);
    Kokkos::TeamPolicy<Kokkos::Cuda> policy(exec, 1, 1);
    policy.set_scratch_size(1, Kokkos::PerTeam(1));
    Kokkos::parallel_for("ktopk::first_launch::teams", policy, NoTeamWork{});
  }
#endif
}

}  // namespace ktopk::detail
