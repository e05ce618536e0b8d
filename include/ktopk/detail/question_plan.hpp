// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/checks.hpp>
#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>
#include <ktopk/top_k.hpp>

namespace ktopk::detail {

/// What a plan for questions other than top_k holds. One that was moved from has no workspace, so its calls are rejected.
template <class Exec>
class QuestionPlan {
 public:
  /// \param bytes_of  bytes_of(shape): of workspace
  template <class BytesOf>
  QuestionPlan(char const* name, Exec const& exec, Shape const& shape, Options const& options,
               BytesOf const& bytes_of)
      : m_name(name), m_exec(exec), m_shape(shape), m_options(options) {
    m_shape.k = 0;
    check_sizes(name, m_shape);
    check_options(name, options);
    m_shape.k = 1;
    m_workspace = Workspace<Exec>(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(name) + "::workspace"),
        check_needed(name, bytes_of(m_shape)));
  }
  QuestionPlan(QuestionPlan&& other)
      : m_name(other.m_name),
        m_exec(other.m_exec),
        m_shape(other.m_shape),
        m_options(other.m_options),
        m_workspace(std::exchange(other.m_workspace, {})),
        m_is_made(std::exchange(other.m_is_made, false)) {}
  QuestionPlan& operator=(QuestionPlan&& other) {
    m_exec = other.m_exec;
    m_shape = other.m_shape;
    m_options = other.m_options;
    m_workspace = std::exchange(other.m_workspace, {});
    m_is_made = std::exchange(other.m_is_made, false);
    return *this;
  }

  /// Whether it serves a call of this shape, with any k.
  void check(Shape const& shape) const {
    check_not_moved_from(m_name, m_is_made);
    Shape planned = m_shape;
    planned.k = shape.k;
    check_planned(m_name, shape, planned);
  }
  Exec const& exec() const { return m_exec; }
  Options const& options() const { return m_options; }
  Workspace<Exec> const& workspace() const { return m_workspace; }

 private:
  char const* m_name;
  Exec m_exec;
  Shape m_shape;
  Options m_options;
  Workspace<Exec> m_workspace;
  bool m_is_made = true;
};

}  // namespace ktopk::detail
