// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ktopk::tools {
namespace {

constexpr double patience = 1.0;  // seconds without a bar
constexpr double between = 0.1;   // seconds from one drawing to the next
constexpr std::int64_t between_looks = std::int64_t{1}
                                       << 20;  // bytes from one look at the clock to the next

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

std::string progress_line(std::string const& what, std::int64_t done, std::int64_t total,
                          double seconds) {
  constexpr double giga = 1e9;
  char figures[96];
  if (total < 0) {
    std::snprintf(figures, sizeof figures, " %.1f GB in %.0f s", static_cast<double>(done) / giga,
                  seconds);
    return what + figures;
  }
  constexpr int bar_width = 30;
  double const share =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0)
                : 1.0;
  auto const filled = static_cast<std::size_t>(share * bar_width);
  std::string const bar = std::string(filled, '#') + std::string(bar_width - filled, '-');
  double const left = share > 0 ? seconds / share - seconds : 0;
  std::snprintf(figures, sizeof figures, "%3d %%, %.1f of %.1f GB, %.0f s left",
                static_cast<int>(share * 100), static_cast<double>(done) / giga,
                static_cast<double>(total) / giga, left);
  return what + " [" + bar + "] " + figures;
}

Progress::Progress(std::string what, std::int64_t total_bytes)
    : m_what(std::move(what)), m_total(total_bytes), m_on_terminal(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { hide(); }

void Progress::hide() {
  if (std::exchange(m_drawn, false)) std::fputs("\r\033[K", stderr);
}

void Progress::add(std::int64_t bytes) {
  m_done += bytes;
  if (!m_on_terminal || m_done - m_looked_at < between_looks) return;
  m_looked_at = m_done;
  double const elapsed = seconds_since(m_start);
  if (elapsed > patience && seconds_since(m_last) > between) draw(elapsed);
}

void Progress::draw(double seconds) {
  std::fprintf(stderr, "\r\033[K%s", progress_line(m_what, m_done, m_total, seconds).c_str());
  std::fflush(stderr);
  m_drawn = true;
  m_last = std::chrono::steady_clock::now();
}

}  // namespace ktopk::tools
