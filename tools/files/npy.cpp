// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/npy.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "files/fault.hpp"
#include "files/python_literal.hpp"

namespace ktopk::tools {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

enum class Storage { c, fortran };

struct Header {
  std::optional<KeyType> type;
  std::optional<Storage> storage;
  std::optional<std::vector<std::int64_t>> shape;
};

std::size_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Where the header's text begins.
std::size_t text_start(std::string_view file) {
  if (!file.starts_with(magic))
    throw Fault("is not a .npy file: it does not begin with \\x93NUMPY");
  if (file.size() < 10) throw Fault("is cut off within its header");
  auto const version = byte_at(file, 6);
  if (version < 1 || version > 3)
    throw Fault(".npy version " + std::to_string(version) + " is unknown (1, 2 and 3 are read)");
  std::size_t const start = version == 1 ? 10 : 12;
  if (file.size() < start) throw Fault("is cut off within its header");
  return start;
}

std::size_t text_length(std::string_view file) {
  std::size_t length = byte_at(file, 8) | byte_at(file, 9) << 8;
  if (text_start(file) > 10) length |= byte_at(file, 10) << 16 | byte_at(file, 11) << 24;
  return length;
}

/// The header's text and, as its end, the place where the keys begin.
std::string_view header_text(std::string_view file) {
  std::size_t const start = text_start(file);
  std::size_t const length = text_length(file);
  if (length > file.size() - start)
    throw Fault("its header should have " + std::to_string(length) + " bytes, but only " +
                std::to_string(file.size() - start) + " follow");
  return file.substr(start, length);
}

KeyType parse_type(std::string_view descr) {
  constexpr std::string_view orders = "<>|=";
  bool const has_order = !descr.empty() && orders.find(descr[0]) != std::string_view::npos;
  auto const type = key_type_from_numpy(descr.substr(has_order ? 1 : 0));
  if (!type)
    throw Fault("its keys are of type " + in_quotes(descr) + ", which cannot be selected from");
  if (descr[0] == '>' && width(*type) > 1)
    throw Fault("its keys are big-endian (" + in_quotes(descr) +
                "); save them in little-endian order first");
  return *type;
}

template <class T>
void set_once(std::optional<T>& place, T value, std::string_view key) {
  if (place) throw Fault("its header has " + in_quotes(key) + " twice");
  place = std::move(value);
}

void parse_entry(PythonLiteral& literal, Header& header) {
  auto const key = literal.string();
  literal.expect(':');
  if (key == "descr") {
    if (literal.next_is('['))
      throw Fault("holds a structured array; only plain arrays of numbers are read");
    set_once(header.type, parse_type(literal.string()), key);
  } else if (key == "fortran_order") {
    set_once(header.storage, literal.boolean() ? Storage::fortran : Storage::c, key);
  } else if (key == "shape") {
    set_once(header.shape, literal.tuple(), key);
  } else {
    throw Fault("its header has an unknown entry " + in_quotes(key));
  }
}

Header parse_header(std::string_view text) {
  PythonLiteral literal(text);
  Header header;
  literal.expect('{');
  while (!literal.accept('}')) {
    parse_entry(literal, header);
    if (!literal.accept(',')) {
      literal.expect('}');
      break;
    }
  }
  literal.expect_end();
  if (!header.type) throw Fault("its header lacks 'descr'");
  if (!header.storage) throw Fault("its header lacks 'fortran_order'");
  if (!header.shape) throw Fault("its header lacks 'shape'");
  return header;
}

Matrix arrange(Header const& header) {
  auto const& shape = *header.shape;
  if (shape.empty() || shape.size() > 2)
    throw Fault("has " + std::to_string(shape.size()) + " dimensions; arrays of 1 or 2 are read");
  Matrix matrix;
  matrix.type = *header.type;
  matrix.rank = static_cast<int>(shape.size());
  matrix.rows = matrix.rank == 1 ? 1 : shape[0];
  matrix.n = shape.back();
  bool const by_columns = matrix.rank == 2 && header.storage == Storage::fortran;
  matrix.row_stride = by_columns ? 1 : matrix.n;
  matrix.key_stride = by_columns ? matrix.rows : 1;
  if (key_bytes(matrix) < 0) throw Fault("its header promises more keys than can be addressed");
  return matrix;
}

void check_size(Matrix const& matrix, std::size_t held) {
  auto const promised = key_bytes(matrix);
  if (static_cast<std::size_t>(promised) != held)
    throw Fault("its header promises " + std::to_string(promised) +
                " bytes of keys, but the file holds " + std::to_string(held));
}

std::string descr(std::vector<NpyField> const& fields) {
  auto const code = [](NpyField const& field) {
    return (field.code.back() == '1' ? "'|" : "'<") + field.code + "'";
  };
  if (fields.size() == 1) return code(fields[0]);
  std::string list;
  for (NpyField const& field : fields)
    list += (list.empty() ? "" : ", ") + ("('" + field.name + "', " + code(field) + ")");
  return "[" + list + "]";
}

std::string tuple(std::vector<std::int64_t> const& shape) {
  std::string text = "(";
  for (std::int64_t const extent : shape) text += std::to_string(extent) + ", ";
  return text + ")";
}

}  // namespace

std::size_t npy_preamble_size(std::span<std::byte const> bytes) {
  std::string_view const file(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  return text_start(file) + text_length(file);
}

Matrix parse_npy_preamble(std::span<std::byte const> preamble) {
  std::string_view const file(reinterpret_cast<char const*>(preamble.data()), preamble.size());
  return arrange(parse_header(header_text(file)));
}

Matrix parse_npy(std::span<std::byte const> bytes) {
  std::string_view const file(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  auto const text = header_text(file);
  auto const start = static_cast<std::size_t>(text.data() + text.size() - file.data());
  Matrix matrix = arrange(parse_header(text));
  check_size(matrix, bytes.size() - start);
  matrix.data = bytes.data() + start;
  return matrix;
}

std::string npy_preamble(std::vector<NpyField> const& fields,
                         std::vector<std::int64_t> const& shape) {
  constexpr std::size_t alignment = 64;
  std::string text =
      "{'descr': " + descr(fields) + ", 'fortran_order': False, 'shape': " + tuple(shape) + ", }";
  std::size_t const start = magic.size() + 4;
  while ((start + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  std::string preamble(magic);
  preamble += '\x01';
  preamble += '\0';
  preamble += static_cast<char>(text.size() & 0xff);
  preamble += static_cast<char>(text.size() >> 8);
  return preamble + text;
}

}  // namespace ktopk::tools
