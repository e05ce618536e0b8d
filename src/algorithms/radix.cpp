// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "radix.hpp"

#include <algorithm>
#include <utility>

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../instantiate.hpp"
#include "../short_rows.hpp"

namespace ktopk::detail {

template <class Source, class Bits, class Item>
struct RadixSelection {
  Source source;
  RadixScratch<Item> scratch;
  WinnerSink<Bits, Item> sink;
  int width;

  KOKKOS_FUNCTION int bins() const { return 1 << scratch.digit_bits; }
  KOKKOS_FUNCTION std::int64_t row_of(std::int64_t group) const { return group / scratch.parts; }
  KOKKOS_FUNCTION std::int64_t part_of_group(std::int64_t group) const {
    return group % scratch.parts;
  }

  KOKKOS_FUNCTION void begin(std::int64_t row) const {
    RadixRow<Item>& state = scratch.row_states[row];
    bool const active = source.active(row);
    std::int64_t const size = active ? source.size(row) : 0;
    std::int64_t const need = active ? source.wanted(row) : 0;
    Bounds<Item> const bounds = active ? source.bounds(row) : Bounds<Item>{0, ~Item{0}};
    int const low = differing_bits(bounds);
    state = {low < width ? bounds.least >> low : Item{0}, low, need == 0 || need >= size, false, need, size,
             0, 0, 0, ~0ull, 0};
  }

  /// How many low bits are not the same in all items; the others are settled before the first digit.
  KOKKOS_FUNCTION int differing_bits(Bounds<Item> const& bounds) const {
    int low = 0;
    for (Item rest = bounds.least ^ bounds.most; rest != 0 && low < width; rest >>= 1) ++low;
    return low;
  }

  /// Where the row's part of the buffer begins, and how much of it there is.
  KOKKOS_FUNCTION Range buffer_of(std::int64_t row) const {
    if (scratch.buffer == nullptr) return {0, 0};
    std::int64_t const first = source.first(row);
    constexpr std::int64_t share = RadixScratch<Item>::buffer_share;
    return {first / share, (first + source.size(row)) / share};
  }

  /// Where the next digit ends. No digit holds bits of both rank and position.
  KOKKOS_FUNCTION int next_low(int low) const {
    int const boundary = low > sink.map.position_bits ? sink.map.position_bits : 0;
    return low - boundary > scratch.digit_bits ? low - scratch.digit_bits : boundary;
  }

  /// Histograms the next digit of the items that carry the prefix.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, RadixRow<Item>& state, Reader const& read,
                             Range range, unsigned* histogram) const {
    int const low = next_low(state.low);
    unsigned const mask = (1u << (state.low - low)) - 1u;
    if constexpr (Group::is_host && Reader::reads_keys) {
      KOKKOS_IF_ON_HOST((count_keys(state, read.scan(), range, histogram);))
      return;
    }
    if (state.low == width) {
      each(group, range.begin, range.end, [&](std::int64_t i) {
        group.fetch_add(&histogram[static_cast<unsigned>(read(i) >> low) & mask], 1u);
      });
      return;
    }
    each(group, range.begin, range.end, [&](std::int64_t i) {
      Item const item = read(i);
      if ((item >> state.low) == state.prefix)
        group.fetch_add(&histogram[static_cast<unsigned>(item >> low) & mask], 1u);
    });
  }

  /// The same on a host's keys.
  template <class Scan>
  void count_keys(RadixRow<Item>& state, Scan const& scan, Range range,
                  unsigned* histogram) const {
    int const low = next_low(state.low);
    int const digits = 1 << (state.low - low);
    if (state.low == width) {
      auto const common = scan.count_top(range.begin, range.end, low, digits, histogram);
      Kokkos::atomic_and(&state.common, static_cast<Count64>(common.all));
      Kokkos::atomic_or(&state.present, static_cast<Count64>(common.any));
      return;
    }
    unsigned const mask = static_cast<unsigned>(digits) - 1u;
    scan.visit_edge(range.begin, range.end, lowest(state), highest(state), [&](Item item) {
      if ((item >> state.low) == state.prefix)
        ++histogram[static_cast<unsigned>(item >> low) & mask];
    });
  }

  /// The first and the last item with the prefix, which some digit has been settled of.
  KOKKOS_FUNCTION Item lowest(RadixRow<Item> const& state) const {
    return state.low < width ? state.prefix << state.low : Item{0};
  }
  KOKKOS_FUNCTION Item highest(RadixRow<Item> const& state) const {
    return lowest(state) | ((Item{1} << state.low) - 1);
  }

