// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bucket.hpp"

#include "../instantiate.hpp"
#include "../list_selection.hpp"

namespace ktopk::detail {

struct BucketSplitting {
  static constexpr int ways = Bucket<Generic>::ways;
  static constexpr int passes = 8;
  static constexpr int most_probes = 0;
  static constexpr bool surveys = true;
  static constexpr NarrowLabels labels{"ktopk::bucket::begin", "ktopk::bucket::ends",
                                       "ktopk::bucket::pass", "ktopk::bucket::finish",
                                       "ktopk::bucket::rows"};

  /// Equal parts of numbers. Of items, which are spread as the keys' exponents are and tell equal keys
  /// apart, where numbers have left more than half of the source, and from the sixth pass on.
  template <class Group, class Reader, class Bits, class Item>
  KOKKOS_FUNCTION static void choose(Group const& group, NarrowRow<Item> const& state,
                                     Reader const&, ItemMap<Bits, Item> const& map, Item* splitters,
                                     Item*) {
    if (group.rank() != 0) return;
    bool const stuck = state.pass > 0 && 2 * (state.reaching - state.above) > state.size;
    bool const by_numbers = !stuck && state.pass < 5;
    if (by_numbers && split_numbers(map, state.low, state.high, ways, splitters)) return;
    split_equally(state.low, state.high, ways, splitters);
  }
};

KTOPK_INLINE std::size_t Bucket<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                          Options const& options) {
  return narrow_bytes<BucketSplitting>(device, shape, options);
}

template <class Exec, class Bits>
void Bucket<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                          void* workspace) {
  select_by<BucketSplitting>(exec, problem, options, workspace);
}

template <class Exec, class Item>
void bucket_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                   NarrowWork<Item> const& work, WinnerSink<ListBits<Item>, Item> const& sink) {
  narrow_select<BucketSplitting>(exec, source, work, sink);
}

#define KTOPK_BUCKET(Space)            \
  KTOPK_RUN_ON(Bucket<Generic>, Space) \
  KTOPK_LIST_SELECT(bucket_select, NarrowWork, Space)
KTOPK_INSTANTIATE(KTOPK_BUCKET)
#undef KTOPK_BUCKET

static_assert(Implementation<Bucket<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
