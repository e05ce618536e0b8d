// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "files/npy.hpp"
#include "npy_bytes.hpp"
#include "run_command.hpp"

namespace ktopk::testing {
namespace {

using Arguments = std::vector<std::string>;
using Floats = std::vector<float>;

/// What the command prints; it has to succeed without a message.
std::string printed(ScratchFolder const& folder, Arguments const& arguments,
                    std::string const& input = "") {
  CAPTURE(arguments);
  auto const outcome = run_command(folder, arguments, -1, input);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome.out;
}

std::string npy_of(Floats const& keys, std::string const& shape) {
  return npy_bytes(npy_header("<f4", shape), bytes_of(keys));
}

/// A folder with the vector v.npy and the matrix m.npy.
struct Keys {
  Keys() {
    folder.write("v.npy", npy_of({3, 1, -9, 2}, "(4,)"));
    folder.write("m.npy", npy_of({1, 3, 2, -1, -0.5f, -2}, "(2, 3)"));
  }
  ScratchFolder folder;
};

TEST_CASE("command: a vector has no column row") {
  require_device();
  Keys const keys;
  CHECK(printed(keys.folder, {"select", "v.npy", "-k", "2", "--largest"}) ==
        "rank  index  value\n   0      0  3\n   1      3  2\n");
}

TEST_CASE("command: a percentage of each row, rounded up") {
  require_device();
  Keys const keys;
  CHECK(printed(keys.folder, {"select", "v.npy", "-k", "50%", "--to", "csv"}) ==
        "rank,index,value\n0,0,3\n1,3,2\n");
  CHECK(printed(keys.folder, {"select", "m.npy", "-k", "1%", "--to", "csv"}) ==
        "row,rank,index,value\n0,0,1,3\n1,0,1,-0.5\n");
}

TEST_CASE("command: magnitudes are compared and signs stay") {
  require_device();
  Keys const keys;
  CHECK(printed(keys.folder, {"select", "v.npy", "-k", "2", "--by", "magnitude", "--to", "tsv"}) ==
        "rank\tindex\tvalue\n0\t2\t-9\n1\t0\t3\n");
  CHECK(printed(keys.folder, {"select", "v.npy", "--kth", "1", "--by", "magnitude"}) ==
        "value\n9\n");
}

TEST_CASE("command: the k-th key of a vector and of every row") {
  require_device();
  Keys const keys;
  auto const backend = GENERATE(Catch::Generators::from_range(backends()));
  CHECK(printed(keys.folder, {"select", "v.npy", "--kth", "2", "--backend", backend}) ==
        "value\n2\n");
  CHECK(printed(keys.folder, {"select", "v.npy", "--kth", "2", "--smallest"}) == "value\n1\n");
  CHECK(printed(keys.folder, {"select", "m.npy", "--kth", "100%", "--to", "csv", "--backend",
                              backend}) == "row,value\n0,1\n1,-2\n");
  printed(keys.folder, {"select", "m.npy", "--kth", "2", "--output", "o.npy"});
  auto const file = content(keys.folder.path("o.npy"));
  CHECK(tools::parse_npy(as_file(file)).rank == 1);
  CHECK(file.ends_with(bytes_of(Floats{2, -1})));
}

TEST_CASE("command: quantiles of a vector and of every row") {
  require_device();
  Keys const keys;
  auto const backend = GENERATE(Catch::Generators::from_range(backends()));
  CHECK(printed(keys.folder, {"select", "v.npy", "--quantiles", "0,0.5,1", "--backend", backend}) ==
        "quantile  value\n       0  -9\n     0.5  1.5\n       1  3\n");
  CHECK(printed(keys.folder, {"select", "m.npy", "--quantiles", "0.75", "--to", "csv",
                              "--interpolation", "higher", "--backend", backend}) ==
        "row,quantile,value\n0,0.75,3\n1,0.75,-0.5\n");
  printed(keys.folder, {"select", "m.npy", "--quantiles", "1,0", "--values", "o.npy"});
  auto const file = content(keys.folder.path("o.npy"));
  CHECK(tools::parse_npy(as_file(file)).n == 2);
  CHECK(file.ends_with(bytes_of(Floats{3, 1, -0.5f, -2})));
}

TEST_CASE("command: quantiles of integers are doubles") {
  require_device();
  ScratchFolder const folder;
  folder.write("i.npy",
               npy_bytes(npy_header("|i1", "(2,)"), bytes_of(std::vector<std::int8_t>{1, 2})));
  printed(folder, {"select", "i.npy", "--quantiles", "0.5", "--output", "o.npy"});
  auto const file = content(folder.path("o.npy"));
  CHECK(tools::parse_npy(as_file(file)).type == tools::KeyType::f64);
  CHECK(file.ends_with(bytes_of(std::vector<double>{1.5})));
}

TEST_CASE("command: two plain arrays beside the structured one and beside a table") {
  require_device();
  Keys const keys;
  Arguments const arrays{"select", "m.npy", "-k", "1", "--indices", "i.npy", "--values", "v.npy"};
  CHECK(printed(keys.folder, arrays) == "");
  auto const indices = content(keys.folder.path("i.npy"));
  auto const values = content(keys.folder.path("v.npy"));
  CHECK(tools::parse_npy(as_file(indices)).type == tools::KeyType::i64);
  CHECK(indices.ends_with(bytes_of(std::vector<std::int64_t>{1, 1})));
  CHECK(tools::parse_npy(as_file(values)).rows == 2);
  CHECK(values.ends_with(bytes_of(Floats{3, -0.5f})));
  auto more = arrays;
  more.insert(more.end(), {"--output", "both.csv"});
  CHECK(printed(keys.folder, more) == "");
  CHECK(content(keys.folder.path("both.csv")) == "row,rank,index,value\n0,0,1,3\n1,0,1,-0.5\n");
  CHECK(content(keys.folder.path("i.npy")) == indices);
}

TEST_CASE("command: text outputs by name, by --to, and with one column") {
  require_device();
  Keys const keys;
  Arguments arguments{"select", "v.npy", "-k", "1", "--columns", "indices", "--output", "o.tsv"};
  printed(keys.folder, arguments);
  CHECK(content(keys.folder.path("o.tsv")) == "rank\tindex\n0\t0\n");
  arguments.back() = "o.txt";
  arguments.insert(arguments.end(), {"--to", "table"});
  printed(keys.folder, arguments);
  CHECK(content(keys.folder.path("o.txt")) == "rank  index\n   0      0\n");
}

TEST_CASE("command: several files are one row") {
  require_device();
  Keys const keys;
  keys.folder.write("w.csv", "x\n5\n4\n");
  CHECK(printed(keys.folder, {"select", "v.npy", "v.npy", "-k", "3", "--to", "csv"}) ==
        "rank,index,value\n0,0,3\n1,4,3\n2,3,2\n");
  CHECK(printed(keys.folder,
                {"select", "w.csv", "-", "w.csv", "--from", "csv", "-k", "3", "--to", "csv"},
                "6\n1\n") == "rank,index,value\n0,2,6\n1,0,5\n2,4,5\n");
  CHECK(printed(keys.folder, {"select", "v.npy", "v.npy", "--quantiles", "0,1", "--to", "csv"}) ==
        "quantile,value\n0,-9\n1,3\n");
}

TEST_CASE("command: what comes from a pipe is what a file holds") {
  require_device();
  Keys const keys;
  keys.folder.write("f.npy", npy_bytes(npy_header("<f4", "(2, 3)", "True"),
                                       bytes_of(Floats{1, -1, 3, -0.5f, 2, -2})));
  for (auto const* name : {"v.npy", "m.npy", "f.npy"})
    for (auto const* question : {"-k", "--kth", "--quantiles"}) {
      CAPTURE(name, question);
      CHECK(printed(keys.folder, {"select", "-", question, "1"}, content(keys.folder.path(name))) ==
            printed(keys.folder, {"select", name, question, "1"}));
    }
  std::string const one = "rank,index,value\n0,1,2\n";
  CHECK(printed(keys.folder, {"select", "-", "-k", "1", "--to", "csv"}, "1\n2\n") == one);
  CHECK(printed(keys.folder, {"select", "-", "-k", "50%", "--type", "f32", "--to", "csv"},
                bytes_of(Floats{1, 2})) == one);
  CHECK(
      printed(keys.folder,
              {"select", "-", "-k", "1", "--from", "ivecs", "--columns", "indices", "--to", "csv"},
              bytes_of(std::vector<std::int32_t>{1, 7, 1, 8})) == "row,rank,index\n0,0,0\n1,0,0\n");
  auto const cut =
      run_command(keys.folder, {"select", "-", "-k", "1", "--type", "f32", "--shape", "2x2"}, -1,
                  bytes_of(Floats{1, 2, 3}));
  CHECK(cut.status == 2);
  CHECK(cut.err == "ktopk: standard input: should give 16 bytes of keys, but ended after 12\n");
}

TEST_CASE("command: a column of a text file") {
  require_device();
  ScratchFolder const folder;
  folder.write("t.csv", "who,score\n\"a, b\",3.5\nc,7\n");
  CHECK(printed(folder, {"select", "t.csv", "--column", "score", "-k", "1", "--to", "csv"}) ==
        "rank,index,value\n0,1,7\n");
  CHECK(printed(folder,
                {"select", "-", "--column", "2", "--sep", ";", "--no-header", "-k", "1", "--type",
                 "i64", "--to", "csv"},
                "a;9007199254740993\nb;1\n") == "rank,index,value\n0,0,9007199254740993\n");
}

/// 160 MB of bytes in a row, which comes in three parts. The best are equal and in all parts.
TEST_CASE("command: a row that comes in parts gives what it gives as a whole") {
  require_device();
  ScratchFolder const folder;
  std::string keys(160'000'000, '\0');
  for (auto const at : {5, 70'000'000, 70'000'001, 159'999'999}) keys[std::size_t(at)] = 9;
  keys[100'000'000] = 10;
  folder.write("keys.bin", keys);
  auto const order = GENERATE(as<Arguments>(), Arguments{}, Arguments{"--ties", "highest"});
  Arguments arguments{"select", "keys.bin", "--type", "u8", "-k", "3", "--to", "csv"};
  arguments.insert(arguments.end(), order.begin(), order.end());
  std::string const truth = order.empty()
                                ? "rank,index,value\n0,100000000,10\n1,5,9\n2,70000000,9\n"
                                : "rank,index,value\n0,100000000,10\n1,159999999,9\n2,70000001,9\n";
  CHECK(printed(folder, arguments) == truth);
  arguments[1] = std::string(1, '-');  // g++ 12 warns of the plain literal
  CHECK(printed(folder, arguments, keys) == truth);
}

TEST_CASE("command: a k beyond the keys of a pipe is refused at its end") {
  require_device();
  ScratchFolder const folder;
  auto const outcome = run_command(folder, {"select", "-", "--type", "u8", "-k", "20000000"}, -1,
                                   std::string(10'000'000, 'x'));
  CHECK(outcome.status == 2);
  CHECK(outcome.err ==
        "ktopk: standard input: k = 20000000 is larger than the 10000000 keys it holds\n");
}

}  // namespace
}  // namespace ktopk::testing
