// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker.hpp"

#include <cstring>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/testing.hpp>

#include "call.hpp"
#include "verify_questions.hpp"

namespace ktopk::fuzz {

template <class Exec>
template <class Functor>
void Worker<Exec>::launch(char const* label, std::int64_t count, Functor const& functor) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  if (count > 0) Kokkos::parallel_for(label, Policy(m_exec, 0, count), functor);
}

template <class Exec>
void Worker<Exec>::clear(void* buffer, std::size_t bytes, std::uint64_t word) {
  launch("fuzz::fill", static_cast<std::int64_t>((bytes + 7) / 8),
         FillWords{static_cast<std::uint64_t*>(buffer), word});
}

template <class Exec>
void Worker<Exec>::clear_report() {
  void* const report = m_report.reserve(m_exec, sizeof(Report));
  clear(report, sizeof(Report), 0);
}

template <class Exec>
Report Worker<Exec>::read_report() {
  Kokkos::View<std::byte[sizeof(Report)], Kokkos::HostSpace> const host("fuzz::report");
  Kokkos::View<std::byte[sizeof(Report)], typename Exec::memory_space,
               Kokkos::MemoryTraits<Kokkos::Unmanaged>> const device(m_report.reserve(m_exec,
                                                                                      sizeof(
                                                                                          Report)));
  m_exec.fence("fuzz: a case ends");
  Kokkos::deep_copy(m_exec, host, device);
  m_exec.fence("fuzz: the report is here");
  Report report;
  std::memcpy(static_cast<void*>(&report), host.data(), sizeof report);
  return report;
}

inline std::size_t bytes_at(Placement const& where, int bytes) {
  return static_cast<std::size_t>(where.size() * bytes);
}

/// Bytes of the marks, whole words.
inline std::size_t mark_bytes(Case const& c) {
  return static_cast<std::size_t>(mark_count(c) / 64 + 1) * 8;
}

inline std::size_t tally_bytes(Case const& c) {
  return c.has_answer_of_top_k()
             ? 0
             : static_cast<std::size_t>(2 * c.rows * c.asked) * sizeof(std::int64_t);
}

template <class Exec>
Scene Worker<Exec>::scene_of(Case const& c, Answer& answer) {
  Scene s{c, {}};
  auto const reserve = [&](Pool<Exec>& pool, std::size_t bytes) {
    return pool.reserve(m_exec, bytes);
  };
  Placement const of_rows = place_of_rows(c, 2 * c.rows + 1);
  s.memory.keys = reserve(m_keys, bytes_at(c.key_place, bytes_of(c.type)));
  s.memory.values = reserve(answer.values, bytes_at(c.value_place, bytes_of(c.type)));
  s.memory.indices = reserve(answer.indices, bytes_at(c.index_place, c.index_bytes()));
  s.memory.offsets = reserve(m_offsets, bytes_at(of_rows, 8));
  s.memory.wanted = reserve(m_wanted, bytes_at(of_rows, 8));
  s.memory.counts = reserve(answer.counts, bytes_at(of_rows, 8));
  s.memory.host_wanted = m_host_wanted.data();
  if (c.has_bounds())
    s.memory.bounds = reserve(m_bounds, bytes_at(place_of_bounds(c), bytes_of(c.type)));
  s.memory.lists = reserve(m_lists, static_cast<std::size_t>(list_count(c)) * 8);
  s.marks = reinterpret_cast<std::uint32_t*>(reserve(answer.marks, mark_bytes(c)));
  s.worst = reinterpret_cast<long long*>(
      reserve(answer.worst, static_cast<std::size_t>(c.rows) * sizeof(long long)));
  s.numbers = reinterpret_cast<std::int64_t*>(
      reserve(answer.numbers, static_cast<std::size_t>(c.rows) * sizeof(std::int64_t)));
  s.tallies = reinterpret_cast<std::int64_t*>(reserve(m_tallies, tally_bytes(c)));
  s.report = reinterpret_cast<Report*>(reserve(m_report, sizeof(Report)));
  return s;
}

