// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ktopk/core/macros.hpp>

// Two-stage selection with an expected recall: a row is dealt out to buckets, the best one or two keys of each are
// candidates, and the k best candidates are the answer. Needs no Kokkos.
// After approx_max_k of JAX (Chern et al., 2022, arXiv:2206.14286), which keeps one key of a bucket, and its
// generalization to several (Samaga et al., 2025, arXiv:2506.04165).

namespace ktopk::detail {

/// How a row is dealt out: key i goes to bucket i % buckets. So neighbors are in different buckets, and the best keys of a
/// sorted row, or the first of equal ones, are all found.
struct TwoStagePlan {
  std::int64_t n = 0;
  std::int64_t buckets = 0;  ///< a multiple of 64; 0: no plan has the recall that is asked for
  int kept = 1;              ///< of a bucket, 1 or 2

  KTOPK_FUNCTION std::int64_t candidates() const { return buckets * kept; }
};

/// How many of the k best of n keys are expected among the `kept` best of m keys, where keys come in random order: the
/// mean of min(X, kept), where X has the hypergeometric distribution of (n, k, m).
inline double expected_found(std::int64_t n, std::int64_t k, std::int64_t m, int kept) {
  if (k > n - m) return std::min<double>(kept, static_cast<double>(k));
  double logarithm = 0;  // of the probability that X = 0, which may be near 1
  for (std::int64_t j = 0; j < m; ++j)
    logarithm += std::log1p(-static_cast<double>(k) / static_cast<double>(n - j));
  double const some = -std::expm1(logarithm);
  if (kept == 1) return some;
  double const none = std::exp(logarithm);
  double const ways = static_cast<double>(k) * static_cast<double>(m);
  double const one = none * ways / static_cast<double>(std::max<std::int64_t>(1, n - k - m + 1));
  return 2 * some - one;
}

/// Which part of the k best keys is expected among the candidates.
inline double expected_recall(TwoStagePlan const& plan, std::int64_t k) {
  std::int64_t const shorter = plan.n / plan.buckets, longer = plan.n % plan.buckets;
  auto const found = [&](std::int64_t m) { return expected_found(plan.n, k, m, plan.kept); };
  double const all = static_cast<double>(plan.buckets - longer) * found(shorter) +
                     static_cast<double>(longer) * found(shorter + 1);
  return std::min(1.0, all / static_cast<double>(k));
}

/// The plan of fewest candidates whose expected recall is at least `recall`, among about n / 128, n / 64 and so on to n / 8
/// buckets; they are multiples of 64, and have four keys at least. It depends on nothing else, so every backend gives the same
/// answer; compilers that round differently do not matter.
inline TwoStagePlan two_stage_plan(std::int64_t n, std::int64_t k, double recall) {
  TwoStagePlan best{n, 0, 1};
  for (std::int64_t length = 128; length >= 8; length /= 2)
    for (int kept : {1, 2}) {
      TwoStagePlan const plan{n, (n / length + 63) / 64 * 64, kept};
      bool const is_better = best.buckets == 0 || plan.candidates() < best.candidates();
      if (is_better && plan.candidates() >= k && plan.buckets * 4 <= n &&
          expected_recall(plan, k) >= recall - 1e-12)
        best = plan;
    }
  return best;
}

}  // namespace ktopk::detail
