// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/listed_keys.hpp>
#include <ktopk/mpi/pattern.hpp>
#include <ktopk/mpi/staging.hpp>
#include <ktopk/team.hpp>

// Lists that an instance's kernels merge, as those of a GPU do: messages alone pass through the memory of the host, or nothing.

namespace ktopk::detail::mpi {

inline std::int64_t most_of(std::vector<std::int64_t> const& numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

template <class T>
inline constexpr std::int64_t entry_bytes = sizeof(std::int64_t) + sizeof(T);

/// The words of some entries of lists: positions, then values, so that one message takes both. Bytes may be left over.
template <class T>
std::int64_t listed_words(std::int64_t entries) {
  constexpr std::int64_t word = sizeof(std::uint64_t);
  return (entries * entry_bytes<T> + word - 1) / word;
}
/// How many entries of each row such words hold: fewer bytes are left over than an entry has.
template <class T>
std::int64_t columns_of(std::int64_t words, std::int64_t rows) {
  constexpr std::int64_t word = sizeof(std::uint64_t);
  return rows == 0 ? 0 : words * word / (rows * entry_bytes<T>);
}
/// Lists in such memory.
template <class T>
KOKKOS_FUNCTION ListedKeys<T> listed_in(std::uint64_t* memory, std::int64_t rows,
                                        std::int64_t columns) {
  auto* const positions = reinterpret_cast<std::int64_t*>(memory);
  return {columns, positions, reinterpret_cast<T*>(positions + rows * columns)};
}

/// Copies a rank's lists with global positions to others with as many columns or more, and takes no more of a row than are
/// wanted.
template <class T>
struct MakeGlobal {
  ListedKeys<T> lists, to;
  RowNumbers firsts, limits;
  T worst;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / to.columns, slot = i % to.columns;
    std::int64_t const from = row * lists.columns + slot;
    bool const is_wanted =
        slot < lists.columns && slot < limits[row] && lists.positions[from] != -1;
    to.positions[i] = is_wanted ? lists.positions[from] + firsts[row] : std::int64_t{-1};
    to.values[i] = is_wanted ? lists.values[from] : worst;
  }
};

/// Merges the lists of several ranks, in which no position occurs twice, by a call for each of ranks * rows * to.columns
/// entries: an entry's place is its own plus what a binary search finds in each of the other lists.
template <class T>
struct MergeMessages {
  std::uint64_t* messages;  // of to.columns each
  std::int64_t words;       // from one message to the next
  std::int64_t ranks, rows;
  ListedKeys<T> to;
  RowNumbers limits;
  KeyOrder<T> order;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const entries = rows * to.columns;
    std::int64_t const rank = i / entries, row = i % entries / to.columns, slot = i % to.columns;
    std::int64_t out = slot;
    for (std::int64_t other = 0; other < ranks && out < to.columns; ++other)
      if (other != rank) out += before(other, rank, row, slot);
    if (out >= to.columns) return;
    auto const own = lists_of(rank);
    std::int64_t const from = row * to.columns + slot, place = row * to.columns + out;
    bool const is_wanted = own.positions[from] != -1 && out < limits[row];
    to.positions[place] = is_wanted ? own.positions[from] : std::int64_t{-1};
    to.values[place] = is_wanted ? own.values[from] : order.worst();
  }

 private:
  KOKKOS_FUNCTION ListedKeys<T> lists_of(std::int64_t rank) const {
    return listed_in<T>(messages + rank * words, rows, to.columns);
  }

  /// How many of the to.columns slots of another rank's row come before an entry: unused ones come last, by rank.
  KOKKOS_FUNCTION std::int64_t before(std::int64_t other, std::int64_t rank, std::int64_t row,
                                      std::int64_t slot) const {
    auto const own = lists_of(rank), others = lists_of(other);
    std::int64_t const entry = row * to.columns + slot, first = row * to.columns;
    bool const is_used = own.positions[entry] != -1;
    if (!is_used && other < rank) return to.columns;
    return partition_point(to.columns, [&](std::int64_t i) {
      if (others.positions[first + i] == -1) return false;
      return !is_used ||
             order.is_before(order.rank(others.values[first + i]), others.positions[first + i],
                             order.rank(own.values[entry]), own.positions[entry]);
    });
  }
};

