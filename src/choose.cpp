// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include "algorithms/heap.hpp"
#include "algorithms/one_pass.hpp"
#include "instantiate.hpp"
#include "short_rows.hpp"

namespace ktopk::detail {

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape, Options const& options) {
  bool const one_pass = OnePass<Generic>::supports(shape, options);
  if (!device.host) return one_pass ? Algorithm::one_pass : Algorithm::radix;
  if (are_short_rows(device, shape)) return Algorithm::radix;
  if (one_pass && shape.rows < 4 * device.concurrency && shape.n >= (1 << 18))
    return Algorithm::one_pass;
  if (shape.k <= 256 && shape.k * 4 <= shape.n && !shape.ragged) return Algorithm::heap;
  if (one_pass) return Algorithm::one_pass;
  return shape.n <= 4096 && !shape.ragged ? Algorithm::sort : Algorithm::radix;
}

}  // namespace ktopk::detail