template <class Exec>
void Worker<Exec>::prepare(Scene const& s) {
  Case const& c = s.c;
  launch("fuzz::fill_keys", c.key_place.size(), FillKeys{s});
  launch("fuzz::fill_rows", c.rows + 1, FillRows{s});
  if (c.has_values()) clear(s.memory.values, bytes_at(c.value_place, bytes_of(c.type)), unwritten);
  if (c.has_indices()) clear(s.memory.indices, bytes_at(c.index_place, c.index_bytes()), unwritten);
  if (c.has_counts())
    clear(s.memory.counts, bytes_at(place_of_rows(c, c.rows), count_bytes(c.type)), unwritten);
  clear(s.marks, mark_bytes(c), 0);
  clear(s.worst, static_cast<std::size_t>(c.rows) * 8, ~std::uint64_t{0});
  clear(s.numbers, static_cast<std::size_t>(c.rows) * 8, 0);
  if (c.leaves_out())
    launch("fuzz::count_selectable",
           (mark_count(c) + CountSelectable::keys_together - 1) / CountSelectable::keys_together,
           CountSelectable{s});
  if (c.has_bounds()) launch("fuzz::fill_bounds", c.rows * c.asked, FillBounds{s});
  launch("fuzz::fill_lists", list_count(c), FillLists{s});
  clear(s.tallies, tally_bytes(c), 0);
}

template <class Exec>
void Worker<Exec>::verify_outside(Scene const& s) {
  Case const& c = s.c;
  auto const look = [&](void const* buffer, int bytes, Placement const& where, Wrong wrong) {
    launch("fuzz::verify_outside", where.size(), VerifyOutside{s, buffer, bytes, where, wrong});
  };
  if (c.has_values())
    look(s.memory.values, bytes_of(c.type), c.value_place, Wrong::written_outside_values);
  if (c.has_indices())
    look(s.memory.indices, c.index_bytes(), c.index_place, Wrong::written_outside_indices);
  if (c.has_counts())
    look(s.memory.counts, count_bytes(c.type), place_of_rows(c, c.rows),
         Wrong::written_outside_counts);
}

template <class Exec>
void Worker<Exec>::verify_selection(Scene const& s) {
  Case const& c = s.c;
  launch("fuzz::verify_slots", c.rows * c.k, VerifySlots{s});
  if (c.has_indices()) {
    launch("fuzz::find_worst", c.rows * parts_of_row(c), FindWorst{s});
    launch("fuzz::verify_others", mark_count(c), VerifyOthers{s});
  }
  if (c.has_counts()) launch("fuzz::verify_counts", c.rows, VerifyCounts{s});
}

template <class Exec>
void Worker<Exec>::verify_question(Scene const& s) {
  Case const& c = s.c;
  launch("fuzz::tally", tally_threads(c), TallyKeys{s});
  if (c.asks_ranks()) return launch("fuzz::verify_ranks", c.rows * c.asked, VerifyRanks{s});
  if (c.ask == Ask::count) return launch("fuzz::verify_tallies", c.rows * c.k, VerifyTallies{s});
  launch("fuzz::verify_reaching", c.rows * c.k, VerifyReachingSlots{s});
  launch("fuzz::verify_reaching", mark_count(c), VerifyReachingOthers{s});
  if (c.has_counts()) launch("fuzz::verify_counts", c.rows, VerifyReachingCounts{s});
}

template <class Exec>
void Worker<Exec>::verify(Scene const& s) {
  Case const& c = s.c;
  if (c.has_answer_of_top_k())
    verify_selection(s);
  else
    verify_question(s);
  if (c.keys_are_compared) launch("fuzz::verify_keys", c.key_place.size(), VerifyKeys{s});
  if (c.way == Way::workspace) verify_workspace(s);
  verify_outside(s);
}

/// Bytes at both ends of a workspace that are watched.
inline constexpr std::size_t workspace_guard = 64;

template <class Exec>
std::byte* Worker<Exec>::workspace(Case const& c, std::size_t bytes) {
  m_workspace_bytes = bytes;
  std::size_t const all = 2 * workspace_guard + static_cast<std::size_t>(c.workspace_shift) + bytes;
  std::byte* const first = m_workspace.reserve(m_exec, all + 8);
  clear(first, all, unwritten);
  std::byte* const begin = first + workspace_guard + c.workspace_shift;
  if (ktopk::detail::is_host_space<Exec>) {
    m_guards.forbid(first, static_cast<std::size_t>(begin - first));
    m_guards.forbid(begin + bytes, workspace_guard);
  }
  return begin;
}

