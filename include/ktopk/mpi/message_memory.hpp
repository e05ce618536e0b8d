// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <ktopk/detail/checks.hpp>
#include <ktopk/mpi/agreement.hpp>
#include <ktopk/mpi/communicator.hpp>
#include <ktopk/mpi/staging.hpp>

// Whether MPI takes pointers to the instance's memory, and where messages lie therefore. No function of MPI 3.0 tells, and a
// wrong guess ends the program: the user says so, or MPI 4.1 does.

namespace ktopk::detail::mpi {

/// What a rank knows of an MPI and pointers to the instance's memory. The least of all ranks counts.
enum class DevicePointers { refused_by_environment, unknown, by_memory_kinds, by_environment };

inline MessageMemory memory_for(DevicePointers known) {
  return known >= DevicePointers::by_memory_kinds ? MessageMemory::instance : MessageMemory::host;
}

/// What MPI 4.1 calls the kind of a device's memory, given Kokkos' name of its space; empty if it is of none of them.
inline std::string_view memory_kind_of(std::string_view space) {
  if (space == "Cuda") return "cuda";
  if (space == "HIP") return "rocm";
  return {};
}

/// Whether a list as "system,cuda:device" has the kind, for all its memory or for that of the device.
inline bool has_device_memory(std::string_view kinds, std::string_view kind) {
  while (!kinds.empty()) {
    std::string_view const entry = kinds.substr(0, kinds.find(','));
    kinds.remove_prefix(entry.size() < kinds.size() ? entry.size() + 1 : kinds.size());
    if (entry.substr(0, kind.size()) != kind) continue;
    std::string_view const restrictor = entry.substr(kind.size());
    if (restrictor.empty() || restrictor == ":device") return true;
  }
  return false;
}

/// The value of a key; empty if the key is not there.
inline std::string value_in(MPI_Info info, char const* key) {
  int length = 0, is_there = 0;
#if MPI_VERSION >= 4
  char none = 0;
  check(MPI_Info_get_string(info, key, &length, &none, &is_there), "MPI_Info_get_string");
  if (is_there == 0) return {};
  std::string value(static_cast<std::size_t>(length), ' ');
  check(MPI_Info_get_string(info, key, &length, value.data(), &is_there), "MPI_Info_get_string");
  value.pop_back();  // the length counts the end of a string of C
#else
  check(MPI_Info_get_valuelen(info, key, &length, &is_there), "MPI_Info_get_valuelen");
  std::string value(is_there != 0 ? static_cast<std::size_t>(length) : 0, ' ');
  if (is_there != 0)
    check(MPI_Info_get(info, key, length, value.data(), &is_there), "MPI_Info_get");
#endif
  return value;
}
/// The memory kinds that MPI takes in messages of a communicator; empty before MPI 4.1.
inline std::string memory_kinds(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Comm_get_info(comm, &info), "MPI_Comm_get_info");
  std::string kinds = value_in(info, "mpi_memory_alloc_kinds");
  check(MPI_Info_free(&info), "MPI_Info_free");
  return kinds;
}

/// \throws std::invalid_argument if KTOPK_GPU_AWARE_MPI is neither yes nor no
template <class Exec>
DevicePointers device_pointers(char const* function, MPI_Comm comm) {
  if (char const* const value = std::getenv("KTOPK_GPU_AWARE_MPI")) {
    std::string_view const said = value;
    if (said == "yes") return DevicePointers::by_environment;
    if (said == "no") return DevicePointers::refused_by_environment;
    reject(function, "KTOPK_GPU_AWARE_MPI is '" + std::string(said) + "', but must be yes or no");
  }
  std::string_view const kind = memory_kind_of(Exec::memory_space::name());
  return !kind.empty() && has_device_memory(memory_kinds(comm), kind)
             ? DevicePointers::by_memory_kinds
             : DevicePointers::unknown;
}
template <class Exec>
Term device_pointers_term(char const* function, MPI_Comm comm) {
  return {"KTOPK_GPU_AWARE_MPI", static_cast<int>(device_pointers<Exec>(function, comm)),
          Among::least};
}

/// How messages travel, and why where there is a choice. Called by all ranks.
/// \param all   of the library's own, with the ranks of comm
template <class Exec>
std::string messages_of(Communicator const& all, MPI_Comm comm) {
  char const* const function = "ktopk::mpi::describe";
  auto const agreed = agree(all, function, 1, [&]() -> std::vector<Term> {
    return {device_pointers_term<Exec>(function, comm)};
  });
  std::string const by_host = "messages through the memory of the host";
  std::string const by_device = "lists from and to the memory of the device";
  if (!merges_by_kernels<Exec>()) return by_host;
  switch (static_cast<DevicePointers>(agreed[0].value)) {
    case DevicePointers::refused_by_environment:
      return by_host + " (KTOPK_GPU_AWARE_MPI=no on a rank)";
    case DevicePointers::by_memory_kinds: return by_device + " (MPI's memory kinds)";
    case DevicePointers::by_environment: return by_device + " (KTOPK_GPU_AWARE_MPI=yes)";
    case DevicePointers::unknown: break;
  }
  return by_host + " (neither KTOPK_GPU_AWARE_MPI nor MPI's memory kinds say otherwise)";
}

}  // namespace ktopk::detail::mpi
