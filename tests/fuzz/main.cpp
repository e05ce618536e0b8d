// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <Kokkos_Core.hpp>

#include "../support/device.hpp"
#include "call.hpp"
#include "run.hpp"
#include "watchdog.hpp"

namespace ktopk::fuzz {
namespace {

template <class Exec>
int run_on_space(Settings const& settings) {
  return settings.spoil ? run_spoiled<Exec>(settings) : run_cases<Exec>(settings);
}

int run(Settings const& settings) {
  std::string const space =
      settings.space.empty() ? Kokkos::DefaultExecutionSpace::name() : settings.space;
#define KTOPK_FUZZ_RUN_IF(Space) \
  if (space == Space::name()) return run_on_space<Space>(settings);
  KTOPK_FUZZ_FOR_EACH_SPACE(KTOPK_FUZZ_RUN_IF)
  throw std::invalid_argument("this build has no execution space " + space);
}

int run_with_kokkos(Settings const& settings) {
  if (!testing::device_present()) {
    std::fprintf(stderr, "no device for the Kokkos of this build: skipped\n");
    return testing::skipped;
  }
  follow_kernels();
  Kokkos::InitializationSettings kokkos;
  kokkos.set_disable_warnings(true);
  Kokkos::ScopeGuard const guard(kokkos);
  return run(settings);
}

}  // namespace
}  // namespace ktopk::fuzz

int main(int argc, char** argv) {
  try {
    auto const settings = ktopk::fuzz::parse(argc, argv);
    if (!settings.help) return ktopk::fuzz::run_with_kokkos(settings);
    std::fputs(ktopk::fuzz::usage, stdout);
    return EXIT_SUCCESS;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "ktopk_fuzz: %s (--help names the options)\n", error.what());
    return 2;
  }
}