  /// The same, and in the same read writes what has won and buffers what may still win.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, RadixRow<Item>& state, Reader const& read,
                              Range range, unsigned* histogram, std::int64_t row) const {
    Item const prefix = state.prefix;
    int const high = state.low, low = next_low(state.low);
    unsigned const mask = (1u << (high - low)) - 1u;
    Range const room = buffer_of(row);
    Appender<Item, Group::is_host> buffer({scratch.buffer + room.begin}, &state.filled,
                                          room.end - room.begin);
    Appender<Item, Group::is_host, PutWinner<Bits, Item>> winner({sink, row}, &state.emitted,
                                                                 source.wanted(row));
    auto const visit = [&](Item item) {
      Item const head = item >> high;
      winner.add_if(head > prefix, item);
      if (head != prefix) return;
      buffer.add_if(true, item);
      group.fetch_add(&histogram[static_cast<unsigned>(item >> low) & mask], 1u);
    };
    read_from(group, state, read, range, row, highest(state), visit);
    buffer.flush();
    winner.flush();
  }

  /// Calls visit(item) for every item from the prefix upwards; a host puts what is surely above `ceiling`
  /// into the sink instead, by whole blocks.
  template <class Group, class Reader, class Visit>
  KOKKOS_FUNCTION void read_from(Group const& group, RadixRow<Item>& state, Reader const& read,
                                 Range range, std::int64_t row, Item ceiling,
                                 Visit const& visit) const {
    if constexpr (Group::is_host && Reader::reads_keys) {
      KOKKOS_IF_ON_HOST((read.scan().split(
                             range.begin, range.end, lowest(state), ceiling, visit,
                             [&](Bits const* from, std::uint16_t const* hits, int found,
                                 std::int64_t first) {
                               put_hits(state, row, from, hits, found, first);
                             });))
    } else {
      each(group, range.begin, range.end, [&](std::int64_t i) { visit(read(i)); });
    }
  }

  void put_hits(RadixRow<Item>& state, std::int64_t row, Bits const* from,
                std::uint16_t const* hits, int found, std::int64_t first) const {
    Count64 const slot = Kokkos::atomic_fetch_add(&state.emitted, static_cast<Count64>(found));
    sink.put_hits(row, static_cast<std::int64_t>(slot), from, hits, found, first);
  }

  KOKKOS_FUNCTION bool filters(RadixRow<Item> const& state, std::int64_t row) const {
    Range const room = buffer_of(row);
    return !state.in_buffer && state.low < width && state.left <= room.end - room.begin;
  }

  template <class Group>
  KOKKOS_FUNCTION static void tally_read(Group const& group, Count what, Range range) {
    if (group.rank() == 0) tally(what, range.end - range.begin);
  }
  static constexpr Count source_reads =
      decltype(std::declval<Source const&>().reader(0))::reads_keys ? Count::keys_read
                                                                     : Count::items_read;

  template <class Group>
  KOKKOS_FUNCTION void count_part(Group const& group, RadixRow<Item>& state, std::int64_t row,
                                  std::int64_t part, unsigned* histogram) const {
    if (state.in_buffer) {
      typename ListReader::Reader const read{scratch.buffer + buffer_of(row).begin};
      Range const held = part_of(static_cast<std::int64_t>(state.filled), part, scratch.parts);
      count(group, state, read, held, histogram);
      tally_read(group, Count::items_read, held);
      return;
    }
    Range const range = part_of(source.size(row), part, scratch.parts);
    tally_read(group, source_reads, range);
    if (filters(state, row))
      filter(group, state, source.reader(row), range, histogram, row);
    else
      count(group, state, source.reader(row), range, histogram);
  }

  /// Finds the digit of the k-th item in the histogram and settles it.
  template <class Group, class Count>
  KOKKOS_FUNCTION void choose(Group const& group, RadixRow<Item>& state, Count const* histogram,
                              bool filtered, std::int64_t* sums) const {
    int const low = next_low(state.low);
    int const digits = 1 << (state.low - low);
    int const slice = (digits + group.size() - 1) / group.size();
    std::int64_t sum = 0;
    for (int d = group.rank() * slice; d < (group.rank() + 1) * slice && d < digits; ++d)
      sum += static_cast<std::int64_t>(histogram[digits - 1 - d]);
    sums[group.rank()] = sum;
    group.barrier();
    if (group.rank() == 0) {
      std::int64_t above = 0;
      int s = 0;
      while (above + sums[s] < state.need) above += sums[s++];
      int d = s * slice;
      std::int64_t here = static_cast<std::int64_t>(histogram[digits - 1 - d]);
      while (above + here < state.need) {
        above += here;
        here = static_cast<std::int64_t>(histogram[digits - 1 - ++d]);
      }
      state.prefix = (state.prefix << (state.low - low)) | static_cast<Item>(digits - 1 - d);
      state.low = low;
      state.need -= above;
      state.left = here;
      state.settled = state.left == state.need;
      pass_common_bits(state);
      tally(detail::Count::passes, 1);
      if (filtered) tally(detail::Count::items_written, static_cast<std::int64_t>(state.filled));
      state.in_buffer = state.in_buffer || filtered;
    }
    group.barrier();
  }

  /// Settles further bits of the rank that all items are known to share.
  KOKKOS_FUNCTION void pass_common_bits(RadixRow<Item>& state) const {
    if ((state.common & ~state.present) != 0) return;
    int low = sink.map.position_bits;
    for (Count64 differing = state.common ^ state.present; differing != 0; differing >>= 1) ++low;
    if (low >= state.low) return;
    state.prefix = static_cast<Item>(state.common) >> (low - sink.map.position_bits);
    state.low = low;
  }

  /// Writes every item from the threshold upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather_from(Group const& group, RadixRow<Item>& state, Reader const& read,
                                   Range range, std::int64_t row) const {
    Item const threshold = lowest(state);
    Appender<Item, Group::is_host, PutWinner<Bits, Item>> winner({sink, row}, &state.emitted,
                                                                 source.wanted(row));
    read_from(group, state, read, range, row, threshold,
              [&](Item item) { winner.add_if(item >= threshold, item); });
    winner.flush();
  }

  template <class Group>
  KOKKOS_FUNCTION void gather_part(Group const& group, std::int64_t row, std::int64_t part) const {
    RadixRow<Item>& state = scratch.row_states[row];
    if (state.need == 0) return;
    if (state.in_buffer) {
      typename ListReader::Reader const read{scratch.buffer + buffer_of(row).begin};
      Range const held = part_of(static_cast<std::int64_t>(state.filled), part, scratch.parts);
      gather_from(group, state, read, held, row);
      tally_read(group, Count::items_read, held);
    } else {
      Range const range = part_of(source.size(row), part, scratch.parts);
      gather_from(group, state, source.reader(row), range, row);
      tally_read(group, source_reads, range);
    }
    if (group.rank() == 0 && part == 0) tally(Count::passes, 1);
  }

  using ListReader = ListSource<std::uint8_t, Item>;
};

