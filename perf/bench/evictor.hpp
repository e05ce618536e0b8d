// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

#include "case.hpp"
#include "workloads.hpp"

namespace ktopk::perf {

/// The bytes of all last-level caches of the host together.
inline std::size_t host_cache_bytes() {
  auto const& cpu = benchmark::CPUInfo::Get();
  std::size_t bytes = 0;
  int last = 0;
  for (auto const& cache : cpu.caches) {
    if (cache.type == "Instruction" || cache.level < last) continue;
    last = cache.level;
    auto const caches = std::max(1, cpu.num_cpus / std::max(1, cache.num_sharing));
    bytes = static_cast<std::size_t>(cache.size) * static_cast<std::size_t>(caches);
  }
  return bytes;
}

template <class Exec, class Words>
void add_one(Exec const& exec, Words const& words) {
  Kokkos::parallel_for(
      "ktopk::perf::evict", Kokkos::RangePolicy<Exec>(exec, 0, words.size()),
      KOKKOS_LAMBDA(std::size_t i) { words(i) += 1; });
}

/// Empties the caches of an instance's keys, where the case wants them cold.
template <class Exec>
class Evictor {
 public:
  Evictor(Exec const& exec, Cache cache) : m_exec(exec) {
    if (cache == Cache::warm) return;
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    std::size_t const bytes =
        on_host<Exec> ? std::max(2 * host_cache_bytes(), 64 * mebibyte) : 256 * mebibyte;
    m_words = Words("ktopk::perf::evict", bytes / sizeof(unsigned));
  }

  /// Every core writes its share of a memory twice as large as the caches. Not a fence.
  void evict() const {
    if (m_words.size() > 0) add_one(m_exec, m_words);
  }

 private:
  using Words = Kokkos::View<unsigned*, typename Exec::memory_space>;

  Exec m_exec;
  Words m_words;
};

}  // namespace ktopk::perf
