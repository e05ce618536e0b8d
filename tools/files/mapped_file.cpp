// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "files/descriptor.hpp"
#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

std::size_t regular_size(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) throw system_fault("cannot be inspected");
  if (!S_ISREG(status.st_mode))
    throw Fault("is not a regular file, so it cannot be mapped into memory");
  return static_cast<std::size_t>(status.st_size);
}

std::span<std::byte const> map(int fd, std::size_t size) {
  if (size == 0) return {};
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) throw system_fault("cannot be mapped into memory");
  return {static_cast<std::byte const*>(start), size};
}

}  // namespace

MappedFile::MappedFile(std::string const& path) {
  Descriptor const file(path);
  m_bytes = map(file.get(), regular_size(file.get()));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}

MappedFile::~MappedFile() {
  if (!m_bytes.empty()) ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

}  // namespace ktopk::tools
