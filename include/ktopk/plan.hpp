// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <utility>

#include <Kokkos_Core.hpp>

#include <ktopk/top_k.hpp>

namespace ktopk {

/// The shape of a selection of k keys of each row of `keys`, for a Plan: make_shape by example. Rows
/// that differ in length are counted with all positions that they may have.
/// \tparam I  the type of the indices
template <class I = std::int64_t, detail::KeyRows Keys>
Shape shape_of(Keys const& keys, std::int64_t k) {
  Shape shape = detail::Source<Keys>::shape("ktopk::shape_of", keys);
  shape.k = k;
  shape.index_bytes = static_cast<int>(sizeof(I));
  return shape;
}

/// Choose once, allocate once, run often.
///
/// The constructor picks the kernels and allocates the workspace; a call enqueues kernels on the
/// instance and does nothing else: no allocation, no fence, no read-back. A call can be captured in a
/// CUDA graph and replayed. Calls of one Plan share its workspace, so they must follow each other on
/// its instance; a call is not const, and one Plan does not serve two threads at a time. For the same reason a Plan
/// is moved, never copied; one that was moved from may be destroyed or assigned to, and its calls throw.
///
/// Algorithm and workspace depend on the shape alone: they are the same for Views of every layout and stride. A call
/// may have fewer rows than the shape, as the last batch does. It may take several batches of kernels, because each of
/// few rows needs more workspace than each of many.
template <detail::ExecutionSpace Exec>
class Plan {
 public:
  /// \param shape  from make_shape; with `ragged` set and n no smaller than the number of all keys
  ///               for ragged rows, with `k_per_row` set for a k for each row; clear `packed` if
  ///               most keys will have gaps between them
  /// \throws std::invalid_argument for k > n (unless ragged), for sizes out of range and a shape without key_bytes
  Plan(Exec const& exec, Shape const& shape, Options const& options = {})
      : m_exec(exec), m_resolved(resolve(exec, shape, options)) {
    m_workspace = Workspace<Exec>(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::Plan::workspace"),
        detail::check_needed("ktopk::Plan", m_resolved.bytes));
  }
  template <detail::LoneOption Option>
  Plan(Exec const&, Shape const&, Option) {
    detail::refuse_lone_option<Option>();
  }
  Plan(Plan&& other)
      : m_exec(other.m_exec),
        m_resolved(other.m_resolved),
        m_workspace(std::exchange(other.m_workspace, {})),
        m_is_made(std::exchange(other.m_is_made, false)) {}
  Plan& operator=(Plan&& other) {
    m_exec = other.m_exec;
    m_resolved = other.m_resolved;
    m_workspace = std::exchange(other.m_workspace, {});
    m_is_made = std::exchange(other.m_is_made, false);
    return *this;
  }
  Plan(Plan const&) = delete;
  Plan& operator=(Plan const&) = delete;

  /// Selects as top_k does from these Views. Layouts and strides may differ from call to call: the Plan's algorithm
  /// takes them all, in the workspace that it has.
  /// \param keys  as many rows as the shape has or fewer, each of n keys; ragged rows: no more than n keys in all
  /// \throws std::invalid_argument where the Views are not of the Plan's shape, or the Plan was moved from
  template <detail::KeyRows Keys, detail::ViewOrNothing Values, detail::ViewOrNothing Indices>
  void operator()(Keys const& keys, Values const& values, Indices const& indices) {
    run(keys, values, indices, nothing);
  }

  template <detail::KeyRows Keys, detail::ViewOrNothing Values, detail::ViewOrNothing Indices,
            detail::PerRowArgument Rows>
  void operator()(Keys const& keys, Values const& values, Indices const& indices,
                  Rows const& per_row) {
    run(keys, values, indices, per_row);
  }

  /// The algorithm of every call: never automatic, and radix if the requested one does not support the shape
  /// in every layout.
  Algorithm algorithm() const { return m_resolved.options.algorithm; }
  /// What ktopk::workspace_bytes returns for this algorithm, or more if fewer rows need more.
  std::size_t workspace_bytes() const { return m_workspace.size(); }
  Shape const& shape() const { return m_resolved.shape; }

 private:
  static detail::Resolved<Exec> resolve(Exec const& exec, Shape const& shape,
                                        Options const& options) {
    Shape const settled = detail::settled(shape, options);
    detail::check_sizes("ktopk::Plan", settled);
    detail::check_options("ktopk::Plan", options);
    return detail::resolve(exec, settled, detail::settled(options));
  }

  template <class Keys, class Values, class Indices, class Rows>
  void run(Keys const& keys, Values const& values, Indices const& indices, Rows const& per_row) {
    char const* const function = "ktopk::Plan";
    detail::check_not_moved_from(function, m_is_made);
    auto const call =
        detail::collapse<Exec>(function, keys, values, indices, per_row, m_resolved.options);
    detail::check_planned(function, call.problem.shape, m_resolved.shape);
    select_resolved(m_exec, call, m_resolved, m_workspace.data());
  }

  Exec m_exec;
  detail::Resolved<Exec> m_resolved;
  Workspace<Exec> m_workspace;
  bool m_is_made = true;
};

}  // namespace ktopk
