// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of different lengths: the heaviest edges of every vertex of a graph in compressed rows.

#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

using Exec = Kokkos::DefaultExecutionSpace;

constexpr int vertices = 6;
constexpr int kept = 3;

// Vertex v has v edges, of weights 0.5, 1.5, 2.5 ...
Kokkos::View<int*> make_offsets() {
  Kokkos::View<int*> const offsets("offsets", vertices + 1);
  Kokkos::parallel_for(vertices + 1, KOKKOS_LAMBDA(int v) { offsets(v) = v * (v - 1) / 2; });
  return offsets;
}

Kokkos::View<float*> make_weights(Kokkos::View<int*> const& offsets) {
  Kokkos::View<float*> const weights("weights", vertices * (vertices - 1) / 2);
  Kokkos::parallel_for(
      vertices, KOKKOS_LAMBDA(int v) {
        for (int e = offsets(v); e < offsets(v + 1); ++e) weights(e) = float(e - offsets(v)) + 0.5f;
      });
  return weights;
}

// Heaviest first; a vertex with fewer edges than were asked for ends in -1.
int expected_edge(int vertex, int rank) { return rank < vertex ? vertex - 1 - rank : -1; }

int main() {
  Kokkos::ScopeGuard const kokkos;
  Exec const exec;
  auto const offsets = make_offsets();
  auto const weights = make_weights(offsets);

  Kokkos::View<int**> const heaviest("heaviest", vertices, kept);
  Kokkos::View<int*> const counts("counts", vertices);
  ktopk::top_k(exec, ktopk::ragged(weights, offsets), ktopk::nothing, heaviest,
               ktopk::per_row(ktopk::nothing, counts));

  auto const edges = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), heaviest);
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
  bool right = true;
  for (int v = 0; v < vertices; ++v) {
    std::printf("vertex %d: %d of its heaviest edges: %2d %2d %2d\n", v, found(v), edges(v, 0),
                edges(v, 1), edges(v, 2));
    right &= found(v) == (v < kept ? v : kept);
    for (int j = 0; j < kept; ++j) right &= edges(v, j) == expected_edge(v, j);
  }
  return right ? 0 : 1;
}
