// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <limits>
#include <set>
#include <tuple>

#include "support/digest.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Positions = std::vector<std::int64_t>;

constexpr float nan_key = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
Positions best(std::vector<T> const& keys, std::int64_t k, Options const& options = {}) {
  return best_positions(keys.data(), static_cast<std::int64_t>(keys.size()), k, options);
}

/// The two best keys of the row 3 1 3 2 by the default options.
struct Example {
  Question<float> question = uniform_question<float>({3, 1, 3, 2}, 1, 4, 2);
  Answer<float> right{{3, 3}, {0, 2}, {}};

  std::string error_in(Answer<float> const& answer, Options const& options = {}) const {
    return check(question, solve(question, options), answer, options);
  }
};

}  // namespace

TEST_CASE("best positions by hand", "[oracle]") {
  std::vector<int> const keys{5, 9, 1, 9, 5, 7};
  CHECK(best(keys, 3) == Positions{1, 3, 5});
  CHECK(best(keys, 4) == Positions{1, 3, 5, 0});
  CHECK(best(keys, 4, {.ties = Ties::highest_index}) == Positions{3, 1, 5, 4});
  CHECK(best(keys, 2, {.order = Order::smallest}) == Positions{2, 0});
  CHECK(best(keys, 2, {.order = Order::smallest, .ties = Ties::highest_index}) == Positions{2, 4});
  CHECK(best(keys, 0).empty());
  CHECK(best(keys, 6) == Positions{1, 3, 5, 0, 4, 2});
}

TEST_CASE("NaN is greatest or least, and all NaNs are equal", "[oracle]") {
  std::vector<float> const keys{infinity, -nan_key, 1, nan_key, -infinity};
  CHECK(best(keys, 5) == Positions{1, 3, 0, 2, 4});
  CHECK(best(keys, 5, {.nan = NaN::least}) == Positions{0, 2, 4, 1, 3});
  CHECK(best(keys, 5, {.order = Order::smallest}) == Positions{4, 2, 0, 1, 3});
  CHECK(best(keys, 5, {.order = Order::smallest, .nan = NaN::least}) == Positions{1, 3, 4, 2, 0});
  CHECK(best(keys, 2, {.ties = Ties::highest_index}) == Positions{3, 1});
}

TEST_CASE("the zeros are equal", "[oracle]") {
  std::vector<float> const keys{-0.0F, 0.0F, -1e-45F, 1e-45F, -0.0F};
  CHECK(best(keys, 5) == Positions{3, 0, 1, 4, 2});
  CHECK(best(keys, 4, {.order = Order::smallest, .ties = Ties::highest_index}) ==
        Positions{2, 4, 1, 0});
}

TEST_CASE("integers at their ends", "[oracle]") {
  std::vector<std::int64_t> const keys{std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::max() - 1,
                                       std::numeric_limits<std::int64_t>::lowest(), 0, -1};
  CHECK(best(keys, 5) == Positions{0, 1, 3, 4, 2});
  std::vector<std::uint8_t> const bytes{127, 128, 255, 0};
  CHECK(best(bytes, 4) == Positions{2, 1, 0, 3});
}

TEST_CASE("16-bit floats are decoded by their formats", "[oracle]") {
  CHECK(decode16(0x3c00, 5) == 1.0F);
  CHECK(decode16(0xc000, 5) == -2.0F);
  CHECK(decode16(0x7bff, 5) == 65504.0F);
  CHECK(decode16(0x0001, 5) == 0x1p-24F);
  CHECK(decode16(0x7c00, 5) == infinity);
  CHECK(is_nan(decode16(0xfc01, 5)));
  CHECK(decode16(0x3f80, 8) == 1.0F);
  CHECK(decode16(0x0001, 8) == 0x1p-133F);
  CHECK(decode16(0xff80, 8) == -infinity);
  CHECK(is_nan(decode16(0x7fc0, 8)));
}

