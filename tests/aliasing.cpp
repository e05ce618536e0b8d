// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

#include <ktopk/core/problem.hpp>

#include "backends/host/bulk_sink.hpp"
#include "backends/host/in_order.hpp"
#include "backends/host/radix/scan.hpp"

// Whether an optimizer may reorder accesses to keys that are read and written as another type. Each function first
// accesses memory as the caller does, then as the library does; its result shows the order of the two. None may be
// inlined where the compiler can see that both access the same memory.

using namespace ktopk::detail;

namespace {

template <class Bits>
StoredProblem<Bits> problem_of(void* keys, void* values, void* indices) {
  auto problem = make_stored_problem<Bits>(ktopk::Shape{1, 1, 1, static_cast<int>(sizeof(Bits))});
  problem.rows.keys = static_cast<Stored<Bits> const*>(keys);
  problem.out.values = static_cast<Stored<Bits>*>(values);
  problem.out.indices = indices;
  return problem;
}

[[gnu::noipa]] float value_after_store(StoredProblem<std::uint32_t> const& problem, float* value) {
  *value = 0;
  problem.out.store(0, 0, 0x3f800000u, 0);
  return *value;
}

[[gnu::noipa]] double value_after_put(host::BulkSink<std::uint64_t, CompositeKey128> const& sink,
                                      double* value, std::uint16_t const* hits) {
  *value = 0;
  std::uint64_t const key = 0x3ff0000000000000u;
  sink.put_hits(0, 0, &key, hits, 1, 0);
  return *value;
}

[[gnu::noipa]] long long index_after_put(host::BulkSink<std::uint32_t, CompositeKey64> const& sink,
                                         long long* index, std::uint16_t const* hits) {
  *index = -1;
  std::uint32_t const key = 0;
  sink.put_hits(0, 0, &key, hits, 1, 5);
  return *index;
}

[[gnu::noipa]] std::int64_t offset_after_change(IntegerArray const& offsets, long long* offset) {
  std::int64_t const before = offsets[0];
  *offset = 7;
  return offsets[0] - before;
}

[[gnu::noipa]] long long count_after_store(IntegerArray const& counts, long long* count) {
  *count = 0;
  counts.store(0, 9);
  return *count;
}

[[gnu::noipa]] std::uint32_t key_after_change(StoredProblem<std::uint32_t> const& problem,
                                              float* key) {
  std::uint32_t const before = problem.rows.pointer(0)[0];
  *key = 1;
  return problem.rows.pointer(0)[0] - before;
}

/// Sums the bits of keys that are `step` apart, before and after a change.
[[gnu::noipa]] std::uint64_t blocks_after_change(
    KeyScan<std::uint64_t, CompositeKey128> const& scan, double* key) {
  std::uint64_t sum = 0;
  auto const add = [&](Stored<std::uint64_t> const* from, std::int64_t, int) { sum += from[0]; };
  scan.blocks(0, 1, add);
  *key = 1;
  scan.blocks(0, 1, add);
  return sum;
}

[[gnu::noipa]] bool is_in_order_after_change(OrderedBitsMap<std::uint32_t> const& rank,
                                             Stored<std::uint32_t> const* bits, float* keys) {
  bool const before = are_in_order(rank, bits, 3, 1);
  keys[1] = 5;
  return are_in_order(rank, bits, 3, 1) || before;
}

constexpr std::uint16_t first_hit = 0;

}  // namespace

TEST_CASE("a value that is stored as bits is seen by who reads it as what it is") {
  float single = 0;
  CHECK(value_after_store(problem_of<std::uint32_t>(nullptr, &single, nullptr), &single) == 1);
  double wide = 0;
  auto const problem = problem_of<std::uint64_t>(nullptr, &wide, nullptr);
  CHECK(value_after_put({problem, {}, nullptr}, &wide, &first_hit) == 1);
}

TEST_CASE("indices, offsets and counts may be of any integer type of their size") {
  long long integer = 3;
  auto const problem = problem_of<std::uint32_t>(nullptr, nullptr, &integer);
  CHECK(index_after_put({problem, {}, nullptr}, &integer, &first_hit) == 5);
  integer = 3;
  IntegerArray const array{&integer, 1, 8};
  CHECK(offset_after_change(array, &integer) == 4);
  CHECK(count_after_store(array, &integer) == 9);
}

TEST_CASE("a key written as its own type is seen as bits") {
  float single = 0;
  CHECK(key_after_change(problem_of<std::uint32_t>(&single, nullptr, nullptr), &single) ==
        0x3f800000u);
  for (std::int64_t const step : {1, 2}) {
    double wide[2] = {};
    auto const* const bits = reinterpret_cast<Stored<std::uint64_t> const*>(wide);
    CHECK(blocks_after_change({{}, bits, step, {}}, wide) == 0x3ff0000000000000u);
  }
  float keys[] = {1, 0, 1};
  auto const* const bits = reinterpret_cast<Stored<std::uint32_t> const*>(keys);
  CHECK_FALSE(is_in_order_after_change({}, bits, keys));
}
