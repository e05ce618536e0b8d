// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "host_reads.hpp"
#include "timing.hpp"
#include "workloads.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ktopk::perf {

inline Summary faster(Summary const& a, Summary const& b) { return b.median < a.median ? b : a; }

/// Reads every byte once with all cores of the backend.
template <class Exec>
unsigned char largest_byte_with_all_cores(Exec const& exec, unsigned char const* bytes,
                                          std::size_t count, HostRead read) {
  std::size_t const parts = 4 * static_cast<std::size_t>(exec.concurrency());
  unsigned char best = 0;
  Kokkos::parallel_reduce(
      "ktopk::perf::read_floor",
      Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>(exec, 0, parts)
          .set_chunk_size(1),
      [=](std::size_t part, unsigned char& largest) {
        std::size_t const begin = count * part / parts, end = count * (part + 1) / parts;
        largest = std::max(largest, read(bytes + begin, end - begin));
      },
      Kokkos::Max<unsigned char>(best));
  return best;
}

template <class Exec>
Summary host_read_floor(Exec const& exec, unsigned char const* bytes, std::size_t count) {
  unsigned char volatile sink = 0;
  Timer<Exec> const timer(exec);
  std::optional<Summary> floor;
  for (auto const read : host_read_ways()) {
    auto const time = measure_briefly(
        timer, [&] { sink = largest_byte_with_all_cores(exec, bytes, count, read); });
    floor = floor ? faster(*floor, time) : time;
  }
  return *floor;
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
    floor = variant == 0 ? read : faster(floor, read);
  }
  return floor;
}
#endif

/// The time to read the keys once and do next to nothing with them, in the fastest of the ways tried.
template <class Exec, class T>
Summary read_floor(Exec const& exec, KeyView<Exec, T> const& keys) {
  std::size_t const count = keys.size() * sizeof(T);
  if constexpr (on_host<Exec>)
    return host_read_floor(exec, reinterpret_cast<unsigned char const*>(keys.data()), count);
  else
    return device_read_floor(exec, keys.data(), count);
}

}  // namespace ktopk::perf