TEST_CASE("conversions of the storage types agree with the formats", "[oracle]") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto const pattern = static_cast<std::uint16_t>(bits);
    auto const half = float16::from_bits(pattern);
    auto const brain = bfloat16::from_bits(pattern);
    bool const right = is_nan(number(half)) ? is_nan(static_cast<float>(half))
                                            : static_cast<float>(half) == number(half) &&
                                                  float16(number(half)).bits() == pattern;
    bool const right_b = is_nan(number(brain)) ? is_nan(static_cast<float>(brain))
                                               : static_cast<float>(brain) == number(brain) &&
                                                     bfloat16(number(brain)).bits() == pattern;
    if (!right || !right_b) FAIL("pattern " << bits);
  }
  CHECK(float16(65519.0F).bits() == 0x7bff);
  CHECK(float16(65520.0F).bits() == 0x7c00);
  CHECK(float16(1.0F + 0x1p-11F).bits() == 0x3c00);
  CHECK(float16(1.0F + 0x3p-11F).bits() == 0x3c02);
  CHECK(float16(0x1p-25F).bits() == 0x0000);
  CHECK(float16(0x1.8p-25F).bits() == 0x0001);
  CHECK(bfloat16(1.0F + 0x1p-8F).bits() == 0x3f80);
  CHECK(bfloat16(1.0F + 0x3p-8F).bits() == 0x3f82);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits() == 0x7f80);
}

TEST_CASE("short rows are filled with -1 and the worst key", "[oracle]") {
  Question<float> const question{{1, 2, 3}, {0, 2, 2, 3}, {3, 3, 0}, 3};
  auto const answer = solve(question, {});
  CHECK(answer.counts == Positions{2, 0, 0});
  CHECK(answer.indices == Positions{1, 0, -1, -1, -1, -1, -1, -1, -1});
  CHECK(answer.values[0] == 2);
  CHECK(answer.values[2] == -infinity);
  CHECK(check(question, answer, answer, {}).empty());
  CHECK(worst_key<float>({.order = Order::smallest}) == infinity);
  CHECK(worst_key<std::int8_t>({.order = Order::largest}) == -128);
  CHECK(worst_key<std::uint16_t>({.order = Order::largest}) == 0);
  CHECK(worst_key<std::uint64_t>({.order = Order::smallest}) == ~std::uint64_t{0});
  CHECK(number(worst_key<float16>({.order = Order::largest})) == -infinity);
  CHECK(number(worst_key<bfloat16>({.order = Order::smallest})) == infinity);
}

TEST_CASE("the check sees what is wrong", "[oracle]") {
  Example const example;
  Options const unsorted{.sorted = Sorted::no};
  Options const any{.ties = Ties::any};
  CHECK(example.error_in(example.right).empty());
  CHECK_THAT(example.error_in({{3, 2}, {0, 3}, {}}), ContainsSubstring("index 3, not 2"));
  CHECK_THAT(example.error_in({{3, 3}, {2, 0}, {}}), ContainsSubstring("index 2, not 0"));
  CHECK_THAT(example.error_in({{3, 3}, {0, 0}, {}}), ContainsSubstring("index 0 twice"));
  CHECK_THAT(example.error_in({{3, 3}, {0, 4}, {}}), ContainsSubstring("index 4 of a row of 4"));
  CHECK_THAT(example.error_in({{3, 1}, {0, 2}, {}}), ContainsSubstring("but the key at index 2"));
  CHECK_THAT(example.error_in({{3, 2}, {}, {}}), ContainsSubstring("value"));
  CHECK_THAT(example.error_in({{3}, {}, {}}), ContainsSubstring("number of values"));
  CHECK_THAT(example.error_in({{3, 3}, {0, 2}, {1}}), ContainsSubstring("count 1, not 2"));

  CHECK(example.error_in({{3, 3}, {2, 0}, {}}, unsorted).empty());
  CHECK_THAT(example.error_in({{2, 3}, {3, 0}, {}}, unsorted), ContainsSubstring("index"));
  CHECK(example.error_in({{3, 3}, {2, 0}, {}}, any).empty());
  CHECK_THAT(example.error_in({{3, 2}, {0, 3}, {}}, any), ContainsSubstring("rank"));
  CHECK_THAT(example.error_in({{}, {0, 3}, {}}, any), ContainsSubstring("rank"));
}

TEST_CASE("the check knows values that are no keys", "[oracle]") {
  auto const question = uniform_question<float>({0.0F, -1, 0.0F}, 1, 3, 2);
  Options const options{.ties = Ties::any};
  auto const truth = solve(question, options);
  CHECK(check(question, truth, Answer<float>{{0.0F, 0.0F}, {}, {}}, options).empty());
  CHECK_THAT(check(question, truth, Answer<float>{{0.0F, -0.0F}, {}, {}}, options),
             ContainsSubstring("no key"));
}

