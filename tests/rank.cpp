// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/core/ordered_bits.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <tuple>
#include <vector>

#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using Narrow =
    std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, float16, bfloat16>;
using Wide = std::tuple<std::int32_t, std::uint32_t, float, std::int64_t, std::uint64_t, double>;

template <class T>
ktopk::detail::bits_of<T> bits_of_key(T key) {
  return std::bit_cast<ktopk::detail::bits_of<T>>(key);
}

/// Neighbors in the oracle's order cover all pairs: ranks must rise exactly where the oracle orders one key above the
/// other.
template <class T>
void check_order(std::vector<T> keys, Options const& options) {
  auto const better = [&](T a, T b) { return is_better(number(a), number(b), options); };
  auto const rank = ktopk::detail::make_ordered_bits_map<T>(options);
  std::sort(keys.begin(), keys.end(), better);
  int wrong = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    auto const before = rank(bits_of_key(keys[i - 1]));
    auto const after = rank(bits_of_key(keys[i]));
    bool const right = better(keys[i - 1], keys[i]) ? before > after : before == after;
    if (!right) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("ranks of all patterns of 8 and 16 bits", "[rank]", Narrow) {
  std::vector<TestType> keys;
  for (std::uint32_t bits = 0; bits < (1u << (8 * sizeof(TestType))); ++bits)
    keys.push_back(std::bit_cast<TestType>(static_cast<ktopk::detail::bits_of<TestType>>(bits)));
  for (Options const& options : orders_of<TestType>()) check_order(keys, options);
}

TEMPLATE_LIST_TEST_CASE("ranks of patterns of 32 and 64 bits", "[rank]", Wide) {
  std::vector<TestType> keys;
  for (Input input : inputs_for<TestType>()) {
    auto const more = make_keys<TestType>(input, 20'000, 1);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  for (Options const& options : orders_of<TestType>()) check_order(keys, options);
}

TEMPLATE_LIST_TEST_CASE("the worst key is the contract's", "[rank]", Narrow) {
  for (Order order : {Order::largest, Order::smallest})
    CHECK(ktopk::detail::worst_key<TestType>({.order = order}) ==
          bits_of_key(worst_key<TestType>({.order = order})));
}

TEMPLATE_LIST_TEST_CASE("the worst key is the contract's, wide", "[rank]", Wide) {
  for (Order order : {Order::largest, Order::smallest})
    CHECK(ktopk::detail::worst_key<TestType>({.order = order}) ==
          bits_of_key(worst_key<TestType>({.order = order})));
}

TEMPLATE_LIST_TEST_CASE("a range holds the keys that reach a rank", "[rank]", Narrow) {
  using Bits = ktopk::detail::bits_of<TestType>;
  constexpr std::uint32_t patterns = 1u << (8 * sizeof(TestType));
  for (Options const& options : orders_of<TestType>()) {
    auto const rank = ktopk::detail::make_ordered_bits_map<TestType>(options);
    auto const check = [&](Bits least) {
      auto const range = rank.reaching(least);
      int left_out = 0, strangers = 0;
      for (std::uint32_t bits = 0; bits < patterns; ++bits) {
        auto const key = static_cast<Bits>(bits);
        bool const reaches = rank(key) >= least, is_zero = rank(key) == rank(Bits{0});
        bool const contained = range.contains(rank.ordered(key));
        left_out += reaches && !contained ? 1 : 0;
        strangers += contained && !reaches && !is_zero ? 1 : 0;
      }
      CHECK(left_out == 0);
      CHECK(strangers == 0);
    };
    for (std::uint32_t bits = 0; bits < patterns; bits += patterns / 256)
      for (std::uint32_t next : {0u, 1u}) check(rank(static_cast<Bits>((bits + next) % patterns)));
  }
}

TEST_CASE("composite keys put the position behind the rank", "[rank]") {
  auto const rank = ktopk::detail::make_ordered_bits_map<float>({});
  float const low = 1.0F, high = 2.0F;
  for (std::int64_t n : {1, 2, 3, 4, 5, 1024, 1025}) {
    auto const first =
        ktopk::detail::make_composite_key_map<std::uint64_t>(rank, n, Ties::lowest_index);
    auto const last =
        ktopk::detail::make_composite_key_map<std::uint64_t>(rank, n, Ties::highest_index);
    auto const end = static_cast<std::uint64_t>(n - 1);
    CHECK(first(bits_of_key(high), end) > first(bits_of_key(low), 0));
    CHECK(last(bits_of_key(high), 0) > last(bits_of_key(low), end));
    if (n > 1) {
      CHECK(first(bits_of_key(low), 0) > first(bits_of_key(low), end));
      CHECK(last(bits_of_key(low), 0) < last(bits_of_key(low), end));
    }
    CHECK(first.position(first(bits_of_key(low), end)) == end);
    CHECK(last.position(last(bits_of_key(low), end)) == end);
    CHECK(first.ordered_bits_of(first(bits_of_key(low), end)) == rank(bits_of_key(low)));
  }
}

TEST_CASE("positions need no more bits than the row", "[rank]") {
  CHECK(ktopk::detail::position_bits_for(0) == 0);
  CHECK(ktopk::detail::position_bits_for(1) == 0);
  CHECK(ktopk::detail::position_bits_for(2) == 1);
  CHECK(ktopk::detail::position_bits_for(256) == 8);
  CHECK(ktopk::detail::position_bits_for(257) == 9);
  CHECK(ktopk::detail::position_bits_for(std::int64_t{1} << 40) == 40);
  CHECK(ktopk::detail::composite_key_bytes(4, std::int64_t{1} << 32) == 8);
  CHECK(ktopk::detail::composite_key_bytes(4, (std::int64_t{1} << 32) + 1) == 16);
}

}  // namespace ktopk::testing
