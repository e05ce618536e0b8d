// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <cstring>
#include <ktopk/float16.hpp>
#include <random>
#include <string>
#include <vector>

#include "files/npy.hpp"
#include "npy_bytes.hpp"
#include "run_command.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using Arguments = std::vector<std::string>;

template <class T>
struct Naming;
template <>
struct Naming<float16> {
  static constexpr char const *raw = "f16", *numpy = "<f2";
};
template <>
struct Naming<bfloat16> {
  static constexpr char const *raw = "bf16", *numpy = nullptr;
};
template <>
struct Naming<float> {
  static constexpr char const *raw = "f32", *numpy = "<f4";
};
template <>
struct Naming<double> {
  static constexpr char const *raw = "f64", *numpy = "<f8";
};
template <>
struct Naming<std::int8_t> {
  static constexpr char const *raw = "i8", *numpy = "|i1";
};
template <>
struct Naming<std::int16_t> {
  static constexpr char const *raw = "i16", *numpy = "<i2";
};
template <>
struct Naming<std::int32_t> {
  static constexpr char const *raw = "i32", *numpy = "<i4";
};
template <>
struct Naming<std::int64_t> {
  static constexpr char const *raw = "i64", *numpy = "<i8";
};
template <>
struct Naming<std::uint8_t> {
  static constexpr char const *raw = "u8", *numpy = "|u1";
};
template <>
struct Naming<std::uint16_t> {
  static constexpr char const *raw = "u16", *numpy = "<u2";
};
template <>
struct Naming<std::uint32_t> {
  static constexpr char const *raw = "u32", *numpy = "<u4";
};
template <>
struct Naming<std::uint64_t> {
  static constexpr char const *raw = "u64", *numpy = "<u8";
};

constexpr std::int64_t rows = 3, n = 150, k = 20;

/// Random bits: ties among the narrow types, NaNs and infinities among the floats.
template <class T>
std::vector<T> random_keys(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> keys(rows * n);
  for (T& key : keys) {
    auto const bits = engine();
    std::memcpy(static_cast<void*>(&key), &bits, sizeof key);
  }
  std::copy(keys.begin(), keys.begin() + n / 3,
            keys.begin() + n / 3);  // ties in row 0 for every type
  return keys;
}

template <class T>
std::vector<T> by_columns(std::vector<T> const& keys) {
  std::vector<T> transposed;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t row = 0; row < rows; ++row) transposed.push_back(keys[row * n + i]);
  return transposed;
}

template <class T>
std::string stored(T value) {
  return bytes_of(std::vector<T>{value});
}
std::string stored(bfloat16 value) {
  return stored(static_cast<std::uint32_t>(value.bits()) << 16);
}

/// The records that --output promises for an answer.
template <class T>
std::string records(Answer<T> const& answer) {
  std::string bytes;
  for (std::size_t i = 0; i < answer.indices.size(); ++i)
    bytes += stored(answer.indices[i]) + stored(answer.values[i]);
  return bytes;
}

std::string without_preamble(std::string const& file) {
  auto const length =
      static_cast<unsigned char>(file.at(8)) | static_cast<unsigned char>(file.at(9)) << 8;
  return file.substr(10 + length);
}

/// Writes the keys in one of the storages and returns what the command needs to read them.
template <class T>
Arguments store(ScratchFolder const& folder, std::vector<T> const& keys,
                std::string const& storage) {
  using Names = Naming<T>;
  if (storage == "raw" || Names::numpy == nullptr) {
    folder.write("keys.bin", bytes_of(keys));
    return {"select", "keys.bin", "--type", Names::raw, "--shape", "3x150"};
  }
  bool const fortran = storage == "fortran";
  auto header = npy_header(Names::numpy == nullptr ? "" : Names::numpy, "(3, 150)",
                           fortran ? "True" : "False");
  while ((10 + header.size()) % 64 != (storage == "unaligned" ? 1 : 0)) header += ' ';
  folder.write("keys.npy", npy_bytes(header, bytes_of(fortran ? by_columns(keys) : keys)));
  return {"select", "keys.npy"};
}

