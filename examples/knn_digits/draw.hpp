// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "digits.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

/// A picture with a line of text above it.
struct Picture {
  std::string title;
  std::uint8_t const* pixels;
};

/// One line of a digit, two characters a pixel.
inline std::string draw_line(std::uint8_t const* pixels, int y) {
  static constexpr std::array<char const*, 5> shades{" ", "\u2591", "\u2592", "\u2593", "\u2588"};
  std::string line;
  for (int x = 0; x < digit_width; ++x) {
    char const* const shade = shades[(pixels[y * digit_width + x] + 3) / 4];
    line.append(shade).append(shade);
  }
  return line;
}

/// Pictures side by side; the first stands apart.
inline void draw(std::vector<Picture> const& pictures) {
  constexpr int column = 2 * digit_width;
  for (int y = -1; y < digit_width; ++y) {
    std::string line;
    for (auto const& [title, pixels] : pictures) {
      line += line.empty() ? "  " : &title == &pictures[1].title ? "        " : "   ";
      line += y < 0 ? title + std::string(column - title.size(), ' ') : draw_line(pixels, y);
    }
    std::printf("%s\n", line.c_str());
  }
  std::printf("\n");
}
