// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

inline constexpr int digit_width = 8;
inline constexpr int digit_pixels = digit_width * digit_width;
inline constexpr int digit_classes = 10;

struct Digits {
  std::vector<std::uint8_t> pixels;  ///< digit_pixels for each digit, 0 (paper) to 16 (ink)
  std::vector<std::uint8_t> labels;  ///< 0 to 9

  int count() const { return static_cast<int>(labels.size()); }
  std::uint8_t const* pixels_of(int digit) const {
    return pixels.data() + std::size_t(digit) * digit_pixels;
  }
};

/// The bytes of an .npy file (version 1) of type uint8, whatever its shape.
inline std::vector<std::uint8_t> read_npy_bytes(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> const all{std::istreambuf_iterator<char>(file),
                                      std::istreambuf_iterator<char>()};
  constexpr std::size_t preamble = 10;
  if (all.size() < preamble) throw std::runtime_error("cannot read " + path.string());
  std::size_t const header = all[8] + std::size_t(256) * all[9];
  std::string const text(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                        std::min(all.size(), preamble + header)));
  if (text.compare(1, 5, "NUMPY") != 0 || text.find("'|u1'") == std::string::npos)
    throw std::runtime_error(path.string() + " is not an .npy file of bytes");
  return {all.begin() + static_cast<std::ptrdiff_t>(preamble + header), all.end()};
}

inline Digits read_digits(std::filesystem::path const& folder) {
  Digits digits{read_npy_bytes(folder / "digits.npy"), read_npy_bytes(folder / "labels.npy")};
  if (digits.pixels.size() != digits.labels.size() * digit_pixels)
    throw std::runtime_error("digits.npy and labels.npy in " + folder.string() +
                             " do not belong together");
  return digits;
}
