// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "files/fault.hpp"
#include "key_text.hpp"
#include "sink.hpp"

namespace ktopk::tools {
namespace {

int digits(std::int64_t largest) {
  return static_cast<int>(std::to_string(std::max<std::int64_t>(largest, 0)).size());
}

class Table : public Sink {
 public:
  explicit Table(Selection const& selection)
      : m_selection(selection),
        m_row_width(std::max(3, digits(selection.rows - 1))),
        m_rank_width(std::max(4, digits(selection.k - 1))),
        m_index_width(std::max(5, digits(selection.n - 1))) {}

  void take(Selected const& selected) override {
    head();
    auto const w = width(m_selection.type);
    for (std::size_t i = 0; i < selected.indices.size(); ++i) {
      auto const position = static_cast<std::int64_t>(i);
      line(selected.first_row + position / m_selection.k, position % m_selection.k,
           selected.indices[i], key_text(m_selection.type, selected.values.data() + position * w));
    }
    check(std::ferror(stdout) == 0);
  }

  void finish() override {
    head();
    check(std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
  }

  bool writes_to_terminal() const override { return ::isatty(STDOUT_FILENO) == 1; }

 private:
  void head() {
    if (std::exchange(m_has_head, true)) return;
    std::printf("%*s  %*s  %*s  value\n", m_row_width, "row", m_rank_width, "rank", m_index_width,
                "index");
  }

  void line(std::int64_t row, std::int64_t rank, std::int64_t index,
            std::string const& value) const {
    std::printf("%*lld  %*lld  %*lld  %s\n", m_row_width, static_cast<long long>(row), m_rank_width,
                static_cast<long long>(rank), m_index_width, static_cast<long long>(index),
                value.c_str());
  }

  static void check(bool good) {
    if (!good) throw system_fault("standard output: cannot be written");
  }

  Selection m_selection;
  int m_row_width;
  int m_rank_width;
  int m_index_width;
  bool m_has_head = false;
};

}  // namespace

std::unique_ptr<Sink> make_table(Selection const& selection) {
  return std::make_unique<Table>(selection);
}

}  // namespace ktopk::tools
