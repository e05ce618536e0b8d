// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sort_long.hpp"

#include <stdexcept>
#include <string>

#include <cub/device/device_radix_sort.cuh>

#include "device.hpp"
#include "this_module.cuh"

namespace ktopk::detail::cuda {

template <class CompositeKey>
CompositeKey* sort_long(cudaStream_t stream, CompositeKey* list, CompositeKey* spare,
                        std::int64_t count, int width, void* scratch) {
  cub::DoubleBuffer<CompositeKey> lists(list, spare);
  std::size_t needed = 0;
  auto const sort = [&](void* memory) {
    check(cub::DeviceRadixSort::SortKeysDescending(memory, needed, lists, count, 0, width, stream),
          "cub::DeviceRadixSort");
  };
  sort(nullptr);
  if (needed > sort_long_bytes(count))
    throw std::runtime_error("ktopk: cub::DeviceRadixSort needs " + std::to_string(needed) +
                             " bytes for " + std::to_string(count) + " keys, and has " +
                             std::to_string(sort_long_bytes(count)));
  sort(scratch);
  return lists.Current();
}

template CompositeKey64* sort_long(cudaStream_t, CompositeKey64*, CompositeKey64*, std::int64_t,
                                   int, void*);
template CompositeKey128* sort_long(cudaStream_t, CompositeKey128*, CompositeKey128*, std::int64_t,
                                    int, void*);

}  // namespace ktopk::detail::cuda
