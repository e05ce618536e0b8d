// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/computed.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/spaces.hpp"

// Every question asked of rows in every form: a matrix, rows with begins and ends in a matrix or in a line, and keys that
// are made of such rows. The oracle knows each row by itself.

namespace ktopk::testing {
namespace {

using List = std::vector<std::int64_t>;
constexpr std::int64_t rows = 6, n = 700, k = 40;

/// Where the rows begin and end in their line or matrix row: an empty one, one shorter than k, and whole ones.
List const begins{0, 10, 650, 300, 0, 1}, ends{700, 10, 680, 699, 700, 350};
List const offsets{0, 700, 700, 730, 1400, 2000, 4200};

struct Truth {
  std::vector<std::vector<float>> rows;
  Options options;

  std::vector<float> const& row(std::int64_t r) const { return rows[static_cast<std::size_t>(r)]; }
  std::int64_t length(std::int64_t r) const { return std::ssize(row(r)); }
  bool is_key(float key) const { return options.nan != NaN::skip || key == key; }
  /// The positions of the best keys, as many as there are.
  List best(std::int64_t r, std::int64_t count) const {
    auto positions = best_positions(row(r).data(), length(r), length(r), options);
    std::erase_if(positions, [&](std::int64_t i) { return !is_key(row(r)[i]); });
    positions.resize(std::min<std::size_t>(positions.size(), static_cast<std::size_t>(count)));
    return {positions.begin(), positions.end()};
  }
  bool is_better(float a, float b) const {
    float const both[2]{b, a};
    Options first_wins = options;
    first_wins.ties = Ties::lowest_index;
    return best_positions(both, 2, 1, first_wins)[0] == 1;
  }
  bool are_equal(float a, float b) const { return !is_better(a, b) && !is_better(b, a); }
};

template <class Exec>
using Ints = Kokkos::View<std::int64_t*, MemoryOf<Exec>>;
template <class Exec, class T>
using Table = Kokkos::View<T**, Kokkos::LayoutRight, MemoryOf<Exec>>;

template <class Exec, class Keys>
void expect_ranks(Exec const& exec, Keys const& keys, Truth const& truth) {
  Kokkos::View<float*, MemoryOf<Exec>> const value("test::value", rows);
  Table<Exec, float> const values("test::values", rows, 2);
  kth(exec, keys, copied_to<MemoryOf<Exec>>(List(rows, 7)), value, truth.options);
  ranks(exec, keys, copied_to<MemoryOf<Exec>>(List{0, 39}), values, truth.options);
  exec.fence();
  auto const got = on_host(value);
  auto const got_values = on_host(values);
  for (std::int64_t r = 0; r < rows; ++r) {
    auto const is_right = [&](float found, std::int64_t rank) {
      auto const best = truth.best(r, rank + 1);
      if (std::ssize(best) <= rank) return same_bits(found, worst_key<float>(truth.options));
      return truth.are_equal(found, truth.row(r)[best.back()]);
    };
    CAPTURE(r);
    CHECK(is_right(got(r), 6));
    CHECK(is_right(got_values(r, 0), 0));
    CHECK(is_right(got_values(r, 1), 39));
  }
}

template <class Exec, class Keys>
void expect_counts(Exec const& exec, Keys const& keys, Truth const& truth) {
  std::vector<float> const bounds{0.5f, -1.0f, truth.row(0)[3]};
  Table<Exec, std::int32_t> const better("test::better", rows, 3), equal("test::equal", rows, 3);
  count(exec, keys, copied_to<MemoryOf<Exec>>(bounds), better, equal, truth.options);
  exec.fence();
  auto const got_better = on_host(better), got_equal = on_host(equal);
  for (std::int64_t r = 0; r < rows; ++r)
    for (int b = 0; b < 3; ++b) {
      CAPTURE(r, b, bounds[b]);
      auto const all = [&](auto const& is) {
        return std::count_if(truth.row(r).begin(), truth.row(r).end(), is);
      };
      CHECK(got_equal(r, b) == all([&](float key) { return truth.are_equal(key, bounds[b]); }));
      CHECK(got_better(r, b) ==
            all([&](float key) { return truth.is_key(key) && truth.is_better(key, bounds[b]); }));
    }
}

template <class Exec, class Keys>
void expect_reaching(Exec const& exec, Keys const& keys, Truth const& truth) {
  Kokkos::View<float, MemoryOf<Exec>> const threshold("test::threshold");
  Kokkos::deep_copy(threshold, 0.5f);
  Table<Exec, float> const values("test::values", rows, k);
  Table<Exec, std::int64_t> const indices("test::indices", rows, k);
  Ints<Exec> const counts("test::counts", rows);
  reaching(exec, keys, threshold, values, indices, counts, truth.options);
  exec.fence();
  auto const got = on_host(indices);
  auto const got_values = on_host(values);
  auto const got_counts = on_host(counts);
  for (std::int64_t r = 0; r < rows; ++r) {
    CAPTURE(r);
    std::int64_t found = 0, wrong = 0;
    for (std::int64_t i = 0; i < truth.length(r); ++i) {
      float const key = truth.row(r)[i];
      if (!truth.is_key(key) || truth.is_better(0.5f, key)) continue;
      if (found < k) wrong += got(r, found) != i || !same_bits(got_values(r, found), key);
      ++found;
    }
    CHECK(wrong == 0);
    CHECK(got_counts(r) == found);
  }
}

/// Selects with payload, and by an Accumulator in two chunks of which the second is the first with other positions.
template <class Exec, class Keys, class From>
void expect_selection(Exec const& exec, Keys const& keys, From const& payload_of,
                      Truth const& truth) {
  Table<Exec, std::int64_t> const indices("test::indices", rows, k);
  Table<Exec, float> const payload_values("test::payload", rows, k);
  Options options = truth.options;
  options.short_rows = ShortRows::fill;
  top_k(exec, keys, nothing, indices, options);
  gather(exec, indices, payload(payload_of, payload_values));
  Accumulator<float, std::int64_t, Exec> stream(exec, rows, k, options);
  stream.add(keys, 0);
  stream.add(keys, 10000);
  exec.fence();
  auto const got = on_host(indices);
  auto const got_payload = on_host(payload_values);
  Table<Exec, std::int64_t> const positions("test::positions", rows, k);
  Kokkos::deep_copy(positions, stream.positions());
  auto const got_positions = on_host(positions);
  for (std::int64_t r = 0; r < rows; ++r) {
    CAPTURE(r);
    auto const best = truth.best(r, k);
    std::vector<float> twice = truth.row(r);
    twice.insert(twice.end(), truth.row(r).begin(), truth.row(r).end());
    auto const of_stream = Truth{{twice}, truth.options}.best(0, k);
    std::int64_t wrong = 0;
    for (std::int64_t s = 0; s < k; ++s) {
      bool const is_there = s < std::ssize(best), is_in_stream = s < std::ssize(of_stream);
      wrong += got(r, s) != (is_there ? best[s] : -1);
      if (is_there) wrong += !same_bits(got_payload(r, s), 2 * truth.row(r)[best[s]]);
      std::int64_t const at = is_in_stream ? of_stream[s] : -1, length = truth.length(r);
      wrong += got_positions(r, s) != (at < length ? at : at - length + 10000);
    }
    CHECK(wrong == 0);
  }
}

template <class Exec, class Keys, class From>
void expect_all(Exec const& exec, Keys const& keys, From const& payload_of, Truth truth) {
  for (Options const& options :
       {Options{}, Options{.order = Order::smallest}, Options{.nan = NaN::least},
        Options{.nan = NaN::skip}, Options{.by = By::magnitude},
        Options{.order = Order::smallest, .nan = NaN::skip, .by = By::magnitude}}) {
    CAPTURE(exec.name(), static_cast<int>(options.order), static_cast<int>(options.nan),
            static_cast<int>(options.by));
    truth.options = options;
    expect_ranks(exec, keys, truth);
    expect_counts(exec, keys, truth);
    expect_reaching(exec, keys, truth);
    expect_selection(exec, keys, payload_of, truth);
  }
}

/// The keys from `begin` to `end` of each row, where rows lie `pitch` apart.
Truth truth_of(std::vector<float> const& keys, List const& begins, List const& ends,
               std::int64_t pitch) {
  Truth truth;
  for (std::int64_t r = 0; r < rows; ++r)
    truth.rows.emplace_back(keys.begin() + r * pitch + begins[r],
                            keys.begin() + r * pitch + ends[r]);
  return truth;
}

std::vector<float> doubled(std::vector<float> keys) {
  for (float& key : keys) key *= 2;
  return keys;
}

struct Negated {
  // By bits: what a minus makes of a NaN is up to the device.
  KOKKOS_FUNCTION float operator()(float key) const {
    return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(key) ^ 0x80000000u);
  }
};

/// Keys of both signs, few of them different, with NaNs and infinities.
std::vector<float> made_keys() {
  auto keys = filled<float>(Input::nans, 1, rows * n);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == keys[i]) keys[i] = static_cast<float>(i * 7919 % 13) - 6;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t i = 5; i < keys.size(); i += 89) keys[i] = i % 2 == 0 ? infinity : -infinity;
  return keys;
}

}  // namespace

