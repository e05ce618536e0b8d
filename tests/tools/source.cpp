// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/source.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "files/fault.hpp"
#include "files/input.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::StartsWith;
using Keys = std::vector<std::uint8_t>;

void ignore(std::int64_t) {}

Keys keys_of(Matrix const& part) {
  Keys keys(static_cast<std::size_t>(part.rows * part.n));
  gather(part, reinterpret_cast<std::byte*>(keys.data()));
  return keys;
}

/// Bytes from 0 to n - 1 as they come from a pipe.
std::unique_ptr<Source> stream(ScratchFolder const& folder, std::int64_t n, Matrix const& layout,
                               std::int64_t expected) {
  std::string bytes;
  for (std::int64_t i = 0; i < n; ++i) bytes += static_cast<char>(i);
  return stream_source(
      "pipe",
      binary_keys(bytes_of_file(MappedFile(folder.write("f", bytes))), KeyType::u8, expected),
      layout);
}

Matrix layout(std::int64_t rows, std::int64_t n) {
  return {KeyType::u8, nullptr, rows, n, n, 1, 2};
}

TEST_CASE("source: rows and parts of rows from memory") {
  Keys const keys{0, 1, 2, 3, 4, 5};
  Matrix matrix = layout(2, 3);
  matrix.data = reinterpret_cast<std::byte const*>(keys.data());
  auto const rows = memory_source(nullptr, matrix);
  CHECK(keys_of(rows->next_rows(1, ignore)) == Keys{0, 1, 2});
  CHECK(keys_of(rows->next_rows(1, ignore)) == Keys{3, 4, 5});
  matrix.row_stride = 1;
  matrix.key_stride = 2;
  auto const parts = memory_source(nullptr, matrix);
  CHECK(keys_of(parts->next_part(2, ignore)) == Keys{0, 2});
  CHECK(keys_of(parts->next_part(2, ignore)) == Keys{4});
  CHECK(parts->next_part(2, ignore).n == 0);
  CHECK(keys_of(parts->next_part(9, ignore)) == Keys{1, 3, 5});
}

TEST_CASE("source: rows and parts of rows from a stream") {
  ScratchFolder const folder;
  auto const rows = stream(folder, 6, layout(3, 2), 6);
  CHECK(keys_of(rows->next_rows(2, ignore)) == Keys{0, 1, 2, 3});
  CHECK(keys_of(rows->next_rows(1, ignore)) == Keys{4, 5});
  auto const parts = stream(folder, 6, layout(2, 3), 6);
  CHECK(keys_of(parts->next_part(2, ignore)) == Keys{0, 1});
  CHECK(keys_of(parts->next_part(2, ignore)) == Keys{2});
  CHECK(parts->next_part(2, ignore).n == 0);
  CHECK(keys_of(parts->next_part(9, ignore)) == Keys{3, 4, 5});
}

TEST_CASE("source: a row of unknown length is known once it has been read to its end") {
  ScratchFolder const folder;
  auto const open = stream(folder, 6, layout(1, -1), -1);
  std::int64_t read = 0;
  open->read_ahead(4, [&](std::int64_t bytes) { read += bytes; });
  CHECK(read == 4);
  CHECK(open->layout().n == -1);
  CHECK(keys_of(open->next_part(4, ignore)) == Keys{0, 1, 2, 3});
  CHECK(keys_of(open->next_part(4, ignore)) == Keys{4, 5});
  CHECK(open->next_part(4, ignore).n == 0);
  auto const closed = stream(folder, 6, layout(1, -1), -1);
  closed->read_ahead(7, ignore);
  CHECK(closed->layout().n == 6);
  CHECK(keys_of(closed->next_rows(1, ignore)) == Keys{0, 1, 2, 3, 4, 5});
}

TEST_CASE("source: a stream that has another length than promised is refused with its name") {
  ScratchFolder const folder;
  CHECK_THROWS_MATCHES(
      stream(folder, 6, layout(1, 7), 7)->next_rows(1, ignore), Fault,
      MessageMatches(StartsWith("pipe: should give 7 bytes of keys, but ended after 6")));
  CHECK_THROWS_MATCHES(stream(folder, 6, layout(1, 5), 5)->next_rows(1, ignore), Fault,
                       MessageMatches(StartsWith("pipe: gives more than the 5 bytes")));
}

TEST_CASE("source: several files are one row, and their order counts") {
  ScratchFolder const folder;
  std::vector<std::string> const paths{folder.write("a", std::string("\x01\x02", 2)),
                                       folder.write("b", ""),
                                       folder.write("c", std::string("\x03\x04\x05", 3))};
  InputDescription description;
  description.type = "u8";
  auto const row = open_inputs(paths, description);
  CHECK(row->layout().n == 5);
  CHECK(row->layout().rank == 1);
  CHECK(keys_of(row->next_part(4, ignore)) == Keys{1, 2, 3, 4});
  CHECK(keys_of(row->next_part(4, ignore)) == Keys{5});
}

}  // namespace
}  // namespace ktopk::testing