/// The lists of a rank, which it merges with those of others. A message is lists, in words: its receiver reads from its length
/// how many columns they have, for the host may not be able to read more of it.
template <class Exec, class T>
class InstanceLists {
 public:
  /// \param limits    how many keys of each row are wanted
  /// \param listed    this rank's best, in memory.lists, whose positions are its own
  /// \param gathered  whether merge_gathered() follows; else message() and merge() may
  InstanceLists(Exec const& exec, PlanMemory<Exec>& memory, KeyOrder<T> const& order,
                std::vector<std::int64_t> const& limits, std::vector<std::int64_t> const& firsts,
                ListedKeys<T> const& listed, bool gathered)
      : m_exec(exec),
        m_memory(memory),
        m_staging(exec, memory),
        m_order(order),
        m_rows(static_cast<std::int64_t>(limits.size())),
        m_most(most_of(limits)),
        m_listed(listed) {
    auto* const here = memory.rows.template get<std::int64_t>(2 * m_rows);
    auto* const there = memory.numbers.template get<std::int64_t>(2 * m_rows);
    std::copy(limits.begin(), limits.end(), here);
    std::copy(firsts.begin(), firsts.end(), here + m_rows);
    m_limits = same_or(limits, there);
    RowNumbers const first = same_or(firsts, there + m_rows);
    if (m_limits.of_rows != nullptr || first.of_rows != nullptr)
      copy_in(exec, static_cast<std::int64_t const*>(here), there, 2 * m_rows);
    auto const to =
        gathered ? listed_in<T>(m_staging.to_write(gathered_words()), m_rows, m_most) : m_listed;
    launch_each("ktopk::mpi::make_global", exec, m_rows * to.columns,
                MakeGlobal<T>{m_listed, to, first, m_limits, order.worst()});
  }

  Words message() const {
    return m_staging.sent(reinterpret_cast<std::uint64_t const*>(m_listed.positions),
                          listed_words<T>(m_rows * m_listed.columns));
  }
  /// Where a message is received.
  std::uint64_t* receive_buffer(std::size_t words) {
    return m_staging.receive_buffer(static_cast<std::int64_t>(words));
  }

  void assign(Words const& message) {
    m_listed = received(message);
    std::swap(m_memory.lists, m_memory.received);
  }
  void merge(Words const& message) {
    ListedKeys<T> const other = received(message);
    std::int64_t const columns = m_listed.columns + other.columns;
    auto const merged = merged_lists(std::min(m_most, columns));
    launch_each("ktopk::mpi::merge", m_exec, m_rows * columns,
                MergeListed<T>{m_listed, other, merged, m_limits, m_order});
    std::swap(m_memory.lists, m_memory.merged);
    m_listed = merged;
  }

  /// \param gather  from a message and where those of all ranks go, one behind the other and as long
  template <class Gather>
  void merge_gathered(std::int64_t ranks, Gather const& gather) {
    std::int64_t const words = gathered_words();
    Words const own = m_staging.written(words);
    auto* const all = m_staging.receive_buffer(ranks * words);
    gather(own, all);
    auto* const there = m_staging.received({all, static_cast<std::size_t>(ranks * words)});
    m_listed = merged_lists(m_most);
    launch_each("ktopk::mpi::merge_messages", m_exec, ranks * m_rows * m_most,
                MergeMessages<T>{there, words, ranks, m_rows, m_listed, m_limits, m_order});
  }

  /// Enqueues the copy to the outputs.
  template <class Values, class Positions, class Counts>
  void store(std::int64_t k, Values const& values, Positions const& positions,
             Counts const& counts) const {
    launch_each("ktopk::mpi::store", m_exec, m_rows * k,
                StoreListed<T, std::int64_t, Values, Positions>{m_listed, k, m_order.worst(),
                                                                values, positions});
    if constexpr (!IsNothing<Counts>)
      launch_each("ktopk::mpi::count", m_exec, m_rows,
                  CountListed<T, std::int64_t, Counts>{m_listed, counts});
  }

 private:
  std::int64_t gathered_words() const { return listed_words<T>(m_rows * m_most); }
  static RowNumbers same_or(std::vector<std::int64_t> const& numbers, std::int64_t const* there) {
    for (std::int64_t const number : numbers)
      if (number != numbers[0]) return {0, there};
    return {numbers.empty() ? 0 : numbers[0]};
  }
  ListedKeys<T> merged_lists(std::int64_t columns) const {
    std::int64_t const words = listed_words<T>(m_rows * columns);
    return listed_in<T>(m_memory.merged.template get<std::uint64_t>(words), m_rows, columns);
  }
  ListedKeys<T> received(Words const& message) const {
    auto const words = static_cast<std::int64_t>(message.size());
    return listed_in<T>(m_staging.received(message), m_rows, columns_of<T>(words, m_rows));
  }

  Exec const& m_exec;
  PlanMemory<Exec>& m_memory;
  Staging<Exec> m_staging;
  KeyOrder<T> m_order;
  std::int64_t m_rows, m_most;
  ListedKeys<T> m_listed;
  RowNumbers m_limits;
};

}  // namespace ktopk::detail::mpi
