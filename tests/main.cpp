// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_session.hpp>

#include <cstdlib>
#include <iostream>

#include <ktopk/core/testing.hpp>

#include "support/device.hpp"

namespace {

/// Two threads unless the environment sets another number: tests run side by side.
Kokkos::InitializationSettings settings() {
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
  if (std::getenv("OMP_NUM_THREADS") == nullptr && std::getenv("KOKKOS_NUM_THREADS") == nullptr)
    settings.set_num_threads(2);
  return settings;
}

/// If only calls use such arrays, none may have been allocated.
bool arrays_are_in_workspace() {
  if (std::getenv("KTOPK_TESTS_OF_CALLS") == nullptr) return true;
  auto const beyond = ktopk::detail::arrays_beyond_workspace.load();
  if (beyond > 0) std::cerr << beyond << " arrays of threads did not fit the workspace\n";
  return beyond == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (int const status = session.applyCommandLine(argc, argv); status != 0) return status;
  auto const& wish = session.configData();
  // Tests are listed on the machine that builds them, which need not have the device.
  if (wish.showHelp || wish.listTests || wish.listTags || wish.listReporters || wish.listListeners)
    return session.run();
  if (!ktopk::testing::device_present()) {
    std::cerr << "no device for the Kokkos of this build: skipped\n";
    return ktopk::testing::skipped;
  }
  Kokkos::ScopeGuard const kokkos(settings());
  int const status = session.run();
  return arrays_are_in_workspace() ? status : EXIT_FAILURE;
}
