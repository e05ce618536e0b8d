// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/npy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "files/fault.hpp"
#include "npy_bytes.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

void refuses(std::string const& file, std::string const& why) {
  CAPTURE(file);
  CHECK_THROWS_MATCHES(parse_npy(as_file(file)), Fault, MessageMatches(ContainsSubstring(why)));
}

TEST_CASE("npy: versions 1 to 3 hold the same matrix") {
  int const version = GENERATE(1, 2, 3);
  auto const file = npy_bytes(npy_header("<i2", "(2, 3)"), std::string(12, 'x'), version);
  auto const keys = parse_npy(as_file(file));
  CHECK(keys.type == KeyType::i16);
  CHECK(keys.rank == 2);
  CHECK(keys.rows == 2);
  CHECK(keys.n == 3);
  CHECK(keys.row_stride == 3);
  CHECK(keys.key_stride == 1);
  CHECK(keys.data == as_file(file).data() + file.size() - 12);
}

TEST_CASE("npy: a vector is one row, whatever its order") {
  auto const order = GENERATE(std::string("True"), std::string("False"));
  auto const file = npy_bytes(npy_header("<f8", "(3,)", order), std::string(24, 'x'));
  auto const keys = parse_npy(as_file(file));
  CHECK(keys.rank == 1);
  CHECK(keys.rows == 1);
  CHECK(keys.n == 3);
  CHECK(keys.key_stride == 1);
}

TEST_CASE("npy: Fortran order steps from column to column") {
  auto const file = npy_bytes(npy_header("<u4", "(2, 3)", "True"), std::string(24, 'x'));
  auto const keys = parse_npy(as_file(file));
  CHECK(keys.row_stride == 1);
  CHECK(keys.key_stride == 2);
}

TEST_CASE("npy: every key type is known by NumPy's name") {
  auto const [descr, type] = GENERATE(table<std::string, KeyType>({{"<f2", KeyType::f16},
                                                                   {"<f4", KeyType::f32},
                                                                   {"<f8", KeyType::f64},
                                                                   {"|i1", KeyType::i8},
                                                                   {"<i2", KeyType::i16},
                                                                   {"<i4", KeyType::i32},
                                                                   {"<i8", KeyType::i64},
                                                                   {"|u1", KeyType::u8},
                                                                   {"<u2", KeyType::u16},
                                                                   {"<u4", KeyType::u32},
                                                                   {"<u8", KeyType::u64},
                                                                   {"=f4", KeyType::f32},
                                                                   {">u1", KeyType::u8},
                                                                   {"i4", KeyType::i32}}));
  auto const file = npy_bytes(npy_header(descr, "(1,)"), std::string(width(type), 'x'));
  CHECK(parse_npy(as_file(file)).type == type);
}

TEST_CASE("npy: arrays without keys are valid") {
  auto const shape = GENERATE(std::string("(0,)"), std::string("(0, 5)"), std::string("(5, 0)"),
                              std::string("(4611686018427387904, 0)"));
  CHECK(span_bytes(parse_npy(as_file(npy_bytes(npy_header("<f4", shape), "")))) == 0);
}

TEST_CASE("npy: headers may be written otherwise than NumPy does") {
  auto const header = GENERATE(
      std::string("{\"shape\":(2,1),\"fortran_order\":False,\"descr\":\"<f4\"}"),
      std::string("  { 'fortran_order' : False , 'descr':'<f4','shape': ( 2L , 1L ) , } \n"));
  auto const file = npy_bytes(header, std::string(8, 'x'));
  auto const keys = parse_npy(as_file(file));
  CHECK(keys.rows == 2);
  CHECK(keys.n == 1);
}

TEST_CASE("npy: what is no .npy file, or is cut off, is refused") {
  refuses("", "is not a .npy file");
  refuses("\x93NUMP", "is not a .npy file");
  refuses("PK\x03\x04 something else", "is not a .npy file");
  auto const whole = npy_bytes(npy_header("<f4", "(2,)"), std::string(8, 'x'), GENERATE(1, 2));
  refuses(whole.substr(0, whole.size() - 8 - 1), "follow");
  for (std::size_t size = 6; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(parse_npy(as_file(whole.substr(0, size))), Fault);
  }
}

