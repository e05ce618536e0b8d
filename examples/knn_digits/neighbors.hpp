// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "digits.hpp"

#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

template <class Exec>
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, typename Exec::memory_space>;
using HostMatrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Squared distances of all pairs. A digit is infinitely far from itself, so that it is never its own neighbor.
template <class Exec>
Matrix<Exec> distances(Exec const& exec, Digits const& digits) {
  int const count = digits.count();
  Kokkos::View<std::uint8_t const**, Kokkos::LayoutRight, Kokkos::HostSpace> host(
      digits.pixels.data(), count, digit_pixels);
  auto const pixels = Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), host);
  Matrix<Exec> result(Kokkos::view_alloc(exec, "distances", Kokkos::WithoutInitializing), count,
                      count);
  Kokkos::parallel_for(
      "distances", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {count, count}),
      KOKKOS_LAMBDA(int a, int b) {
        std::int32_t sum = 0;
        for (int p = 0; p < digit_pixels; ++p) {
          std::int32_t const difference = pixels(a, p) - pixels(b, p);
          sum += difference * difference;
        }
        result(a, b) = a == b ? INT32_MAX : sum;
      });
  exec.fence();
  return result;
}

inline ktopk::Options nearest(ktopk::Algorithm algorithm = ktopk::Algorithm::automatic) {
  return {.order = ktopk::Order::smallest, .algorithm = algorithm};
}

/// The k nearest of every digit, nearest first; of equally near ones the one with the lowest number.
template <class Exec>
HostMatrix neighbors(Exec const& exec, Matrix<Exec> const& distances, int k,
                     ktopk::Options const& options = nearest()) {
  Matrix<Exec> indices("neighbors", distances.extent(0), k);
  ktopk::top_k(exec, distances, ktopk::nothing, indices, options);
  exec.fence();
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
}

/// The class that most of a digit's neighbors have; of equally frequent ones the lowest.
inline int vote(Digits const& digits, HostMatrix const& neighbors, int digit) {
  std::array<int, digit_classes> votes{};
  for (std::size_t j = 0; j < neighbors.extent(1); ++j) ++votes[digits.labels[neighbors(digit, j)]];
  return static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

inline int count_right(Digits const& digits, HostMatrix const& neighbors) {
  int right = 0;
  for (int digit = 0; digit < digits.count(); ++digit)
    right += vote(digits, neighbors, digit) == digits.labels[digit];
  return right;
}
