// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "delegate.hpp"

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../arrange.hpp"
#include "../group.hpp"
#include "../list_selection.hpp"

namespace ktopk::detail {

/// What the steps pass to each other.
template <class Item>
struct DelegateLists {
  Item* delegates;  // of a row first the best of each subrange, then the second best of each
  Item* chosen;     // the k best delegates
  Item* candidates;
  std::int64_t candidate_stride;
  Verdict* delegate_counts;
  Verdict* candidate_counts;
};

template <class Bits, class Item>
struct BuildDelegates {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<Item> lists;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    Range const blocks{plan.blocks * part / parts, plan.blocks * (part + 1) / parts};
    Item* const out = lists.delegates + row * plan.delegates();
    if (part == 0 && group.rank() == 0) {
      lists.delegate_counts[row] = {static_cast<Count64>(plan.delegates()), true};
      lists.candidate_counts[row] = {0, true};
    }
    constexpr int width = Group::neighbors;
    static_assert(DelegatePlan::lanes % width == 0);
    each(group, blocks.begin * plan.lanes / width, blocks.end * plan.lanes / width,
         [&](std::int64_t i) { build<width>(row, i * width, out); });
    if (group.rank() > 0 || blocks.begin == blocks.end) return;
    tally(Count::keys_read, plan.block_end(blocks.end - 1) - blocks.begin * plan.block_keys());
    tally(Count::delegates, (blocks.end - blocks.begin) * 2 * plan.lanes);
  }

  /// The delegates of `width` subranges that lie side by side.
  template <int width>
  KOKKOS_FUNCTION void build(std::int64_t row, std::int64_t subrange, Item* out) const {
    std::int64_t const block = subrange / plan.lanes, lane = subrange % plan.lanes;
    std::int64_t const begin = block * plan.block_keys() + lane, end = plan.block_end(block);
    Stored<Bits> const* const keys = problem.row_keys(row);
    auto const item = [&](std::int64_t i) {
      return map(keys[i * problem.key_step], static_cast<std::uint64_t>(i));
    };
    Item best[width], second[width];
    for (int l = 0; l < width; ++l) {
      Item const a = item(begin + l), b = item(begin + plan.lanes + l);
      best[l] = a > b ? a : b;
      second[l] = a > b ? b : a;
    }
    for (std::int64_t i = begin + 2 * plan.lanes; i < end; i += plan.lanes)
      for (int l = 0; l < width && i + l < end; ++l) offer(item(i + l), best[l], second[l]);
    for (int l = 0; l < width; ++l) {
      out[subrange + l] = best[l];
      out[plan.subranges() + subrange + l] = second[l];
    }
  }

  KOKKOS_FUNCTION static void offer(Item item, Item& best, Item& second) {
    if (item <= second) return;
    second = item > best ? best : item;
    best = item > best ? item : best;
  }
};

/// How many chosen delegates a group takes at a time. Those whose subranges are read again lie side by side among them.
inline std::int64_t chosen_chunk(std::int64_t k, std::int64_t parts) {
  return std::clamp<std::int64_t>(k / parts / 64 * 64, 64, team_size);
}

