// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "files/fault.hpp"
#include "interrupt.hpp"

namespace ktopk::tools {
namespace {

namespace fs = std::filesystem;

constexpr int no_stream = -1;

/// What /proc/self/fd names is a link, which does not say that the file behind it is an open one.
int number_of(fs::path const& name) {
  int number = no_stream;
  auto const text = name.string();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The stream of this process that a path like -, /dev/stdout or /dev/fd/3 names, whatever it leads to.
int named_stream(std::string const& path) {
  if (path == "-") return STDOUT_FILENO;
  constexpr int most_links = 16;
  std::error_code error;
  auto const streams = fs::canonical("/proc/self/fd", error);
  if (error) return no_stream;
  fs::path place = path;
  for (int links = 0; links < most_links && fs::is_symlink(fs::symlink_status(place, error));
       ++links) {
    auto const folder = fs::canonical(fs::absolute(place).parent_path(), error);
    if (folder == streams) return number_of(place.filename());
    place = folder / fs::read_symlink(place, error);
  }
  return no_stream;
}

/// Opens what is written to and not replaced: a stream of this process, a device, a pipe. Returns no_stream for others.
int open_in_place(std::string const& path) {
  std::error_code error;
  int const stream = named_stream(path);
  auto const status = fs::status(path, error);
  bool const is_plain = !fs::exists(status) || fs::is_regular_file(status);
  if (stream == no_stream && is_plain) return no_stream;
  if (stream == no_stream && fs::is_directory(status)) throw Fault(path + ": is a directory");
  int const fd = stream == no_stream ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : ::dup(stream);
  if (fd < 0) throw system_fault(path + ": cannot be written");
  return fd;
}

/// Where the file itself is: a link stays a link.
std::string destination(std::string const& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  auto const target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

mode_t usual_mode() {
  mode_t const mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::OutputFile(std::string const& path) : m_path(path == "-" ? "standard output" : path) {
  int fd = open_in_place(path);
  if (fd == no_stream) fd = open_temporary(path);
  m_file = ::fdopen(fd, "wb");
}

int OutputFile::open_temporary(std::string const& path) {
  m_path = destination(path);
  std::string temporary = m_path + ".partXXXXXX";
  int const fd = ::mkstemp(temporary.data());
  if (fd < 0) throw system_fault(path + ": cannot be written");
  m_temporary = temporary;
  doom(m_temporary);
  ::fchmod(fd, usual_mode());
  return fd;
}

OutputFile::~OutputFile() {
  if (m_file != nullptr) std::fclose(m_file);
  if (m_temporary.empty()) return;
  ::unlink(m_temporary.c_str());
  spare(m_temporary);
}

bool OutputFile::is_terminal() const {
  return m_file != nullptr && ::isatty(::fileno(m_file)) == 1;
}

void OutputFile::write(std::span<std::byte const> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), m_file) != bytes.size())
    throw system_fault(m_path + ": cannot be written");
}

void OutputFile::commit() {
  if (std::fclose(std::exchange(m_file, nullptr)) != 0)
    throw system_fault(m_path + ": cannot be written");
  if (m_temporary.empty()) return;
  if (::rename(m_temporary.c_str(), m_path.c_str()) != 0)
    throw system_fault(m_path + ": cannot be written");
  spare(m_temporary);
  m_temporary.clear();
}

}  // namespace ktopk::tools
