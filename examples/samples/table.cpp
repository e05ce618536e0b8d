// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/gather.hpp>
#include <ktopk/lexicographic.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 1000, k = 5;
  Kokkos::View<std::int8_t*> const rating("rating", n), ratings("ratings", k);
  Kokkos::View<float*> const price("price", n), prices("prices", k);
  Kokkos::View<std::int16_t*> const stock("stock", n), stocks("stocks", k);
  Kokkos::View<int*> const rows("rows", k);
  Kokkos::parallel_for(
      n, KOKKOS_LAMBDA(int i) {
        rating(i) = static_cast<std::int8_t>(i * 31 % 5);
        price(i) = static_cast<float>(i * 47 % 97) / 4;
        stock(i) = static_cast<std::int16_t>(i * 53 % 89);
      });

  // The best rating; of equal ratings the lowest price; of equal prices the largest stock.
  ktopk::top_k(exec,
               ktopk::lexicographic(rating, ktopk::ascending(price), ktopk::descending(stock)),
               ktopk::nothing, rows);
  ktopk::gather(exec, rows, ktopk::payload(rating, ratings), ktopk::payload(price, prices),
                ktopk::payload(stock, stocks));

  show("rows", rows);
  show("ratings", ratings);
  show("prices", prices);
  show("stocks", stocks);
}
