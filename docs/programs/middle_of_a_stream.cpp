// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "show.hpp"

using Exec = Kokkos::DefaultExecutionSpace;
constexpr int chunks = 4, length = 1000, n = chunks * length, m = 16, capacity = 100;

KOKKOS_FUNCTION int key(int i) { return i * 7919 % 10007 / (i / length + 1); }
void read(Exec const& exec, int c, Kokkos::View<int*> const& chunk) {
  Kokkos::parallel_for(
      Kokkos::RangePolicy<Exec>(exec, 0, length),
      KOKKOS_LAMBDA(int i) { chunk(i) = key(c * length + i); });
}
struct Between {
  Kokkos::View<int*> keys;
  int low, high;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return low < keys(i) && keys(i) < high; }
};
template <class View>
auto on_host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

int main() {
  Kokkos::ScopeGuard const kokkos;
  Exec const exec;
  Kokkos::View<int*> const chunk("chunk", length), bounds("bounds", m), kept("kept", capacity);
  Kokkos::View<std::int64_t*> const better("better", m), equal("equal", m);
  Kokkos::View<std::int64_t> const found("found");
  Kokkos::View<int> const median("median"), threshold("threshold");

  // The r-th largest is between `low` and `high`. At first these are below and above all keys.
  std::int64_t const r = n - (n - 1) / 2;
  int low = -1, high = 10007, reads = 0;
  std::int64_t above_low = n, from_high = 0;  // how many keys are above `low`, and not below `high`
  bool is_found = false;

  // The first bounds are keys of the first chunk.
  read(exec, 0, chunk);
  std::array<std::int64_t, m> ranks;
  for (int i = 0; i < m; ++i) ranks[i] = (2 * i + 1) * length / (2 * m);
  ktopk::ranks(exec, chunk, ranks, bounds);

  for (; !is_found && above_low - from_high > capacity; ++reads) {
    std::array<std::int64_t, m> b{}, e{};
    for (int c = 0; c < chunks; ++c) {
      read(exec, c, chunk);
      ktopk::count(exec, chunk, bounds, better, equal);
      auto const more_better = on_host(better), more_equal = on_host(equal);
      for (int i = 0; i < m; ++i) b[i] += more_better(i), e[i] += more_equal(i);
    }
    auto const bound = on_host(bounds);
    int i = 0;
    while (i < m && b[i] + e[i] < r) ++i;
    is_found = i < m && b[i] < r;  // it is bound i, which is the new `low`
    if (i > 0) high = bound(i - 1), from_high = b[i - 1] + e[i - 1];
    if (i < m) low = bound(i), above_low = b[i];
    for (int j = 0; j < m; ++j) bound(j) = high - (std::int64_t{high} - low) * (j + 1) / (m + 1);
    Kokkos::deep_copy(bounds, bound);
  }

  Kokkos::deep_copy(median, low);
  if (!is_found) {  // keep the keys between, and select from them
    Kokkos::deep_copy(threshold, low);
    std::int64_t have = 0;
    for (int c = 0; c < chunks; ++c) {
      read(exec, c, chunk);
      auto const inside = ktopk::where(chunk, Between{chunk, low, high});
      auto const rest =
          Kokkos::subview(kept, Kokkos::pair<std::int64_t, std::int64_t>(have, capacity));
      ktopk::reaching(exec, inside, threshold, rest, ktopk::nothing, found);
      have += on_host(found)();
    }
    ++reads;
    auto const all_kept = Kokkos::subview(kept, Kokkos::pair<std::int64_t, std::int64_t>(0, have));
    ktopk::kth(exec, all_kept, r - from_high, median);
  }
  show("median", median);
  std::printf("reads: %d\n", reads);

  std::vector<int> all(n);
  for (int i = 0; i < n; ++i) all[i] = key(i);
  std::sort(all.begin(), all.end());
  std::printf("by a sort: %d\n", all[(n - 1) / 2]);
}
