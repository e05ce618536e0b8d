// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../computed_keys.hpp"
#include "../rows_in_cache.hpp"
#include "kept.hpp"

// Rows of keys that a caller's file computes: a thread has the keys of a short row made in its cache, and selects there;
// of a long row it has a sample made, and then block after block, of which it keeps what reaches the threshold.

namespace ktopk::detail::host {

template <class Bits, class CompositeKey>
struct ComputedRowsInCache {
  RowsInCache<Bits, CompositeKey> rows;
  ComputedKeys<Bits> computed;

  void operator()(std::int64_t row) const {
    StoredProblem<Bits> const& problem = rows.sink.problem;
    ThreadArray<Bits> const keys(problem.shape.n);
    ThreadArray<std::uint16_t> const positions(problem.shape.masked ? problem.shape.n : 0);
    int const count = computed.make_row(computed.rows, row, keys.get(), positions.get());
    int const k = std::min(count, static_cast<int>(problem.selected_count(row)));
    if (k > 0) rows.put_short(row, keys.get(), count, k);
    if (problem.shape.masked) restore_positions(row, k, positions.get());
    complete_row(problem, row, k);
  }

 private:
  /// The selected keys' places among the keys that there are become positions.
  void restore_positions(std::int64_t row, int k, std::uint16_t const* positions) const {
    Output<Bits> indices = rows.sink.problem.out;
    if (indices.indices == nullptr) return;
    indices.values = nullptr;
    for (int slot = 0; slot < k; ++slot)
      indices.store(row, slot, {}, positions[indices.position(row, slot)]);
  }
};

/// The computed keys as rows, for whoever reads few of them.
template <class KeyBits>
struct MadeRows {
  using Bits = KeyBits;
  static constexpr bool has_gaps = false;

  ComputedKeys<Bits> computed;
  std::int64_t n;

  struct Row {
    ComputedKeys<Bits> computed;
    std::int64_t number;
    KTOPK_FUNCTION Bits operator[](std::int64_t i) const {
      Stored<Bits> key;
      computed.make_at(computed.rows, number, &i, 1, Bits{}, &key);
      return key;
    }
  };

  KTOPK_FUNCTION std::int64_t length(std::int64_t) const { return n; }
  KTOPK_FUNCTION std::int64_t begin(std::int64_t row) const { return row * n; }
  KTOPK_FUNCTION Row row(std::int64_t row) const { return {computed, row}; }
};

/// Takes a block of the sample of a long row.
template <class Bits, class CompositeKey>
struct MakeSample {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  ComputedKeys<Bits> computed;
  std::int64_t samples;
  CompositeKey* out;

  void operator()(std::int64_t index) const {
    SampleBlock const block(index, samples);
    Strata const strata(problem.shape.n, samples);
    std::int64_t places[block.most] = {};
    Stored<Bits> keys[block.most];
    for (int i = 0; i < block.count; ++i) places[i] = strata.place(block.first + i);
    computed.make_at(computed.rows, block.row, places, block.count, problem.out.worst, keys);
    CompositeKey* const to = out + block.row * samples + block.first;
    for (int i = 0; i < block.count; ++i)
      to[i] = map(keys[i], static_cast<std::uint64_t>(places[i]));
    tally(Count::keys_read, block.count);
  }
};

/// The one read, of a part of a long row. \see KeepReaching
template <class Bits, class CompositeKey>
struct KeepMade {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  ComputedKeys<Bits> computed;
  std::int64_t parts;  // of a row
  Kept<CompositeKey> kept;
  Count64* present;  // how many keys of each row there are; nullptr if all
  HostLoops<Bits> loops;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / parts;
    Range const range = part_of(problem.shape.n, index % parts, parts);
    ThreadArray<Bits> const memory(filter_block);
    Bits* const keys = memory.get();
    Count64 made = 0;
    auto const read = [&](std::int64_t first, int count) {
      made += static_cast<Count64>(
          computed.make_block(computed.rows, row, first, count, problem.out.worst, keys));
      return keys;
    };
    kept.keep(row, map, range,
              [&](std::int64_t begin, std::int64_t end, auto const& threshold, auto const& add) {
                for_each_read_block_reaching(loops, read, map, begin, end, filter_block,
                                             filter_block, threshold, with_composites(map, add));
              });
    if (present != nullptr) Kokkos::atomic_add(&present[row], made);
  }
};

/// Validates a row of which a mask leaves some keys. Every key there is that is better than the worst reaches `least`: so
/// the kept ones are all if they are as many as there are. Says how many are selected.
template <class Bits, class CompositeKey>
struct ValidateMasked {
  StoredProblem<Bits> problem;
  bool is_refused;
  Kept<CompositeKey> kept;
  CompositeKey least;
  Count64 const* present;
  std::int64_t* selected;

  void operator()(std::int64_t row) const {
    RowValidation& validation = kept.validations[row];
    std::int64_t const wanted = problem.selected_count(row);
    auto const listed = static_cast<std::int64_t>(validation.kept);
    bool const are_all = kept.thresholds[row] == least && validation.kept == present[row];
    tally(Count::passes, 1);
    tally(Count::composites_written, std::min(listed, kept.capacity));
    validation.proven = !is_refused && (listed >= wanted || are_all) && listed <= kept.capacity;
    selected[row] = std::min(wanted, listed);
  }
};

}  // namespace ktopk::detail::host
