// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstring>
#include <vector>

#include "files/npy.hpp"
#include "files/output_file.hpp"
#include "key_text.hpp"
#include "sink.hpp"

namespace ktopk::tools {
namespace {

std::vector<NpyField> fields(KeyType type, Columns columns) {
  NpyField const index{"index", "i8"};
  NpyField const value{"value", numpy_code(type)};
  if (columns == Columns::indices) return {index};
  if (columns == Columns::values) return {value};
  return {index, value};
}

std::vector<std::int64_t> shape(Selection const& selection) {
  if (selection.question == Question::kth) return {selection.rows};
  if (selection.rank == 1) return {selection.k};
  return {selection.rows, selection.k};
}

template <class T>
void append(std::vector<std::byte>& bytes, T const& value) {
  auto const* first = reinterpret_cast<std::byte const*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

class NpyOutput : public Sink {
 public:
  NpyOutput(Selection const& selection, std::string const& path, Columns columns)
      : m_type(selection.type),
        m_columns(selection.question == Question::top_k ? columns : Columns::values),
        m_file(path) {
    std::string const preamble = npy_preamble(fields(m_type, m_columns), shape(selection));
    m_file.write(std::as_bytes(std::span(preamble)));
  }

  void take(Selected const& selected) override {
    m_records.clear();
    auto const w = static_cast<std::size_t>(width(m_type));
    for (std::size_t i = 0; i < selected.values.size() / w; ++i) {
      if (m_columns != Columns::values) append(m_records, selected.indices[i]);
      if (m_columns != Columns::indices) append_value(selected.values.data() + i * w);
    }
    m_file.write(m_records);
  }

  void finish() override { m_file.commit(); }

  bool writes_to_terminal() const override { return m_file.is_terminal(); }

 private:
  void append_value(std::byte const* key) {
    if (m_type != KeyType::bf16) {
      m_records.insert(m_records.end(), key, key + width(m_type));
      return;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, key, sizeof bits);
    append(m_records, widen_bfloat16(bits));
  }

  KeyType m_type;
  Columns m_columns;
  OutputFile m_file;
  std::vector<std::byte> m_records;
};

}  // namespace

std::unique_ptr<Sink> make_npy_output(Selection const& selection, std::string const& path,
                                      Columns columns) {
  return std::make_unique<NpyOutput>(selection, path, columns);
}

}  // namespace ktopk::tools
