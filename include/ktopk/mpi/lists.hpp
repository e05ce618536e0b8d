// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <ktopk/mpi/pattern.hpp>
#include <ktopk/team.hpp>

namespace ktopk::detail::mpi {

/// Selected keys of some rows with their global positions, in the memory of the host: those of a row are one behind the
/// other, best first.
template <class T>
class Lists : public ReceiveBuffer {
 public:
  /// \param limits  how many keys of each row are wanted
  Lists(KeyOrder<T> const& order, std::vector<std::int64_t> limits)
      : m_order(order), m_limits(std::move(limits)), m_ends(m_limits.size(), 0) {}

  std::int64_t rows() const { return static_cast<std::int64_t>(m_ends.size()); }
  std::int64_t begin(std::int64_t row) const { return row > 0 ? m_ends[row - 1] : 0; }
  std::int64_t end(std::int64_t row) const { return m_ends[row]; }
  std::int64_t count(std::int64_t row) const { return end(row) - begin(row); }
  std::int64_t limit(std::int64_t row) const { return m_limits[row]; }
  T value(std::int64_t entry) const { return m_values[entry]; }
  std::int64_t position(std::int64_t entry) const { return m_positions[entry]; }
  KeyOrder<T> const& order() const { return m_order; }

  void clear() {
    m_values.clear();
    m_positions.clear();
    std::fill(m_ends.begin(), m_ends.end(), 0);
  }
  /// Appends to the row that is filled; rows are filled one after the other.
  void append(T value, std::int64_t position) {
    m_values.push_back(value);
    m_positions.push_back(position);
  }
  void end_row(std::int64_t row) { m_ends[row] = static_cast<std::int64_t>(m_values.size()); }

  /// The same rows with the first counts[row] entries of each.
  Lists first(std::vector<std::int64_t> const& counts) const {
    Lists part(m_order, m_limits);
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (std::int64_t i = begin(row); i < begin(row) + counts[row]; ++i)
        part.append(m_values[i], m_positions[i]);
      part.end_row(row);
    }
    return part;
  }

  /// Orders each row by position.
  void sort_by_position() {
    std::vector<std::pair<std::int64_t, T>> entries;
    for (std::int64_t row = 0; row < rows(); ++row) {
      entries.clear();
      for (std::int64_t i = begin(row); i < end(row); ++i)
        entries.emplace_back(m_positions[i], m_values[i]);
      std::sort(entries.begin(), entries.end(),
                [](auto const& a, auto const& b) { return a.first < b.first; });
      for (std::int64_t i = begin(row); auto const& [position, value] : entries) {
        m_positions[i] = position;
        m_values[i++] = value;
      }
    }
  }

  /// The ends of rows, then positions, then values, in words.
  Message message() const {
    Message message(m_ends.size() + m_positions.size() + words_of_values(m_values.size()));
    std::uint64_t* to = message.data();
    to = put(to, m_ends.data(), m_ends.size() * sizeof(std::int64_t));
    to = put(to, m_positions.data(), m_positions.size() * sizeof(std::int64_t));
    put(to, m_values.data(), m_values.size() * sizeof(T));
    return message;
  }

  void assign(Words const& message) {
    std::uint64_t const* from = message.data();
    from = get(from, m_ends.data(), m_ends.size() * sizeof(std::int64_t));
    auto const entries = static_cast<std::size_t>(m_ends.empty() ? 0 : m_ends.back());
    m_positions.resize(entries);
    m_values.resize(entries);
    from = get(from, m_positions.data(), entries * sizeof(std::int64_t));
    get(from, m_values.data(), entries * sizeof(T));
  }

  void merge(Words const& message) {
    Lists other(m_order, m_limits);
    other.assign(message);
    Lists merged(m_order, m_limits);
    merged.m_values.reserve(m_values.size() + other.m_values.size());
    merged.m_positions.reserve(m_values.size() + other.m_values.size());
    for (std::int64_t row = 0; row < rows(); ++row) merged.append_merged(*this, other, row);
    m_ends = std::move(merged.m_ends);
    m_values = std::move(merged.m_values);
    m_positions = std::move(merged.m_positions);
  }

  static std::size_t words_of_values(std::size_t entries) {
    return (entries * sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  }

 private:
  void append_merged(Lists const& a, Lists const& b, std::int64_t row) {
    std::int64_t i = a.begin(row), j = b.begin(row);
    for (std::int64_t left = m_limits[row]; left > 0; --left) {
      if (i < a.end(row) && (j == b.end(row) || a.is_before(i, b, j))) {
        append(a.m_values[i], a.m_positions[i]);
        ++i;
      } else if (j < b.end(row)) {
        append(b.m_values[j], b.m_positions[j]);
        ++j;
      } else {
        break;
      }
    }
    end_row(row);
  }
  bool is_before(std::int64_t i, Lists const& other, std::int64_t j) const {
    return m_order.is_before(m_order.rank(m_values[i]), m_positions[i],
                             m_order.rank(other.m_values[j]), other.m_positions[j]);
  }

  static std::uint64_t* put(std::uint64_t* to, void const* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return to + (bytes + sizeof *to - 1) / sizeof *to;
  }
  static std::uint64_t const* get(std::uint64_t const* from, void* to, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return from + (bytes + sizeof *from - 1) / sizeof *from;
  }

  KeyOrder<T> m_order;
  std::vector<std::int64_t> m_limits, m_ends;
  std::vector<T> m_values;
  std::vector<std::int64_t> m_positions;
};

}  // namespace ktopk::detail::mpi
