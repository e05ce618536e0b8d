// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/question_plan.hpp>
#include <ktopk/detail/reaching_arguments.hpp>
#include <ktopk/options.hpp>
#include <ktopk/top_k.hpp>

/// \file
/// All keys that reach a threshold, and how many keys are better than bounds. Thresholds, bounds and results are on the
/// device. `keys` is what top_k takes, or keys of <ktopk/computed.hpp>. Of the options, `order` and `nan` matter: a key
/// reaches a threshold if it is not less; not greater, for Order::smallest. Zeros of both signs are equal, and so are all
/// NaNs. Results are the same on every backend and for any number of threads.

namespace ktopk {

/// How many keys of each row are better than each bound, and how many are equal to it.
///
/// \param exec    execution space instance: all work is enqueued on it
/// \param keys    rows of n keys
/// \param bounds  bounds(i) for all rows, or bounds(row, i), of the key type
/// \param better  better(row, i), of int32 or int64; better(i) for keys of rank 1; or ktopk::nothing
/// \param equal   the same for keys that are equal to the bound
///
/// Cost: a read of the keys for each 16 bounds. Never fences, and allocates nothing, but on hosts 1 KB for each thread.
/// \throws std::invalid_argument before any kernel for extents that disagree
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, class Bounds,
          detail::ViewOrNothing Better, detail::ViewOrNothing Equal>
void count(Exec const& exec, Keys const& keys, Bounds const& bounds, Better const& better,
           Equal const& equal, Options const& options = {}) {
  static_assert(!(detail::IsNothing<Better> && detail::IsNothing<Equal>),
                "ktopk::count: neither better nor equal");
  count_by_bounds(exec,
                  detail::count_call<Exec>("ktopk::count", keys, bounds, better, equal, options));
}

/// All keys of each row that reach the row's threshold, in the order of their positions.
///
/// \param exec        execution space instance: all work is enqueued on it
/// \param keys        rows of n keys
/// \param thresholds  thresholds(row) of the key type; or of rank 0, the same for all rows
/// \param values      values(row, slot) of the key type, values(slot) for keys of rank 1; or ktopk::nothing
/// \param indices     the positions, as in top_k; or ktopk::nothing
/// \param counts      counts(row) of int32 or int64, of rank 0 or 1 for one row: how many keys reach the threshold, even if
///                    values and indices have room for fewer, which then are the first; or ktopk::nothing
///
/// Slots for which there is no key stay as they are. `sorted` and `ties` do not matter.
///
/// Cost: one read of the keys if of each part of a row no more than a 16th reach the threshold, and no more than 2048; a
/// second read of other parts, and of ragged rows. Workspace: a quarter byte for each key at most, and what threads of
/// hosts need. Allocates as top_k does.
/// \throws std::invalid_argument before any kernel for extents that disagree, and outputs seen to overlap keys or each other
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, class Thresholds,
          detail::ViewOrNothing Values, detail::ViewOrNothing Indices, detail::ViewOrNothing Counts>
void reaching(Exec const& exec, Keys const& keys, Thresholds const& thresholds,
              Values const& values, Indices const& indices, Counts const& counts,
              Options const& options = {}) {
  find_reaching_allocating(exec, detail::reaching_call<Exec>("ktopk::reaching", keys, thresholds,
                                                             values, indices, counts, options));
}

/// The same in a workspace that is allocated once: a call enqueues kernels and does nothing else. What Plan says of its
/// calls holds for these.
template <detail::ExecutionSpace Exec>
class ReachingPlan {
 public:
  /// \param shape  from make_shape, or shape_of(source, 1) for computed keys; calls may have fewer rows, and if it is
  ///               ragged fewer keys. Its k does not matter.
  ReachingPlan(Exec const& exec, Shape const& shape, Options const& options = {})
      : m_plan(name, exec, shape, options,
               [&](Shape const& of) { return detail::reaching_bytes(exec, of); }) {}

  /// \see ktopk::reaching
  template <detail::KeyRows Keys, class Thresholds, detail::ViewOrNothing Values,
            detail::ViewOrNothing Indices, detail::ViewOrNothing Counts>
  void operator()(Keys const& keys, Thresholds const& thresholds, Values const& values,
                  Indices const& indices, Counts const& counts) {
    auto const call = detail::reaching_call<Exec>(name, keys, thresholds, values, indices, counts,
                                                  m_plan.options());
    m_plan.check(call.shape);
    find_reaching_in(m_plan.exec(), call, m_plan.workspace().data(), m_plan.workspace().size());
  }

  std::size_t workspace_bytes() const { return m_plan.workspace().size(); }

 private:
  static constexpr char const* name = "ktopk::ReachingPlan";

  detail::QuestionPlan<Exec> m_plan;
};

}  // namespace ktopk

#if defined(KTOPK_HEADER_ONLY)
#include <ktopk/impl/dispatch/header_only.hpp>
#endif
