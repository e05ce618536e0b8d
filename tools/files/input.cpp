// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/input.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "files/byte_source.hpp"
#include "files/descriptor.hpp"
#include "files/fault.hpp"
#include "files/npy.hpp"
#include "files/raw.hpp"
#include "files/vecs.hpp"
#include "progress.hpp"

namespace ktopk::tools {
namespace {

using Bytes = std::span<std::byte const>;

struct Extension {
  std::string_view text;
  Content content;
};

constexpr std::array<Extension, 7> extensions{{{".npy", Content::npy},
                                               {".fvecs", Content::fvecs},
                                               {".bvecs", Content::bvecs},
                                               {".ivecs", Content::ivecs},
                                               {".csv", Content::csv},
                                               {".tsv", Content::tsv},
                                               {".txt", Content::text}}};

std::optional<Content> content_by_extension(std::string const& path) {
  auto const extension = std::filesystem::path(path).extension();
  for (Extension const& known : extensions)
    if (extension == known.text) return known.content;
  return std::nullopt;
}

bool is_text(Content content) {
  return content == Content::csv || content == Content::tsv || content == Content::text;
}

Content content_of_file(std::string const& path, InputDescription const& description) {
  if (description.content != Content::by_name) return description.content;
  if (auto const content = content_by_extension(path)) return *content;
  if (description.type.empty())
    throw Fault(
        "its name does not say what it holds; give --type for raw keys, or --from npy, csv, tsv, "
        "text, fvecs, bvecs or ivecs");
  return Content::raw;
}

bool describes_text(InputDescription const& description) {
  return !description.separator.empty() || !description.column.empty() ||
         description.header != Header::detect;
}

Content content_of_stream(ByteSource& bytes, InputDescription const& description) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (description.content != Content::by_name) return description.content;
  auto const first = bytes.peek(magic.size());
  if (std::string_view(reinterpret_cast<char const*>(first.data()), first.size()) == magic)
    return Content::npy;
  return description.type.empty() || describes_text(description) ? Content::csv : Content::raw;
}

/// Throws Fault for an option that says nothing of such content.
void check_description(Content content, InputDescription const& description) {
  auto const refuse_if = [](bool given, char const* option, char const* use) {
    if (given) throw Fault(std::string(option) + " is for " + use);
  };
  bool const states_type = !is_text(content) && content != Content::raw;
  refuse_if(states_type && !description.type.empty(), "--type",
            "raw keys and text; this file states its own type");
  refuse_if(content != Content::raw && !description.shape.empty(), "--shape",
            "raw keys; this file states its own shape");
  if (is_text(content)) return;
  refuse_if(!description.separator.empty(), "--sep", "text, but this file is none");
  refuse_if(!description.column.empty(), "--column", "text, but this file is none");
  refuse_if(description.header != Header::detect, "--header", "text, but this file is none");
}

KeyType raw_type(InputDescription const& description) {
  if (description.type.empty()) throw Fault("raw keys need --type");
  auto const type = key_type_from_name(description.type);
  if (!type)
    throw Fault("the type " + in_quotes(description.type) + " is none of " + key_type_names());
  return *type;
}

KeyType text_type(InputDescription const& description) {
  return description.type.empty() ? KeyType::f64 : raw_type(description);
}

KeyType vecs_type(Content content) {
  if (content == Content::fvecs) return KeyType::f32;
  return content == Content::bvecs ? KeyType::u8 : KeyType::i32;
}

char separator_of(Content content, std::string const& wanted) {
  if (wanted == "\\t" || wanted == "tab") return '\t';
  if (wanted == "space") return ' ';
  if (wanted.size() > 1 || wanted == "\n" || wanted == "\"")
    throw Fault("--sep: " + in_quotes(wanted) + " is neither one character nor tab or space");
  if (!wanted.empty()) return wanted[0];
  if (content == Content::csv) return ',';
  return content == Content::tsv ? '\t' : ' ';
}

Matrix parse_vecs_with_progress(Bytes file, KeyType type) {
  Progress progress("checking", static_cast<std::int64_t>(file.size()));
  return parse_vecs(file, type, [&](std::int64_t bytes) { progress.add(bytes); });
}

/// Content that is read from memory.
Matrix parse(Bytes file, Content content, InputDescription const& description) {
  if (content == Content::npy) return parse_npy(file);
  if (content == Content::raw) return parse_raw(file, raw_type(description), description.shape);
  return parse_vecs_with_progress(file, vecs_type(content));
}

std::unique_ptr<Source> from_memory(std::vector<std::byte> bytes, Content content,
                                    InputDescription const& description) {
  auto const held = std::make_shared<std::vector<std::byte> const>(std::move(bytes));
  Matrix const keys = parse(*held, content, description);
  return memory_source(held, keys);
}

/// Reads a matrix of text, whose number of rows is known at its end.
std::unique_ptr<Source> text_matrix(TextKeys text, KeyType type) {
  constexpr std::int64_t piece = std::int64_t{1} << 16;
  auto const held = std::make_shared<std::vector<std::byte>>();
  std::int64_t count = 0, came = 0;
  do {
    auto const size = static_cast<std::size_t>((count + piece) * width(type));
    if (held->capacity() < size) held->reserve(2 * size);
    held->resize(size);
    came = text.keys->read(held->data() + count * width(type), piece);
    count += came;
  } while (came == piece);
  auto const n = text.columns;
  return memory_source(held, {type, held->data(), count / n, n, n, 1, 2});
}

std::unique_ptr<Source> from_text(std::string const& name, std::unique_ptr<ByteSource> bytes,
                                  Content content, InputDescription const& description) {
  auto const type = text_type(description);
  TextLayout const layout{separator_of(content, description.separator), description.header,
                          description.column};
  auto text = read_text(std::move(bytes), type, layout);
  if (text.columns > 1) return text_matrix(std::move(text), type);
  return stream_source(name, std::move(text.keys), {type, nullptr, 1, -1, -1, 1, 1});
}

std::unique_ptr<Source> from_npy_stream(std::string const& name, std::unique_ptr<ByteSource> bytes,
                                        InputDescription const& description) {
  constexpr std::size_t first_bytes = 12;
  constexpr std::size_t longest = std::size_t{1} << 20;
  auto const size = npy_preamble_size(bytes->peek(first_bytes));
  if (size > longest)
    throw Fault("its header should have " + std::to_string(size) +
                " bytes, which is more than the 1 MiB that is read from a pipe");
  Matrix const layout = parse_npy_preamble(bytes->peek(size));
  bool const by_columns = layout.key_stride != 1 && layout.n > 1;
  if (by_columns) return from_memory(bytes->read_all(), Content::npy, description);
  std::vector<std::byte> preamble(size);
  bytes->read(preamble);
  auto keys = binary_keys(std::move(bytes), layout.type, layout.rows * layout.n);
  return stream_source(name, std::move(keys), layout);
}

std::unique_ptr<Source> from_raw_stream(std::string const& name, std::unique_ptr<ByteSource> bytes,
                                        InputDescription const& description) {
  auto const type = raw_type(description);
  bool const is_known = !description.shape.empty();
  Matrix const layout =
      is_known ? describe_raw(type, description.shape) : Matrix{type, nullptr, 1, -1, -1, 1, 1};
  auto const count = is_known ? layout.rows * layout.n : -1;
  return stream_source(name, binary_keys(std::move(bytes), type, count), layout);
}

std::unique_ptr<Source> open_as_stream(std::string const& path,
                                       InputDescription const& description) {
  auto bytes = open_stream(path);
  auto const content = content_of_stream(*bytes, description);
  check_description(content, description);
  auto const name = display_name(path);
  if (is_text(content)) return from_text(name, std::move(bytes), content, description);
  if (content == Content::npy) return from_npy_stream(name, std::move(bytes), description);
  if (content == Content::raw) return from_raw_stream(name, std::move(bytes), description);
  return from_memory(bytes->read_all(), content, description);
}

std::unique_ptr<Source> open_file(std::string const& path, InputDescription const& description) {
  MappedFile file(path);
  auto const content = content_of_file(path, description);
  check_description(content, description);
  if (is_text(content))
    return from_text(path, bytes_of_file(std::move(file)), content, description);
  auto const held = std::make_shared<MappedFile const>(std::move(file));
  Matrix const keys = parse(held->bytes(), content, description);
  return memory_source(held, keys);
}

std::unique_ptr<Source> open_input(std::string const& path, InputDescription const& description) {
  try {
    // Standard input has no name that says what it holds, so it is a stream even if it is a file.
    bool const is_file = path != "-" && can_be_mapped(path);
    return is_file ? open_file(path, description) : open_as_stream(path, description);
  } catch (Fault const& fault) { throw Fault(display_name(path) + ": " + fault.what()); }
}

void check_part(std::string const& path, Matrix const& keys, std::string const& first_path,
                Matrix const& first) {
  auto const name = display_name(path);
  if (keys.rows != 1)
    throw Fault(name + ": has " + std::to_string(keys.rows) +
                " rows; several files are one row, so each is a vector or one row of it");
  if (keys.type != first.type)
    throw Fault(name + ": has keys of type " + tools::name(keys.type) + ", but " +
                display_name(first_path) + " has " + tools::name(first.type));
}

}  // namespace

std::string display_name(std::string const& path) { return path == "-" ? "standard input" : path; }

std::unique_ptr<Source> open_inputs(std::vector<std::string> const& paths,
                                    InputDescription const& description) {
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    throw Fault("standard input can be read once, but - is given twice");
  std::vector<std::unique_ptr<Source>> sources;
  for (auto const& path : paths) {
    sources.push_back(open_input(path, description));
    if (paths.size() > 1)
      check_part(path, sources.back()->layout(), paths.front(), sources.front()->layout());
  }
  return sources.size() == 1 ? std::move(sources.front()) : concatenation(std::move(sources));
}

}  // namespace ktopk::tools
