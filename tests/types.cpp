// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/run.hpp"

namespace ktopk::testing {
namespace {

constexpr std::int64_t rows = 2, n = 20'000, k = 33;

/// Types end at the API, before the dispatch on spaces: one space is enough, and the digests cover the others.
using Exec = Kokkos::DefaultExecutionSpace;

/// `Stored` is the element type of the Views, of the same bits as T.
template <class T, class I, class Stored>
void select_as(Validation& validation) {
  Options const options{.order = Order::smallest};
  auto const question =
      uniform_question(make_keys<T>(Input::random_bits, rows * n, sizeof(I)), rows, n, k);
  auto const truth = solve(question, options);
  Buffer<Exec> keys(question.keys.size() * sizeof(T)), values(rows * k * sizeof(T)),
      indices(rows * k * sizeof(I));
  keys.upload(question.keys);
  top_k(Exec(), keys.matrix<Stored const>(rows, n), values.matrix<Stored>(rows, k),
        indices.matrix<I>(rows, k), options);
  Kokkos::fence();
  Answer<T> const answer{
      values.download<T>(rows * k), signed_indices(indices.download<I>(rows * k)), {}};
  CHECK(values.untouched_from(rows * k * sizeof(T)));
  CHECK(indices.untouched_from(rows * k * sizeof(I)));
  validation.expect(question, truth, answer, options,
                    [] { return "index of " + std::to_string(sizeof(I)) + " bytes"; });
}

template <class T, class Stored = T>
void select_by_all_indices() {
  Validation validation;
  select_as<T, std::int32_t, Stored>(validation);
  select_as<T, std::uint32_t, Stored>(validation);
  select_as<T, std::int64_t, Stored>(validation);
  select_as<T, std::uint64_t, Stored>(validation);
  validation.close();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every key type with every index type", "[types]", KeyTypes) {
  select_by_all_indices<TestType>();
}

TEST_CASE("integers by their other names", "[types]") {
  select_by_all_indices<std::int64_t, long long>();
  select_by_all_indices<std::uint64_t, unsigned long long>();
  select_by_all_indices<std::conditional_t<std::is_signed_v<char>, std::int8_t, std::uint8_t>,
                        char>();
}

TEST_CASE("the half types of Kokkos where they have 16 bits", "[types]") {
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
  select_by_all_indices<float16, Kokkos::Experimental::half_t>();
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
  select_by_all_indices<bfloat16, Kokkos::Experimental::bhalf_t>();
#endif
#ifdef KOKKOS_ENABLE_CUDA
  select_by_all_indices<float16, __half>();
  select_by_all_indices<bfloat16, __nv_bfloat16>();
#endif
  STATIC_REQUIRE(sizeof(float16) == 2);
  STATIC_REQUIRE(sizeof(bfloat16) == 2);
}

}  // namespace ktopk::testing
