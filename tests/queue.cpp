// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/host/thread_queue.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include "support/algorithm.hpp"

// The list that a thread of queue keeps on a host, with keys pushed in chunks.

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;

template <class Item, class Bits>
void check_queue(Input input, std::int64_t n, std::int64_t k, std::int64_t chunk, Ties ties) {
  auto const keys = make_keys<Bits>(input, n, 3);
  auto const map = make_item_map<Item>(make_rank_map<Bits>({.ties = ties}), n, ties);
  auto const loops = pick_host_loops<Bits>();
  std::vector<Item> held(static_cast<std::size_t>(k + HostQueue<Item>::queue_length(k))), best;
  for (std::int64_t i = 0; i < n; ++i)
    best.push_back(map(keys[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i)));
  std::sort(best.begin(), best.end(), std::greater<Item>());
  best.resize(static_cast<std::size_t>(k));
  for (Sorted sorted : {Sorted::yes, Sorted::no}) {
    HostQueue<Item> queue(held.data(), k);
    for (std::int64_t first = 0; first < n; first += chunk)
      queue.push(loops, map, keys.data(), 1, {first, std::min(first + chunk, n)});
    Item const* const kept = queue.finish(sorted);
    std::vector<Item> found(kept, kept + k);
    if (sorted == Sorted::no) std::sort(found.begin(), found.end(), std::greater<Item>());
    CAPTURE(name(input), n, k, chunk, sorted == Sorted::yes);
    CHECK((found == best));
  }
}

}  // namespace

TEST_CASE("a host's queue keeps the best of all that was pushed", "[queue]") {
  for (Input input : {Input::uniform, Input::ascending, Input::descending, Input::all_equal,
                      Input::few_values, Input::bucket_killer})
    for (Ties ties : {Ties::lowest_index, Ties::highest_index})
      for (std::int64_t k : {1, 2, 31, 32, 33, 200, 2048}) {
        check_queue<Item64, std::uint32_t>(input, k, k, 50, ties);
        check_queue<Item64, std::uint8_t>(input, 5000, k, 700, ties);
        check_queue<Item64, std::uint32_t>(input, 9000, k, 9000, ties);
        check_queue<Item128, std::uint64_t>(input, 9000, k, 1000, ties);
        check_queue<Item128, std::uint32_t>(input, 5000, k, 5000, ties);
      }
}

TEST_CASE("items sort on one thread, whatever their number", "[queue]") {
  for (std::int64_t count : {0, 1, 2, 3, 127, 128, 129, 2047, 2048, 5000}) {
    std::vector<Item64> items, spare(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      items.push_back(random_bits(5, static_cast<std::uint64_t>(i)) & 0xff0000ff00ffffffull);
    auto sorted = items;
    std::sort(sorted.begin(), sorted.end(), std::greater<Item64>());
    sort_alone(items.data(), spare.data(), count);
    CAPTURE(count);
    CHECK(items == sorted);
    sort_alone(items.data(), spare.data(), count);
    CHECK(items == sorted);
  }
}

#if KTOPK_ENABLE_CUDA_TUNED
/// The sample's keys are read again, and must not count twice.
TEST_CASE("rows of which a device's queue takes a sample", "[queue]") {
  Validation validation;
  std::int64_t const n = (std::int64_t{1} << 23) + 5;
  for (Input input : {Input::uniform, Input::ascending, Input::few_values})
    for (std::int64_t k : {1, 32, 1000})
      expect_algorithm<float>(Algorithm::queue, input, 1, n, k, validation);
  validation.close();
}
#endif

}  // namespace ktopk::detail
