// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/contract.hpp"

namespace ktopk::testing {
namespace {

/// The first k places of every row of a wider answer.
template <class T>
Answer<T> first_places(Answer<T> const& wide, std::int64_t rows, std::int64_t width,
                       std::int64_t k) {
  Answer<T> narrow;
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const value = wide.values.begin() + row * width;
    auto const index = wide.indices.begin() + row * width;
    narrow.values.insert(narrow.values.end(), value, value + k);
    narrow.indices.insert(narrow.indices.end(), index, index + k);
    narrow.counts.push_back(std::min(k, wide.counts[row]));
  }
  return narrow;
}

/// Asks every algorithm on one space for every k by every options, by top_k and by a Plan, and checks the answers.
template <class Exec, class T>
void ask_all(Exec const& exec, UniformCase<T> const& given, Options options, Answer<T> const& truth,
             std::int64_t most, Validation& validation) {
  UniformCall<Exec, T> call(exec, given.keys, given.rows, given.n, most);
  for (std::int64_t k : given.ks) {
    auto const question = uniform_question(given.keys, given.rows, given.n, k);
    auto const expected = first_places(truth, given.rows, most, k);
    for (Algorithm algorithm : algorithms_on(exec)) {
      options.algorithm = algorithm;
      auto const outputs = static_cast<Outputs>((k + static_cast<int>(algorithm)) % 3);
      auto const what = [&](char const* how) {
        return std::string(Exec::name()) + ", " + given.what +
               ", rows = " + std::to_string(given.rows) + ", n = " + std::to_string(given.n) +
               ", k = " + std::to_string(k) + ", " + how;
      };
      validation.expect(question, expected, call(k, options, outputs), options,
                        [&] { return what(name(outputs)); });
      validation.expect(question, expected, call.by_plan(k, options), options,
                        [&] { return what("by a Plan"); });
    }
  }
}

/// Portable implementations take several times as long on a host, and are asked every third time.
template <class Exec>
bool is_asked(Exec const&, std::size_t turn) {
  bool const is_slow = ktopk::detail::is_host_space<Exec> && ktopk::detail::portable_alone;
  return !is_slow || turn % 3 == 0;
}

}  // namespace

template <class T>
void hold_to_contract(UniformCase<T> const& given, Validation& validation) {
  std::int64_t const most = *std::max_element(given.ks.begin(), given.ks.end());
  auto const question = uniform_question(given.keys, given.rows, given.n, most);
  static std::size_t turn = 0;
  for (Options const& options : given.options) {
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      if (is_asked(exec, turn)) ask_all(exec, given, options, truth, most, validation);
    });
    ++turn;
  }
}

#define KTOPK_TESTS_CONTRACT(T) template void hold_to_contract(UniformCase<T> const&, Validation&);

KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_CONTRACT)

}  // namespace ktopk::testing
