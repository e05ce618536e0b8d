// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/float16.hpp>
#include <ktopk/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ktopk::perf {

enum class Implementations { tuned, portable };
enum class Layout { right, left };
enum class Lengths { even, ragged };
enum class Cache { warm, cold };
/// What is compared: the keys, by value or by magnitude; what a functor makes of each, or of its place.
enum class KeyForm { plain, magnitude, transform, generate };
enum class Ask { top_k, kth, ranks, count, reaching };

inline constexpr std::array<char const*, 4> key_forms{"plain", "magnitude", "transform",
                                                      "generate"};
inline constexpr std::array<char const*, 5> asks{"top_k", "kth", "ranks", "count", "reaching"};

/// One line of the report: a method (an algorithm of ktopk or a baseline) on one workload.
struct Case {
  std::string backend{};
  std::string method{};
  std::string type{};
  std::string input{};
  std::int64_t rows = 1;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Sorted sorted = Sorted::no;
  Ties ties = Ties::lowest_index;
  Implementations implementations = Implementations::tuned;  ///< portable: those alone
  Layout layout = Layout::right;                             ///< of the keys
  Lengths lengths = Lengths::even;                           ///< ragged: rows of 1 to n keys
  Cache cache = Cache::warm;  ///< cold: no key is in a cache before a call
  std::string recall = "1";   ///< Options::recall, as it was written
  KeyForm key = KeyForm::plain;
  std::string mask = "1";  ///< which part of the keys a mask leaves, as it was written; 1: no mask
  Ask ask = Ask::top_k;
};

inline char const* name(KeyForm key) { return key_forms[static_cast<std::size_t>(key)]; }
inline char const* name(Ask ask) { return asks[static_cast<std::size_t>(ask)]; }

/// Whether a case is more than the best of stored keys.
inline bool is_question(Case const& c) {
  return c.key != KeyForm::plain || c.mask != "1" || c.ask != Ask::top_k;
}

inline char const* name(Sorted sorted) { return sorted == Sorted::yes ? "yes" : "no"; }

inline char const* name(Ties ties) {
  switch (ties) {
    case Ties::any: return "any";
    case Ties::lowest_index: return "lowest_index";
    default: return "highest_index";
  }
}

/// What decides the keys: cases that share it share one buffer.
inline std::string workload_name(Case const& c) {
  return c.backend + "/" + c.type + "/" + c.input + "/rows:" + std::to_string(c.rows) +
         "/n:" + std::to_string(c.n) + (c.lengths == Lengths::ragged ? "/ragged" : "");
}

/// The method as the report names it: what runs otherwise is a method of its own there.
inline std::string full_method(Case const& c) {
  return c.method + (c.implementations == Implementations::portable ? ":portable" : "") +
         (c.layout == Layout::left ? ":left" : "") +
         (c.lengths == Lengths::ragged ? ":ragged" : "") + (c.cache == Cache::cold ? ":cold" : "") +
         (c.recall != "1" ? ":recall=" + c.recall : "") +
         (c.key != KeyForm::plain ? std::string(":") + name(c.key) : "") +
         (c.mask != "1" ? ":mask=" + c.mask : "") +
         (c.ask != Ask::top_k ? std::string(":") + name(c.ask) : "");
}

inline std::string name(Case const& c) {
  return "top_k/" + c.backend + "/" + full_method(c) + "/" + c.type + "/" + c.input +
         "/rows:" + std::to_string(c.rows) + "/n:" + std::to_string(c.n) +
         "/k:" + std::to_string(c.k) + "/sorted:" + name(c.sorted) + "/ties:" + name(c.ties);
}

template <class T>
struct KeyType {
  using type = T;
};

/// Calls visit(KeyType<T>) for the key type of that name; false where there is none.
template <class Visit>
bool with_key_type(std::string const& name, Visit const& visit) {
  auto const try_type = [&](char const* candidate, auto type) {
    if (name != candidate) return false;
    visit(type);
    return true;
  };
  return try_type("f16", KeyType<float16>()) || try_type("bf16", KeyType<bfloat16>()) ||
         try_type("f32", KeyType<float>()) || try_type("f64", KeyType<double>()) ||
         try_type("i8", KeyType<std::int8_t>()) || try_type("u8", KeyType<std::uint8_t>()) ||
         try_type("i16", KeyType<std::int16_t>()) || try_type("u16", KeyType<std::uint16_t>()) ||
         try_type("i32", KeyType<std::int32_t>()) || try_type("u32", KeyType<std::uint32_t>()) ||
         try_type("i64", KeyType<std::int64_t>()) || try_type("u64", KeyType<std::uint64_t>());
}

}  // namespace ktopk::perf
