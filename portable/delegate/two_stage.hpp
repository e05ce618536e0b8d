// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>
#include <ktopk/recall.hpp>

// Approximate selection with an expected recall, which must be asked for by name: a row is dealt out to buckets, the best
// one or two keys of each are candidates, and the k best candidates are the answer.
// Reads the input once, and a candidate for every 2 to 128 keys.
// After arXiv:2206.14286 and arXiv:2506.04165. \see recall_of for the formula

namespace ktopk::detail {

struct TwoStage {
  static constexpr Algorithm algorithm = Algorithm::delegate;
  static constexpr char const* label = "ktopk::delegate::two_stage";
  static Reason declines(Asked const& a) {
    if (a.options.recall == 1) return "an exact answer is asked for";
    return two_stage_plan(a.shape, a.options).buckets > 0
               ? nullptr
               : "no plan with few candidates reaches the recall";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
