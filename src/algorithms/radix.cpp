// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "radix.hpp"

#include <limits>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../arrange.hpp"
#include "radix_aim.hpp"
#include "radix_passes.hpp"
#include "radix_reading.hpp"

namespace ktopk::detail {

template <class Source, class Bits, class Item>
struct RadixSelection {
  Source source;
  RadixScratch<Item> scratch;
  WinnerSink<Bits, Item> sink;

  static constexpr bool of_keys = Source::Reader::reads_keys;
  using Aim = RadixAim<Source, Bits, Item>;

  KOKKOS_FUNCTION RadixDigits<Bits, Item, of_keys> digits() const {
    return {sink.map, scratch.digit_bits};
  }
  KOKKOS_FUNCTION int bins() const { return digits().bins(); }
  KOKKOS_FUNCTION Aim aim() const { return {source, digits()}; }

  /// Whether groups share the row.
  KOKKOS_FUNCTION bool is_shared(std::int64_t row) const {
    return source.size(row) >= scratch.shared_from;
  }

  /// Together: the state of a row before its first pass. `shared` has room for a sample.
  template <class Group>
  KOKKOS_FUNCTION void begin(Group const& group, std::int64_t row, void* shared) const {
    RadixRow<Item>& state = scratch.row_states[row];
    if (group.rank() == 0) start(state, row);
    group.barrier();
    if (!state.settled && aim().is_worth_it(state))
      aim().first(group, state, row, static_cast<typename Aim::Sample*>(shared));
    group.barrier();
  }

  /// Counts of a row that a group has to itself, if the shape has rows so long.
  template <class Group>
  KOKKOS_FUNCTION Count64* totals(Group const& group) const {
    auto const begin = static_cast<std::size_t>(radix_totals_begin<Item>(scratch.digit_bits));
    return group.template shared<Count64>(begin);
  }

  KOKKOS_FUNCTION void start(RadixRow<Item>& state, std::int64_t row) const {
    bool const active = source.active(row);
    std::int64_t const size = active ? source.size(row) : 0;
    std::int64_t const need = active ? source.wanted(row) : 0;
    Bounds<Item> const bounds = active ? source.bounds(row) : Bounds<Item>{0, ~Item{0}};
    Item const places = static_cast<Item>(sink.map.position_mask);
    Item const greatest = sink.map.join(std::numeric_limits<Bits>::max(), 0) | places;
    Item const most = bounds.most < greatest ? bounds.most : greatest;
    bool const all = need == 0 || need >= size;
    Item const least = all ? Item{0} : bounds.least & ~places;
    auto const written = static_cast<Count64>(active ? source.problem.winners(row) - need : 0);
    Range const room = room_for(row, size);
    state = {least, most | places, 0, 0, all, false, false, need, size, 0, room, 0, 0, written};
    digits().next(state);
  }

  /// The row's part of the buffer: by its place among the items of all rows, or what it claims first.
  KOKKOS_FUNCTION Range room_for(std::int64_t row, std::int64_t size) const {
    constexpr std::int64_t share = RadixScratch<Item>::buffer_share;
    if (scratch.buffer == nullptr) return {0, 0};
    if (!scratch.schedule.claims_are_limited) {
      std::int64_t const first = source.first(row);
      return {first / share, (first + size) / share};
    }
    std::int64_t const begin = scratch.schedule.claim(RadixClaim::buffered_item, size / share);
    std::int64_t const end = begin + size / share;
    return end <= source.problem.shape.keys() / share ? Range{begin, end} : Range{0, 0};
  }
  KOKKOS_FUNCTION RadixBuffer<Item> buffer_of(std::int64_t row) const {
    if (scratch.buffer == nullptr) return {nullptr, 0};
    Range const room = scratch.row_states[row].room;
    return {scratch.buffer + room.begin, room.end - room.begin};
  }

  /// Whether the pass also moves what may still win to the buffer.
  KOKKOS_FUNCTION bool filters(RadixRow<Item> const& state, std::int64_t row) const {
    return !state.in_buffer && state.left < source.size(row) &&
           state.left <= buffer_of(row).capacity;
  }

  /// What a pass has to read of a row.
  KOKKOS_FUNCTION std::int64_t lines_left(std::int64_t row) const {
    RadixRow<Item> const& state = scratch.row_states[row];
    if (state.in_buffer) return lines_of(static_cast<std::int64_t>(state.filled));
    return lines_of(source.size(row) + source.reader(row).lead(0));
  }

  template <class Group>
  KOKKOS_FUNCTION static void tally_read(Group const& group, Count what, Range range) {
    if (group.rank() == 0) tally(what, range.end - range.begin);
  }
  static constexpr Count source_reads = of_keys ? Count::keys_read : Count::items_read;

  KOKKOS_FUNCTION RadixReading<Bits, Item, of_keys> reading(RadixRow<Item>& state,
                                                            std::int64_t row) const {
    return {state, row, source.problem.winners(row), digits(), sink};
  }

  using ListReader = typename ListSource<std::uint8_t, Item>::Reader;

