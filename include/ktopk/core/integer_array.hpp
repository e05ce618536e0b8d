// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/core/macros.hpp>
#include <ktopk/core/stored.hpp>

namespace ktopk::detail {

/// A strided array of 32- or 64-bit integers that may be absent.
struct IntegerArray {
  void* data = nullptr;
  std::int64_t stride = 1;
  int bytes = 0;

  KTOPK_FUNCTION explicit operator bool() const { return data != nullptr; }
  KTOPK_FUNCTION std::int64_t operator[](std::int64_t i) const {
    return bytes == 4 ? static_cast<Stored<std::int32_t> const*>(data)[i * stride]
                      : static_cast<Stored<std::int64_t> const*>(data)[i * stride];
  }
  IntegerArray without_first(std::int64_t entries) const {
    if (data == nullptr) return *this;
    return {static_cast<std::byte*>(data) + entries * stride * bytes, stride, bytes};
  }
  KTOPK_FUNCTION void store(std::int64_t i, std::int64_t value) const {
    if (bytes == 4)
      static_cast<Stored<std::int32_t>*>(data)[i * stride] = static_cast<std::int32_t>(value);
    else
      static_cast<Stored<std::int64_t>*>(data)[i * stride] = value;
  }
};

}  // namespace ktopk::detail
