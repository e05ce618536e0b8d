// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "delegate.hpp"

#include <ktopk/core/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../finish/arrange.hpp"
#include "../finish/list_selection.hpp"
#include "../run/launch.hpp"

namespace ktopk::detail {

/// What the steps pass to each other.
template <class CompositeKey>
struct DelegateLists {
  CompositeKey* delegates;  // of a row first the best of each subrange, then the second best of
                            // each
  CompositeKey* chosen;     // the k best delegates
  CompositeKey* candidates;
  std::int64_t candidate_stride;
  RowValidation* delegate_counts;
  RowValidation* candidate_counts;
};

template <class Bits, class CompositeKey>
struct BuildDelegates {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<CompositeKey> lists;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    Range const blocks{plan.blocks * part / parts, plan.blocks * (part + 1) / parts};
    CompositeKey* const out = lists.delegates + row * plan.delegates();
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
  KOKKOS_FUNCTION void build(std::int64_t row, std::int64_t subrange, CompositeKey* out) const {
    std::int64_t const block = subrange / plan.lanes, lane = subrange % plan.lanes;
    std::int64_t const begin = block * plan.block_keys() + lane, end = plan.block_end(block);
    Stored<Bits> const* const keys = problem.rows.pointer(row);
    auto const composite = [&](std::int64_t i) {
      return map(keys[i * problem.rows.step], static_cast<std::uint64_t>(i));
    };
    CompositeKey best[width], second[width];
    for (int l = 0; l < width; ++l) {
      CompositeKey const a = composite(begin + l), b = composite(begin + plan.lanes + l);
      best[l] = a > b ? a : b;
      second[l] = a > b ? b : a;
    }
    for (std::int64_t i = begin + 2 * plan.lanes; i < end; i += plan.lanes)
      for (int l = 0; l < width && i + l < end; ++l) offer(composite(i + l), best[l], second[l]);
    for (int l = 0; l < width; ++l) {
      out[subrange + l] = best[l];
      out[plan.subranges() + subrange + l] = second[l];
    }
  }

