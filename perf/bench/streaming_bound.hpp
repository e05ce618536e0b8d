// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "host_reads.hpp"
#include "timing.hpp"
#include "workloads.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace ktopk::perf {

/// Reads all bytes once, in one of several ways.
template <class Exec, bool is_host = on_host<Exec>>
class Reader {
 public:
  Reader(Exec const& exec, void const* bytes, std::size_t count)
      : m_exec(exec), m_bytes(static_cast<unsigned char const*>(bytes)), m_count(count) {}

  static int ways() { return static_cast<int>(host_read_ways().size()); }

  /// With all cores of the backend.
  void read(int way) const {
    HostRead const read = host_read_ways()[static_cast<std::size_t>(way)];
    std::size_t const parts = 4 * static_cast<std::size_t>(m_exec.concurrency());
    unsigned char best = 0;
    Kokkos::parallel_reduce(
        "ktopk::perf::read_once",
        Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>(m_exec, 0, parts)
            .set_chunk_size(1),
        [=, bytes = m_bytes, count = m_count](std::size_t part, unsigned char& largest) {
          std::size_t const begin = count * part / parts, end = count * (part + 1) / parts;
          largest = std::max(largest, read(bytes + begin, end - begin));
        },
        Kokkos::Max<unsigned char>(best));
    m_sink = best;
  }

 private:
  Exec m_exec;
  unsigned char const* m_bytes;
  std::size_t m_count;
  mutable unsigned char volatile m_sink = 0;  // keeps the compiler from removing the read
};

template <class Exec>
void add_words(Exec const& exec, std::uint32_t const* words, std::size_t count,
               std::uint32_t& sum) {
  Kokkos::parallel_reduce(
      "ktopk::perf::read_once", Kokkos::RangePolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::size_t i, std::uint32_t& part) { part += words[i]; }, sum);
}

template <class Exec>
class Reader<Exec, false> {
 public:
  Reader(Exec const& exec, void const* bytes, std::size_t count)
      : m_exec(exec),
        m_words(static_cast<std::uint32_t const*>(bytes)),
        m_count(count / sizeof *m_words) {}

  static int ways() { return 1; }
  void read(int) const {
    std::uint32_t sum = 0;
    add_words(m_exec, m_words, m_count, sum);
  }

 private:
  Exec m_exec;
  std::uint32_t const* m_words;
  std::size_t m_count;
};

#ifdef KOKKOS_ENABLE_CUDA
int cuda_read_variants();
/// `scratch` takes a word, never written in practice: it keeps the compiler from removing the read.
void cuda_read(int variant, void const* bytes, std::size_t count, unsigned* scratch,
               cudaStream_t stream);

template <>
class Reader<Kokkos::Cuda, false> {
 public:
  Reader(Kokkos::Cuda const& exec, void const* bytes, std::size_t count)
      : m_stream(exec.cuda_stream()), m_bytes(bytes), m_count(count) {}

  static int ways() { return cuda_read_variants(); }
  void read(int way) const { cuda_read(way, m_bytes, m_count, m_scratch.data(), m_stream); }

 private:
  cudaStream_t m_stream;
  void const* m_bytes;
  std::size_t m_count;
  Kokkos::View<unsigned, Kokkos::CudaSpace> m_scratch{"ktopk::perf::scratch"};
};
#endif

/// Of the ways to read the keys once and do next to nothing with them, the fastest.
template <class Exec, class Prepare>
int fastest_way(Timer<Exec> const& timer, Reader<Exec> const& reader, Prepare const& prepare) {
  int fastest = 0;
  double shortest = 0;
  for (int way = 0; way < reader.ways(); ++way) {
    auto const time = measure_briefly(timer, prepare, [&] { reader.read(way); });
    if (way > 0 && time.median >= shortest) continue;
    fastest = way;
    shortest = time.median;
  }
  return fastest;
}

/// The fastest way by workload: Google Benchmark calls a case several times, and many cases share their keys.
inline std::map<std::string, int> fastest_ways;

/// The streaming bound: a way to read the keys and the time that it takes.
struct StreamingBound {
  int way = 0;
  Summary time;
};

template <class Exec, class Prepare>
StreamingBound find_streaming_bound(std::string const& workload, Timer<Exec> const& timer,
                                    Reader<Exec> const& reader, Prepare const& prepare) {
  auto const [known, is_new] = fastest_ways.try_emplace(workload);
  if (is_new) known->second = fastest_way(timer, reader, prepare);
  int const way = known->second;
  return {way, measure_briefly(timer, prepare, [&] { reader.read(way); })};
}

}  // namespace ktopk::perf
