// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/key_type.hpp"

#include <algorithm>
#include <array>

namespace ktopk::tools {
namespace {

struct Row {
  KeyType type;
  char const* name;
  char const* numpy;
  std::int64_t width;
};

constexpr std::array<Row, 12> rows{{
    {KeyType::f16, "f16", "f2", 2},
    {KeyType::bf16, "bf16", "f4", 2},
    {KeyType::f32, "f32", "f4", 4},
    {KeyType::f64, "f64", "f8", 8},
    {KeyType::i8, "i8", "i1", 1},
    {KeyType::i16, "i16", "i2", 2},
    {KeyType::i32, "i32", "i4", 4},
    {KeyType::i64, "i64", "i8", 8},
    {KeyType::u8, "u8", "u1", 1},
    {KeyType::u16, "u16", "u2", 2},
    {KeyType::u32, "u32", "u4", 4},
    {KeyType::u64, "u64", "u8", 8},
}};

constexpr Row const& row(KeyType type) { return rows[static_cast<std::size_t>(type)]; }

template <class Predicate>
std::optional<KeyType> find(Predicate predicate) {
  auto const found = std::find_if(rows.begin(), rows.end(), predicate);
  return found == rows.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace

std::int64_t width(KeyType type) { return row(type).width; }

char const* name(KeyType type) { return row(type).name; }

std::optional<KeyType> key_type_from_name(std::string_view name) {
  return find([&](Row const& r) { return r.name == name; });
}

std::string key_type_names() {
  std::string names;
  for (Row const& r : rows) names += (names.empty() ? "" : ", ") + std::string(r.name);
  return names;
}

std::string numpy_code(KeyType type) { return row(type).numpy; }

std::optional<KeyType> key_type_from_numpy(std::string_view code) {
  return find([&](Row const& r) { return r.type != KeyType::bf16 && r.numpy == code; });
}

}  // namespace ktopk::tools
