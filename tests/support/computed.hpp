// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// What tests of keys that a functor makes or a mask leaves share: what the oracle says of the keys that there are, and
/// calls by every rule.

#include <ktopk/computed.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <Kokkos_Core.hpp>

#include "copies.hpp"
#include "inputs.hpp"
#include "oracle.hpp"

namespace ktopk::testing {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

template <class T>
Kokkos::View<T*, Memory> on_device(std::vector<T> const& from) {
  return copied_to<Memory>(from);
}
template <class T, class Layout = Kokkos::LayoutRight>
Kokkos::View<T**, Layout, Memory> on_device(std::vector<T> const& from, std::int64_t rows,
                                            std::int64_t n) {
  return copied_to<Memory, Layout>(from, rows, n);
}

/// What rows hold: keys, and which of their positions exist.
template <class T>
struct Truth {
  std::vector<std::int64_t> begins;
  std::vector<T> keys;
  std::vector<char> exists;
  std::int64_t rows() const { return std::ssize(begins) - 1; }
};

template <class T>
Truth<T> uniform_truth(std::vector<T> keys, std::int64_t rows, std::int64_t n) {
  Truth<T> truth{{}, std::move(keys), {}};
  for (std::int64_t r = 0; r <= rows; ++r) truth.begins.push_back(r * n);
  truth.exists.assign(truth.keys.size(), 1);
  return truth;
}

template <class T>
struct RowAnswer {
  std::vector<T> values;
  std::vector<std::int64_t> positions;
  std::int64_t count;
};

template <class T>
RowAnswer<T> expected(Truth<T> const& truth, std::int64_t row, std::int64_t k,
                      Options const& options) {
  std::vector<T> keys;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = truth.begins[row]; i < truth.begins[row + 1]; ++i)
    if (truth.exists[i] != 0 && !(options.nan == NaN::skip && is_nan(number(truth.keys[i])))) {
      keys.push_back(truth.keys[i]);
      positions.push_back(i - truth.begins[row]);
    }
  std::int64_t const count = std::min<std::int64_t>(k, std::ssize(keys));
  RowAnswer<T> answer{{}, {}, count};
  for (std::int64_t const at : best_positions(keys.data(), std::ssize(keys), count, options)) {
    answer.values.push_back(keys[at]);
    answer.positions.push_back(positions[at]);
  }
  answer.values.resize(k, worst_key<T>(options));
  answer.positions.resize(k, -1);
  return answer;
}

template <class T>
struct Outputs {
  Outputs(std::int64_t rows, std::int64_t k)
      : values("ktopk::tests::values", rows, k),
        indices("ktopk::tests::indices", rows, k),
        counts("ktopk::tests::counts", rows) {
    Kokkos::deep_copy(indices, -7);
  }
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> indices;
  Kokkos::View<std::int64_t*, Memory> counts;
};

template <class T>
void compare(Truth<T> const& truth, Outputs<T> const& outputs, Options const& options) {
  auto const values = on_host(outputs.values);
  auto const indices = on_host(outputs.indices);
  auto const counts = on_host(outputs.counts);
  std::int64_t const k = static_cast<std::int64_t>(values.extent(1));
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < truth.rows(); ++r) {
    RowAnswer<T> const answer = expected(truth, r, k, options);
    std::vector<std::int64_t> slots(static_cast<std::size_t>(k));
    std::iota(slots.begin(), slots.end(), 0);
    std::vector<std::int64_t> wanted = slots;
    if (options.sorted == Sorted::no) {
      std::sort(slots.begin(), slots.begin() + answer.count,
                [&](auto a, auto b) { return indices(r, a) < indices(r, b); });
      std::sort(wanted.begin(), wanted.begin() + answer.count,
                [&](auto a, auto b) { return answer.positions[a] < answer.positions[b]; });
    }
    bool right = counts(r) == answer.count;
    for (std::int64_t s = 0; s < k; ++s)
      right = right && same_bits(values(r, slots[s]), answer.values[wanted[s]]) &&
              indices(r, slots[s]) == answer.positions[wanted[s]];
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
}

/// Asks for k of each row, by every algorithm that serves computed keys and all rules; once by a Plan, too.
template <class T, class Source>
void ask(Source const& source, Truth<T> const& truth, std::int64_t k,
         std::vector<Algorithm> const& algorithms = {Algorithm::automatic, Algorithm::one_pass,
                                                     Algorithm::radix}) {
  Exec const exec;
  Outputs<T> const outputs(truth.rows(), k);
  auto const counts = per_row(nothing, outputs.counts);
  auto all = orders();
  if (is_float_key<T>) all.push_back({.nan = NaN::skip, .by = By::magnitude});
  for (Options options : all)
    for (Algorithm algorithm : algorithms)
      for (Ties ties : {Ties::lowest_index, Ties::highest_index})
        for (Sorted sorted : {Sorted::yes, Sorted::no}) {
          options.algorithm = algorithm;
          options.ties = ties;
          options.sorted = sorted;
          CAPTURE(name(algorithm), k, static_cast<int>(ties), static_cast<int>(sorted));
          Kokkos::deep_copy(outputs.indices, -7);
          top_k(exec, source, outputs.values, outputs.indices, counts, options);
          exec.fence();
          compare(truth, outputs, options);
        }
  Plan<Exec> plan(exec, shape_of(source, k), {.algorithm = algorithms.front()});
  Kokkos::deep_copy(outputs.indices, -7);
  plan(source, outputs.values, outputs.indices, counts);
  exec.fence();
  compare(truth, outputs, {});
}

/// Not fabs, which on some devices changes the bits of a NaN.
struct Magnitude {
  KOKKOS_FUNCTION float operator()(float key) const {
    return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(key) & 0x7fffffffu);
  }
};
/// Of every `of` positions one.
struct Some {
  std::int64_t of;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::int64_t i) const {
    return (i * 7919 + row) % of == 0;
  }
};

template <class T, class F>
std::vector<T> mapped(auto const& keys, F const& f) {
  std::vector<T> made;
  for (auto const key : keys) made.push_back(f(key));
  return made;
}

template <class T>
void leave_some(Truth<T>& truth, Some const& some) {
  for (std::int64_t r = 0; r < truth.rows(); ++r)
    for (std::int64_t i = truth.begins[r]; i < truth.begins[r + 1]; ++i)
      truth.exists[i] = some(r, i - truth.begins[r]) ? 1 : 0;
}

struct Size {
  std::int64_t rows, n, k;
};

}  // namespace ktopk::testing