TEST_CASE("the check wants the worst key behind a short row", "[oracle]") {
  Question<std::int32_t> const question{{7}, {0, 1}, {2}, 2};
  auto const truth = solve(question, {});
  CHECK_THAT(check(question, truth, Answer<std::int32_t>{{7, 0}, {0, -1}, {}}, {}),
             ContainsSubstring("has ended"));
  CHECK_THAT(check(question, truth, Answer<std::int32_t>{{}, {0, 0}, {}}, {}),
             ContainsSubstring("has ended"));
}

TEST_CASE("ties any may leave a set, not a rank out of order", "[oracle]") {
  auto const question = uniform_question<int>({1, 2, 3}, 1, 3, 2);
  Options const sorted{.ties = Ties::any};
  Options const unsorted{.sorted = Sorted::no, .ties = Ties::any};
  CHECK(check(question, solve(question, unsorted), Answer<int>{{2, 3}, {1, 2}, {}}, unsorted)
            .empty());
  CHECK_THAT(check(question, solve(question, sorted), Answer<int>{{2, 3}, {1, 2}, {}}, sorted),
             ContainsSubstring("rank"));
}

using Floats = std::tuple<float16, bfloat16, float, double>;

TEMPLATE_LIST_TEST_CASE("inputs hold what their names promise", "[inputs]", Floats) {
  auto const count = [](Input input, auto const& is) {
    auto const keys = make_keys<TestType>(input, 4096, 1);
    return std::count_if(keys.begin(), keys.end(), [&](TestType key) { return is(number(key)); });
  };
  CHECK(count(Input::nans, [](auto x) { return is_nan(x); }) > 400);
  CHECK(count(Input::mostly_nans, [](auto x) { return is_nan(x); }) > 3000);
  CHECK(count(Input::uniform, [](auto x) { return !(x >= 0 && x <= 1); }) == 0);
  CHECK(count(Input::infinities, [](auto x) { return x == static_cast<decltype(x)>(infinity); }) >
        100);
  CHECK(count(Input::infinities, [](auto x) { return x == -static_cast<decltype(x)>(infinity); }) >
        100);
  CHECK(count(Input::zeros, [](auto x) { return x == 0 && std::signbit(x); }) > 1000);
  for (Input input : {Input::rectified, Input::rectified_low})
    for (bool sign : {false, true})
      CHECK(count(input, [=](auto x) { return x == 0 && std::signbit(x) == sign; }) > 900);
  CHECK(count(Input::rectified, [](auto x) { return !(x >= 0); }) == 0);
  CHECK(count(Input::rectified_low, [](auto x) { return !(x <= 0); }) == 0);
  CHECK(count(Input::invalid, [](auto x) { return is_nan(x); }) > 4050);
  CHECK(count(Input::invalid, [](auto x) { return x >= 0; }) > 2);
  CHECK(count(Input::denormals, [](auto x) { return !(std::abs(x) < 1e-4) || is_nan(x); }) == 0);
}

TEST_CASE("inputs of float at large", "[inputs]") {
  auto const killer = make_keys<float>(Input::bucket_killer, 1000, 3);
  CHECK(std::set<float>(killer.begin(), killer.end()).size() > 60);
  auto const equal = make_keys<float>(Input::leading_bits, 1000, 3);
  std::set<std::uint32_t> heads, keys;
  for (float key : equal) {
    std::uint32_t bits;
    std::memcpy(&bits, &key, sizeof bits);
    heads.insert(bits >> 12);
    keys.insert(bits);
  }
  CHECK(heads.size() == 1);
  CHECK(keys.size() > 500);
  auto const rising = make_keys<std::int32_t>(Input::ascending, 1000, 3);
  CHECK(std::is_sorted(rising.begin(), rising.end()));
  auto const falling = make_keys<std::uint8_t>(Input::descending, 1000, 3);
  CHECK(std::is_sorted(falling.rbegin(), falling.rend()));
  CHECK(input_from_name("winners_last") == Input::winners_last);
  CHECK(!input_from_name("none"));
}

TEST_CASE("the digest sees every byte", "[digest]") {
  auto const digest = [](auto... elements) {
    Digest sum;
    (sum.add(elements), ...);
    return sum.value();
  };
  CHECK(digest() == UINT64_C(0xcbf29ce484222325));
  CHECK(digest(std::uint8_t{'a'}) == UINT64_C(0xaf63dc4c8601ec8c));
  CHECK(digest(0.0F) != digest(-0.0F));
  CHECK(digest(std::int64_t{1}) != digest(std::int64_t{1} << 56));
  CHECK(digest(std::uint32_t{0x04030201}) ==
        digest(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}, std::uint8_t{4}));
}

}  // namespace ktopk::testing
