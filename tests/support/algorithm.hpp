// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// One implementation against the oracle.

#include "support/run.hpp"

namespace ktopk::testing {

enum class Keys { packed, of_neighbors };

/// Equal rows on every space, with options that differ from case to case.
/// \param keys  of_neighbors: those of neighboring rows lie side by side
template <class T>
void expect_algorithm(Algorithm algorithm, Input input, std::int64_t rows, std::int64_t n,
                      std::int64_t k, Validation& validation, Keys keys = Keys::packed) {
  auto const all = all_options<T>();
  auto const question = uniform_question(make_keys<T>(input, rows * n, 5), rows, n, k);
  Options options = all[random_bits(7, n + 100 * k + static_cast<int>(input)) % all.size()];
  options.algorithm = algorithm;
  auto const truth = solve(question, options);
  for_each_space([&](auto const& exec) {
    UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, rows, n, k);
    auto const answer = keys == Keys::packed ? call(k, options) : call.with_neighbors(k, options);
    validation.expect(question, truth, answer, options, [&] {
      return std::string(exec.name()) + ", " + name(input) + ", n = " + std::to_string(n) +
             ", k = " + std::to_string(k);
    });
  });
}

}  // namespace ktopk::testing
