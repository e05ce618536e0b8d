// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backend.hpp"

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <ktopk/explain.hpp>
#include <thread>
#include <type_traits>

#include "files/fault.hpp"
#include "spaces.hpp"

namespace ktopk::tools {
namespace {

template <class Exec>
std::string describe() {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    auto const& device = Exec().cuda_device_prop();
    return std::string(device.name) + ", " + std::to_string(device.totalGlobalMem >> 30) +
           " GiB, compute capability " + std::to_string(device.major) + "." +
           std::to_string(device.minor);
  }
#endif
  auto const concurrency = Exec().concurrency();
  if constexpr (on_host<Exec>)
    return std::to_string(concurrency) + (concurrency == 1 ? " thread" : " threads");
  return "device " + std::to_string(Kokkos::device_id()) + " of " +
         std::to_string(Kokkos::num_devices());
}

void require_gpu() {
#ifdef KOKKOS_ENABLE_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw Fault("this build uses CUDA, but no GPU can be reached");
#endif
}

}  // namespace

KokkosSession::KokkosSession() {
  require_gpu();
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
#ifdef KOKKOS_ENABLE_THREADS
  // Where Kokkos has no hwloc, its Threads would be one.
  if (std::getenv("KOKKOS_NUM_THREADS") == nullptr)
    settings.set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
#endif
  Kokkos::initialize(settings);
}

KokkosSession::~KokkosSession() { Kokkos::finalize(); }

std::vector<std::string> backend_names() {
  std::vector<std::string> names{lower_case(Kokkos::DefaultExecutionSpace::name())};
  for_each_space(
      [&](auto space) {
        auto const name = lower_case(decltype(space)::type::name());
        if (name != names.front()) names.push_back(name);
      },
      EnabledSpaces());
  return names;
}

std::string known_backend(std::string const& name) {
  std::string names;
  for (std::string const& known : backend_names()) {
    if (known == name) return name;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw Fault("--backend: " + in_quotes(name) + " is not in this build, which has " + names);
}

std::string device_of(std::string const& backend) {
  std::string text;
  on_backend(backend, [&](auto space) { text = describe<typename decltype(space)::type>(); });
  return text;
}

std::string explain_on(std::string const& backend, Shape const& shape, Options const& options) {
  std::string text;
  on_backend(backend, [&](auto space) {
    text = to_string(explain(typename decltype(space)::type(), shape, options));
  });
  return text;
}

bool reads_host_memory(std::string const& backend) {
  bool result = false;
  on_backend(backend, [&](auto space) { result = on_host<typename decltype(space)::type>; });
  return result;
}

}  // namespace ktopk::tools