template <class Group>
KOKKOS_FUNCTION void clear(Group const& group, unsigned* histogram, int bins) {
  each(group, 0, bins, [&](std::int64_t b) { histogram[b] = 0; });
  group.barrier();
}

/// What a group shares: a histogram, then the sums of slices, then a flag.
inline int radix_shared_bytes(int digit_bits) {
  return static_cast<int>((sizeof(unsigned) << digit_bits) + (team_size + 1) * sizeof(std::int64_t));
}

/// One digit of rows that several groups share; the last group of a row merges and chooses.
template <class Selection>
struct RadixPass {
  Selection selection;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = selection.row_of(group.index());
    auto& state = selection.scratch.row_states[row];
    if (state.settled) return;
    int const bins = selection.bins();
    auto* const histogram = group.template shared<unsigned>();
    auto* const sums = group.template shared<std::int64_t>(sizeof(unsigned) * bins);
    bool const filtered = selection.filters(state, row);
    clear(group, histogram, bins);
    selection.count_part(group, state, row, selection.part_of_group(group.index()), histogram);
    group.barrier();
    Count64* const merged = selection.scratch.histograms + row * bins;
    each(group, 0, bins, [&](std::int64_t b) {
      if (histogram[b] != 0)
        Kokkos::atomic_add(&merged[b], static_cast<Count64>(histogram[b]));
    });
    auto* const flag = reinterpret_cast<int*>(sums + team_size);
    if (!last_to_arrive(group, &state.arrived, selection.scratch.parts, flag)) return;
    selection.choose(group, state, merged, filtered, sums);
    each(group, 0, bins, [&](std::int64_t b) { merged[b] = 0; });
  }
};

