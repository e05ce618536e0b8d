// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdio>
#include <initializer_list>

// What the programs of these pages share: Views made of numbers, and a line that shows one.

template <class T>
Kokkos::View<T*> row(std::initializer_list<T> numbers) {
  Kokkos::View<T*> const view("row", numbers.size());
  auto const host = Kokkos::create_mirror_view(view);
  std::size_t i = 0;
  for (T const number : numbers) host(i++) = number;
  Kokkos::deep_copy(view, host);
  return view;
}

template <class T>
Kokkos::View<T**> matrix(std::initializer_list<std::initializer_list<T>> rows) {
  Kokkos::View<T**> const view("matrix", rows.size(), rows.begin()->size());
  auto const host = Kokkos::create_mirror_view(view);
  std::size_t r = 0;
  for (auto const& numbers : rows) {
    std::size_t i = 0;
    for (T const number : numbers) host(r, i++) = number;
    ++r;
  }
  Kokkos::deep_copy(view, host);
  return view;
}

inline void show_number(double number) {
  if (std::isnan(number))
    std::printf(" nan");
  else
    std::printf(" %g", number);
}

template <class View>
void show(char const* name, View const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  if constexpr (View::rank == 2) {
    for (std::size_t r = 0; r < host.extent(0); ++r) {
      std::printf("%s(%zu):", name, r);
      for (std::size_t i = 0; i < host.extent(1); ++i) show_number(double(host(r, i)));
      std::printf("\n");
    }
  } else {
    std::printf("%s:", name);
    if constexpr (View::rank == 0)
      show_number(double(host()));
    else
      for (std::size_t i = 0; i < host.extent(0); ++i) show_number(double(host(i)));
    std::printf("\n");
  }
}
