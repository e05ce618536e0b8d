// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// The common part of the contract tests, compiled once for all of them.

#include "support/run.hpp"

namespace ktopk::testing {

/// Rows of n keys and what is to be asked of them.
template <class T>
struct UniformCase {
  std::string what;  ///< for messages: input and seed
  std::vector<T> keys;
  std::int64_t rows, n;
  std::vector<std::int64_t> ks;
  std::vector<Options> options;
};

/// Asks every algorithm on every space for every k by every options, by top_k and by a Plan whose Views are laid out
/// another way each time, and checks the answers.
template <class T>
void hold_to_contract(UniformCase<T> const& given, Validation& validation);

}  // namespace ktopk::testing
