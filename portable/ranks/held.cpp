// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "held.hpp"

#include <algorithm>

#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/rank_call.hpp>

#include "../bisection/lanes.hpp"
#include "search.hpp"

namespace ktopk::detail {

template <class Bits>
struct RankHeldRows {
  using CompositeKey = BisectionCompositeKey<Bits>;

  RankSearch<StoredRows<Bits>> search;
  SelectedSink<StoredRows<Bits>, CompositeKey> sink;  // for the rows and their map; nothing is put
  KeyLoads loads;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group& group) const {
    std::int64_t const row = group.index();
    int const n = row < sink.problem.shape.rows ? static_cast<int>(sink.problem.shape.n) : 0;
    HeldRow<Group, Bits, CompositeKey, most_held<Bits>> held(group, sink, n);
    held.read(loads);
    int const each = search.request.keys_of_value();
    RankFound<Bits> found{false, 0, 0, n};
    for (int key = 0; key < search.keys; ++key) {
      std::int64_t const nth = n > 0 ? search.request.nth(row, search.first, key, n) : 0;
      found.first = found.second;
      found.second = find(group, held, nth > 0 ? static_cast<int>(nth) : 1);
      if (each == 1) found.first = found.second;
      found.exists = nth > 0;
      bool const is_last = key % each == each - 1;
      if (is_last && n > 0 && group.rank() == 0) search.store_found(found, row, key / each);
    }
  }

 private:
  /// The k-th best key. All groups of the team call it together.
  template <class Group, class Row>
  KOKKOS_FORCEINLINE_FUNCTION Bits find(Group& group, Row const& held, int k) const {
    group.barrier();  // what the extremes of the last call lie in is read
    LaneSearch<Bits, typename Row::Keys> bisection(sink.map.rank, {}, held.first_interval(k, true),
                                                   k, 0, 0, held.reaching(0), held.none());
    find_interval(group, held, bisection);
    return held.least_reaching(bisection.interval().low);
  }
};

/// Bisection counts the keys of a row for each rank anew; the passes of the other search have a price of their own, and
/// that of a further rank is small.
/// \see perf/results/h200-ranks.csv, perf/notebook/portable.md
inline bool is_worth_bisecting(std::int64_t n, int key_bytes, std::int64_t keys) {
  return keys * n * std::max(key_bytes, 4) <= 36'000 + 7'700 * keys;
}

template <class Bits>
bool are_ranks_held(RankCall<StoredRows<Bits>> const& call) {
  Shape const& shape = call.shape;
  std::int64_t const keys =
      std::min<std::int64_t>(shape.k * call.request.keys_of_value(), most_ranks);
  return !shape.ragged && !call.skips_nan && shape.n > 0 && fits_lanes<Bits>(shape.n) &&
         is_worth_bisecting(shape.n, sizeof(Bits), keys);
}

template <class Exec, class Bits>
void find_held_ranks(Exec const& exec, RankCall<StoredRows<Bits>> const& call) {
  using Body = RankHeldRows<Bits>;
  Shape const& shape = call.shape;
  auto const problem = make_problem(shape, call.rows);
  auto const map =
      make_composite_key_map<typename Body::CompositeKey>(call.rank, shape.n, Ties::lowest_index);
  int const lanes = std::max(lanes_for<Bits>(shape.n), forced_lanes.load());
  int const bytes = lanes * static_cast<int>(sizeof(LaneExtremes<HeldBits<Bits>>));
  RankLayout<Bits> const none(nullptr, device_of(exec), shape, 1);
  std::int64_t const each = call.request.keys_of_value(), at_once = call.request.most_values();
  for (std::int64_t first = 0; first < shape.k; first += at_once) {
    auto const values = static_cast<int>(std::min(at_once, shape.k - first));
    RankSearch<StoredRows<Bits>> const search{call.rows,    call.rank,
                                              call.worst,   Bits{0},
                                              call.out,     call.request_from(first),
                                              none.scratch, first,
                                              values,       static_cast<int>(values * each)};
    launch_lanes("ktopk::ranks::held", exec, shape.rows, lanes,
                 call.rows.step == 1 ? Neighbors::lanes : Neighbors::groups, (bytes + 15) / 16 * 16,
                 Body{search, {problem, map, nullptr}, loads_of(problem)});
  }
}

#define KTOPK_HELD_RANKS(Space, Bits) \
  template void find_held_ranks(Space const&, RankCall<StoredRows<Bits>> const&);
#define KTOPK_HELD_RANKS_ON(Space)       \
  KTOPK_HELD_RANKS(Space, std::uint8_t)  \
  KTOPK_HELD_RANKS(Space, std::uint16_t) \
  KTOPK_HELD_RANKS(Space, std::uint32_t) \
  KTOPK_HELD_RANKS(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_HELD_RANKS_ON)
#undef KTOPK_HELD_RANKS_ON
#undef KTOPK_HELD_RANKS

#if !defined(KTOPK_HEADER_ONLY)
template bool are_ranks_held(RankCall<StoredRows<std::uint8_t>> const&);
template bool are_ranks_held(RankCall<StoredRows<std::uint16_t>> const&);
template bool are_ranks_held(RankCall<StoredRows<std::uint32_t>> const&);
template bool are_ranks_held(RankCall<StoredRows<std::uint64_t>> const&);
#endif

}  // namespace ktopk::detail
