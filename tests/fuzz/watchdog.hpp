// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "case.hpp"

/// What a thread is at, for the watchdog, and which kernels ran.

namespace ktopk::fuzz {

using Clock = std::chrono::steady_clock;

/// What one thread is at.
class Progress {
 public:
  void begin(Case const& c);
  void set_stage(char const* stage);
  void add_label(char const* label);
  void end();

  /// The case that it is at, if its stage began longer ago than the limit.
  std::optional<Case> overdue(std::chrono::duration<double> limit) const;
  std::string stage() const;
  /// The library's kernels in the order of their launches, the last ones of the current case.
  std::string last_labels() const;
  std::map<std::string, std::int64_t> label_counts() const;

 private:
  static constexpr int kept = 6;

  mutable std::mutex m_mutex;
  bool m_is_busy = false;
  Case m_case;
  char const* m_stage = "";
  Clock::time_point m_began;
  std::string m_labels[kept];
  int m_labeled = 0;
  std::map<std::string, std::int64_t> m_counts;
};

/// The Progress of this thread, to which the labels of what it launches are added.
inline thread_local Progress* progress_of_thread = nullptr;

/// Has Kokkos report its kernels, without the fences that it else puts around such reports. Call it before
/// Kokkos::initialize.
void follow_kernels();

/// Ends the process with `hang_status` when a call lasts too long.
class Watchdog {
 public:
  static constexpr int hang_status = 3;

  /// \param repeat  the command line that repeats a case, but for its seed
  Watchdog(Progress const* all, int count, double limit, std::string repeat);
  ~Watchdog();
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;

 private:
  void watch();
  void end_process(Progress const& progress, Case const& c) const;

  Progress const* m_all;
  int m_count;
  std::chrono::duration<double> m_limit;
  std::string m_repeat;
  std::mutex m_mutex;
  bool m_ends = false;
  std::thread m_thread;
};

}  // namespace ktopk::fuzz
