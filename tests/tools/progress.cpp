// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <catch2/catch_test_macros.hpp>

namespace ktopk::testing {
namespace {

using tools::progress_line;

TEST_CASE("progress: a line states the task, how far it is and the time left") {
  CHECK(progress_line("selecting", 1'000'000'000, 4'000'000'000, 2.0) ==
        "selecting [#######-----------------------]  25 %, 1.0 of 4.0 GB, 6 s left");
}

TEST_CASE("progress: without a total it says how much there is") {
  CHECK(progress_line("reading", 1'300'000'000, -1, 2.0) == "reading 1.3 GB in 2 s");
}

TEST_CASE("progress: nothing yet, all, too much, and nothing to do") {
  CHECK(progress_line("x", 0, 1'000'000'000, 1.0) ==
        "x [------------------------------]   0 %, 0.0 of 1.0 GB, 0 s left");
  CHECK(progress_line("x", 1'000'000'000, 1'000'000'000, 1.0) ==
        "x [##############################] 100 %, 1.0 of 1.0 GB, 0 s left");
  CHECK(progress_line("x", 3'000'000'000, 1'000'000'000, 1.0) ==
        "x [##############################] 100 %, 3.0 of 1.0 GB, 0 s left");
  CHECK(progress_line("x", 0, 0, 1.0) ==
        "x [##############################] 100 %, 0.0 of 0.0 GB, 0 s left");
}

}  // namespace
}  // namespace ktopk::testing
