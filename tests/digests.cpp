// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include <ktopk/core/testing.hpp>

#include "support/digest.hpp"
#include "support/run.hpp"

// With a tie rule and sorted output, values and indices are the same bits on every backend. tests/digests.txt holds the
// digests of some hundred cases. KTOPK_DIGESTS names another file to compare with; KTOPK_WRITE_DIGESTS names one to
// append the digests of the first space to, instead of comparing.

namespace ktopk::testing {
namespace {

struct Size {
  std::int64_t rows, n, k;
};
constexpr Size sizes[] = {{1, 1, 1},      {1, 1000, 10},     {5, 257, 256},    {64, 100, 3},
                          {100, 130, 70}, {1, 20'000, 5000}, {1, 70'001, 100}, {3, 40'000, 1}};

using Digests = std::map<std::string, std::string>;

Digests const& stored_digests() {
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

void write_digests(Digests const& digests, char const* path) {
  std::ofstream file(path, std::ios::app);
  for (auto const& [what, digest] : digests) file << what << ' ' << digest << '\n';
  REQUIRE(file.good());
}

template <class T>
std::string digest_of(Answer<T> const& answer) {
  Digest digest;
  digest.add(answer.values);
  digest.add(answer.indices);
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << digest.value();
  return text.str();
}

template <class T>
std::vector<Input> some_inputs() {
  std::vector<Input> some{Input::random_bits, Input::few_values, Input::leading_bits};
  if (is_float_key<T>) some.push_back(Input::nans);
  return some;
}

/// Each case by its name; the options change with size and input.
template <class T, class Body>
void for_each_case(Body const& body) {
  int number = 0;
  for (Size const& size : sizes)
    for (Input input : some_inputs<T>()) {
      Options const options{.order = number % 2 == 0 ? Order::largest : Order::smallest,
                            .ties = number / 2 % 2 == 0 ? Ties::lowest_index : Ties::highest_index,
                            .nan = number / 4 % 2 == 0 ? NaN::greatest : NaN::least};
      std::ostringstream what;
      what << key_name<T>() << '/' << name(input) << '/' << size.rows << 'x' << size.n << '/'
           << size.k << '/' << number++ % 8;
      body(what.str(), size, make_keys<T>(input, size.rows * size.n, 42), options);
    }
}

template <class T, class Exec>
Digests compute(Exec const& exec, Algorithm algorithm) {
  Digests all;
  for_each_case<T>(
      [&](std::string const& what, Size const& size, std::vector<T> const& keys, Options options) {
        options.algorithm = algorithm;
        UniformCall<Exec, T> call(exec, keys, size.rows, size.n, size.k);
        all[what] = digest_of(call(size.k, options));
        CHECK(ktopk::detail::arrays_beyond_workspace == 0);
      });
  return all;
}

template <class T, class Exec>
void check_digests(Exec const& exec, Algorithm algorithm) {
  for (auto const& entry : compute<T>(exec, algorithm)) {
    auto const stored = stored_digests().find(entry.first);
    INFO(exec.name() << ", " << name(algorithm) << ", " << entry.first);
    REQUIRE(stored != stored_digests().end());
    CHECK(entry.second == stored->second);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("digests are those of every other backend", "[digests]", KeyTypes) {
  if (char const* const path = std::getenv("KTOPK_WRITE_DIGESTS")) {
    write_digests(compute<TestType>(Kokkos::DefaultExecutionSpace(), Algorithm::sort), path);
    return;
  }
  for_each_space([](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec)) check_digests<TestType>(exec, algorithm);
  });
}

/// Otherwise an error in reading the file, or in the generators, would go unnoticed.
TEST_CASE("the digests of different cases differ", "[digests]") {
  std::map<std::string, std::string> first_of;
  for (auto const& [what, digest] : stored_digests())
    if (what.find("random_bits/1x20000") != std::string::npos) {
      CAPTURE(what, first_of[digest]);
      CHECK(first_of[digest].empty());
      first_of[digest] = what;
    }
  CHECK(first_of.size() == std::tuple_size_v<KeyTypes>);
  CHECK(stored_digests().size() >= 300);
}

}  // namespace ktopk::testing
