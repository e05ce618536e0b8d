// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/core/macros.hpp>
#include <ktopk/core/stored.hpp>

namespace ktopk::detail {

/// Where the selected keys of each row and their positions go. All strides count elements.
template <class Bits>
struct Output {
  Stored<Bits>* values = nullptr;
  std::int64_t value_row = 0, value_step = 1;
  void* indices = nullptr;
  std::int64_t index_row = 0, index_step = 1;
  int index_bytes = 8;
  Bits worst{};

  KTOPK_FUNCTION void store(std::int64_t row, std::int64_t slot, Bits key,
                            std::uint64_t position) const {
    if (values) values[row * value_row + slot * value_step] = key;
    if (!indices) return;
    std::int64_t const at = row * index_row + slot * index_step;
    if (index_bytes == 4)
      static_cast<Stored<std::uint32_t>*>(indices)[at] = static_cast<std::uint32_t>(position);
    else
      static_cast<Stored<std::uint64_t>*>(indices)[at] = position;
  }
  /// The position that a slot holds; -1 if it holds none.
  KTOPK_FUNCTION std::int64_t position(std::int64_t row, std::int64_t slot) const {
    std::int64_t const at = row * index_row + slot * index_step;
    if (index_bytes != 4)
      return static_cast<std::int64_t>(static_cast<Stored<std::uint64_t>*>(indices)[at]);
    std::uint32_t const position = static_cast<Stored<std::uint32_t>*>(indices)[at];
    return position == ~std::uint32_t{0} ? -1 : static_cast<std::int64_t>(position);
  }
  Output without_first(std::int64_t rows) const {
    Output rest = *this;
    if (values != nullptr) rest.values += rows * value_row;
    if (indices != nullptr)
      rest.indices = static_cast<std::byte*>(indices) + rows * index_row * index_bytes;
    return rest;
  }
  /// Fills a slot for which the row has no key. An index of all ones is -1, or the largest unsigned integer.
  KTOPK_FUNCTION void store_missing(std::int64_t row, std::int64_t slot) const {
    store(row, slot, worst, ~std::uint64_t{0});
  }
};

}  // namespace ktopk::detail
