// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/host_targets.hpp"
#include "timing.hpp"
#include "workloads.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ktopk::perf {

inline Summary faster(Summary const& a, Summary const& b) { return b.median < a.median ? b : a; }

/// The largest byte, by eight streams at once: some processors read faster so than front to back.
[[gnu::always_inline]] inline unsigned char largest_byte_of_streams(unsigned char const* bytes,
                                                                    std::size_t count) {
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

/// The largest byte, front to back, with lines fetched to the second cache before they are read.
[[gnu::always_inline]] inline unsigned char largest_byte_fetched_ahead(unsigned char const* bytes,
                                                                       std::size_t count) {
  constexpr std::size_t block = 512, line = 64, ahead = 8192;
  unsigned char best = 0;
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    for (std::size_t j = 0; j < block; j += line) __builtin_prefetch(bytes + i + j + ahead, 0, 2);
    for (std::size_t j = 0; j < block; ++j) best = std::max(best, bytes[i + j]);
  }
  for (; i < count; ++i) best = std::max(best, bytes[i]);
  return best;
}

template <class Byte>
using Read = Byte (*)(Byte const*, std::size_t);

// With wider vectors a core asks for more lines at a time.
#define KTOPK_READ_WAYS(suffix, attribute)                                 \
  template <class Byte>                                                    \
  attribute Byte read_streams_##suffix(Byte const* bytes, std::size_t n) { \
    return largest_byte_of_streams(bytes, n);                              \
  }                                                                        \
  template <class Byte>                                                    \
  attribute Byte read_ahead_##suffix(Byte const* bytes, std::size_t n) {   \
    return largest_byte_fetched_ahead(bytes, n);                           \
  }                                                                        \
  template <class Byte>                                                    \
  std::array<Read<Byte>, 2> read_ways_##suffix() {                         \
    return {read_streams_##suffix<Byte>, read_ahead_##suffix<Byte>};       \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_READ_WAYS)
#undef KTOPK_READ_WAYS

/// The ways of reading that are tried on a host, compiled for its processor; the fastest is the floor.
inline std::array<Read<unsigned char>, 2> host_read_ways() {
  using namespace ktopk::detail;
  return KTOPK_FASTEST_ON_HOST(read_ways, unsigned char)();
}

/// Reads every byte once with all cores of the backend.
template <class Exec>
unsigned char largest_byte_with_all_cores(Exec const& exec, unsigned char const* bytes,
                                          std::size_t count, Read<unsigned char> read) {
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
