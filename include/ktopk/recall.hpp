// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/two_stage_plan.hpp>
#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

/// \file
/// What a selection that may be approximate is expected to find. Needs no Kokkos.

namespace ktopk {

namespace detail {

/// The plan of a call, if Algorithm::delegate may answer it approximately. \see Options::recall
inline TwoStagePlan two_stage_plan(Shape const& shape, Options const& options) {
  bool const may = options.algorithm == Algorithm::delegate && options.recall < 1 &&
                   !shape.ragged && !shape.computed && shape.k > 0 && shape.k <= shape.n / 16;
  return may ? two_stage_plan(shape.n, shape.k, options.recall) : TwoStagePlan{};
}

}  // namespace detail

/// The part of the true k best keys of a row that a call with these options is expected to find, at least
/// Options::recall; 1 where the answer is exact, but for signed integers by magnitude, of which all are found whatever this
/// says. Algorithm::bisection's early stop is not counted.
///
/// It is the mean over all orders in which the keys of a row can come. Key i is dealt to bucket i % b, and each bucket
/// keeps its best one or two keys; of X of the k best in a bucket of m keys, min(X, 1) or min(X, 2) are found, and X has
/// the hypergeometric distribution of (n, k, m). Tests measure it. In rows that are sorted, and among equal keys of which
/// the first or the last are selected, all are found up to k = b; rows in which good keys come at a period that has a
/// large common divisor with b may lose more than is expected.
/// After approx_max_k of JAX (arXiv:2206.14286) and its generalization (arXiv:2506.04165).
inline double recall_of(Shape const& shape, Options const& options) {
  detail::TwoStagePlan const plan = detail::two_stage_plan(shape, options);
  return plan.buckets > 0 ? detail::expected_recall(plan, shape.k) : 1;
}

}  // namespace ktopk
