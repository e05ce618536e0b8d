// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/key_stream.hpp"
#include "files/matrix.hpp"

namespace ktopk::tools {

/// Rows of keys, taken from the first to the last. What is returned is valid until the next call.
class Source {
 public:
  /// \param layout  type, rows, n and rank; n is -1 for one row that has as many keys as come
  explicit Source(Matrix const& layout) : m_layout(layout) {}
  virtual ~Source() = default;

  Matrix const& layout() const { return m_layout; }

  /// The next so many rows. Reports the bytes that were read, as next_part does.
  virtual Matrix next_rows(std::int64_t count, Reading const& reading) = 0;

  /// From now on next_part may return keys of a file that were not read yet: whoever takes them reads them faster.
  virtual void leave_parts_unread() {}

  /// The next keys of a row, up to so many; none behind its end, after which the next row follows.
  virtual Matrix next_part(std::int64_t count, Reading const& reading) = 0;

  /// Of a row of unknown length: reads up to so many keys ahead. If that is all of it, its length is known from then on.
  virtual void read_ahead(std::int64_t, Reading const&) {}

 protected:
  Matrix m_layout;
};

/// Keys in memory, and what keeps them there.
std::unique_ptr<Source> memory_source(std::shared_ptr<void const> owner, Matrix const& keys);

/// Keys that come, in C order, read into memory as they are asked for. Faults begin with the name.
std::unique_ptr<Source> stream_source(std::string name, std::unique_ptr<KeyStream> keys,
                                      Matrix const& layout);

/// Sources of one row each and one type, one after another, as one row.
std::unique_ptr<Source> concatenation(std::vector<std::unique_ptr<Source>> sources);

}  // namespace ktopk::tools
