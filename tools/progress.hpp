// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ktopk::tools {

/// "checking [#####-----]  42 %, 1.3 of 3.0 GB, 4 s left"; "checking 1.3 GB in 2 s" if total is -1, unknown.
std::string progress_line(std::string const& what, std::int64_t done, std::int64_t total,
                          double seconds);

/// A bar on stderr, drawn only if that is a terminal and the work has lasted longer than a second; gone when destroyed.
class Progress {
 public:
  Progress(std::string what, std::int64_t total_bytes);
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  void add(std::int64_t bytes);

  /// Clears the bar's line, so that others may write to the terminal.
  void hide();

 private:
  void draw(double seconds);

  std::string m_what;
  std::int64_t m_total;
  std::int64_t m_done = 0;
  std::int64_t m_looked_at = 0;
  bool m_on_terminal;
  bool m_drawn = false;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point m_last = m_start;
};

}  // namespace ktopk::tools
