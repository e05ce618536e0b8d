// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/mpi.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

// The three largest of keys that are spread over all ranks: mpirun -n 4 mpi_top_k

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Kokkos::DefaultHostExecutionSpace const exec;

    Kokkos::View<double*, Kokkos::HostSpace> keys("keys", 1000), values("values", 3);
    Kokkos::View<std::int64_t*, Kokkos::HostSpace> positions("positions", 3);
    for (int i = 0; i < 1000; ++i) keys(i) = (rank * 1000 + i) * 7919 % 10007;

    ktopk::mpi::top_k(MPI_COMM_WORLD, exec, keys, values, positions);

    if (rank == 0)
      for (int i = 0; i < 3; ++i)
        std::printf("keys(%lld) = %g\n", static_cast<long long>(positions(i)), values(i));
  }
  MPI_Finalize();
}