  template <class Group>
  KOKKOS_FUNCTION void count_part(Group const& group, RadixRow<Item>& state,
                                  RadixPiece const& piece, unsigned* histogram) const {
    std::int64_t const row = piece.row;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      auto const filled = static_cast<std::int64_t>(state.filled);
      Range const held = keys_in(piece.lines, filled, 0);
      part.count(group, ListReader{buffer_of(row).items}, held, state.left == filled, histogram);
      tally_read(group, Count::items_read, held);
      return;
    }
    auto const read = source.reader(row);
    Range const range = keys_in(piece.lines, source.size(row), read.lead(0));
    tally_read(group, source_reads, range);
    if (filters(state, row))
      part.filter(group, read, range, histogram, buffer_of(row));
    else
      part.count(group, read, range, state.left == source.size(row), histogram);
  }

  /// Finds the digit of the k-th item in the histogram and settles it.
  template <class Group, class Count>
  KOKKOS_FUNCTION void choose(Group const& group, RadixRow<Item>& state, Count const* histogram,
                              bool filtered, std::int64_t row, std::int64_t* sums) const {
    int const count = bins();
    int const slice = (count + group.size() - 1) / group.size();
    std::int64_t sum = 0;
    for (int d = group.rank() * slice; d < (group.rank() + 1) * slice && d < count; ++d)
      sum += static_cast<std::int64_t>(histogram[count - 1 - d]);
    sums[group.rank()] = sum;
    group.barrier();
    if (group.rank() == 0) {
      std::int64_t above = 0;
      int s = 0;
      while (above + sums[s] < state.need) above += sums[s++];
      int d = s * slice;
      std::int64_t here = static_cast<std::int64_t>(histogram[count - 1 - d]);
      while (above + here < state.need) {
        above += here;
        here = static_cast<std::int64_t>(histogram[count - 1 - ++d]);
      }
      state.need -= above;
      state.left = here;
      digits().keep_bin(state, count - 1 - d);
      finish_pass(state, filtered, row);
    }
    group.barrier();
  }

  /// By one thread: what is left of the row, now that its bin is known.
  KOKKOS_FUNCTION void finish_pass(RadixRow<Item>& state, bool filtered, std::int64_t row) const {
    state.settled = state.left == state.need;
    if constexpr (of_keys)
      if (!state.in_buffer && state.left == source.size(row) && digits().is_one_rank(state))
        digits().settle_equal(state, state.left);
    tally(Count::passes, 1);
    if (filtered) tally(Count::items_written, static_cast<std::int64_t>(state.filled));
    state.in_buffer = state.in_buffer || filtered;
  }

  template <class Group>
  KOKKOS_FUNCTION void gather_part(Group const& group, RadixPiece const& piece) const {
    std::int64_t const row = piece.row;
    RadixRow<Item>& state = scratch.row_states[row];
    if (state.need == 0) return;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      Range const held = keys_in(piece.lines, static_cast<std::int64_t>(state.filled), 0);
      part.gather(group, ListReader{buffer_of(row).items}, held);
      tally_read(group, Count::items_read, held);
    } else {
      auto const read = source.reader(row);
      Range const range = keys_in(piece.lines, source.size(row), read.lead(0));
      part.gather(group, read, range);
      tally_read(group, source_reads, range);
    }
    if (group.rank() == 0 && piece.lines.begin == 0) tally(Count::passes, 1);
  }
};

template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  WinnerSink<Bits, Item> const& sink) {
  using Selection = RadixSelection<Source, Bits, Item>;
  Selection const selection{source, scratch, sink};
  RadixSchedule const& schedule = scratch.schedule;
  RadixTaskList const gather = schedule.of_gather();
  int const shared = radix_shared_bytes(scratch);
  launch_each("ktopk::radix::clear", exec, schedule.counts(), schedule.clear());
  launch("ktopk::radix::row", exec, scratch.rows, shared,
         RadixRows<Selection>{selection, {schedule.of_pass(0), gather}});
  if (scratch.shared_rows == 0) return;
  constexpr int aimed_in_vain = 1;
  for (int pass = 0; pass < selection.digits().most_passes(aimed_in_vain); ++pass)
    launch("ktopk::radix::digit", exec, scratch.groups(), shared,
           RadixPass<Selection>{
               selection, schedule.of_pass(pass), {schedule.of_pass(pass + 1), gather}});
  launch("ktopk::radix::gather", exec, scratch.groups(), shared,
         RadixGather<Selection>{selection, gather});
}

template <class Item>
struct RadixPieces {
  RadixPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace), winners(pieces, shape, options), scratch(pieces, device, shape, true) {}
  Pieces pieces;
  Winners<Item> winners;
  RadixScratch<Item> scratch;
};

KTOPK_INLINE std::size_t Radix<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                         Options const& options) {
  return bytes_of<RadixPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Radix<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                         void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    RadixPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
    radix_select(exec, KeySource<Bits, Item>{problem, map}, work.scratch,
                 WinnerSink<Bits, Item>{problem, map, work.winners.items});
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_RADIX_SELECT(Space, Bits, Item)                                           \
  template void radix_select(Space const&, KeySource<Bits, Item> const&,                \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&); \
  template void radix_select(Space const&, ListSource<Bits, Item> const&,               \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&);
#define KTOPK_RADIX(Space)            \
  KTOPK_RUN_ON(Radix<Generic>, Space) \
  KTOPK_FOR_EACH_ITEM(KTOPK_RADIX_SELECT, Space)
KTOPK_INSTANTIATE(KTOPK_RADIX)
#undef KTOPK_RADIX
#undef KTOPK_RADIX_SELECT

static_assert(Implementation<Radix<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
