// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace ktopk::perf {

/// Times calls on an instance: from an idle instance until the work is done, by the wall clock.
template <class Exec>
class Timer {
 public:
  explicit Timer(Exec const& exec) : m_exec(exec) {}

  template <class Call>
  double seconds(Call const& call) const {
    m_exec.fence();
    auto const begin = std::chrono::steady_clock::now();
    call();
    m_exec.fence();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  Exec m_exec;
};

#ifdef KOKKOS_ENABLE_CUDA
/// Enqueues a wait until the host sets the word, which the device sees.
void cuda_hold(unsigned const volatile* released, cudaStream_t stream);

/// Device time between two events on the instance's stream, which is held until the host has enqueued the whole call:
/// so no launch is waited for.
template <>
class Timer<Kokkos::Cuda> {
 public:
  explicit Timer(Kokkos::Cuda const& exec) : m_stream(exec.cuda_stream()) {
    check(cudaEventCreate(&m_begin));
    check(cudaEventCreate(&m_end));
    void* word = nullptr;
    check(cudaMallocHost(&word, sizeof *m_released));
    m_released = static_cast<unsigned volatile*>(word);
  }
  ~Timer() {
    cudaFreeHost(const_cast<unsigned*>(m_released));
    cudaEventDestroy(m_begin);
    cudaEventDestroy(m_end);
  }
  Timer(Timer const&) = delete;
  Timer& operator=(Timer const&) = delete;

  template <class Call>
  double seconds(Call const& call) const {
    *m_released = 0;
    cuda_hold(m_released, m_stream);
    check(cudaEventRecord(m_begin, m_stream));
    call();
    check(cudaEventRecord(m_end, m_stream));
    *m_released = 1;
    check(cudaEventSynchronize(m_end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, m_begin, m_end));
    return 1e-3 * milliseconds;
  }

 private:
  static void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  }

  cudaStream_t m_stream;
  cudaEvent_t m_begin = nullptr, m_end = nullptr;
  unsigned volatile* m_released = nullptr;
};
#endif

struct Summary {
  double median = 0, best = 0, lower_quartile = 0, upper_quartile = 0;
};

inline Summary summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto const part = [&](std::size_t quarters) {
    return seconds[quarters * (seconds.size() - 1) / 4];
  };
  return {seconds[seconds.size() / 2], seconds.front(), part(1), part(3)};
}

/// Calls until a tenth of a second has passed, but at least 5 times and at most 101 times; one call warms up.
/// `prepare` runs before every call and is not timed.
template <class Exec, class Prepare, class Call>
Summary measure_briefly(Timer<Exec> const& timer, Prepare const& prepare, Call const& call) {
  call();
  using Clock = std::chrono::steady_clock;
  auto const enough = Clock::now() + std::chrono::milliseconds(100);
  std::vector<double> seconds;
  while (seconds.size() < 5 || (seconds.size() < 101 && Clock::now() < enough)) {
    prepare();
    seconds.push_back(timer.seconds(call));
  }
  return summarize(seconds);
}

}  // namespace ktopk::perf
