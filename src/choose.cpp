// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include "algorithms/heap.hpp"
#include "algorithms/one_pass.hpp"
#include "instantiate.hpp"
#include "short_rows.hpp"

namespace ktopk::detail {

/// The tuned one_pass where it serves. Of the generic rooms sort is the fastest for a row that is shared
/// by several teams; rows that differ in length would give it too many tiles.
inline Algorithm choose_on_device(Device const& device, Shape const& shape, bool one_pass) {
  bool const few_long_rows = shape.rows <= 64 && shape.packed && shape.n >= (1 << 17);
  if (one_pass && few_long_rows && shape.k * 512 <= shape.n) return Algorithm::one_pass;
  bool const shared_row = parts_of_row(device, shape.rows, shape.n) > 1;
  return shared_row && !shape.ragged ? Algorithm::sort : Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape, Options const& options) {
  bool const one_pass = OnePass<Generic>::supports(shape, options);
  if (!device.host) return choose_on_device(device, shape, one_pass);
  if (are_short_rows(device, shape)) return Algorithm::radix;
  if (one_pass && shape.rows < 4 * device.concurrency && shape.n >= (1 << 18))
    return Algorithm::one_pass;
  if (shape.k <= 256 && shape.k * 4 <= shape.n && !shape.ragged) return Algorithm::heap;
  if (one_pass) return Algorithm::one_pass;
  return shape.n <= 4096 && !shape.ragged ? Algorithm::sort : Algorithm::radix;
}

}  // namespace ktopk::detail
