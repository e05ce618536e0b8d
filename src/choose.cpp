// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include <algorithm>

#include "algorithms/one_pass.hpp"
#include "instantiate.hpp"
#include "short_rows.hpp"

namespace ktopk::detail {

/// The tuned one_pass where it serves. Of the generic rooms sort is the fastest for a row that few teams
/// share, where launches are what counts, and radix beyond; bitonic for small k in rows that a team has to
/// itself, and bisection for larger. \see perf/results/h200-generic-one-row.json, h200-rows.json
inline Algorithm choose_on_device(Device const& device, Shape const& shape, bool one_pass) {
  bool const few_long_rows = shape.rows <= 64 && shape.packed && shape.n >= (1 << 17);
  if (one_pass && few_long_rows && shape.k * 512 <= shape.n) return Algorithm::one_pass;
  if (shape.ragged) return Algorithm::radix;
  if (parts_of_row(device, shape.rows, shape.n) > 1)
    return shape.n <= (1 << 17) ? Algorithm::sort : Algorithm::radix;
  if (shape.n > 8192) return Algorithm::radix;
  return shape.k <= 64 ? Algorithm::bitonic : Algorithm::bisection;
}

/// Up to how many winners a heap does, whose inserts are dear and whose other steps are few: for more of them in
/// one row, which has but one or a few heaps to merge.
inline std::int64_t most_in_heap(Shape const& shape) {
  if (shape.n <= longest_row_alone) return 16;
  return shape.rows == 1 && shape.n <= (1 << 18) ? 32 : 8;
}

/// Up to how many winners a queue of the best so far, which few keys reach, costs a host less than one_pass's or
/// radix's sample: more where every row has one thread and so one queue, and where rows are very long.
inline std::int64_t most_in_queue(bool one_queue, std::int64_t n) {
  if (one_queue) return std::min<std::int64_t>(n / 512, 512);
  return n < (1 << 17) || n > (1 << 24) ? 128 : 32;
}

/// Whether what one_pass keeps, which is more than k by a share that shrinks with k, is little beside the row. Items of
/// keys of 64 bits have 128, so that a list costs more of them; but of shorter rows radix's worst input costs more yet.
inline bool are_few_winners(Shape const& shape) {
  bool const is_list_dear = shape.key_bytes > 4 && shape.n >= (1 << 18);
  return shape.k * (is_list_dear ? 32 : 16) <= shape.n;
}

/// Of rows that one thread does alone.
inline Algorithm choose_for_short_rows(Shape const& shape) {
  std::int64_t const shortest_for_heap = shape.k == 1 ? filter_block + 1 : 1024;
  return shape.k <= 8 && shape.n >= shortest_for_heap ? Algorithm::heap : Algorithm::radix;
}

/// What, with few exceptions, is least slower than the fastest on the worst input for it, of all measured:
/// nothing is known of the keys here. \see perf/results/host-choice*.json, host-few-winners*.json, host-streams.json and
/// host-many-winners*.json
inline Algorithm choose_on_host(Device const& device, Shape const& shape, bool one_pass) {
  if (shape.ragged) return Algorithm::radix;
  if (are_short_rows(device, shape)) return choose_for_short_rows(shape);
  if (shape.k <= most_in_heap(shape)) return Algorithm::heap;
  if (does_one_thread_alone(device, shape)) return Algorithm::radix;
  bool const one_thread = parts_of_row(device, shape.rows, shape.n) == 1;
  if (shape.k <= most_in_queue(one_thread, shape.n)) return Algorithm::queue;
  if (one_thread && shape.n <= longest_row_in_cache && shape.k * 64 > shape.n)
    return Algorithm::radix;
  return one_pass && are_few_winners(shape) ? Algorithm::one_pass : Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape, Options const& options) {
  bool const one_pass = OnePass<Generic>::supports(shape, options);
  return device.host ? choose_on_host(device, shape, one_pass)
                     : choose_on_device(device, shape, one_pass);
}

}  // namespace ktopk::detail
