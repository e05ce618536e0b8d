// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>

#include "digest.hpp"

// tests/digests.txt holds the digests of some hundred cases. KTOPK_DIGESTS names another file to compare with;
// KTOPK_WRITE_DIGESTS names one to append the digests of the first space to, instead of comparing.

namespace ktopk::testing {

/// Of each case by its name.
using Digests = std::map<std::string, std::string>;

inline Digests const& stored_digests() {
  static Digests const stored = [] {
    char const* const path = std::getenv("KTOPK_DIGESTS");
    std::ifstream file(path != nullptr ? path : KTOPK_TESTS_DIGESTS);
    Digests all;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string what, digest;
      if (line.rfind('#', 0) != 0 && words >> what >> digest) all[what] = digest;
    }
    return all;
  }();
  return stored;
}

/// Whether digests are to be written; they are then.
template <class Compute>
bool writes_digests(Compute const& compute) {
  char const* const path = std::getenv("KTOPK_WRITE_DIGESTS");
  if (path == nullptr) return false;
  std::ofstream file(path, std::ios::app);
  for (auto const& [what, digest] : compute()) file << what << ' ' << digest << '\n';
  REQUIRE(file.good());
  return true;
}

inline void compare_with_stored(Digests const& digests) {
  for (auto const& [what, digest] : digests) {
    auto const stored = stored_digests().find(what);
    INFO(what);
    REQUIRE(stored != stored_digests().end());
    CHECK(digest == stored->second);
  }
}

inline std::string text_of(Digest const& digest) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << digest.value();
  return text.str();
}

}  // namespace ktopk::testing
