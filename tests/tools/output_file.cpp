// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>

#include "files/fault.hpp"
#include "files/mapped_file.hpp"
#include "files/matrix.hpp"
#include "interrupt.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Names = std::vector<std::string>;

TEST_CASE("output: nothing bears the name before commit, everything after") {
  ScratchFolder const folder;
  OutputFile file(folder.path("o"));
  file.write(as_file("one "));
  file.write(as_file("two"));
  CHECK_FALSE(std::filesystem::exists(folder.path("o")));
  file.commit();
  CHECK(content(folder.path("o")) == "one two");
  CHECK(folder.names() == Names{"o"});
}

TEST_CASE("output: without commit nothing is left and the old file stays") {
  ScratchFolder const folder;
  folder.write("o", "old");
  { OutputFile(folder.path("o")).write(as_file("new")); }
  CHECK(content(folder.path("o")) == "old");
  CHECK(folder.names() == Names{"o"});
}

TEST_CASE("output: the file has the mode that the user's mask gives") {
  ScratchFolder const folder;
  auto const mask = ::umask(027);
  OutputFile(folder.path("o")).commit();
  ::umask(mask);
  auto const mode = std::filesystem::status(folder.path("o")).permissions();
  CHECK(static_cast<unsigned>(mode) == 0640);
}

TEST_CASE("output: a link stays a link") {
  ScratchFolder const folder;
  folder.write("target", "old");
  std::filesystem::create_symlink("target", folder.path("link"));
  OutputFile(folder.path("link")).commit();
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(content(folder.path("target")).empty());
}

TEST_CASE("output: folders and places that are not there are refused") {
  ScratchFolder const folder;
  auto const refuses = [](std::string const& path, std::string const& why) {
    CHECK_THROWS_MATCHES(OutputFile(path), Fault,
                         MessageMatches(ContainsSubstring(path + ": " + why)));
  };
  refuses(folder.path("."), "is a directory");
  refuses(folder.path("nowhere/o"), "cannot be written: No such file or directory");
}

/// Runs body in a child process and returns how that ended.
template <class Body>
int status_of_child(Body const& body) {
  auto const child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_CASE("output: a stream, by whatever name, is written where it stands and not replaced") {
  ScratchFolder const folder;
  auto const log = folder.path("log");
  int const fd = ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(fd, "one ", 4) == 4);
  std::filesystem::create_symlink("/dev/fd/" + std::to_string(fd), folder.path("link"));
  for (auto const& path : {"/dev/fd/" + std::to_string(fd), "/proc/self/fd/" + std::to_string(fd),
                           folder.path("link")}) {
    CAPTURE(path);
    OutputFile file(path);
    file.write(as_file("two "));
    file.commit();
  }
  REQUIRE(::write(fd, "three", 5) == 5);
  ::close(fd);
  CHECK(content(log) == "one two two two three");
  CHECK(std::filesystem::is_symlink(folder.path("link")));
}

TEST_CASE("output: devices and pipes are written to") {
  ScratchFolder const folder;
  OutputFile null("/dev/null");
  null.write(as_file("lost"));
  null.commit();
  CHECK(std::filesystem::is_character_file("/dev/null"));

  auto const pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  int const reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  OutputFile file(pipe);
  file.write(as_file("text"));
  file.commit();
  char text[8] = "";
  CHECK(::read(reader, text, sizeof text) == 4);
  ::close(reader);
  CHECK(std::string(text) == "text");
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("output: a signal removes what was written and still ends the program") {
  ScratchFolder const folder;
  int const signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  auto const status = status_of_child([&] {
    for (int const reset : {SIGINT, SIGTERM, SIGHUP}) std::signal(reset, SIG_DFL);
    handle_signals("input");
    { OutputFile(folder.path("gone")).write(as_file("x")); }
    OutputFile file(folder.path("o"));
    OutputFile other(folder.path("p"));
    std::raise(signal);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == signal);
  CHECK(folder.names().empty());
}

TEST_CASE("output: an input that shrinks ends the program with status 2 and nothing left") {
  ScratchFolder const folder;
  auto const input = folder.write("input", std::string(100000, 'x'));
  auto const status = status_of_child([&] {
    handle_signals(input);
    MappedFile const mapped(input);
    OutputFile file(folder.path("o"));
    std::filesystem::resize_file(input, 10);
    read_ahead({KeyType::u8, mapped.bytes().data(), 1, 100000, 0, 1, 1}, [](std::int64_t) {});
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(folder.names() == Names{"input"});
}

}  // namespace
}  // namespace ktopk::testing
