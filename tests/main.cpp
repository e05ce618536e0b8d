// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_session.hpp>

#include <iostream>

namespace {

// CTest's SKIP_RETURN_CODE for Catch2, "all tests skipped".
constexpr int skipped = 4;

bool device_present() {
#ifdef KOKKOS_ENABLE_CUDA
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
#elif defined(KOKKOS_ENABLE_HIP)
  int devices = 0;
  return hipGetDeviceCount(&devices) == hipSuccess && devices > 0;
#else
  return true;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (int const status = session.applyCommandLine(argc, argv); status != 0) return status;
  auto const& wish = session.configData();
  // Tests are listed where they are built, and that machine need not have the device.
  if (wish.showHelp || wish.listTests || wish.listTags || wish.listReporters || wish.listListeners)
    return session.run();
  if (!device_present()) {
    std::cerr << "no device for the Kokkos of this build: skipped\n";
    return skipped;
  }
  Kokkos::ScopeGuard const kokkos;
  return session.run();
}
