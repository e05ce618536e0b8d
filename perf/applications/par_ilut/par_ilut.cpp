// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosSparse_IOUtils.hpp>
#include <KokkosSparse_SortCrs.hpp>
#include <KokkosSparse_par_ilut.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "threshold.hpp"

// The numeric phase of par_ilut with its own threshold and with that of ktopk, in turn; the least time of each. Matrices
// and settings are those of the benchmark of Kokkos Kernels. Fails if a threshold or a factor differs by a bit.
// par_ilut [rows] [runs] [entries of a row]

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Device = Kokkos::Device<Exec, Memory>;
using Matrix = KokkosSparse::CrsMatrix<double, int, Device, void, int>;
using Handle =
    KokkosKernels::Experimental::KokkosKernelsHandle<int, int, double, Exec, Memory, Memory>;
using Way = Selection::Way;

struct Factor {
  Kokkos::View<int*, Device> rows, columns;
  Kokkos::View<double*, Device> values;
  explicit Factor(int n) : rows("rows", n + 1), columns("columns", 0), values("values", 0) {}
};

struct Factors {
  Factor lower, upper;
  double milliseconds = 0;
  int iterations = 0;
};

template <class View>
bool same_bits(View const& a, View const& b) {
  auto const one = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  auto const other = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  return one.extent(0) == other.extent(0) &&
         std::memcmp(one.data(), other.data(), one.span() * sizeof(*one.data())) == 0;
}

bool same_bits(Factor const& a, Factor const& b) {
  return same_bits(a.rows, b.rows) && same_bits(a.columns, b.columns) &&
         same_bits(a.values, b.values);
}

Matrix make_matrix(int rows, int per_row) {
  int const bandwidth = std::max(2 * static_cast<int>(std::sqrt(rows)), 2 * per_row);
  int entries = rows * per_row;
  auto matrix = KokkosSparse::Impl::kk_generate_diagonally_dominant_sparse_matrix<Matrix>(
      rows, rows, entries, 0, bandwidth, 1.0);
  KokkosSparse::sort_crs_matrix(matrix);
  return matrix;
}

Factors factorize(Matrix const& matrix, int per_row, Way way) {
  int const n = matrix.numRows();
  bool const is_gpu = !Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
  Factors made{Factor(n), Factor(n)};
  Handle handle;
  handle.create_par_ilut_handle();
  auto* const par_ilut = handle.get_par_ilut_handle();
  par_ilut->set_team_size(is_gpu ? per_row : 1);
  par_ilut->set_nrows(n);
  auto& [lower, upper, milliseconds, iterations] = made;
  KokkosSparse::Experimental::par_ilut_symbolic(&handle, matrix.graph.row_map, matrix.graph.entries,
                                                lower.rows, upper.rows);
  Kokkos::resize(lower.columns, par_ilut->get_nnzL());
  Kokkos::resize(lower.values, par_ilut->get_nnzL());
  Kokkos::resize(upper.columns, par_ilut->get_nnzU());
  Kokkos::resize(upper.values, par_ilut->get_nnzU());

  selection = {.way = way};
  Kokkos::fence();
  Kokkos::Timer const timer;
  // Without the types that the library may have compiled: those do not know the changed header.
  using Numeric = KokkosSparse::Impl::Experimental::IlutWrap<Handle::PAR_ILUTHandleType>;
  Numeric::ilut_numeric(handle, *par_ilut, matrix.graph.row_map, matrix.graph.entries,
                        matrix.values, lower.rows, lower.columns, lower.values, upper.rows,
                        upper.columns, upper.values);
  Kokkos::fence();
  milliseconds = timer.seconds() * 1000;
  iterations = par_ilut->get_num_iters();
  return made;
}

struct Least {
  double all = 1e30, thresholds = 1e30;
  void take(Factors const& made) {
    all = std::min(all, made.milliseconds);
    thresholds = std::min(thresholds, selection.seconds * 1000);
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  int const rows = argc > 1 ? std::atoi(argv[1]) : 1000, runs = argc > 2 ? std::atoi(argv[2]) : 3;
  int const per_row = argc > 3 ? std::atoi(argv[3]) : std::min(rows / 100, 50);
  if (rows < 100 || runs < 1 || per_row < 1 || per_row > rows / 4 || 1e9 / per_row < rows) {
    std::fprintf(stderr,
                 "par_ilut: at least 100 rows of 1 to rows / 4 entries, 10^9 of them at most, and "
                 "a run; not %d rows of %d entries, %d runs\n",
                 rows, per_row, runs);
    return 2;
  }
  Matrix const matrix = make_matrix(rows, per_row);

  int const iterations = factorize(matrix, per_row, Way::both).iterations;
  Selection const compared = selection;
  Least theirs, with_ktopk;
  bool are_same = true;
  for (int run = 0; run < runs; ++run) {
    Factors const one = factorize(matrix, per_row, Way::theirs);
    theirs.take(one);
    Factors const other = factorize(matrix, per_row, Way::ktopk);
    with_ktopk.take(other);
    are_same = are_same && same_bits(one.lower, other.lower) && same_bits(one.upper, other.upper);
  }
  std::printf("%d rows of %d entries, %d iterations: %.2f ms, with ktopk %.2f\n", rows, per_row,
              iterations, theirs.all, with_ktopk.all);
  std::printf("%d thresholds: %.3f ms, with ktopk %.3f\n", compared.calls, theirs.thresholds,
              with_ktopk.thresholds);
  std::printf("%d thresholds differ, %d more are of values with NaN; the factors %s\n",
              compared.differing, compared.undefined, are_same ? "are the same" : "DIFFER");
  return compared.differing == 0 && are_same ? 0 : 1;
}
