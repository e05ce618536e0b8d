// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <ktopk/float16.hpp>
#include <memory>
#include <string>

#include "files/key_type.hpp"

// From the names of backends and key types to C++ types. For the sources that include Kokkos.

namespace ktopk::tools {

template <class T>
struct Tag {
  using type = T;
};

template <class... Execs>
struct Spaces {};

// void stands first so that every further line can begin with a comma.
using EnabledSpaces = Spaces<void
#ifdef KOKKOS_ENABLE_SERIAL
                             ,
                             Kokkos::Serial
#endif
#ifdef KOKKOS_ENABLE_OPENMP
                             ,
                             Kokkos::OpenMP
#endif
#ifdef KOKKOS_ENABLE_THREADS
                             ,
                             Kokkos::Threads
#endif
#ifdef KOKKOS_ENABLE_CUDA
                             ,
                             Kokkos::Cuda
#endif
#ifdef KOKKOS_ENABLE_HIP
                             ,
                             Kokkos::HIP
#endif
#ifdef KOKKOS_ENABLE_SYCL
                             ,
                             Kokkos::SYCL
#endif
                             >;

inline std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <class Visitor, class... Execs>
void for_each_space(Visitor const& visit, Spaces<void, Execs...>) {
  (visit(Tag<Execs>()), ...);
}

/// Calls visit with the tag of the execution space of that name.
template <class Visitor>
void on_backend(std::string const& backend, Visitor const& visit) {
  for_each_space(
      [&](auto space) {
        if (lower_case(decltype(space)::type::name()) == backend) visit(space);
      },
      EnabledSpaces());
}

template <class Visitor>
auto on_key_type(KeyType type, Visitor const& visit) {
  switch (type) {
    case KeyType::f16: return visit(Tag<float16>());
    case KeyType::bf16: return visit(Tag<bfloat16>());
    case KeyType::f32: return visit(Tag<float>());
    case KeyType::f64: return visit(Tag<double>());
    case KeyType::i8: return visit(Tag<std::int8_t>());
    case KeyType::i16: return visit(Tag<std::int16_t>());
    case KeyType::i32: return visit(Tag<std::int32_t>());
    case KeyType::i64: return visit(Tag<std::int64_t>());
    case KeyType::u8: return visit(Tag<std::uint8_t>());
    case KeyType::u16: return visit(Tag<std::uint16_t>());
    case KeyType::u32: return visit(Tag<std::uint32_t>());
    default: return visit(Tag<std::uint64_t>());
  }
}

/// What make(space, key) makes for the execution space and the key type of these names, tags of which it gets.
template <class Base, class Make>
std::unique_ptr<Base> for_types(std::string const& backend, KeyType type, Make const& make) {
  std::unique_ptr<Base> made;
  on_backend(backend, [&](auto space) {
    made = on_key_type(type, [&](auto key) -> std::unique_ptr<Base> { return make(space, key); });
  });
  return made;
}

template <class Exec>
constexpr bool on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

}  // namespace ktopk::tools
