// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// What is selected: the best k of n keys in each of so many rows.
struct Selection {
  KeyType type = KeyType::f32;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int rank = 2;
};

/// The selected keys of consecutive rows, k for each.
struct Selected {
  std::int64_t first_row = 0;
  std::vector<std::byte> values;
  std::vector<std::int64_t> indices;
};

/// Takes the selected keys block by block, in the order of the rows.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(Selected const& selected) = 0;
  virtual void finish() = 0;

  /// Whether what it writes may appear on the terminal that shows the progress.
  virtual bool writes_to_terminal() const { return false; }
};

/// Which columns a .npy output has.
enum class Columns { both, indices, values };

/// A table with the columns row, rank, index and value on standard output.
std::unique_ptr<Sink> make_table(Selection const& selection);

/// A .npy file of the shape (k) or (rows, k). With both columns it is a structured array with the fields index and value.
std::unique_ptr<Sink> make_npy_output(Selection const& selection, std::string const& path,
                                      Columns columns);

}  // namespace ktopk::tools
