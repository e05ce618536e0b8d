// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "npy_bytes.hpp"
#include "run_command.hpp"

namespace ktopk::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Arguments = std::vector<std::string>;

/// Exit status 2, one line on stderr with the reason, nothing on stdout, no file made and none changed.
void refuses(ScratchFolder const& folder, Arguments const& arguments, std::string const& why,
             long largest_file = -1) {
  CAPTURE(arguments);
  auto names = folder.names();
  auto const outcome = run_command(folder, arguments, largest_file);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, StartsWith("ktopk: " + why));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.ends_with('\n'));
  auto after = folder.names();
  std::sort(names.begin(), names.end());
  std::sort(after.begin(), after.end());
  CHECK(after == names);
}

std::string const hundred_floats = npy_bytes(npy_header("<f4", "(100,)"), std::string(400, 'x'));

Arguments select(std::string const& file, Arguments more = {}) {
  more.insert(more.begin(), {"select", file, "-k", "3", "--output", "o.npy"});
  return more;
}

TEST_CASE("command: files that cannot be read are refused") {
  require_device();
  ScratchFolder const folder;
  refuses(folder, select("missing.npy"),
          "missing.npy: cannot be opened: No such file or directory\n");
  refuses(folder, select("."), ".: is a directory\n");
  refuses(folder, select("/dev/null"), "/dev/null: is empty\n");
}

TEST_CASE("command: truncated and lying headers are refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("cut.npy", hundred_floats.substr(0, 40));
  folder.write("short.npy", hundred_floats.substr(0, hundred_floats.size() - 1));
  folder.write("long.npy", hundred_floats + "x");
  folder.write("other.npy", "nothing of the kind");
  folder.write("empty.npy", "");
  folder.write("big.npy", npy_bytes(npy_header(">f4", "(1,)"), "four"));
  folder.write("lie.fvecs", bytes_of(std::vector<std::int32_t>{2, 0, 0, 3, 0, 0}));
  refuses(folder, select("cut.npy"), "cut.npy: its header should have ");
  refuses(folder, select("short.npy"),
          "short.npy: its header promises 400 bytes of keys, but the file holds 399\n");
  refuses(folder, select("long.npy"),
          "long.npy: its header promises 400 bytes of keys, but the file holds 401\n");
  refuses(folder, select("other.npy"), "other.npy: is not a .npy file");
  refuses(folder, select("empty.npy"), "empty.npy: is not a .npy file");
  refuses(folder, select("big.npy"), "big.npy: its keys are big-endian ('>f4')");
  refuses(folder, select("lie.fvecs"), "lie.fvecs: row 1 has dimension 3, but row 0 has 2\n");
}

TEST_CASE("command: raw keys need a type and a shape that fits, others must not have them") {
  require_device();
  ScratchFolder const folder;
  folder.write("raw", std::string(24, 'x'));
  folder.write("a.npy", hundred_floats);
  refuses(folder, select("raw"),
          "raw: its name does not say what it holds; give --type for raw keys, or --from ");
  refuses(folder, select("raw", {"--from", "raw"}), "raw: raw keys need --type\n");
  folder.write("odd", std::string(25, 'x'));
  refuses(folder, select("odd", {"--type", "f64"}),
          "odd: holds 25 bytes, which are no whole number of keys of f64\n");
  refuses(folder, select("raw", {"--type", "f33", "--shape", "6"}),
          "raw: the type 'f33' is none of f16, bf16, f32");
  refuses(folder, select("raw", {"--type", "f32", "--shape", "2y3"}),
          "raw: the shape '2y3' is neither n nor rowsxn");
  refuses(folder, select("raw", {"--type", "f64", "--shape", "6"}),
          "raw: holds 24 bytes, but the shape '6' of f64 needs 48\n");
  refuses(folder, select("a.npy", {"--type", "f64", "--shape", "50"}),
          "a.npy: --type is for raw keys and text; this file states its own type\n");
  refuses(folder, select("a.npy", {"--shape", "50"}), "a.npy: --shape is for raw keys; ");
  for (auto const* option : {"--column", "--sep"})
    refuses(folder, select("a.npy", {option, "1"}),
            std::string("a.npy: ") + option + " is for text, but this file is none\n");
  refuses(folder, select("a.npy", {"--no-header"}), "a.npy: --header is for text");
}

TEST_CASE("command: a k that is too large, or no number, is refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  folder.write("m.npy", npy_bytes(npy_header("<f4", "(10, 10)"), std::string(400, 'x')));
  refuses(folder, {"select", "a.npy", "-k", "101"},
          "a.npy: k = 101 is larger than the 100 keys it holds\n");
  refuses(folder, {"select", "m.npy", "-k", "11"},
          "m.npy: k = 11 is larger than the 10 keys of a row\n");
  for (auto const* k : {"-1", "three", "3.5", "99999999999999999999", "", "101%", "%", "-1%"})
    refuses(folder, {"select", "a.npy", "-k", k}, "-k: '");
  refuses(folder, {"select", "a.npy"}, "one of -k, --kth and --quantiles is required");
}

