// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ktopk/float16.hpp>

namespace ktopk::detail {

template <std::size_t Bytes>
struct UnsignedOfSize;
template <>
struct UnsignedOfSize<1> {
  using type = std::uint8_t;
};
template <>
struct UnsignedOfSize<2> {
  using type = std::uint16_t;
};
template <>
struct UnsignedOfSize<4> {
  using type = std::uint32_t;
};
template <>
struct UnsignedOfSize<8> {
  using type = std::uint64_t;
};

enum class KeyKind { none, unsigned_integer, signed_integer, floating };

/// What a selection must know of a key type: how its bits are ordered, and the bits of +infinity if it is a
/// floating-point type. Specialize it for a further type of 16 bits or more.
template <class T>
struct KeyTraits {
  static constexpr KeyKind kind = KeyKind::none;
};

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8)
struct KeyTraits<T> {
  static constexpr KeyKind kind =
      std::is_signed_v<T> ? KeyKind::signed_integer : KeyKind::unsigned_integer;
  static constexpr std::uint64_t infinity = 0;
};

template <std::uint64_t Infinity>
struct FloatingKey {
  static constexpr KeyKind kind = KeyKind::floating;
  static constexpr std::uint64_t infinity = Infinity;
};

template <>
struct KeyTraits<float> : FloatingKey<0x7f800000u> {};
template <>
struct KeyTraits<double> : FloatingKey<0x7ff0000000000000u> {};
template <>
struct KeyTraits<float16> : FloatingKey<0x7c00u> {};
template <>
struct KeyTraits<bfloat16> : FloatingKey<0x7f80u> {};

template <class T>
concept Key = KeyTraits<T>::kind != KeyKind::none;

/// Does not compile for other types, and says which there are.
template <class T>
constexpr void require_key_type() {
  static_assert(!std::same_as<std::remove_cv_t<T>, long double>,
                "ktopk: long double is not a key type: convert the keys to double");
  static_assert(Key<T> || std::same_as<std::remove_cv_t<T>, long double>,
                "ktopk: not a key type: keys are float16, bfloat16, float, double, or signed or "
                "unsigned integers of 8, 16, 32 or 64 bits, and not bool");
}

template <class T>
concept Index = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
using bits_of = typename UnsignedOfSize<sizeof(T)>::type;

}  // namespace ktopk::detail
