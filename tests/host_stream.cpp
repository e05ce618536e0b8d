// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/host_stream.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/rejects.hpp"
#include "support/results.hpp"
#include "support/run.hpp"
#include "support/sorted_options.hpp"
#include "support/spaces.hpp"

// Keys of the host that come through pinned buffers. On a host the buffers are forced, so that the text runs in CI.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::int8_t, bfloat16, float, std::int64_t>;

template <class T, class Exec>
using Staged = HostStream<T, std::int64_t, Exec, true>;

template <class T, class Exec>
Answer<T> answer_of(Exec const& exec, Accumulator<T, std::int64_t, Exec> const& best) {
  Results<T, std::int64_t, MemoryOf<Exec>> const results(best.rows(), best.k());
  best.result(results.values, results.indices, results.counts);
  exec.fence();
  return results.fetch();
}

template <class T, class Layout>
auto host_view(std::vector<T> const& keys, std::int64_t rows, std::int64_t n) {
  Kokkos::View<T**, Layout, Kokkos::HostSpace> const view("test::host", rows, n);
  for (std::int64_t i = 0; i < rows * n; ++i) view(i / n, i % n) = keys[i];
  return view;
}

struct Size {
  std::int64_t rows, n, k, chunk;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("keys of the host give the bits of the whole row", "[host_stream]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::uint64_t seed = 0;
    for (Input input : inputs_for<TestType>())
      for (Size const size : {Size{1, 5000, 30, 700}, Size{1, 3000, 8, 1000}, Size{3, 700, 100, 64},
                              Size{2, 40, 60, 1}, Size{1, 20, 4, 0}, Size{2, 0, 3, 5}}) {
        auto const options = sorted_options<TestType>();
        Options const& chosen = options[random_bits(3, ++seed) % options.size()];
        auto const question =
            uniform_question(filled<TestType>(input, size.rows, size.n), size.rows, size.n, size.k);
        Accumulator<TestType, std::int64_t, Exec> best(exec, size.rows, size.k, chosen);
        Staged<TestType, Exec> stream(best, size.chunk);
        auto const expect = [&](char const* what) {
          validation.expect(question, solve(question, chosen), answer_of(exec, best), chosen, [&] {
            return std::string(exec.name()) + ", " + what + ", " + name(input) +
                   ", n = " + std::to_string(size.n) + ", k = " + std::to_string(size.k);
          });
          best.clear();
        };
        stream.add(host_view<TestType, Kokkos::LayoutRight>(question.keys, size.rows, size.n));
        expect("rows");
        stream.add(host_view<TestType, Kokkos::LayoutLeft>(question.keys, size.rows, size.n));
        expect("columns");
        if (size.rows != 1) continue;
        stream.add(size.n, 0, [&](TestType* to, std::int64_t begin, std::int64_t count) {
          std::copy_n(question.keys.data() + begin, count, to);
        });
        expect("read");
      }
  });
  validation.close();
}

TEST_CASE("the host's keys may be overwritten when add returns", "[host_stream]") {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    // 36 MB at a time: each slot has pieces of several calls.
    int const rows = 3, n = 3'000'000, parts = 4;
    Accumulator<int, std::int64_t, Exec> best(exec, rows, 2);
    Staged<int, Exec> stream(best, rows * (1 << 21));
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> const part("test::part", rows, n);
    std::vector<std::int64_t> expected;
    for (int p = 0; p < parts; ++p) {
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < n; ++i) part(r, i) = p * n + (i + r * 1'000'000) % n;
      stream.add(part, std::int64_t{p} * n);
      Kokkos::deep_copy(part, std::numeric_limits<int>::max());
    }
    for (int r = 0; r < rows; ++r)
      for (int worse = 1; worse <= 2; ++worse)
        expected.push_back((parts - 1) * n + (2 * n - worse - r * 1'000'000) % n);
    CHECK(answer_of(exec, best).indices == expected);
  });
}

TEST_CASE("a reader that throws leaves what was read before", "[host_stream]") {
  for_each_exec([&]<class Exec>(Exec const& exec) {
    Accumulator<int, std::int64_t, Exec> best(exec, 1, 2);
    Staged<int, Exec> stream(best, 10);
    auto const read = [](int* to, std::int64_t begin, std::int64_t count) {
      if (begin >= 20) throw std::runtime_error("end of the tape");
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<int>(begin + i);
    };
    CHECK_THROWS_AS(stream.add(100, 5, read), std::runtime_error);
    CHECK(answer_of(exec, best).indices == std::vector<std::int64_t>{24, 23});
  });
}

TEST_CASE("an instance that reads the host's memory gets keys where they lie", "[host_stream]") {
  Kokkos::DefaultHostExecutionSpace const exec;
  Accumulator<float, std::int64_t, Kokkos::DefaultHostExecutionSpace> const best(exec, 1, 2);
  HostStream stream(best, 4);
  Kokkos::View<float*, Kokkos::HostSpace> const keys("test::keys", 100);
  for (int i = 0; i < 100; ++i) keys(i) = static_cast<float>(i % 50);
  stream.add(keys);
  CHECK(answer_of(exec, best).indices == std::vector<std::int64_t>{49, 99});
  stream.add(10, 100, [](float* to, std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(100 + begin + i);
  });
  CHECK(answer_of(exec, best).indices == std::vector<std::int64_t>{109, 108});
}

TEST_CASE("HostStream rejects what does not fit", "[host_stream]") {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Exec const exec;
  Accumulator<float, std::int32_t, Exec> const best(exec, 2, 3);
  rejects([&] { HostStream<float, std::int32_t, Exec, true>(best, -5); },
          {"ktopk::HostStream", "-5"});
  HostStream<float, std::int32_t, Exec, true> stream(best, 8);
  Kokkos::View<float**, Kokkos::HostSpace> const keys("test::keys", 3, 10);
  rejects([&] { stream.add(keys); }, {"ktopk::HostStream", "rows", "3", "2"});
  auto const read = [](float*, std::int64_t, std::int64_t) { FAIL("nothing is read"); };
  rejects([&] { stream.add(10, 0, read); }, {"ktopk::HostStream", "rows", "2", "1"});
  Accumulator<float, std::int32_t, Exec> const one(exec, 1, 3);
  HostStream<float, std::int32_t, Exec, true> of_one(one, 8);
  rejects([&] { of_one.add(-2, 0, read); }, {"ktopk::HostStream", "-2"});
  rejects([&] { of_one.add(10, -1, read); }, {"first position", "-1"});
  rejects([&] { of_one.add(10, std::numeric_limits<std::int32_t>::max() - 5, read); },
          {"2147483647"});
}

}  // namespace ktopk::testing