TEMPLATE_TEST_CASE("command: select answers as the oracle does", "", float16, bfloat16, float,
                   double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  require_device();
  ScratchFolder const folder;
  auto const seed = GENERATE(1u, 2u);
  auto const backend = GENERATE(Catch::Generators::from_range(backends()));
  auto const storage = GENERATE(as<std::string>(), "raw", "c", "fortran", "unaligned");
  CAPTURE(seed, backend, storage);
  auto const keys = random_keys<TestType>(seed);
  Options options;
  auto arguments = store(folder, keys, storage);
  arguments.insert(arguments.end(), {"-k", "20", "--output", "o.npy", "--backend", backend});
  if (seed == 2) {
    options = {.order = Order::smallest, .ties = Ties::highest_index, .nan = NaN::least};
    arguments.insert(arguments.end(), {"--smallest", "--ties", "highest", "--nan", "least"});
  }
  auto const outcome = run_command(folder, arguments);
  CHECK(outcome.err == "");
  CHECK(outcome.out == "");
  REQUIRE(outcome.status == 0);
  auto const truth = solve(uniform_question(keys, rows, n, k), options);
  CHECK(without_preamble(content(folder.path("o.npy"))) == records(truth));
}

TEST_CASE("command: fvecs, bvecs and ivecs are selected from") {
  require_device();
  ScratchFolder const folder;
  auto const name = GENERATE(as<std::string>(), "v.fvecs", "v.ivecs", "v.bvecs");
  if (name == "v.fvecs")
    folder.write(
        name, stored(2) + stored(1.5f) + stored(-3.0f) + stored(2) + stored(7.0f) + stored(8.0f));
  else if (name == "v.ivecs")
    folder.write(name, stored(2) + stored(15) + stored(-30) + stored(2) + stored(70) + stored(80));
  else
    folder.write(name, stored(2) + "\x0f\x01" + stored(2) + "\x46\x50");
  auto const backend = GENERATE(Catch::Generators::from_range(backends()));
  auto const outcome = run_command(folder, {"select", name, "-k", "1", "--backend", backend,
                                            "--output", "i.npy", "--columns", "indices"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  auto const file = content(folder.path("i.npy"));
  auto const parsed = tools::parse_npy(as_file(file));
  CHECK(parsed.type == tools::KeyType::i64);
  CHECK(parsed.rows == 2);
  CHECK(without_preamble(file) == bytes_of(std::vector<std::int64_t>{0, 1}));
}

TEST_CASE("command: the table has a line for every selected key") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", npy_bytes(npy_header("<f4", "(2, 3)"),
                                  bytes_of(std::vector<float>{1, 3, 2, -1, -0.5f, -2})));
  auto const outcome = run_command(folder, {"select", "a.npy", "-k", "2"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(outcome.out ==
        "row  rank  index  value\n"
        "  0     0      1  3\n"
        "  0     1      2  2\n"
        "  1     0      1  -0.5\n"
        "  1     1      0  -1\n");
}

TEST_CASE("command: the output of a vector is a vector") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy",
               npy_bytes(npy_header("<u2", "(3,)"), bytes_of(std::vector<std::uint16_t>{5, 7, 6})));
  run_command(folder, {"select", "a.npy", "-k", "2", "--output", "v.npy", "--columns", "values"});
  auto const file = content(folder.path("v.npy"));
  auto const parsed = tools::parse_npy(as_file(file));
  CHECK(parsed.type == tools::KeyType::u16);
  CHECK(parsed.rank == 1);
  CHECK(without_preamble(file) == bytes_of(std::vector<std::uint16_t>{7, 6}));
}

TEST_CASE("command: unsorted output holds the same keys") {
  require_device();
  ScratchFolder const folder;
  auto const keys = random_keys<std::uint64_t>(3);
  auto arguments = store(folder, keys, "c");
  arguments.insert(arguments.end(),
                   {"-k", "20", "--unsorted", "--output", "o.npy", "--columns", "indices"});
  REQUIRE(run_command(folder, arguments).status == 0);
  auto const bytes = without_preamble(content(folder.path("o.npy")));
  Answer<std::uint64_t> answer;
  answer.indices.resize(bytes.size() / sizeof(std::int64_t));
  std::memcpy(answer.indices.data(), bytes.data(), bytes.size());
  Options options;
  options.sorted = Sorted::no;
  auto const question = uniform_question(keys, rows, n, k);
  CHECK(check(question, solve(question, options), answer, options) == "");
}

TEST_CASE("command: every algorithm of the build can be asked for") {
  require_device();
  ScratchFolder const folder;
  auto const keys = random_keys<float>(4);
  for (auto const& algorithm : algorithms()) {
    CAPTURE(algorithm);
    auto arguments = store(folder, keys, "c");
    arguments.insert(arguments.end(), {"-k", "20", "--algorithm", algorithm, "--output", "o.npy"});
    REQUIRE(run_command(folder, arguments).status == 0);
    CHECK(without_preamble(content(folder.path("o.npy"))) ==
          records(solve(uniform_question(keys, rows, n, k), {})));
  }
}

