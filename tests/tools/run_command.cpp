// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_command.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace ktopk::testing {
namespace {

void redirect(int stream, std::string const& path) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::dup2(fd, stream) < 0) ::_exit(126);
  ::close(fd);
}

void limit_files(long bytes) {
  if (bytes < 0) return;
  auto const size = static_cast<rlim_t>(bytes);
  rlimit const limit{size, size};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

/// Writes to a pipe, which its reader may close before the end, and closes it.
void write_all(int fd, std::string_view text) {
  auto const old = std::signal(SIGPIPE, SIG_IGN);
  while (!text.empty()) {
    auto const count = ::write(fd, text.data(), text.size());
    if (count <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  ::close(fd);
  std::signal(SIGPIPE, old);
}

[[noreturn]] void become_command(ScratchFolder const& folder, std::vector<std::string>& arguments) {
  std::vector<char*> pointers{const_cast<char*>(TEST_COMMAND)};
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (::chdir(folder.path(".").c_str()) == 0) ::execv(TEST_COMMAND, pointers.data());
  ::_exit(127);
}

bool lacks_device() {
  ScratchFolder const folder;
  auto const info = run_command(folder, {"info"});
  bool const no_device = info.out.find("no GPU can be reached") != std::string::npos;
  bool const no_driver = info.status == 127 && info.err.find("libcuda.so") != std::string::npos;
  return no_device || no_driver;
}

std::vector<std::string> split(std::string const& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

}  // namespace

Outcome run_command(ScratchFolder const& folder, std::vector<std::string> arguments,
                    long largest_file, std::string const& input) {
  ScratchFolder const streams;
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  auto const child = ::fork();
  if (child == 0) {
    ::dup2(pipe[0], STDIN_FILENO);
    redirect(STDOUT_FILENO, streams.path("out"));
    redirect(STDERR_FILENO, streams.path("err"));
    limit_files(largest_file);
    become_command(folder, arguments);
  }
  ::close(pipe[0]);
  write_all(pipe[1], input);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(streams.path("out")),
          content(streams.path("err"))};
}

void require_device() {
  static bool const missing = lacks_device();
  if (missing) SKIP("this build needs a GPU");
}

std::vector<std::string> backends() { return split(TEST_BACKENDS); }

std::vector<std::string> algorithms() { return split(TEST_ALGORITHMS); }

}  // namespace ktopk::testing