template <class Exec>
void Worker<Exec>::verify_workspace(Scene const& s) {
  auto const before = static_cast<std::int64_t>(workspace_guard) + s.c.workspace_shift;
  auto const bytes = static_cast<std::int64_t>(m_workspace_bytes);
  std::byte const* const first = m_workspace.reserve(m_exec, 0);
  launch("fuzz::verify_workspace", before,
         VerifyOutside{s, first, 1, {}, Wrong::written_outside_workspace});
  launch("fuzz::verify_workspace", static_cast<std::int64_t>(workspace_guard),
         VerifyOutside{s, first + before + bytes, 1, {}, Wrong::written_outside_workspace});
}

template <class Exec>
void Worker<Exec>::fill_host_wanted(Case const& c) {
  if (c.per_row != PerRow::wanted_on_host) return;
  m_host_wanted.resize(static_cast<std::size_t>(c.rows));
  for (std::int64_t r = 0; r < c.rows; ++r)
    store(m_host_wanted.data(), count_bytes(c.type), r, static_cast<std::uint64_t>(wanted(c, r)));
}

/// On a device memory is reached by kernels alone, which the sanitizer does not see.
template <class Exec>
void Worker<Exec>::forbid_around(Scene const& s) {
  if constexpr (ktopk::detail::is_host_space<Exec>) {
    Case const& c = s.c;
    Placement const of_rows = place_of_rows(c, c.rows);
    m_guards.forbid_around(s.memory.keys, bytes_of(c.type), c.key_place);
    if (c.has_values()) m_guards.forbid_around(s.memory.values, bytes_of(c.type), c.value_place);
    if (c.has_indices()) m_guards.forbid_around(s.memory.indices, c.index_bytes(), c.index_place);
    if (c.has_counts()) m_guards.forbid_around(s.memory.counts, count_bytes(c.type), of_rows);
  }
}

/// Nothing waits between filling, call and verification: the order of the instance alone counts.
template <class Exec>
void Worker<Exec>::call_and_verify(Case const& c, Answer& answer, Spoil spoil) {
  fill_host_wanted(c);
  Scene const s = scene_of(c, answer);
  auto const of_call = [&](int i) {
    Scene scene = s;
    scene.c = case_of_call(c, i);
    return scene;
  };
  Hooks hooks;
  hooks.before = [&](int i) {
    prepare(of_call(i));
    forbid_around(of_call(i));
    m_progress.set_stage("in a call or its verification");
  };
  hooks.after = [&](int i) {
    m_guards.allow();
    if (spoil != Spoil::nothing && i == c.repeats - 1)
      launch("fuzz::spoil", 1, SpoilAnswer{of_call(i), spoil});
    verify(of_call(i));
  };
  hooks.workspace = [&](std::size_t bytes) { return workspace(c, bytes); };
  call(m_exec, c, s.memory, hooks);
}

/// Without indices the values of the last call are compared with those of a call with both, which is verified.
template <class Exec>
void Worker<Exec>::verify_values(Case const& c) {
  Case last = case_of_call(c, c.repeats - 1), both = last;
  both.outputs = Outputs::both;
  both.way = Way::allocating;
  both.repeats = 1;
  call_and_verify(both, m_other, Spoil::nothing);
  std::size_t const bytes = static_cast<std::size_t>(c.rows) * sizeof(unsigned long long);
  auto* const differences =
      reinterpret_cast<unsigned long long*>(m_differences.reserve(m_exec, bytes));
  clear(differences, bytes, 0);
  VerifyValues const verification{scene_of(last, m_answer), scene_of(both, m_other), differences};
  launch("fuzz::verify_values", c.rows * parts_of_row(c), verification);
  launch("fuzz::verify_values", c.rows, VerifyDifferences{verification});
}

template <class Exec>
Report Worker<Exec>::run(Case const& c, Spoil spoil) {
  // Where threads run cases at once, all of them store the same.
  ktopk::detail::portable_alone = c.portable;
  ktopk::detail::forced_threshold = c.threshold;
  m_guards.allow();
  m_progress.begin(c);
  m_progress.set_stage("before its call");
  clear_report();
  call_and_verify(c, m_answer, spoil);
  if (c.has_answer_of_top_k() && !c.has_indices()) verify_values(c);
  Report const report = read_report();
  m_progress.end();
  return report;
}

#define KTOPK_FUZZ_WORKER(Space) template class Worker<Space>;
KTOPK_FUZZ_FOR_EACH_SPACE(KTOPK_FUZZ_WORKER)

}  // namespace ktopk::fuzz