TEST_CASE("every question of a matrix, and of rows with begins and ends in it", "[forms]") {
  auto const all = made_keys(), twice = doubled(all);
  List const none(rows, 0), whole(rows, n);
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    auto const right = copied_to<Memory, Kokkos::LayoutRight>(all, rows, n);
    auto const left = copied_to<Memory, Kokkos::LayoutLeft>(all, rows, n);
    auto const twice_right = copied_to<Memory, Kokkos::LayoutRight>(twice, rows, n);
    auto const first = copied_to<Memory>(begins), last = copied_to<Memory>(ends);
    expect_all(exec, right, twice_right, truth_of(all, none, whole, n));
    expect_all(exec, left, twice_right, truth_of(all, none, whole, n));
    expect_all(exec, ktopk::rows(right, last), ktopk::rows(twice_right, last),
               truth_of(all, none, ends, n));
    expect_all(exec, ktopk::rows(left, first, last), ktopk::rows(twice_right, first, last),
               truth_of(all, begins, ends, n));
  });
}

TEST_CASE("every question of rows in a line", "[forms]") {
  auto const all = made_keys(), twice = doubled(all);
  List const line_begins(offsets.begin(), offsets.end() - 1),
      line_ends(offsets.begin() + 1, offsets.end());
  // These overlap, and leave keys out.
  List const some_begins{0, 500, 500, 4000, 100, 0}, some_ends{900, 500, 530, 4200, 150, 4200};
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Memory = MemoryOf<Exec>;
    auto const line = copied_to<Memory>(all), twice_line = copied_to<Memory>(twice);
    auto const at = copied_to<Memory>(offsets);
    expect_all(exec, ragged(line, at), ragged(twice_line, at),
               truth_of(all, line_begins, line_ends, 0));
    auto const first = copied_to<Memory>(some_begins), last = copied_to<Memory>(some_ends);
    expect_all(exec, ragged(line, first, last), ragged(twice_line, first, last),
               truth_of(all, some_begins, some_ends, 0));
  });
}

