// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_session.hpp>

#include <cstdlib>
#include <optional>

#include <mpi.h>

#include <ktopk/mpi/testing.hpp>

// All ranks run all tests. A rank that fails makes all fail. With KTOPK_TEST_MERGE_KERNELS in the environment kernels merge on
// hosts, too.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  {
    Kokkos::InitializationSettings settings;
    settings.set_disable_warnings(true);
    if (std::getenv("OMP_NUM_THREADS") == nullptr) settings.set_num_threads(2);
    Kokkos::ScopeGuard const kokkos(settings);
    std::optional<ktopk::detail::mpi::ForceMergeKernels> by_kernels;
    if (std::getenv("KTOPK_TEST_MERGE_KERNELS") != nullptr) by_kernels.emplace();
    status = Catch::Session().run(argc, argv);
  }
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
