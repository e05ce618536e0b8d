// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/one_pass_plan.hpp>
#include <ktopk/core/selected.hpp>

#include "../../../runtime/host_threads.hpp"
#include "../appender.hpp"
#include "../scan.hpp"

// What one_pass keeps of its rows as it reads them, and whether that proves the result.

namespace ktopk::detail::host {

/// What the read keeps of each row.
template <class CompositeKey>
struct Kept {
  Kept(WorkspaceLayout& layout, std::int64_t rows, OnePassPlan const& plan)
      : capacity(plan.capacity),
        thresholds(layout.take<CompositeKey>(rows)),
        validations(layout.take<RowValidation>(rows)),
        composites(layout.take<CompositeKey>(rows * plan.capacity)) {}

  void begin(std::int64_t row, CompositeKey threshold) const {
    thresholds[row] = threshold;
    validations[row] = {0, false};
  }
  CompositeKey* row_composites(std::int64_t row) const { return composites + row * capacity; }

  /// Keeps the composite keys of a part of a row that reach its threshold.
  /// \param read  read(begin, end, threshold, add) calls add(found, composite) for those of some positions that may
  template <class Bits, class Read>
  void keep(std::int64_t row, CompositeKeyMap<Bits, CompositeKey> const& map, Range range,
            Read const& read) const {
    Appender<CompositeKey> out({row_composites(row)}, &validations[row].kept, capacity);
    CompositeKey const threshold = thresholds[row];
    for_each_side_of_ties(map, threshold, range.begin, range.end,
                          [&](std::int64_t begin, std::int64_t end) {
                            read(
                                begin, end, [&] { return threshold; },
                                [&](int found, auto const& composite) {
                                  out.add_reaching(found, threshold, composite);
                                });
                          });
    out.flush();
    tally(Count::keys_read, range.end - range.begin);
  }

  std::int64_t capacity;
  CompositeKey* thresholds;
  RowValidation* validations;
  CompositeKey* composites;
};

/// The samples of a row that a thread takes at a time. Tasks are numbered row after row.
struct SampleBlock {
  SampleBlock(std::int64_t index, std::int64_t samples)
      : row(index / in_row(samples)),
        first(index % in_row(samples) * most),
        count(static_cast<int>(std::min<std::int64_t>(most, samples - first))) {}

  static constexpr int most = 256;
  static std::int64_t in_row(std::int64_t samples) { return (samples + most - 1) / most; }

  std::int64_t row, first;
  int count;
};

/// How many parts of a row are read. There are more and smaller parts than elsewhere: if keys are sorted, a few parts
/// hold all kept keys, and take longer than the others.
inline std::int64_t keep_parts(Device const& device, Shape const& shape) {
  std::int64_t const parts = host::parts_of_row(device, shape.rows, shape.n);
  if (parts == 1) return parts;
  constexpr std::int64_t short_part = std::int64_t{1} << 16;
  return std::max(parts, std::min(shape.n / short_part, std::max<std::int64_t>(256, 4 * parts)));
}

/// The one read, of a part of a row. It keeps the composite keys that reach the threshold.
template <class Bits, class CompositeKey>
struct KeepReaching {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  std::int64_t parts;  // of a row
  Kept<CompositeKey> kept;
  HostLoops<Bits> loops;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / parts;
    Range const range = part_of(problem.shape.n, index % parts, parts);
    kept.keep(row, map, range,
              [&](std::int64_t begin, std::int64_t end, auto const& threshold, auto const& add) {
                for_each_reaching_in_streams(loops, problem.rows.pointer(row), problem.rows.step,
                                             map, begin, end, threshold, add);
              });
  }
};

/// Validates a row: the selected keys are among the kept ones if there are enough of these and the list held all.
template <class Bits, class CompositeKey>
struct Validate {
  StoredProblem<Bits> problem;
  bool is_refused;
  Kept<CompositeKey> kept;
  void operator()(std::int64_t row) const {
    RowValidation& validation = kept.validations[row];
    auto const listed = static_cast<std::int64_t>(validation.kept);
    tally(Count::passes, 1);
    tally(Count::composites_written, listed < kept.capacity ? listed : kept.capacity);
    validation.proven =
        !is_refused && listed >= problem.selected_count(row) && listed <= kept.capacity;
  }
};

}  // namespace ktopk::detail::host