template <class Selection>
struct RadixGather {
  Selection selection;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    selection.gather_part(group, selection.row_of(group.index()),
                          selection.part_of_group(group.index()));
  }
};

/// All digits of a row that one group has to itself.
template <class Selection>
struct RadixWholeRow {
  Selection selection;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    auto& state = selection.scratch.row_states[row];
    if (group.rank() == 0) selection.begin(row);
    group.barrier();
    int const bins = selection.bins();
    auto* const histogram = group.template shared<unsigned>();
    auto* const sums = group.template shared<std::int64_t>(sizeof(unsigned) * bins);
    while (!state.settled) {
      bool const filtered = selection.filters(state, row);
      clear(group, histogram, bins);
      selection.count_part(group, state, row, 0, histogram);
      group.barrier();
      selection.choose(group, state, histogram, filtered, sums);
    }
    selection.gather_part(group, row, 0);
  }
};

template <class Selection>
struct RadixBegin {
  Selection selection;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const bins = selection.bins();
    selection.scratch.histograms[i] = 0;
    if (i % bins == 0) selection.begin(i / bins);
  }
};

template <class Source>
bool any_active(Source const& source, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (source.active(row)) return true;
  return false;
}

template <class Item>
bool all_settled(RadixScratch<Item> const& scratch) {
  return std::all_of(scratch.row_states, scratch.row_states + scratch.rows,
                     [](RadixRow<Item> const& state) { return state.settled; });
}

template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  WinnerSink<Bits, Item> const& sink) {
  using Selection = RadixSelection<Source, Bits, Item>;
  Selection const selection{source, scratch, sink, sink.map.width()};
  int const shared = radix_shared_bytes(scratch.digit_bits);
  if constexpr (runs_at_once<Exec>)
    if (!any_active(source, scratch.rows)) return;
  if (scratch.parts == 1) {
    launch("ktopk::radix::row", exec, scratch.rows, shared, RadixWholeRow<Selection>{selection});
    return;
  }
  std::int64_t const groups = scratch.rows * scratch.parts;
  launch_each("ktopk::radix::begin", exec, scratch.rows << scratch.digit_bits,
              RadixBegin<Selection>{selection});
  for (int low = selection.width; low > 0; low = selection.next_low(low)) {
    if constexpr (runs_at_once<Exec>)
      if (all_settled(scratch)) break;
    launch("ktopk::radix::digit", exec, groups, shared, RadixPass<Selection>{selection});
  }
  launch("ktopk::radix::gather", exec, groups, shared, RadixGather<Selection>{selection});
}

template <class Item>
struct RadixPieces {
  RadixPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        winners(pieces, shape, options),
        scratch(pieces, device, shape.rows, shape.n, shape.keys(), true) {}
  Pieces pieces;
  Winners<Item> winners;
  RadixScratch<Item> scratch;
};

KTOPK_INLINE std::size_t Radix<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                            Options const& options) {
  if (are_short_rows(device, shape)) return 0;
  return bytes_of<RadixPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Radix<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                         void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    if (are_short_rows(device_of(exec), problem.shape)) {
      launch("ktopk::radix::short_rows", exec, problem.shape.rows, 0,
             ShortRows<Bits, Item>{{problem, map, nullptr}, pick_host_loops<Bits>(), options.sorted});
      return;
    }
    RadixPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
    radix_select(exec, KeySource<Bits, Item>{problem, map, nullptr, pick_host_loops<Bits>()},
                 work.scratch, WinnerSink<Bits, Item>{problem, map, work.winners.items});
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_RADIX_SELECT(Space, Bits, Item)                                             \
  template void radix_select(Space const&, KeySource<Bits, Item> const&,                  \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&);   \
  template void radix_select(Space const&, ListSource<Bits, Item> const&,                 \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&);
#define KTOPK_RADIX(Space)                          \
  KTOPK_RUN_ON(Radix<Generic>, Space)               \
  KTOPK_FOR_EACH_ITEM(KTOPK_RADIX_SELECT, Space)
KTOPK_INSTANTIATE(KTOPK_RADIX)
#undef KTOPK_RADIX
#undef KTOPK_RADIX_SELECT

static_assert(Room<Radix<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
