// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "guards.hpp"
#include "pool.hpp"
#include "spoil.hpp"
#include "watchdog.hpp"

namespace ktopk::fuzz {

/// Makes keys, calls, and verifies, on one instance of an execution space.
template <class Exec>
class Worker {
 public:
  Worker(Exec const& exec, Progress& progress) : m_exec(exec), m_progress(progress) {}

  /// \throws what the library throws
  Report run(Case const& c, Spoil spoil = Spoil::nothing);

 private:
  /// The memory of an answer.
  struct Answer {
    Pool<Exec> values, indices, counts, marks, worst, numbers;
  };

  Scene scene_of(Case const& c, Answer& answer);
  void call_and_verify(Case const& c, Answer& answer, Spoil spoil);
  void verify_values(Case const& c);
  void prepare(Scene const& s);
  void verify(Scene const& s);
  void verify_selection(Scene const& s);
  void verify_question(Scene const& s);
  void verify_outside(Scene const& s);
  void fill_host_wanted(Case const& c);
  std::byte* workspace(Case const& c, std::size_t bytes);
  void verify_workspace(Scene const& s);
  void forbid_around(Scene const& s);
  void clear(void* buffer, std::size_t bytes, std::uint64_t word);
  void clear_report();
  Report read_report();

  template <class Functor>
  void launch(char const* label, std::int64_t count, Functor const& functor);

  Exec m_exec;
  Progress& m_progress;
  Pool<Exec> m_keys, m_offsets, m_wanted, m_workspace, m_report, m_differences;
  Pool<Exec> m_bounds, m_lists, m_tallies;
  Answer m_answer, m_other;
  std::vector<std::int64_t> m_host_wanted;
  std::size_t m_workspace_bytes = 0;
  Guards m_guards;
};

}  // namespace ktopk::fuzz
