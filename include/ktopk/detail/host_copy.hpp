// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

// Several threads of the host that read its memory: one alone does not keep up with a bus.

namespace ktopk::detail {

/// How many threads copy together: more do not help, for memory is the limit.
inline int copying_threads() {
  constexpr unsigned most = 12;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, most));
}

/// Calls body(i) for i of 0 .. count - 1, which are long, by this thread and others.
template <class Body>
void on_some_threads(std::int64_t count, Body const& body) {
  std::atomic<std::int64_t> next{0};
  auto const work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> others;
  for (std::int64_t t = 1; t < std::min<std::int64_t>(count, copying_threads()); ++t)
    others.emplace_back(work);
  work();
}

/// Keys of some rows in the memory of the host.
template <class T>
struct HostRows {
  T const* keys;
  std::int64_t row_stride, step;  // in keys

  /// Of columns begin .. begin + columns - 1 of all rows, one row after the other, copies keys first .. first + count - 1.
  void copy(std::int64_t begin, std::int64_t columns, std::int64_t first, std::int64_t count,
            T* to) const {
    for (std::int64_t const end = first + count; first < end;) {
      std::int64_t const row = first / columns, column = first % columns;
      std::int64_t const here = std::min(columns - column, end - first);
      copy_neighbors(keys + row * row_stride + (begin + column) * step, here, to);
      first += here;
      to += here;
    }
  }

 private:
  void copy_neighbors(T const* from, std::int64_t count, T* to) const {
    if (step == 1)
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  }
};

}  // namespace ktopk::detail
