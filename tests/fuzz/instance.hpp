// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

/// Instances of an execution space beside the default one.

namespace ktopk::fuzz {

/// Kokkos::Threads cannot be divided.
template <class Exec>
inline constexpr bool has_instances = true;
#if defined(KOKKOS_ENABLE_THREADS)
template <>
inline constexpr bool has_instances<Kokkos::Threads> = false;
#endif

/// An instance for one host thread.
template <class Exec>
class OwnInstance {
 public:
  Exec const& exec() const { return m_exec; }

 private:
  Exec m_exec = Kokkos::Experimental::partition_space(Exec(), 1)[0];
};

#if defined(KOKKOS_ENABLE_SERIAL)
template <>
class OwnInstance<Kokkos::Serial> {
 public:
  Kokkos::Serial const& exec() const { return m_exec; }

 private:
  Kokkos::Serial m_exec{Kokkos::NewInstance{}};
};
#endif

#if defined(KOKKOS_ENABLE_CUDA)
/// A stream that waits for no other.
template <>
class OwnInstance<Kokkos::Cuda> {
 public:
  OwnInstance() : m_stream(make_stream()), m_exec(m_stream) {}
  ~OwnInstance() {
    m_exec.fence("fuzz: a stream ends");
    m_exec = Kokkos::Cuda();
    cudaStreamDestroy(m_stream);
  }
  OwnInstance(OwnInstance const&) = delete;
  OwnInstance& operator=(OwnInstance const&) = delete;
  Kokkos::Cuda const& exec() const { return m_exec; }

 private:
  static cudaStream_t make_stream() {
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
      Kokkos::abort("fuzz: no stream");
    return stream;
  }

  cudaStream_t m_stream;
  Kokkos::Cuda m_exec;
};
#endif

}  // namespace ktopk::fuzz
