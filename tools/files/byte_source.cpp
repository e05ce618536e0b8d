// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/byte_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "files/descriptor.hpp"
#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

class Stream : public ByteSource {
 public:
  explicit Stream(std::string const& path) : m_descriptor(path) {}

 private:
  std::size_t read_some(std::span<std::byte> target) override {
    ssize_t count = 0;
    do {
      count = ::read(m_descriptor.get(), target.data(), target.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) throw system_fault("cannot be read");
    return static_cast<std::size_t>(count);
  }

  Descriptor m_descriptor;
};

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(MappedFile file) : m_file(std::move(file)), m_rest(m_file.bytes()) {}

 private:
  std::size_t read_some(std::span<std::byte> target) override {
    auto const count = std::min(target.size(), m_rest.size());
    std::copy_n(m_rest.begin(), count, target.begin());
    m_rest = m_rest.subspan(count);
    return count;
  }

  MappedFile m_file;
  std::span<std::byte const> m_rest;
};

}  // namespace

std::size_t ByteSource::read_further(std::span<std::byte> target) {
  std::size_t done = 0;
  while (done < target.size()) {
    auto const count = read_some(target.subspan(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

std::size_t ByteSource::read(std::span<std::byte> target) {
  auto const known = std::min(target.size(), m_peeked.size());
  std::copy_n(m_peeked.begin(), known, target.begin());
  m_peeked.erase(m_peeked.begin(), m_peeked.begin() + static_cast<std::ptrdiff_t>(known));
  return known + read_further(target.subspan(known));
}

std::span<std::byte const> ByteSource::peek(std::size_t count) {
  auto const known = m_peeked.size();
  if (known < count) {
    m_peeked.resize(count);
    m_peeked.resize(known + read_further(std::span(m_peeked).subspan(known)));
  }
  return std::span(m_peeked).first(std::min(count, m_peeked.size()));
}

std::vector<std::byte> ByteSource::read_all() {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  do {
    bytes.resize(std::max(2 * size, size + piece));
    size += read(std::span(bytes).subspan(size));
  } while (size == bytes.size());
  bytes.resize(size);
  return bytes;
}

std::unique_ptr<ByteSource> open_stream(std::string const& path) {
  return std::make_unique<Stream>(path);
}

std::unique_ptr<ByteSource> bytes_of_file(MappedFile file) {
  return std::make_unique<FileBytes>(std::move(file));
}

}  // namespace ktopk::tools
