// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "timing.hpp"
#include "workloads.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ktopk::perf {

/// The largest byte. Eight streams at once: a Xeon of today reads 1.2 to 1.3 times faster so than front to back.
inline unsigned char largest_byte(unsigned char const* bytes, std::size_t count) {
  std::size_t const n = count / 8;
  unsigned char a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (std::size_t i = 0; i < n; ++i) {
    a = std::max(a, bytes[i]);
    b = std::max(b, bytes[n + i]);
    c = std::max(c, bytes[2 * n + i]);
    d = std::max(d, bytes[3 * n + i]);
    e = std::max(e, bytes[4 * n + i]);
    f = std::max(f, bytes[5 * n + i]);
    g = std::max(g, bytes[6 * n + i]);
    h = std::max(h, bytes[7 * n + i]);
  }
  for (std::size_t i = 8 * n; i < count; ++i) a = std::max(a, bytes[i]);
  return std::max({a, b, c, d, e, f, g, h});
}

/// Reads every byte once with all cores of the backend, each a contiguous part.
template <class Exec>
unsigned char largest_byte_with_all_cores(Exec const& exec, unsigned char const* bytes,
                                          std::size_t count) {
  std::size_t const parts = exec.concurrency();
  unsigned char best = 0;
  Kokkos::parallel_reduce(
      "ktopk::perf::read_floor",
      Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>>(exec, 0, parts),
      [=](std::size_t part, unsigned char& largest) {
        std::size_t const begin = count * part / parts, end = count * (part + 1) / parts;
        largest = std::max(largest, largest_byte(bytes + begin, end - begin));
      },
      Kokkos::Max<unsigned char>(best));
  return best;
}

template <class Exec>
Summary host_read_floor(Exec const& exec, unsigned char const* bytes, std::size_t count) {
  unsigned char volatile sink = 0;
  return measure_briefly(Timer<Exec>(exec),
                         [&] { sink = largest_byte_with_all_cores(exec, bytes, count); });
}

template <class Exec>
void add_words(Exec const& exec, std::uint32_t const* words, std::size_t count,
               std::uint32_t& sum) {
  Kokkos::parallel_reduce(
      "ktopk::perf::read_floor", Kokkos::RangePolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::size_t i, std::uint32_t& part) { part += words[i]; }, sum);
}

template <class Exec>
Summary device_read_floor(Exec const& exec, void const* bytes, std::size_t count) {
  std::uint32_t sum = 0;
  auto const* const words = static_cast<std::uint32_t const*>(bytes);
  return measure_briefly(Timer<Exec>(exec),
                         [&] { add_words(exec, words, count / sizeof *words, sum); });
}

#ifdef KOKKOS_ENABLE_CUDA
/// The ways of reading that are tried on a GPU; the fastest is the floor.
int cuda_read_variants();
/// `scratch` takes a word, never written in practice: it keeps the compiler from leaving the reading out.
void cuda_read(int variant, void const* bytes, std::size_t count, unsigned* scratch,
               cudaStream_t stream);

inline Summary device_read_floor(Kokkos::Cuda const& exec, void const* bytes, std::size_t count) {
  Timer<Kokkos::Cuda> const timer(exec);
  Kokkos::View<unsigned, Kokkos::CudaSpace> const scratch("ktopk::perf::scratch");
  Summary floor;
  for (int variant = 0; variant < cuda_read_variants(); ++variant) {
    auto const read = measure_briefly(
        timer, [&] { cuda_read(variant, bytes, count, scratch.data(), exec.cuda_stream()); });
    if (variant == 0 || read.median < floor.median) floor = read;
  }
  return floor;
}
#endif

/// The time to read the keys once and do next to nothing with them: what no selection can beat.
template <class Exec, class T>
Summary read_floor(Exec const& exec, KeyView<Exec, T> const& keys) {
  std::size_t const count = keys.size() * sizeof(T);
  if constexpr (on_host<Exec>)
    return host_read_floor(exec, reinterpret_cast<unsigned char const*>(keys.data()), count);
  else
    return device_read_floor(exec, keys.data(), count);
}

}  // namespace ktopk::perf
