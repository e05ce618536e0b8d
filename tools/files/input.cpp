// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/input.hpp"

#include <filesystem>
#include <string_view>

#include "files/fault.hpp"
#include "files/npy.hpp"
#include "files/raw.hpp"
#include "files/vecs.hpp"
#include "progress.hpp"

namespace ktopk::tools {
namespace {

using Bytes = std::span<std::byte const>;

Matrix parse_described(Bytes file, InputDescription const& description) {
  if (description.type.empty() || description.shape.empty())
    throw Fault(
        "is neither .npy nor .fvecs, .bvecs, .ivecs; raw keys need both --type and --shape");
  auto const type = key_type_from_name(description.type);
  if (!type)
    throw Fault("the type " + in_quotes(description.type) + " is none of " + key_type_names());
  return parse_raw(file, *type, description.shape);
}

Matrix parse_vecs_with_progress(Bytes file, KeyType type) {
  Progress progress("checking", static_cast<std::int64_t>(file.size()));
  return parse_vecs(file, type, [&](std::int64_t bytes) { progress.add(bytes); });
}

Matrix parse(Bytes file, InputDescription const& description) {
  auto const extension = std::filesystem::path(description.path).extension();
  bool const describes_itself = extension == ".npy" || extension == ".fvecs" ||
                                extension == ".bvecs" || extension == ".ivecs";
  if (!describes_itself) return parse_described(file, description);
  if (!description.type.empty() || !description.shape.empty())
    throw Fault("a " + extension.string() +
                " file states its own type and shape; --type and --shape are for raw files");
  if (extension == ".npy") return parse_npy(file);
  if (extension == ".fvecs") return parse_vecs_with_progress(file, KeyType::f32);
  if (extension == ".bvecs") return parse_vecs_with_progress(file, KeyType::u8);
  return parse_vecs_with_progress(file, KeyType::i32);
}

}  // namespace

Input open_input(InputDescription const& description) {
  try {
    MappedFile file(description.path);
    Matrix const keys = parse(file.bytes(), description);
    return {std::move(file), keys};
  } catch (Fault const& fault) { throw Fault(description.path + ": " + fault.what()); }
}

}  // namespace ktopk::tools
