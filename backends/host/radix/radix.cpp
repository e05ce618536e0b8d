// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "radix.hpp"

#include <algorithm>

#include <ktopk/core/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../store_selected.hpp"
#include "aim.hpp"
#include "passes.hpp"
#include "reading.hpp"
#include "select.hpp"

namespace ktopk::detail {
namespace host {

template <class Source, class Bits, class CompositeKey>
using RadixStatesOf = RadixStates<Source, BulkSink<Bits, CompositeKey>,
                                  HostDigits<Bits, CompositeKey, Source::Reader::reads_keys>,
                                  RadixScratch<CompositeKey>>;

template <class Source, class Bits, class CompositeKey>
struct RadixSelection : RadixStatesOf<Source, Bits, CompositeKey> {
  using States = RadixStatesOf<Source, Bits, CompositeKey>;
  using States::bins, States::buffer_of, States::digits;
  using States::of_keys, States::source_reads, States::source, States::scratch, States::sink;

  RadixAim<Source, Bits, CompositeKey> aim() const { return {source, digits()}; }

  /// How many keys are read in the time in which one bin is added to that of the other parts.
  static constexpr std::int64_t keys_worth_a_merge = 8;

  /// Limits the bins to as many as pay, if so many composite keys are read at a time.
  void suit_digits(std::int64_t composites) {
    scratch.digit_bits = std::min(scratch.digit_bits, scratch.digit_bits_for(composites));
  }

  /// The state of a row before its first pass.
  void begin(std::int64_t row) const {
    RadixRow<CompositeKey>& state = scratch.row_states[row];
    this->start(state, row);
    if (!state.settled && aim().is_worth_it(state)) aim().first(state, row);
  }

  /// Whether the pass also moves the keys that may still be selected to the buffer.
  bool filters(RadixRow<CompositeKey> const& state, std::int64_t row) const {
    if (of_keys && counts_places(digits(), state)) return false;
    return States::filters(state, row);
  }

  /// What a pass has to read of a row. The tasks that ask are written for devices too.
  KOKKOS_FUNCTION std::int64_t lines_left(std::int64_t row) const {
    RadixRow<CompositeKey> const& state = scratch.row_states[row];
    return lines_of(state.in_buffer ? static_cast<std::int64_t>(state.filled) : source.size(row));
  }

  void count_part(RadixRow<CompositeKey>& state, RadixPiece const& piece,
                  unsigned* histogram) const {
    std::int64_t const row = piece.row;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      auto const filled = static_cast<std::int64_t>(state.filled);
      Range const held = keys_in(piece.lines, filled, 0);
      part.count(ListReader{buffer_of(row).composites}, held, state.left == filled, histogram);
      tally(Count::composites_read, held.end - held.begin);
      return;
    }
    auto const read = source.reader(row);
    Range const range = keys_in(piece.lines, source.size(row), 0);
    tally(source_reads, range.end - range.begin);
    if (filters(state, row))
      part.filter(read, range, histogram, buffer_of(row));
    else
      part.count(read, range, state.left == source.size(row), histogram);
  }

  /// Finds the digit of the k-th composite key in the histogram, and keeps its bin.
  void choose(RadixRow<CompositeKey>& state, Count64 const* histogram, bool filtered,
              std::int64_t row) const {
    std::int64_t above = 0;
    int bin = bins() - 1;
    auto here = static_cast<std::int64_t>(histogram[bin]);
    while (above + here < state.need) {
      above += here;
      here = static_cast<std::int64_t>(histogram[--bin]);
    }
    this->keep_bin(state, bin, above, here, filtered, row);
    finish_few(state, row);
  }

  void gather_part(RadixPiece const& piece) const {
    std::int64_t const row = piece.row;
    RadixRow<CompositeKey>& state = scratch.row_states[row];
    if (state.need == 0) return;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      Range const held = keys_in(piece.lines, static_cast<std::int64_t>(state.filled), 0);
      part.gather(ListReader{buffer_of(row).composites}, held);
      tally(Count::composites_read, held.end - held.begin);
    } else {
      Range const range = keys_in(piece.lines, source.size(row), 0);
      part.gather(source.reader(row), range);
      tally(source_reads, range.end - range.begin);
    }
    if (piece.lines.begin == 0) tally(Count::passes, 1);
  }

  /// Selects from a row in the cache of this thread; returns false if the row is too long or need not be tried.
  bool select_in_cache(std::int64_t row) const {
    if constexpr (of_keys) {
      std::int64_t const size = source.active(row) ? source.size(row) : 0;
      auto const k = static_cast<int>(size > 0 ? source.wanted(row) : 0);
      if (size > scratch.longest_in_cache) return false;
      return k == 0 ||
             RowsInCache<Bits, CompositeKey>{sink, source.loops, Sorted::no}.put(row, size, k);
    }
    return false;
  }

