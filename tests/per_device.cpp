// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cuda/common/per_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <thread>
#include <vector>

// Runs without CUDA, because a machine seldom has different devices.

namespace ktopk::testing {

using ktopk::detail::cuda::PerDevice;

TEST_CASE("each device is asked once, and none answers for another", "[algorithms]") {
  PerDevice known;
  int asked = 0;
  auto const of = [&](int device) {
    return known(device, [&] {
      ++asked;
      return 100 + device;
    });
  };
  for (int round = 0; round < 3; ++round)
    for (int device : {0, 1, PerDevice::known - 1}) CHECK(of(device) == 100 + device);
  CHECK(asked == 3);
}

TEST_CASE("a device beyond the known ones is asked each time", "[algorithms]") {
  PerDevice known;
  int asked = 0;
  for (int round = 0; round < 3; ++round)
    CHECK(known(PerDevice::known, [&] { return ++asked; }) == round + 1);
  CHECK(known(-1, [] { return 7; }) == 7);
}

TEST_CASE("threads may ask at a time", "[algorithms]") {
  PerDevice known;
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& mine : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i)
        mine += known(i % 64, [&] { return 1 + i % 64; }) != 1 + i % 64;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

}  // namespace ktopk::testing
