// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <string>

#include "npy_bytes.hpp"
#include "run_command.hpp"

namespace ktopk::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

/// KTOPK_CALIBRATION of the commands that are run while it lives.
class NamedCalibration {
 public:
  explicit NamedCalibration(std::string const& path) {
    ::setenv("KTOPK_CALIBRATION", path.c_str(), 1);
  }
  ~NamedCalibration() { ::unsetenv("KTOPK_CALIBRATION"); }
  NamedCalibration(NamedCalibration const&) = delete;
  NamedCalibration& operator=(NamedCalibration const&) = delete;
};

}  // namespace

TEST_CASE("command: calibrate writes a file that select reads, and the answer is the same") {
  require_device();
  ScratchFolder const folder;
  std::vector<float> keys(40'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i * 7919 % 10'007);
  folder.write("a.npy", npy_bytes(npy_header("<f4", "(8, 5000)"), bytes_of(keys)));
  std::string const backend = backends().front();
  auto const calibrated =
      run_command(folder, {"calibrate", "--backend", backend, "--output", "figures"});
  INFO(calibrated.err);
  REQUIRE(calibrated.status == 0);
  CHECK(calibrated.out.empty());
  auto const text = content(folder.path("figures"));
  CHECK_THAT(text, StartsWith(std::string("ktopk calibration 1\nversion: ") + TEST_VERSION + "\n"));
  CHECK_THAT(text, ContainsSubstring("\ndevice: " + backend + ", "));
  CHECK_THAT(text, ContainsSubstring("one_pass.whole.row_us: "));

  std::vector<std::string> const select{"select", "a.npy", "-k", "9", "--backend", backend};
  auto const without = run_command(folder, select);
  NamedCalibration const named("figures");
  auto const with = run_command(folder, select);
  CHECK(with.err.empty());
  CHECK_THAT(run_command(folder, {"info"}).out, ContainsSubstring("\ncalibration: figures, with "));
  REQUIRE(with.status == 0);
  CHECK(with.out == without.out);
}

TEST_CASE("command: a bad calibration is said once and not used") {
  require_device();
  ScratchFolder const folder;
  folder.write("a.npy", npy_bytes(npy_header("<f4", "(100,)"), std::string(400, 'x')));
  folder.write("bad", "ktopk calibration 1\nfast\n");
  std::vector<std::string> const select{"select", "a.npy", "-k", "3"};
  auto const without = run_command(folder, select);
  for (std::string const name : {"bad", "missing", "/dev/zero"}) {
    CAPTURE(name);
    NamedCalibration const named(name);
    auto const with = run_command(folder, select);
    CHECK(with.status == 0);
    CHECK(with.out == without.out);
    CHECK_THAT(with.err, StartsWith("ktopk: calibration " + name));
    CHECK(std::count(with.err.begin(), with.err.end(), '\n') == 1);
    auto const by_name =
        run_command(folder, {"select", "a.npy", "-k", "3", "--algorithm", "radix"});
    CHECK(by_name.err.empty());
    auto const info = run_command(folder, {"info"});
    CHECK(info.status == 0);
    CHECK_THAT(info.out, ContainsSubstring("\ncalibration: not used: calibration " + name));
  }
  CHECK_THAT(run_command(folder, {"info"}).out, ContainsSubstring("\ncalibration: none\n"));
}

TEST_CASE("command: calibrate refuses what it cannot measure or write") {
  require_device();
  ScratchFolder const folder;
  auto const unknown = run_command(folder, {"calibrate", "--backend", "abacus"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, StartsWith("ktopk: --backend: 'abacus' is not in this build"));
  auto const nowhere = run_command(folder, {"calibrate", "--output", "nowhere/figures"});
  CHECK(nowhere.status == 2);
  CHECK_THAT(nowhere.err, StartsWith("ktopk: nowhere/figures: cannot be written: No such"));
}

}  // namespace ktopk::testing