TEST_CASE("command: - and /dev/stdout are standard output, with nothing else in it") {
  require_device();
  ScratchFolder const folder;
  auto arguments = store(folder, random_keys<float>(4), "c");
  arguments.insert(arguments.end(), {"-k", "20", "--output", "o.npy"});
  REQUIRE(run_command(folder, arguments).status == 0);
  auto const file = content(folder.path("o.npy"));
  auto const names = folder.names();
  for (auto const* name : {"-", "/dev/stdout"}) {
    CAPTURE(name);
    arguments.back() = name;
    auto const outcome = run_command(folder, arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    CHECK(outcome.out == file);
    CHECK(folder.names() == names);
    auto const full = run_command(folder, arguments, 100);
    CHECK(full.status == 2);
    CHECK(full.err.ends_with(": cannot be written: File too large\n"));
  }
}

TEST_CASE("command: nothing to select is no fault") {
  require_device();
  ScratchFolder const folder;
  auto const [shape, k_text] = GENERATE(table<std::string, std::string>(
      {{"(0, 5)", "3"}, {"(5, 0)", "0"}, {"(0,)", "0"}, {"(4611686018427387904, 0)", "0"}}));
  folder.write("a.npy", npy_bytes(npy_header("<f4", shape), ""));
  auto const outcome = run_command(folder, {"select", "a.npy", "-k", k_text});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1);
}

TEST_CASE("command: rows beyond one block come in order") {
  require_device();
  ScratchFolder const folder;
  constexpr std::int64_t many = 100, length = std::int64_t{1} << 20;
  std::string keys(many * length, '\0');
  for (std::int64_t row = 0; row < many; ++row)
    keys[row * length + row * 7] = static_cast<char>(row + 1);
  folder.write("keys.bin", keys);
  auto const outcome =
      run_command(folder, {"select", "keys.bin", "--type", "u8", "--shape", "100x1048576", "-k",
                           "1", "--output", "o.npy", "--columns", "indices"});
  CHECK(outcome.status == 0);
  std::vector<std::int64_t> truth;
  for (std::int64_t row = 0; row < many; ++row) truth.push_back(row * 7);
  CHECK(without_preamble(content(folder.path("o.npy"))) == bytes_of(truth));
}

TEST_CASE("command: info and version describe this build") {
  require_device();
  ScratchFolder const folder;
  auto const info = run_command(folder, {"info"});
  CHECK(info.status == 0);
  CHECK(info.err == "");
  for (auto const& algorithm : algorithms())
    CHECK_THAT(info.out, Catch::Matchers::ContainsSubstring(algorithm));
  auto const version = run_command(folder, {"--version"});
  CHECK(version.status == 0);
  CHECK(version.out == "ktopk " TEST_VERSION "\n");
}

TEST_CASE("command: info explains what runs for a shape") {
  require_device();
  ScratchFolder const folder;
  auto const info = run_command(folder, {"info", "--shape", "3x100000", "-k", "5000", "--type",
                                         "f64", "--algorithm", "queue", "--unsorted"});
  CHECK(info.status == 0);
  CHECK(info.err == "");
  CHECK_THAT(info.out, Catch::Matchers::StartsWith("ktopk::"));
  CHECK_THAT(info.out, Catch::Matchers::ContainsSubstring("queue: k above"));
  CHECK(run_command(folder, {"info", "-k", "5"}).status == 2);
  CHECK(run_command(folder, {"info", "--shape", "3x9", "-k", "10"}).status == 2);
  CHECK_THAT(run_command(folder, {"info", "--shape", "3y9", "-k", "1"}).err,
             Catch::Matchers::ContainsSubstring("3y9"));
}

TEST_CASE("command: what is installed for man and the shells is what the parser says") {
  require_device();
  ScratchFolder const folder;
  std::string const installed = TEST_INSTALLED;
  CHECK(run_command(folder, {"man"}).out == content(installed + "/ktopk.1"));
  CHECK(run_command(folder, {"completion", "bash"}).out == content(installed + "/ktopk.bash"));
  CHECK(run_command(folder, {"completion", "zsh"}).out == content(installed + "/_ktopk"));
  auto const fish = run_command(folder, {"completion", "fish"});
  CHECK(fish.status == 2);
  CHECK_THAT(fish.err, Catch::Matchers::StartsWith("ktopk: SHELL: 'fish' is none of bash|zsh"));
}

TEST_CASE("command: help describes the files and the output") {
  require_device();
  ScratchFolder const folder;
  auto const help = run_command(folder, {"select", "--help"});
  CHECK(help.status == 0);
  for (auto const* word : {".npy", ".fvecs", "--shape", "--output", "exit status 2"})
    CHECK_THAT(help.out, Catch::Matchers::ContainsSubstring(word));
}

}  // namespace
}  // namespace ktopk::testing
