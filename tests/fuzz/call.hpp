// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/instantiate.hpp>

#include "scene.hpp"

/// From a case to the library's API. Each key type is compiled in a file of its own.

namespace ktopk::fuzz {

// Where there is a device, its space alone: host spaces are tested by builds of their own.
#if defined(KOKKOS_ENABLE_CUDA)
#define KTOPK_FUZZ_FOR_EACH_SPACE(X) X(Kokkos::Cuda)
#elif defined(KOKKOS_ENABLE_HIP)
#define KTOPK_FUZZ_FOR_EACH_SPACE(X) X(Kokkos::HIP)
#else
#define KTOPK_FUZZ_FOR_EACH_SPACE(X) KTOPK_FOR_EACH_HOST_SPACE(X)
#endif

/// What surrounds the calls of a case.
struct Hooks {
  std::function<void(int)> before, after;  ///< of the call with this number
  std::function<std::byte*(std::size_t)> workspace;
};

/// The calls of a case with keys of one type.
template <class T, class Exec>
void call_with(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks);

/// The same where something else than top_k is asked.
template <class T, class Exec>
void ask_with(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks);

template <class T, class Exec>
void call_or_ask(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  if (c.ask == Ask::top_k)
    call_with<T>(exec, c, memory, hooks);
  else
    ask_with<T>(exec, c, memory, hooks);
}

/// The calls of a case.
template <class Exec>
void call(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  switch (c.type) {
    case KeyType::int8: return call_or_ask<std::int8_t>(exec, c, memory, hooks);
    case KeyType::uint8: return call_or_ask<std::uint8_t>(exec, c, memory, hooks);
    case KeyType::int16: return call_or_ask<std::int16_t>(exec, c, memory, hooks);
    case KeyType::uint16: return call_or_ask<std::uint16_t>(exec, c, memory, hooks);
    case KeyType::float16: return call_or_ask<float16>(exec, c, memory, hooks);
    case KeyType::bfloat16: return call_or_ask<bfloat16>(exec, c, memory, hooks);
    case KeyType::int32: return call_or_ask<std::int32_t>(exec, c, memory, hooks);
    case KeyType::uint32: return call_or_ask<std::uint32_t>(exec, c, memory, hooks);
    case KeyType::float32: return call_or_ask<float>(exec, c, memory, hooks);
    case KeyType::int64: return call_or_ask<std::int64_t>(exec, c, memory, hooks);
    case KeyType::uint64: return call_or_ask<std::uint64_t>(exec, c, memory, hooks);
    case KeyType::float64: return call_or_ask<double>(exec, c, memory, hooks);
  }
}

}  // namespace ktopk::fuzz
