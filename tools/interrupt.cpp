// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interrupt.hpp"

#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstring>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

// A handler may touch neither the heap nor the standard library, so what it needs lies here, ready.
constexpr int most_doomed = 4;
char doomed_paths[most_doomed][PATH_MAX] = {};
char bus_error_line[PATH_MAX + 96] = "";

void remove_doomed() {
  for (char const* path : doomed_paths)
    if (path[0] != '\0') ::unlink(path);
}

extern "C" void on_bus_error(int) {
  remove_doomed();
  static_cast<void>(!::write(STDERR_FILENO, bus_error_line, std::strlen(bus_error_line)));
  ::_exit(2);
}

extern "C" void on_end(int signal) {
  remove_doomed();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void handle_signals(std::string const& input_path) {
  std::string const line =
      on_one_line("ktopk: " + input_path +
                  ": cannot be read to its end: it was cut, or its disk fails") +
      "\n";
  if (line.size() < sizeof bus_error_line)
    std::memcpy(bus_error_line, line.c_str(), line.size() + 1);
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write over the limit fails rather than kills
  std::signal(SIGBUS, on_bus_error);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, on_end) == SIG_IGN) std::signal(signal, SIG_IGN);
}

void doom(std::string const& path) {
  for (char* place : doomed_paths) {
    if (place[0] != '\0' || path.empty() || path.size() >= PATH_MAX) continue;
    std::memcpy(place + 1, path.c_str() + 1, path.size());
    place[0] = path[0];
    return;
  }
}

void spare(std::string const& path) {
  for (char* place : doomed_paths)
    if (path == place) place[0] = '\0';
}

}  // namespace ktopk::tools
