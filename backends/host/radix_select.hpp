// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <ktopk/detail/radix_digits.hpp>
#include <ktopk/detail/radix_tasks.hpp>
#include <ktopk/detail/selected.hpp>
#include <ktopk/detail/testing.hpp>

#include "bulk_sink.hpp"
#include "launch.hpp"
#include "rows_in_cache.hpp"
#include "scan.hpp"

// Radix selection on hosts, for radix itself and for what one_pass keeps or cannot prove.

namespace ktopk::detail::host {

/// The items of a problem's rows, made on the fly. With verdicts, only of the unproven rows.
template <class Bits, class Item>
struct KeySource {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Verdict const* verdicts;
  HostLoops<Bits> loops;

  struct Reader {
    Stored<Bits> const* keys;
    std::int64_t step;
    ItemMap<Bits, Item> map;
    HostLoops<Bits> loops;
    static constexpr bool reads_keys = true;
    typedef Stored<Bits> const* Block;  // as what split names a block
    KeyScan<Bits, Item> scan() const { return {loops, keys, step, map}; }
    Item operator()(std::int64_t i) const {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    }
  };
  bool active(std::int64_t row) const { return verdicts == nullptr || !verdicts[row].proven; }
  std::int64_t size(std::int64_t row) const { return problem.length(row); }
  std::int64_t wanted(std::int64_t row) const { return problem.winners(row); }
  Bounds<Item> bounds(std::int64_t) const { return {0, ~Item{0}}; }
  std::int64_t first(std::int64_t row) const { return problem.row_begin(row); }
  Reader reader(std::int64_t row) const {
    return {problem.row_keys(row), problem.key_step, map, loops};
  }
};

/// Items that lie in a list for each row; with verdicts, only of the proven rows.
template <class Bits, class Item>
struct ListSource {
  Problem<Bits> problem;
  Item const* items;
  std::int64_t stride;
  Verdict const* verdicts;
  ItemMap<Bits, Item> map{};
  // Of each row, with the ranks that none is above, where these are known.
  Item const* least = nullptr;
  Count64 const* best_ranks = nullptr;
  // Of each row, where winners are not in the list but written already.
  Count64 const* written = nullptr;

  struct Reader {
    Item const* items;
    static constexpr bool reads_keys = false;
    typedef Item const* Block;
    ListScan<Item> scan() const { return {items}; }
    Item operator()(std::int64_t i) const { return items[i]; }
  };
  bool active(std::int64_t row) const { return verdicts[row].proven; }
  std::int64_t size(std::int64_t row) const {
    return static_cast<std::int64_t>(verdicts[row].kept);
  }
  std::int64_t wanted(std::int64_t row) const {
    return problem.winners(row) -
           (written == nullptr ? 0 : static_cast<std::int64_t>(written[row]));
  }
  Bounds<Item> bounds(std::int64_t row) const {
    if (least == nullptr) return {0, ~Item{0}};
    Item const most = static_cast<Item>(best_ranks[row]) << map.position_bits;
    return {least[row], most | static_cast<Item>(map.position_mask)};
  }
  std::int64_t first(std::int64_t row) const { return row * stride; }
  Reader reader(std::int64_t row) const { return {items + row * stride}; }
};

/// Whether a row is to be selected.
template <class Source>
bool any_active(Source const& source, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (source.active(row)) return true;
  return false;
}

/// From what length on several threads share a row; more than any row has where none is shared.
inline std::int64_t shared_rows_from(Device const& device, std::int64_t rows, std::int64_t n) {
  return host::parts_of_row(device, rows, n) > 1 ? 0 : std::numeric_limits<std::int64_t>::max();
}

/// The same of the rows of a shape. Of ragged ones those are shared that are worth two parts and longer
/// than two equal shares of all keys; so there are no more of them than half the parts.
inline std::int64_t shared_rows_from(Device const& device, Shape const& shape) {
  if (!shape.ragged || shape.rows == 1) return host::shared_rows_from(device, shape.rows, shape.n);
  std::int64_t const parts = host::parts_on(device);
  return std::max(2 * smallest_part, (2 * shape.n + parts - 1) / parts);
}

/// More rows than these are not shared.
inline std::int64_t most_shared_rows(Device const& device, std::int64_t rows) {
  return std::max<std::int64_t>(1, std::min(rows, host::parts_on(device) / 2));
}

/// How a selection is cut up, and where it works.
template <class Item>
struct RadixScratch {
  RadixScratch() = default;
  /// Of rows of no more than n items, which lie in lists.
  /// \param buffered  whether there is a buffer of a quarter of `keys` items
  RadixScratch(Pieces& pieces, Device const& device, std::int64_t rows_, std::int64_t n,
               std::int64_t keys, bool buffered)
      : RadixScratch(pieces, device, rows_, n, host::shared_rows_from(device, rows_, n),
                     buffered ? keys / buffer_share + 1 : 0) {
    // A list is short beside a row: what a part costs of itself counts for more than an even load.
    parts = std::min<std::int64_t>(parts, device.concurrency);
  }
  /// Of the rows of a shape.
  RadixScratch(Pieces& pieces, Device const& device, Shape const& shape, bool buffered)
      : RadixScratch(pieces, device, shape.rows, shape.n, host::shared_rows_from(device, shape),
                     buffered ? shape.keys() / buffer_share + 1 : 0) {
    if (shape.ragged) row_groups = std::min(rows, 4 * host::parts_on(device));
    if (shape.ragged && rows > 1) schedule.limit_claims(pieces);
  }

  static constexpr std::int64_t buffer_share = 4;
  static constexpr int digit_bits_for(std::int64_t n) { return n > 16384 ? 11 : 8; }

  /// In how many parts the rows that are shared are read.
  std::int64_t groups() const { return rows == 1 ? parts : schedule.groups; }

  std::int64_t rows;
  std::int64_t row_groups;            // how many at a time begin
  std::int64_t parts;                 // of the only row
  std::int64_t shared_from;           // rows of so many items are shared
  std::int64_t shared_rows;           // no more than these
  std::int64_t longest_in_cache = 0;  // rows of up to so many keys are first tried in a cache
  int digit_bits;
  std::int64_t most_lines;  // of 64 keys, after which counts are added up
  bool has_totals;          // where a row may have more
  RadixRow<Item>* row_states;
  Count64* histograms;
  RadixSchedule schedule;
  Item* buffer;

 private:
  RadixScratch(Pieces& pieces, Device const& device, std::int64_t rows_, std::int64_t n,
               std::int64_t shared_from_, std::int64_t room)
      : rows(rows_),
        row_groups(rows),
        parts(host::parts_of_row(device, 1, n)),
        shared_from(shared_from_),
        shared_rows(shared_from > n ? 0 : host::most_shared_rows(device, rows)),
        digit_bits(digit_bits_for(n)),
        most_lines(forced_most_counted / keys_of_line),
        has_totals(n > forced_most_counted - keys_of_line),
        row_states(pieces.take<RadixRow<Item>>(rows)),
        histograms(shared_rows > 0 ? pieces.take<Count64>(shared_rows << digit_bits) : nullptr),
        schedule(pieces, host::parts_on(device), smallest_part / keys_of_line,
                 rows > 1 ? shared_rows : 0),
        buffer(room > 0 ? pieces.take<Item>(room) : nullptr) {}
};

/// Puts the k best items of every active row of `source` into `sink`, in any order.
template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  BulkSink<Bits, Item> const& sink);

}  // namespace ktopk::detail::host
