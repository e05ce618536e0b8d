// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <sstream>

#include <ktopk/core/testing.hpp>

#include "support/run.hpp"
#include "support/stored_digests.hpp"

// With a tie rule and sorted output, values and indices are the same bits on every backend.

namespace ktopk::testing {
namespace {

struct Size {
  std::int64_t rows, n, k;
};
constexpr Size sizes[] = {{1, 1, 1},      {1, 1000, 10},     {5, 257, 256},    {64, 100, 3},
                          {100, 130, 70}, {1, 20'000, 5000}, {1, 70'001, 100}, {3, 40'000, 1}};

template <class T>
std::string digest_of(Answer<T> const& answer) {
  Digest digest;
  digest.add(answer.values);
  digest.add(answer.indices);
  return text_of(digest);
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

}  // namespace

TEMPLATE_LIST_TEST_CASE("digests are those of every other backend", "[digests]", KeyTypes) {
  auto const by_sort = [] {
    return compute<TestType>(Kokkos::DefaultExecutionSpace(), Algorithm::sort);
  };
  if (writes_digests(by_sort)) return;
  for_each_space([](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec)) {
      INFO(exec.name() << ", " << name(algorithm));
      compare_with_stored(compute<TestType>(exec, algorithm));
    }
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
