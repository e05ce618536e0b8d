// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/matrix.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <numeric>
#include <vector>

namespace ktopk::testing {
namespace {

using namespace tools;

TEST_CASE("matrix: gather undoes Fortran order at every width and alignment") {
  auto const type = GENERATE(KeyType::u8, KeyType::i16, KeyType::f32, KeyType::f64);
  auto const w = static_cast<std::size_t>(width(type));
  auto const shift = GENERATE(std::size_t{0}, std::size_t{1});
  std::vector<std::byte> file(shift + 6 * w);
  for (std::size_t i = 0; i < 6; ++i)
    file[shift + i * w] = static_cast<std::byte>(i);  // columns (0 1) (2 3) (4 5)
  Matrix const keys{type, file.data() + shift, 2, 3, 1, 2, 2};
  std::vector<std::byte> rows(6 * w);
  gather(keys, rows.data());
  std::vector<int> order;
  for (std::size_t i = 0; i < 6; ++i) order.push_back(static_cast<int>(rows[i * w]));
  CHECK(order == std::vector{0, 2, 4, 1, 3, 5});
}

TEST_CASE("matrix: some rows begin where the first of them lies") {
  std::vector<std::byte> const file(100);
  Matrix const keys{KeyType::i16, file.data(), 5, 3, 10, 1, 2};
  auto const part = some_rows(keys, 2, 2);
  CHECK(part.data == file.data() + 40);
  CHECK(part.rows == 2);
  CHECK(span_bytes(part) == 2 * (10 + 3));
}

TEST_CASE("matrix: some keys of every row, whatever the stride") {
  std::vector<std::byte> const file(100);
  Matrix const keys{KeyType::i16, file.data(), 2, 9, 1, 3, 2};
  auto const part = some_keys(keys, 4, 5);
  CHECK(part.data == file.data() + 24);
  CHECK(part.rows == 2);
  CHECK(part.n == 5);
}

TEST_CASE("matrix: reading ahead reports every byte once") {
  std::vector<std::byte> const file(std::size_t{40} << 20);
  Matrix const keys{KeyType::u8, file.data(), 1, static_cast<std::int64_t>(file.size()), 0, 1, 1};
  std::int64_t read = 0;
  read_ahead(keys, [&](std::int64_t bytes) { read += bytes; });
  CHECK(read == static_cast<std::int64_t>(file.size()));
}

TEST_CASE("matrix: products that do not fit are seen") {
  CHECK(product_or_negative(3, 4) == 12);
  CHECK(product_or_negative(std::int64_t{1} << 32, std::int64_t{1} << 31) == -1);
  CHECK(product_or_negative(-1, 0) == -1);
}

TEST_CASE("matrix: alignment is that of the key type") {
  alignas(8) std::byte const file[16] = {};
  CHECK(is_aligned({KeyType::f64, file, 1, 1, 1, 1, 1}));
  CHECK_FALSE(is_aligned({KeyType::f64, file + 4, 1, 1, 1, 1, 1}));
  CHECK(is_aligned({KeyType::f32, file + 4, 1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace ktopk::testing
