// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watchdog.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <Kokkos_Core.hpp>

namespace ktopk::fuzz {

void Progress::begin(Case const& c) {
  std::lock_guard const lock(m_mutex);
  m_case = c;
  m_is_busy = true;
  m_labeled = 0;
  m_began = Clock::now();
}

void Progress::set_stage(char const* stage) {
  std::lock_guard const lock(m_mutex);
  m_stage = stage;
  m_began = Clock::now();
}

void Progress::add_label(char const* label) {
  std::lock_guard const lock(m_mutex);
  m_labels[m_labeled++ % kept] = label;
  ++m_counts[label];
}

void Progress::end() {
  std::lock_guard const lock(m_mutex);
  m_is_busy = false;
}

std::optional<Case> Progress::overdue(std::chrono::duration<double> limit) const {
  std::lock_guard const lock(m_mutex);
  if (!m_is_busy || Clock::now() - m_began < limit) return {};
  return m_case;
}

std::string Progress::stage() const {
  std::lock_guard const lock(m_mutex);
  return m_stage;
}

std::string Progress::last_labels() const {
  std::lock_guard const lock(m_mutex);
  std::string text;
  for (int i = std::max(0, m_labeled - kept); i < m_labeled; ++i)
    text += (text.empty() ? "" : ", ") + m_labels[i % kept];
  return text;
}

std::map<std::string, std::int64_t> Progress::label_counts() const {
  std::lock_guard const lock(m_mutex);
  return m_counts;
}

namespace {

/// Only the library's labels: the kernels that fill and verify follow a call.
void on_label(char const* label) {
  if (progress_of_thread != nullptr && std::string_view(label).starts_with("ktopk::"))
    progress_of_thread->add_label(label);
}
void on_kernel(char const* label, std::uint32_t, std::uint64_t*) { on_label(label); }

}  // namespace

void follow_kernels() {
  namespace tools = Kokkos::Tools::Experimental;
  tools::set_request_tool_settings_callback([](std::uint32_t, Kokkos_Tools_ToolSettings* settings) {
    settings->requires_global_fencing = false;
  });
  tools::set_begin_parallel_for_callback(on_kernel);
  tools::set_begin_parallel_reduce_callback(on_kernel);
  tools::set_begin_parallel_scan_callback(on_kernel);
  tools::set_push_region_callback(on_label);
}

Watchdog::Watchdog(Progress const* all, int count, double limit, std::string repeat)
    : m_all(all), m_count(count), m_limit(limit), m_repeat(std::move(repeat)), m_thread([this] {
        watch();
      }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard const lock(m_mutex);
    m_ends = true;
  }
  m_thread.join();
}

void Watchdog::watch() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::lock_guard const lock(m_mutex);
    if (m_ends) return;
    for (int i = 0; i < m_count; ++i)
      if (auto const overdue = m_all[i].overdue(m_limit)) end_process(m_all[i], *overdue);
  }
}

void Watchdog::end_process(Progress const& progress, Case const& c) const {
  std::printf("HANGS: case %llu, %s\n  %s\n  last kernels: %s\n  repeat: %s %llu\n",
              static_cast<unsigned long long>(c.seed), progress.stage().c_str(),
              describe(c).c_str(), progress.last_labels().c_str(), m_repeat.c_str(),
              static_cast<unsigned long long>(c.seed));
  std::fflush(stdout);
  std::_Exit(hang_status);
}

}  // namespace ktopk::fuzz