 private:
  using ListReader = typename ListSource<std::uint8_t, CompositeKey>::Reader;

  RadixReading<Bits, CompositeKey, of_keys> reading(RadixRow<CompositeKey>& state,
                                                    std::int64_t row) const {
    return {state, row, source.problem.selected_count(row), digits(), sink};
  }

  /// Orders few composite keys of the buffer, which takes less time than to launch a pass.
  void finish_few(RadixRow<CompositeKey>& state, std::int64_t row) const {
    constexpr std::int64_t most = 2048;
    auto const filled = static_cast<std::int64_t>(state.filled);
    if (state.settled || !state.in_buffer || state.left > most || filled > 8 * most) return;
    CompositeKey const *const begin = buffer_of(row).composites, *const end = begin + filled;
    ThreadArray<CompositeKey> const memory(state.left);
    CompositeKey* const composites = memory.get();
    auto const is_left = [&](CompositeKey composite) {
      return composite >= state.low && composite <= state.high;
    };
    auto const count = static_cast<int>(std::copy_if(begin, end, composites, is_left) - composites);
    digits().settle_at(state, kth_composite(composites, count, static_cast<int>(state.need)));
  }
};

/// Whether no row is left for a pass.
template <class CompositeKey>
bool all_settled(RadixScratch<CompositeKey> const& scratch, RadixTaskList const& list) {
  return scratch.rows == 1 ? scratch.row_states[0].settled : list.empty();
}

template <class Exec, class Source, class Bits, class CompositeKey>
void radix_select(Exec const& exec, Source const& source, RadixScratch<CompositeKey> const& scratch,
                  BulkSink<Bits, CompositeKey> const& sink) {
  if (!host::any_active(source, scratch.rows)) return;
  using Selection = RadixSelection<Source, Bits, CompositeKey>;
  Selection selection{source, scratch, sink};
  if (scratch.rows == 1)
    selection.suit_digits(source.size(0) / scratch.parts / Selection::keys_worth_a_merge);
  RadixSchedule const& schedule = scratch.schedule;
  RadixTaskList const gather = schedule.of_gather();
  for (std::int64_t i = 0; i < schedule.counts(); ++i) schedule.clear()(i);
  host::launch("ktopk::host::radix::row", exec, scratch.row_groups,
               RadixRows<Selection>{selection, {schedule.of_pass(0), gather}});
  if (scratch.shared_rows == 0) return;
  constexpr int aimed_in_vain = 1;
  for (int pass = 0; pass < selection.digits().most_passes(aimed_in_vain); ++pass) {
    RadixTaskList const list = schedule.of_pass(pass);
    if (all_settled(scratch, list)) break;
    host::launch("ktopk::host::radix::digit", exec, scratch.groups(),
                 RadixPass<Selection>{selection, list, {schedule.of_pass(pass + 1), gather}});
  }
  if (scratch.rows > 1 && gather.empty()) return;
  host::launch("ktopk::host::radix::gather", exec, scratch.groups(),
               RadixGather<Selection>{selection, gather});
}

}  // namespace host

KTOPK_INLINE std::size_t Radix<Host>::workspace_bytes(Device const& device, Shape const& shape,
                                                      Options const& options) {
  return bytes_of<host::RadixLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Radix<Host>::run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                      void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    auto const map =
        make_composite_key_map<CompositeKey>(problem.rank, problem.shape.n, options.ties);
    host::RadixLayout<CompositeKey> const work(workspace, device_of(exec), problem.shape, options);
    host::radix_select(
        exec, host::KeySource<Bits, CompositeKey>{problem, map, nullptr, pick_host_loops<Bits>()},
        work.scratch, host::BulkSink<Bits, CompositeKey>{problem, map, work.selected.composites});
    host::arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_HOST_RADIX_SELECT(Space, Bits, CompositeKey)                                    \
  template void host::radix_select(Space const&, host::KeySource<Bits, CompositeKey> const&,  \
                                   host::RadixScratch<CompositeKey> const&,                   \
                                   host::BulkSink<Bits, CompositeKey> const&);                \
  template void host::radix_select(Space const&, host::ListSource<Bits, CompositeKey> const&, \
                                   host::RadixScratch<CompositeKey> const&,                   \
                                   host::BulkSink<Bits, CompositeKey> const&);
#define KTOPK_HOST_RADIX(Space)    \
  KTOPK_RUN_ON(Radix<Host>, Space) \
  KTOPK_FOR_EACH_COMPOSITE_KEY(KTOPK_HOST_RADIX_SELECT, Space)
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_HOST_RADIX)
#undef KTOPK_HOST_RADIX
#undef KTOPK_HOST_RADIX_SELECT

}  // namespace ktopk::detail