TEST_CASE("npy: a header that lies about sizes is refused with both numbers") {
  refuses(npy_bytes(npy_header("<f4", "(1000,)"), std::string(8, 'x')),
          "promises 4000 bytes of keys, but the file holds 8");
  refuses(npy_bytes(npy_header("<f4", "(1,)"), std::string(8, 'x')),
          "promises 4 bytes of keys, but the file holds 8");
  refuses(npy_bytes(npy_header("<f8", "(9223372036854775807,)"), ""),
          "more keys than can be addressed");
  refuses(npy_bytes(npy_header("<f4", "(4294967296, 4294967296)"), ""),
          "more keys than can be addressed");
  refuses(npy_bytes(npy_header("<f4", "(99999999999999999999,)"), ""), "impossible extent");
  refuses(npy_bytes(npy_header("<f4", "(-1, -4)"), std::string(16, 'x')), "impossible extent");
  refuses(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14),
          "should have 4294967295 bytes, but only 2 follow");
}

TEST_CASE("npy: other types, dimensions and versions are refused by name") {
  refuses(npy_bytes(npy_header(">f4", "(2,)"), std::string(8, 'x')), "big-endian ('>f4')");
  refuses(npy_bytes(npy_header("<c8", "(1,)"), std::string(8, 'x')), "of type '<c8'");
  refuses(npy_bytes(npy_header("|b1", "(8,)"), std::string(8, 'x')), "of type '|b1'");
  refuses(npy_bytes(npy_header("|O", "(1,)"), std::string(8, 'x')), "of type '|O'");
  refuses(npy_bytes(npy_header("", "(1,)"), std::string(8, 'x')), "of type ''");
  refuses(npy_bytes(npy_header("<f4", "()"), std::string(4, 'x')), "has 0 dimensions");
  refuses(npy_bytes(npy_header("<f4", "(1, 1, 1)"), std::string(4, 'x')), "has 3 dimensions");
  refuses(npy_bytes(npy_header("<f4", "(1,)"), std::string(4, 'x'), 4), "version 4 is unknown");
  refuses(npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                    std::string(4, 'x')),
          "structured array");
}

TEST_CASE("npy: a header that is no such dictionary is refused") {
  refuses(npy_bytes("", ""), "cannot be read");
  refuses(npy_bytes("{}", ""), "lacks 'descr'");
  refuses(npy_bytes("{'descr': '<f4', 'fortran_order': False}", ""), "lacks 'shape'");
  refuses(npy_bytes("{'descr': '<f4', 'shape': (0,)}", ""), "lacks 'fortran_order'");
  refuses(npy_bytes("{'descr': '<f4', 'descr': '<f8'}", ""), "'descr' twice");
  refuses(npy_bytes("{'colour': 'red'}", ""), "unknown entry 'colour'");
  refuses(npy_bytes("{'descr': '<f4", ""), "a string has no end");
  refuses(npy_bytes("{'descr' '<f4'}", ""), "expected ':'");
  refuses(npy_bytes("{'fortran_order': 0}", ""), "True or False");
  refuses(npy_bytes("{'shape': (1 2)}", ""), "expected ')'");
  refuses(npy_bytes("{'shape': 1}", ""), "expected '('");
  refuses(npy_bytes(npy_header("<f4", "(1,)") + "import os", std::string(4, 'x')),
          "unexpected 'import os'");
}

TEST_CASE("npy: foreign bytes do not reach the terminal as they are") {
  refuses(npy_bytes(npy_header("\x1b[31m\n\xff", "(1,)"), ""),
          "of type '?[31m?"
          "?'");
  refuses(npy_bytes(npy_header(std::string(1000, 'f'), "(1,)"), ""),
          "'" + std::string(40, 'f') + "…'");
}

TEST_CASE("npy: what is written can be read") {
  auto const preamble = npy_preamble({{"value", "f4"}}, {2, 3});
  CHECK(preamble.size() % 64 == 0);
  auto const file = preamble + std::string(24, 'x');
  auto const keys = parse_npy(as_file(file));
  CHECK(keys.type == KeyType::f32);
  CHECK(keys.rows == 2);
  CHECK(keys.n == 3);
}

TEST_CASE("npy: several fields make a structured array") {
  auto const preamble = npy_preamble({{"index", "i8"}, {"value", "u1"}}, {7});
  CHECK_THAT(preamble, ContainsSubstring("'descr': [('index', '<i8'), ('value', '|u1')]"));
  CHECK_THAT(preamble, ContainsSubstring("'shape': (7, )"));
}

}  // namespace
}  // namespace ktopk::testing
