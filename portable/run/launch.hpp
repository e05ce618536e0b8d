// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>

#include "../../runtime/host_threads.hpp"
#include "../group/group.hpp"
#include "first_launch.hpp"

// How the host enqueues groups: as teams of a device, or as threads of a host.

namespace ktopk::detail {

template <class Body>
struct OnThread {
  Body body;
  int shared_bytes;
  void operator()(std::int64_t index) const {
    ThreadArray<std::byte> const shared(shared_bytes);
    body(ThreadGroup(index, shared.get(), shared_bytes));
  }
};

template <class Body>
struct OnTeams {
  Body body;
  int shared_bytes;
  std::int64_t first = 0;  // of the groups
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const shared = static_cast<std::byte*>(
        member.team_shmem().get_shmem_aligned(static_cast<std::size_t>(shared_bytes), 16));
    body(TeamGroup<Member>(member, first, shared));
  }
};

/// Whether a kernel has ended when the call that launches it returns. Then the host may look at what it wrote, and need
/// not launch a kernel that would do nothing.
template <class Exec>
inline constexpr bool runs_at_once = false
#if defined(KOKKOS_ENABLE_SERIAL)
                                     || std::is_same_v<Exec, Kokkos::Serial>
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
                                     || std::is_same_v<Exec, Kokkos::OpenMP>
#endif
#if defined(KOKKOS_ENABLE_THREADS)
                                     || std::is_same_v<Exec, Kokkos::Threads>
#endif
    ;

/// The policy, changed so that its functor is passed as a kernel's argument. Otherwise Kokkos copies a functor of more
/// than 512 bytes to constant memory, which waits for the previous kernel and cannot be captured in a graph.
template <class Policy>
auto as_argument(Policy const& policy) {
  return Kokkos::Experimental::require(policy,
                                       Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// Calls body(first, count) for consecutive parts of 0 .. total, none larger than `most`.
template <class Body>
void for_each_portion(std::int64_t total, std::int64_t most, Body const& body) {
  for (std::int64_t first = 0; first < total; first += most)
    body(first, total - first < most ? total - first : most);
}

/// The most of one launch. Some devices number no more threads, and a TeamPolicy counts its teams by an int.
inline constexpr std::int64_t most_teams = std::numeric_limits<int>::max() / team_size;

/// How many threads a group of launch() has.
template <class Exec>
inline constexpr int group_size = is_host_space<Exec> ? 1 : team_size;

/// How many neighboring rows a team should read together if their keys of one place are neighbors in memory.
template <class Exec>
inline constexpr int rows_side_by_side = is_host_space<Exec> ? 1 : 8;

/// The shared memory that every device gives a team, without what Kokkos takes of it for the team itself.
constexpr int most_shared_bytes(int threads) { return 48 * 1024 - 8 * (threads + 2); }

/// Throws where a team would need more shared memory than devices have, also on a host, so that tests there find it. Kokkos
/// would throw later, on some devices alone, and would keep one of its few scratch memories for each such launch.
/// \throws std::logic_error
inline void check_shared_bytes(char const* label, int threads, int bytes) {
  if (bytes + 16 > most_shared_bytes(threads))
    throw std::logic_error(std::string(label) + ": a team of " + std::to_string(threads) +
                           " threads needs " + std::to_string(bytes) +
                           " bytes of shared memory, and devices have " +
                           std::to_string(most_shared_bytes(threads) - 16));
}

/// Enqueues `groups` groups that call body(group), each with `shared_bytes` of memory of its own. A device runs at
/// least 1024 threads of a processor at once, which are enough to read memory at full speed.
template <int threads = team_size, class Exec, class Body>
void launch(char const* label, Exec const& exec, std::int64_t groups, int shared_bytes,
            Body const& body) {
  if (groups == 0) return;
  check_shared_bytes(label, threads, shared_bytes);
  if constexpr (is_host_space<Exec>) {
    host::launch(label, exec, groups, OnThread<Body>{body, shared_bytes});
  } else {
    for_each_portion(groups, most_teams, [&](std::int64_t first, std::int64_t count) {
      using Bounds = Kokkos::LaunchBounds<threads, wide_team_size / threads>;
      Kokkos::TeamPolicy<Exec, Bounds> policy(exec, static_cast<int>(count), threads);
      policy.set_scratch_size(0, Kokkos::PerTeam(shared_bytes + 16));
      Kokkos::parallel_for(label, as_argument(policy), OnTeams<Body>{body, shared_bytes, first});
    });
  }
}

/// Enqueues independent calls body(i) for i in 0 .. count. A host makes a single call itself: it is too little work to
/// wake threads for.
template <class Exec, class Body>
void launch_each(char const* label, Exec const& exec, std::int64_t count, Body const& body) {
  if (count == 0) return;
  if constexpr (runs_at_once<Exec>)
    if (count == 1) return body(std::int64_t{0});
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0, count);
  Kokkos::parallel_for(label, as_argument(policy), body);
}

/// How many groups fill the device: half of what its registers could hold at most.
inline std::int64_t groups_on(Device const& device) {
  return device.host ? host::parts_on(device) : device.concurrency / (2 * team_size);
}

/// How many keys are worth a group.
inline std::int64_t smallest_part(Device const& device) {
  return device.host ? host::smallest_part : 8192;
}

/// How many groups share a row, so that the device is full and no part is tiny.
inline std::int64_t parts_of_row(Device const& device, std::int64_t rows, std::int64_t n) {
  std::int64_t const by_size = n / smallest_part(device);
  std::int64_t const by_device = rows > 0 ? groups_on(device) / rows : 1;
  std::int64_t const parts = by_size < by_device ? by_size : by_device;
  return parts > 1 ? parts : 1;
}

/// How many neighbors one thread takes if each is little work; a power of two of at most 1024.
inline std::int64_t neighbors_per_thread(Device const& device) { return device.host ? 1024 : 8; }

}  // namespace ktopk::detail