TEST_CASE("every question of keys that are made of such rows", "[forms]") {
  auto const all = made_keys();
  auto negated = all;
  for (float& key : negated) key = Negated{}(key);
  auto const twice = doubled(negated);
  List const some_begins{0, 500, 500, 4000, 100, 0}, some_ends{900, 500, 530, 4200, 150, 4200};
  Kokkos::DefaultExecutionSpace const exec;
  using Memory = Kokkos::DefaultExecutionSpace::memory_space;
  auto const first = copied_to<Memory>(begins), last = copied_to<Memory>(ends);
  auto const twice_matrix = copied_to<Memory, Kokkos::LayoutRight>(twice, rows, n);
  auto const matrix = copied_to<Memory, Kokkos::LayoutRight>(all, rows, n);
  expect_all(exec, transform(ktopk::rows(matrix, first, last), Negated{}),
             ktopk::rows(twice_matrix, first, last), truth_of(negated, begins, ends, n));
  auto const line_first = copied_to<Memory>(some_begins), line_last = copied_to<Memory>(some_ends);
  expect_all(exec, transform(ragged(copied_to<Memory>(all), line_first, line_last), Negated{}),
             ragged(copied_to<Memory>(twice), line_first, line_last),
             truth_of(negated, some_begins, some_ends, 0));
}

}  // namespace ktopk::testing
