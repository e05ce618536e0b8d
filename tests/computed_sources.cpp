// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Bitset.hpp>

#include "support/computed.hpp"

// Further sources of keys that a functor makes or a mask leaves, on hosts: each compiles kernels of its own, of which nvcc
// takes minutes, and computed.cpp has every part once.

namespace ktopk::testing {
namespace {

struct Staircase {
  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    return static_cast<std::uint64_t>(i / 100 % 300);
  }
};

struct SetSome {
  Kokkos::Bitset<Exec> bits;
  Some some;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (some(0, i)) bits.set(static_cast<unsigned>(i));
  }
};

/// Counts calls for keys that a mask leaves out.
struct CountMasked {
  static constexpr std::int32_t masked = -1;
  Kokkos::View<int, Memory> calls;
  KOKKOS_FUNCTION std::uint8_t operator()(std::int32_t key) const {
    if (key == masked) Kokkos::atomic_inc(&calls());
    return static_cast<std::uint8_t>(key);
  }
};

}  // namespace

TEST_CASE("keys in memory may be masked") {
  for (Input input : {Input::normal, Input::mostly_nans, Input::all_equal, Input::infinities})
    for (std::int64_t const of : {1, 2, 1000, 1'000'000'000}) {
      CAPTURE(name(input), of);
      Some const some{of};
      auto truth = uniform_truth(filled<float>(input, 3, 20'000), 3, 20'000);
      leave_some(truth, some);
      ask(where(on_device(truth.keys, 3, 20'000), some), truth, 150);
    }
}

TEST_CASE("a mask may be a View or a Bitset, and sources nest") {
  std::int64_t const rows = 4, n = 5000, k = 70;
  auto const keys = filled<float>(Input::nans, rows, n);
  Some const some{3};
  auto truth = uniform_truth(mapped<float>(keys, Magnitude{}), rows, n);
  leave_some(truth, some);
  auto const view = on_device(keys, rows, n);
  ask(transform(where(view, some), Magnitude{}), truth, k);
  ask(where(transform(view, Magnitude{}), on_device(truth.exists, rows, n)), truth, k);

  auto row_truth = uniform_truth(filled<float>(Input::uniform, 1, n), 1, n);
  leave_some(row_truth, some);
  Kokkos::Bitset<Exec> bits(static_cast<unsigned>(n));
  Kokkos::parallel_for("set", Kokkos::RangePolicy<Exec>(0, n), SetSome{bits, some});
  Kokkos::View<float*, Memory> values("values", k);
  Kokkos::View<std::int64_t*, Memory> indices("indices", k);
  Exec const exec;
  top_k(exec, where(on_device(row_truth.keys), bits), values, indices);
  exec.fence();
  auto const answer = expected(row_truth, 0, k, {});
  auto const got = on_host(indices);
  for (std::int64_t s = 0; s < k; ++s) CHECK(got(s) == answer.positions[s]);
}

TEST_CASE("each computed row may ask for its own k") {
  std::int64_t const rows = 60, k = 50;
  Some const some{9};
  for (auto const& [n, input] : {std::pair{700, Input::nans}, std::pair{700, Input::all_equal},
                                 std::pair{700, Input::descending}, std::pair{9000, Input::normal},
                                 std::pair{9000, Input::few_values}}) {
    CAPTURE(name(input), n);
    auto truth = uniform_truth(filled<float>(input, rows, n), rows, n);
    leave_some(truth, some);
    std::vector<std::int64_t> wanted;
    for (std::int64_t r = 0; r < rows; ++r) wanted.push_back(r * 37 % 60 - 3);
    Outputs<float> const outputs(rows, k);
    Exec const exec;
    top_k(exec, where(on_device(truth.keys, rows, n), some), outputs.values, outputs.indices,
          per_row(on_device(wanted), outputs.counts));
    exec.fence();
    auto const values = on_host(outputs.values);
    auto const indices = on_host(outputs.indices);
    auto const counts = on_host(outputs.counts);
    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      RowAnswer<float> answer = expected(truth, r, std::clamp<std::int64_t>(wanted[r], 0, k), {});
      answer.values.resize(k, worst_key<float>({}));
      answer.positions.resize(k, -1);
      bool right = counts(r) == answer.count;
      for (std::int64_t s = 0; s < k; ++s)
        right = right && same_bits(values(r, s), answer.values[s]) &&
                indices(r, s) == answer.positions[s];
      wrong += right ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a functor of masked keys is called for those that there are alone") {
  std::int64_t const rows = 2, k = 9;
  for (std::int64_t const n : {300, 20'000}) {
    CAPTURE(n);
    Some const some{3};
    auto truth = uniform_truth(filled<std::uint8_t>(Input::uniform, rows, n), rows, n);
    leave_some(truth, some);
    std::vector<std::int32_t> keys(truth.keys.begin(), truth.keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (truth.exists[i] == 0) keys[i] = CountMasked::masked;
    Kokkos::View<int, Memory> const calls("calls");
    Outputs<std::uint8_t> const outputs(rows, k);
    for (Algorithm const algorithm : {Algorithm::automatic, Algorithm::one_pass}) {
      top_k(Exec(), transform(where(on_device(keys, rows, n), some), CountMasked{calls}),
            outputs.values, outputs.indices, per_row(nothing, outputs.counts),
            {.algorithm = algorithm});
      Kokkos::fence();
      compare(truth, outputs, {});
    }
    CHECK(on_host(calls)() == 0);
  }
}

TEST_CASE("one row may be generated by position") {
  Exec const exec;
  Kokkos::View<std::uint64_t*, Memory> values("values", 5);
  Kokkos::View<int*, Memory> indices("indices", 5);
  top_k(exec, generate<std::uint64_t>(100'000, Staircase{}), values, indices);
  exec.fence();
  CHECK(on_host(values)(4) == 299);
  CHECK(on_host(indices)(4) == 29'904);
}

}  // namespace ktopk::testing