/// Lists the candidates. They are the chosen delegates and, in subranges of which both delegates are chosen (Rule 3),
/// the keys that reach the k-th delegate or a threshold not far below it (Rule 2; as in section 4.3, the last digits of
/// the threshold are not computed).
template <class Bits, class Item>
struct Concatenate {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<Item> lists;
  ListThreshold<Item> of_list;
  std::int64_t chunk;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    std::int64_t const chosen = problem.winners(row);
    if (part * chunk >= chosen) return;
    Item* const queue = group.template shared<Item>(appender_bytes<Item>());
    int* const queued = reinterpret_cast<int*>(queue + group.size());
    Appender<Item, Group> out(group, group.template shared<std::byte>(),
                              {lists.candidates + row * lists.candidate_stride},
                              &lists.candidate_counts[row].kept, lists.candidate_stride);
    ReadAgain again;
    for (std::int64_t begin = part * chunk; begin < chosen; begin += parts * chunk)
      for (std::int64_t first = begin; first < begin + chunk; first += group.size())
        again += add_stride(group, row, {first, end_of(begin, chosen)}, queue, queued, out);
    out.flush();
    tally(Count::candidates, again.wanted);
    if (group.rank() == 0) tally(Count::keys_read, again.keys);
  }

  KOKKOS_FUNCTION std::int64_t end_of(std::int64_t begin, std::int64_t chosen) const {
    return begin + chunk < chosen ? begin + chunk : chosen;
  }

  /// What a group reads again. It adds this to the counters once: to add for each key would take longer than the work.
  struct ReadAgain {
    std::int64_t keys = 0, wanted = 0;
    KOKKOS_FUNCTION void operator+=(ReadAgain const& more) {
      keys += more.keys;
      wanted += more.wanted;
    }
  };

  /// Adds a stride of the chosen delegates, and the candidates of their subranges.
  template <class Group, class Out>
  KOKKOS_FUNCTION ReadAgain add_stride(Group const& group, std::int64_t row, Range range,
                                       Item* queue, int* queued, Out& out) const {
    if (range.begin >= range.end) return {};
    Item const* const chosen = lists.chosen + row * problem.shape.k;
    ReadAgain again;
    if (group.rank() == 0) *queued = 0;
    group.barrier();
    std::int64_t const i = range.begin + group.rank();
    if (i < range.end) {
      ++again.wanted;
      out.add_if(true, chosen[i]);
      if (is_second(row, chosen[i])) queue[group.fetch_add(queued, 1)] = chosen[i];
    }
    group.barrier();
    flush_fuller(group, out);
    for (int q = 0; q < *queued; ++q) again += add_rest(group, row, queue[q], out);
    group.barrier();
    return again;
  }

  KOKKOS_FUNCTION std::int64_t subrange_of(Item item) const {
    return plan.subrange_of(static_cast<std::int64_t>(map.position(item)));
  }
  KOKKOS_FUNCTION bool is_second(std::int64_t row, Item item) const {
    Item const* const seconds = lists.delegates + row * plan.delegates() + plan.subranges();
    return seconds[subrange_of(item)] == item;
  }
  KOKKOS_FUNCTION Item threshold(std::int64_t row) const {
    return of_list(row, lists.chosen[row * problem.shape.k + problem.winners(row) - 1]);
  }

  /// Adds the candidates of a subrange that are none of its two delegates.
  template <class Group, class Out>
  KOKKOS_FUNCTION ReadAgain add_rest(Group const& group, std::int64_t row, Item second,
                                     Out& out) const {
    std::int64_t const subrange = subrange_of(second);
    std::int64_t const block = subrange / plan.lanes, lane = subrange % plan.lanes;
    std::int64_t const begin = block * plan.block_keys() + lane;
    std::int64_t const steps = (plan.block_end(block) - begin + plan.lanes - 1) / plan.lanes;
    Stored<Bits> const* const keys = problem.row_keys(row);
    Item const least = threshold(row);
    ReadAgain again{steps, 0};
    auto const read = [&](std::int64_t step) {
      std::int64_t const i = begin + step * plan.lanes;
      return map(keys[i * problem.key_step], static_cast<std::uint64_t>(i));
    };
    auto const visit = [&](Item item) {
      bool const wanted = item >= least && item < second;
      out.add_if(wanted, item);
      again.wanted += wanted;
    };
    each_together(group, {0, steps}, 0, read, visit, [&] { flush_fuller(group, out); });
    return again;
  }
};

template <class Item>
struct DelegateLayout {
  DelegateLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        selected(pieces, shape, options),
        plan(delegate_plan(device, shape)),
        parts(parts_of_row(device, shape.rows, shape.n)),
        lists{pieces.take<Item>(shape.rows * plan.delegates()),
              pieces.take<Item>(shape.rows * shape.k),
              pieces.take<Item>(shape.rows * plan.candidates(shape.k)),
              plan.candidates(shape.k),
              pieces.take<Verdict>(shape.rows),
              pieces.take<Verdict>(shape.rows)},
        inner(list_algorithm(options.inner, shape.k)),
        first(pieces, device, shape, inner, plan.delegates(), true),
        second(pieces, device, shape, inner, plan.candidates(shape.k), false) {
    // These are no longer read when the second selection overwrites them.
    if (inner != Algorithm::radix && selected.items == nullptr) selected.items = lists.chosen;
  }

  Pieces pieces;
  Winners<Item> selected;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<Item> lists;
  Algorithm inner;
  ListSelection<Item> first;
  ListSelection<Item> second;
};

KTOPK_INLINE std::size_t Delegate<Generic>::workspace_bytes(Device const& device,
                                                            Shape const& shape,
                                                            Options const& options) {
  return bytes_of<DelegateLayout>(device, shape, options);
}

/// Radix selects in place, but for a buffer of the last few: the prefix of a digit takes the place of the flag of
/// section 5.1. If Rule 3 leaves no subrange to read again, there are k candidates, which radix and bucket only copy.
template <class Exec, class Bits>
void Delegate<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                            void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    DelegateLayout<Item> const work(workspace, device_of(exec), shape, options);
    DelegateLists<Item> const& lists = work.lists;
    launch("ktopk::delegate::build", exec, shape.rows * work.parts, 0,
           BuildDelegates<Bits, Item>{problem, map, work.plan, work.parts, lists});
    list_select(exec,
                ListSource<Bits, Item>{problem, lists.delegates, work.plan.delegates(),
                                       lists.delegate_counts},
                work.first, WinnerSink<Bits, Item>{problem, map, lists.chosen});
    launch("ktopk::delegate::concatenate", exec, shape.rows * work.parts,
           appender_bytes<Item>() + static_cast<int>((team_size + 1) * sizeof(Item)),
           Concatenate<Bits, Item>{problem, map, work.plan, work.parts, lists,
                                   ListThreshold<Item>(work.first),
                                   chosen_chunk(shape.k, work.parts)});
    list_select(exec,
                ListSource<Bits, Item>{problem, lists.candidates, lists.candidate_stride,
                                       lists.candidate_counts},
                work.second, WinnerSink<Bits, Item>{problem, map, work.selected.items});
    arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_DELEGATE(Space) KTOPK_RUN_ON(Delegate<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_DELEGATE)
#undef KTOPK_DELEGATE

static_assert(Implementation<Delegate<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
