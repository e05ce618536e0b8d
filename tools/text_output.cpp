// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <functional>
#include <utility>

#include "files/output_file.hpp"
#include "key_text.hpp"
#include "sink.hpp"

namespace ktopk::tools {
namespace {

int digits(std::int64_t largest) {
  return static_cast<int>(std::to_string(std::max<std::int64_t>(largest, 0)).size());
}

std::string text_of(double value) {
  return key_text(KeyType::f64, reinterpret_cast<std::byte const*>(&value));
}

class TextOutput : public Sink {
 public:
  TextOutput(Selection selection, std::string const& path, Format format, Columns columns)
      : m_selection(std::move(selection)), m_format(format), m_file(path) {
    add_counting_columns();
    bool const has_indices = m_selection.question == Question::top_k;
    if (has_indices && columns != Columns::values)
      m_columns.push_back({"index", digits(m_selection.n - 1), [this](std::int64_t i) {
                             return std::to_string(m_selected->indices[place(i)]);
                           }});
    if (!has_indices || columns != Columns::indices)
      m_columns.push_back({"value", 0, [this](std::int64_t i) { return value(i); }});
  }

  void take(Selected const& selected) override {
    m_selected = &selected;
    fit_indices();
    head();
    auto const count = static_cast<std::int64_t>(selected.values.size()) / width(m_selection.type);
    for (std::int64_t i = 0; i < count; ++i)
      write_line([&](Column const& column) { return column.text(i); });
  }

  void finish() override {
    head();
    m_file.commit();
  }

  bool writes_to_terminal() const override { return m_file.is_terminal(); }

 private:
  struct Column {
    std::string name;
    int width = 0;  // in a table
    std::function<std::string(std::int64_t)> text;
  };

  static std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

  void add_counting_columns() {
    auto const k = m_selection.k;
    if (m_selection.rank > 1)
      m_columns.push_back({"row", digits(m_selection.rows - 1), [this, k](std::int64_t i) {
                             return std::to_string(m_selected->first_row + i / k);
                           }});
    if (m_selection.question == Question::top_k)
      m_columns.push_back(
          {"rank", digits(k - 1), [k](std::int64_t i) { return std::to_string(i % k); }});
    if (m_selection.question == Question::quantiles)
      m_columns.push_back({"quantile", longest_quantile(), [this, k](std::int64_t i) {
                             return text_of(m_selection.quantiles[place(i % k)]);
                           }});
  }

  int longest_quantile() const {
    std::size_t longest = 0;
    for (double const q : m_selection.quantiles) longest = std::max(longest, text_of(q).size());
    return static_cast<int>(longest);
  }

  std::string value(std::int64_t i) const {
    return key_text(m_selection.type, m_selected->values.data() + i * width(m_selection.type));
  }

  /// Of a row whose length was not known, these are all indices.
  void fit_indices() {
    if (m_selection.n >= 0 || m_selected->indices.empty()) return;
    auto const& indices = m_selected->indices;
    for (Column& column : m_columns)
      if (column.name == "index")
        column.width = digits(*std::max_element(indices.begin(), indices.end()));
  }

  void head() {
    if (std::exchange(m_has_head, true)) return;
    write_line([](Column const& column) { return column.name; });
  }

  /// \param text  text(column) is the column's
  template <class Text>
  void write_line(Text const& text) {
    m_line.clear();
    for (Column const& column : m_columns) {
      bool const is_first = &column == &m_columns.front();
      bool const is_last = &column == &m_columns.back();
      if (m_format == Format::table)
        add_aligned(text(column), column, is_first, is_last && column.name == "value");
      else
        add_separated(text(column), is_first);
    }
    m_line += '\n';
    m_file.write(std::as_bytes(std::span(m_line)));
  }

  void add_separated(std::string const& text, bool is_first) {
    if (!is_first) m_line += m_format == Format::tsv ? '\t' : ',';
    m_line += text;
  }

  void add_aligned(std::string const& text, Column const& column, bool is_first, bool is_free) {
    auto const width = std::max(column.name.size(), static_cast<std::size_t>(column.width));
    m_line += is_first ? "" : "  ";
    if (!is_free && text.size() < width) m_line.append(width - text.size(), ' ');
    m_line += text;
  }

  Selection m_selection;
  Format m_format;
  OutputFile m_file;
  std::vector<Column> m_columns;
  Selected const* m_selected = nullptr;
  std::string m_line;
  bool m_has_head = false;
};

}  // namespace

std::unique_ptr<Sink> make_text_output(Selection const& selection, std::string const& path,
                                       Format format, Columns columns) {
  return std::make_unique<TextOutput>(selection, path, format, columns);
}

}  // namespace ktopk::tools
