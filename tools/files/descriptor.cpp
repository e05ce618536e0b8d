// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

int open(std::string const& path) {
  return path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

Descriptor::Descriptor(std::string const& path) : m_fd(open(path)) {
  if (m_fd < 0) throw system_fault("cannot be opened");
}

Descriptor::~Descriptor() { ::close(m_fd); }

bool can_be_mapped(std::string const& path) {
  // A pipe that is opened and closed again would lose its writer, so the path is inspected.
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) throw system_fault("cannot be opened");
  if (S_ISDIR(status.st_mode)) throw Fault("is a directory");
  return S_ISREG(status.st_mode);
}

}  // namespace ktopk::tools