  KOKKOS_FUNCTION static void offer(CompositeKey composite, CompositeKey& best,
                                    CompositeKey& second) {
    if (composite <= second) return;
    second = composite > best ? best : composite;
    best = composite > best ? composite : best;
  }
};

/// How many chosen delegates a group takes at a time. Those whose subranges are read again lie side by side among them.
inline std::int64_t chosen_chunk(std::int64_t k, std::int64_t parts) {
  return std::clamp<std::int64_t>(k / parts / 64 * 64, 64, team_size);
}

/// Lists the candidates. They are the chosen delegates and, in subranges of which both delegates are chosen (Rule 3),
/// the keys that reach the k-th delegate or a threshold not far below it (Rule 2; as in section 4.3, the last digits of
/// the threshold are not computed).
template <class Bits, class CompositeKey>
struct Concatenate {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<CompositeKey> lists;
  ListThreshold<CompositeKey> of_list;
  std::int64_t chunk;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    std::int64_t const chosen = problem.selected_count(row);
    if (part * chunk >= chosen) return;
    CompositeKey* const queue = group.template shared<CompositeKey>(appender_bytes<CompositeKey>());
    int* const queued = reinterpret_cast<int*>(queue + group.size());
    Appender<CompositeKey, Group> out(group, group.template shared<std::byte>(),
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
                                       CompositeKey* queue, int* queued, Out& out) const {
    if (range.begin >= range.end) return {};
    CompositeKey const* const chosen = lists.chosen + row * problem.shape.k;
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

  KOKKOS_FUNCTION std::int64_t subrange_of(CompositeKey composite) const {
    return plan.subrange_of(static_cast<std::int64_t>(map.position(composite)));
  }
  KOKKOS_FUNCTION bool is_second(std::int64_t row, CompositeKey composite) const {
    CompositeKey const* const seconds = lists.delegates + row * plan.delegates() + plan.subranges();
    return seconds[subrange_of(composite)] == composite;
  }
  KOKKOS_FUNCTION CompositeKey threshold(std::int64_t row) const {
    return of_list(row, lists.chosen[row * problem.shape.k + problem.selected_count(row) - 1]);
  }

  /// Adds the candidates of a subrange that are none of its two delegates.
  template <class Group, class Out>
  KOKKOS_FUNCTION ReadAgain add_rest(Group const& group, std::int64_t row, CompositeKey second,
                                     Out& out) const {
    std::int64_t const subrange = subrange_of(second);
    std::int64_t const block = subrange / plan.lanes, lane = subrange % plan.lanes;
    std::int64_t const begin = block * plan.block_keys() + lane;
    std::int64_t const steps = (plan.block_end(block) - begin + plan.lanes - 1) / plan.lanes;
    Stored<Bits> const* const keys = problem.rows.pointer(row);
    CompositeKey const least = threshold(row);
    ReadAgain again{steps, 0};
    auto const read = [&](std::int64_t step) {
      std::int64_t const i = begin + step * plan.lanes;
      return map(keys[i * problem.rows.step], static_cast<std::uint64_t>(i));
    };
    auto const visit = [&](CompositeKey composite) {
      bool const wanted = composite >= least && composite < second;
      out.add_if(wanted, composite);
      again.wanted += wanted;
    };
    each_together(group, {0, steps}, 0, read, visit, [&] { flush_fuller(group, out); });
    return again;
  }
};

template <class CompositeKey>
struct DelegateLayout {
  DelegateLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        selected(layout, shape, options),
        plan(delegate_plan(device, shape)),
        parts(parts_of_row(device, shape.rows, shape.n)),
        lists{layout.take<CompositeKey>(shape.rows * plan.delegates()),
              layout.take<CompositeKey>(shape.rows * shape.k),
              layout.take<CompositeKey>(shape.rows * plan.candidates(shape.k)),
              plan.candidates(shape.k),
              layout.take<RowValidation>(shape.rows),
              layout.take<RowValidation>(shape.rows)},
        inner(list_algorithm(options.inner, shape.k)),
        first(layout, device, shape, inner, plan.delegates(), true),
        second(layout, device, shape, inner, plan.candidates(shape.k), false) {
    // These are no longer read when the second selection overwrites them.
    if (inner != Algorithm::radix && selected.composites == nullptr)
      selected.composites = lists.chosen;
  }

  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  DelegatePlan plan;
  std::int64_t parts;
  DelegateLists<CompositeKey> lists;
  Algorithm inner;
  ListSelection<CompositeKey> first;
  ListSelection<CompositeKey> second;
};

KTOPK_INLINE std::size_t Delegate<Generic>::workspace_bytes(Device const& device,
                                                            Shape const& shape,
                                                            Options const& options) {
  return bytes_of<DelegateLayout>(device, shape, options);
}

/// Radix selects in place, but for a buffer of the last few: the prefix of a digit takes the place of the flag of
/// section 5.1. If Rule 3 leaves no subrange to read again, there are k candidates, which radix and bucket only copy.
template <class Exec, class Bits>
void Delegate<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                            Options const& options, void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    Shape const& shape = problem.shape;
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    DelegateLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    DelegateLists<CompositeKey> const& lists = work.lists;
    launch("ktopk::delegate::build", exec, shape.rows * work.parts, 0,
           BuildDelegates<Bits, CompositeKey>{problem, map, work.plan, work.parts, lists});
    list_select(exec,
                ListSource<StoredRows<Bits>, CompositeKey>{
                    problem, lists.delegates, work.plan.delegates(), lists.delegate_counts},
                work.first,
                SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, lists.chosen});
    launch(
        "ktopk::delegate::concatenate", exec, shape.rows * work.parts,
        appender_bytes<CompositeKey>() + static_cast<int>((team_size + 1) * sizeof(CompositeKey)),
        Concatenate<Bits, CompositeKey>{problem, map, work.plan, work.parts, lists,
                                        ListThreshold<CompositeKey>(work.first),
                                        chosen_chunk(shape.k, work.parts)});
    list_select(
        exec,
        ListSource<StoredRows<Bits>, CompositeKey>{problem, lists.candidates,
                                                   lists.candidate_stride, lists.candidate_counts},
        work.second,
        SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, work.selected.composites});
    arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_DELEGATE(Space) KTOPK_RUN_ON(Delegate<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_DELEGATE)
#undef KTOPK_DELEGATE

static_assert(Implementation<Delegate<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