TEST_CASE("command: questions that make no sense are refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  folder.write("none.npy", npy_bytes(npy_header("<f4", "(0,)"), ""));
  folder.write("i.npy", npy_bytes(npy_header("<i4", "(1,)"), "four"));
  refuses(folder, {"select", "a.npy", "--kth", "0"}, "--kth: keys are counted from 1\n");
  refuses(folder, {"select", "a.npy", "--kth", "101"},
          "a.npy: k = 101 is larger than the 100 keys it holds\n");
  refuses(folder, {"select", "a.npy", "--kth", "1", "-k", "1"}, "-k excludes --kth");
  for (auto const* list : {"", "0.5,", "a", "1.5", "-0.1", "nan"})
    refuses(folder, {"select", "a.npy", "--quantiles", list}, "--quantiles: '");
  refuses(folder, {"select", "none.npy", "--quantiles", "0.5"},
          "none.npy: quantiles need keys, but it holds none\n");
  refuses(folder, {"select", "i.npy", "--kth", "1", "--by", "magnitude"},
          "i.npy: ktopk::kth: By::magnitude of signed integers");
  refuses(folder, {"select", "a.npy", "-k", "1", "--interpolation", "lower"},
          "--interpolation requires --quantiles");
  for (auto const* option : {"--smallest", "--unsorted"})
    refuses(folder, {"select", "a.npy", "--quantiles", "0.5", option},
            std::string("--quantiles excludes ") + option);
}

TEST_CASE("command: several files that are no one row are refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  folder.write("m.npy", npy_bytes(npy_header("<f4", "(10, 10)"), std::string(400, 'x')));
  folder.write("i.npy", npy_bytes(npy_header("<i4", "(1,)"), "four"));
  refuses(folder, {"select", "a.npy", "m.npy", "-k", "1"},
          "m.npy: has 10 rows; several files are ");
  refuses(folder, {"select", "a.npy", "i.npy", "-k", "1"},
          "i.npy: has keys of type i32, but a.npy has f32\n");
  refuses(folder, {"select", "a.npy", "a.npy", "-k", "201"},
          "a.npy and 1 more: k = 201 is larger than the 200 keys it holds\n");
  refuses(folder, {"select", "-", "-", "-k", "1"}, "standard input can be read once");
}

TEST_CASE("command: unknown words are refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  refuses(folder, select("a.npy", {"--algorithm", "magic"}),
          "--algorithm: 'magic' is none of automatic|");
  refuses(folder, select("a.npy", {"--backend", "abacus"}),
          "--backend: 'abacus' is not in this build, which has ");
  refuses(folder, select("a.npy", {"--ties", "first"}),
          "--ties: 'first' is none of any|highest|lowest");
  refuses(folder, select("a.npy", {"--nan", "first"}), "--nan: 'first' is none of greatest|least");
  refuses(folder, select("a.npy", {"--columns", "all"}),
          "--columns: 'all' is none of both|indices|values");
  refuses(folder, select("a.npy", {"--by", "size"}), "--by: 'size' is none of magnitude|value");
  refuses(folder, select("a.npy", {"--from", "xls"}), "--from: 'xls' is none of ");
  refuses(folder, select("a.npy", {"--to", "xls"}), "--to: 'xls' is none of csv|npy|table|tsv");
  refuses(folder, select("a.npy", {"--biggest"}),
          "The following argument was not expected: --biggest");
  refuses(folder, select("a.npy", {"--largest", "--smallest"}), "--largest excludes --smallest");
  refuses(folder, {"chose"}, "");
  refuses(folder, {}, "A subcommand is required");
  refuses(folder, {"frobnicate"},
          "command: 'frobnicate' is none of select|calibrate|info|completion|man");
  refuses(folder, {"frobnicate", "--help"}, "command: 'frobnicate' is none of");
}

TEST_CASE("command: a file's name cannot break the line") {
  require_device();
  ScratchFolder const folder;
  refuses(folder, select("a\nb\033[31m.npy"), "a?b?[31m.npy: cannot be opened");
}

TEST_CASE("command: outputs that cannot be written are refused") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  folder.write("old.npy", "old");
  refuses(folder, {"select", "a.npy", "-k", "3", "--output", "nowhere/o.npy"},
          "nowhere/o.npy: cannot be written: No such");
  refuses(folder, {"select", "a.npy", "-k", "3", "--output", "a.npy/o.npy"},
          "a.npy/o.npy: cannot be written: Not a dir");
  refuses(folder, {"select", "a.npy", "-k", "3", "--output", "."}, ".: is a directory\n");
  refuses(folder, {"select", "a.npy", "-k", "100", "--output", "o.npy"},
          "o.npy: cannot be written: File too large\n", 1000);
  refuses(folder, {"select", "a.npy", "-k", "100", "--output", "old.npy"},
          "old.npy: cannot be written: File too large\n", 1000);
  CHECK(content(folder.path("old.npy")) == "old");
  refuses(folder, {"select", "a.npy", "-k", "3", "--indices", "o.npy", "--values", "nowhere/v.npy"},
          "nowhere/v.npy: cannot be written: No such");
  refuses(folder, {"select", "a.npy", "-k", "3", "--output", "o.npy", "--values", "o.npy"},
          "o.npy: is named for two outputs\n");
}

TEST_CASE("command: a full standard output is reported") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", hundred_floats);
  auto const outcome = run_command(folder, {"select", "a.npy", "-k", "100"}, 100);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("ktopk: standard output: cannot be written"));
}

}  // namespace
}  // namespace ktopk::testing
