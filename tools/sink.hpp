// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// What is asked of every row: its best keys with their indices, the k-th best key alone, or quantiles.
enum class Question { top_k, kth, quantiles };

/// An answer as a whole: some values for each of the rows.
struct Selection {
  Question question = Question::top_k;
  KeyType type = KeyType::f32;  ///< of the values
  std::int64_t rows = 0;
  std::int64_t n = 0;  ///< keys of a row; -1 if that is known at the end alone
  std::int64_t k = 0;  ///< values of a row
  int rank = 2;        ///< of the keys
  std::vector<double> quantiles;
};

/// The answer for consecutive rows.
struct Selected {
  std::int64_t first_row = 0;
  std::vector<std::byte> values;
  std::vector<std::int64_t> indices;  ///< of Question::top_k
};

/// Takes the answers block by block, in the order of the rows.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(Selected const& selected) = 0;
  virtual void finish() = 0;

  /// Whether what it writes may appear on the terminal that shows the progress.
  virtual bool writes_to_terminal() const { return false; }
};

/// Which columns an output has beside those that count.
enum class Columns { both, indices, values };

/// A table for people, text with separators, or a NumPy array. `by_name`: what the file's extension says.
enum class Format { by_name, table, csv, tsv, npy };

/// What the user asks for. Without any path a table goes to standard output.
struct OutputDescription {
  std::string path;
  Format format = Format::by_name;
  Columns columns = Columns::both;
  std::string indices_path;  ///< of a plain array of the indices
  std::string values_path;   ///< of a plain array of the values
};

/// All outputs that are asked for, as one. Throws Fault if one cannot be opened, or two have the same path.
std::unique_ptr<Sink> make_outputs(Selection const& selection,
                                   OutputDescription const& description);

/// Lines of the columns row, rank or quantile, index and value; a vector has no column row. In a table columns are
/// aligned.
std::unique_ptr<Sink> make_text_output(Selection const& selection, std::string const& path,
                                       Format format, Columns columns);

/// A .npy file of the shape (k) or (rows, k), or for Question::kth (1) or (rows). With both columns it is a structured array
/// with the fields index and value.
std::unique_ptr<Sink> make_npy_output(Selection const& selection, std::string const& path,
                                      Columns columns);

}  // namespace ktopk::tools
