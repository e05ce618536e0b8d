// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/recorder.hpp"

namespace ktopk::testing {

/// Checks that the call throws std::invalid_argument, that its message has all parts, and that no kernel starts.
template <class Call>
void rejects(Call const& call, std::vector<std::string> const& parts) {
  std::string message;
  {
    Recorder const record;
    try {
      call();
      FAIL_CHECK("accepted");
    } catch (std::invalid_argument const& error) { message = error.what(); }
    CHECK(record.all(Event::Kind::kernel).empty());
  }
  for (std::string const& part : parts)
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(part));
}

}  // namespace ktopk::testing
