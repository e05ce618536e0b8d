// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "files/fault.hpp"
#include "interrupt.hpp"

namespace ktopk::tools {
namespace {

namespace fs = std::filesystem;

/// Where the file itself is: a link stays a link, and devices and folders are not replaced by a file.
std::string destination(std::string const& path) {
  std::error_code error;
  auto const status = fs::status(path, error);
  if (fs::is_directory(status)) throw Fault(path + ": is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Fault(path + ": is not a regular file");
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

OutputFile::OutputFile(std::string const& path)
    : m_path(destination(path)), m_temporary(m_path + ".partXXXXXX") {
  int const fd = ::mkstemp(m_temporary.data());
  if (fd < 0) throw system_fault(path + ": cannot be written");
  doom(m_temporary);
  ::fchmod(fd, usual_mode());
  m_file = ::fdopen(fd, "wb");
}

OutputFile::~OutputFile() {
  if (m_file != nullptr) std::fclose(m_file);
  if (!m_temporary.empty()) ::unlink(m_temporary.c_str());
  doom("");
}

void OutputFile::write(std::span<std::byte const> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), m_file) != bytes.size())
    throw system_fault(m_path + ": cannot be written");
}

void OutputFile::commit() {
  if (std::fclose(std::exchange(m_file, nullptr)) != 0)
    throw system_fault(m_path + ": cannot be written");
  if (::rename(m_temporary.c_str(), m_path.c_str()) != 0)
    throw system_fault(m_path + ": cannot be written");
  m_temporary.clear();
}

}  // namespace ktopk::tools
