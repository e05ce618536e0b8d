// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ktopk::testing {

/// An empty folder that disappears with the test.
class ScratchFolder {
 public:
  ScratchFolder()
      : m_path((std::filesystem::temp_directory_path() / "ktopk-test-XXXXXX").string()) {
    if (::mkdtemp(m_path.data()) == nullptr)
      throw std::runtime_error("no scratch folder: " + m_path);
  }
  ~ScratchFolder() { std::filesystem::remove_all(m_path); }
  ScratchFolder(ScratchFolder const&) = delete;
  ScratchFolder& operator=(ScratchFolder const&) = delete;

  std::string path(std::string const& name) const { return m_path + "/" + name; }

  std::string write(std::string const& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(m_path))
      names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string m_path;
};

inline std::string content(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The memory of a vector, as text to write.
template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

inline std::span<std::byte const> as_file(std::string const& bytes) {
  return std::as_bytes(std::span(bytes));
}

}  // namespace ktopk::testing
