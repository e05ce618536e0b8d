// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ktopk::tools {

/// The key types of the contract, as they lie in files (little-endian).
enum class KeyType { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

/// Bytes of one key.
std::int64_t width(KeyType type);

/// "f32", the name that --type takes.
char const* name(KeyType type);
std::optional<KeyType> key_type_from_name(std::string_view name);

/// All names, "f16, bf16, …", for messages and help.
std::string key_type_names();

/// NumPy's kind and size, "f4"; bfloat16, which NumPy lacks, is written as the float with the same value.
std::string numpy_code(KeyType type);
std::optional<KeyType> key_type_from_numpy(std::string_view code);

}  // namespace ktopk::tools
