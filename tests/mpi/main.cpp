// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <catch2/catch_session.hpp>

#include <cstdlib>

#include <mpi.h>

// All ranks run all tests. A rank that fails makes all fail.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  {
    Kokkos::InitializationSettings settings;
    settings.set_disable_warnings(true);
    if (std::getenv("OMP_NUM_THREADS") == nullptr) settings.set_num_threads(2);
    Kokkos::ScopeGuard const kokkos(settings);
    status = Catch::Session().run(argc, argv);
  }
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
