// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/listed_keys.hpp>
#include <ktopk/mpi/pattern.hpp>
#include <ktopk/mpi/staging.hpp>
#include <ktopk/team.hpp>

// Lists that an instance's kernels merge, as those of a GPU do: only messages pass through the memory of the host.

namespace ktopk::detail::mpi {

inline std::int64_t most_of(std::vector<std::int64_t> const& numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

/// The bytes of some entries of lists: positions, then values, so that one copy takes both.
template <class T>
KOKKOS_FUNCTION std::int64_t listed_bytes(std::int64_t entries) {
  return entries * static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(T));
}
/// Lists in such memory.
template <class T>
KOKKOS_FUNCTION ListedKeys<T> listed_in(std::byte* memory, std::int64_t rows,
                                        std::int64_t columns) {
  auto* const positions = reinterpret_cast<std::int64_t*>(memory);
  return {columns, positions, reinterpret_cast<T*>(positions + rows * columns)};
}

/// Copies a rank's lists with global positions, and takes no more of a row than are wanted.
template <class T>
struct MakeGlobal {
  ListedKeys<T> lists, to;
  RowNumbers firsts, limits;
  T worst;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / lists.columns, slot = i % lists.columns;
    bool const is_wanted = lists.positions[i] != -1 && slot < limits[row];
    to.positions[i] = is_wanted ? lists.positions[i] + firsts[row] : std::int64_t{-1};
    to.values[i] = is_wanted ? lists.values[i] : worst;
  }
};

/// Merges the lists of several ranks, in which no position occurs twice, by a call for each of ranks * rows * to.columns
/// entries: an entry's place is its own plus what a binary search finds in each of the other lists.
template <class T>
struct MergeMessages {
  std::uint64_t* messages;  // each the number of columns, at most to.columns, then lists
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
    bool const is_wanted = is_used(own, row, slot) && out < limits[row];
    std::int64_t const from = row * own.columns + slot, place = row * to.columns + out;
    to.positions[place] = is_wanted ? own.positions[from] : std::int64_t{-1};
    to.values[place] = is_wanted ? own.values[from] : order.worst();
  }

 private:
  KOKKOS_FUNCTION ListedKeys<T> lists_of(std::int64_t rank) const {
    std::uint64_t* const message = messages + rank * words;
    auto const columns = static_cast<std::int64_t>(message[0]);
    return listed_in<T>(reinterpret_cast<std::byte*>(message + 1), rows, columns);
  }
  KOKKOS_FUNCTION static bool is_used(ListedKeys<T> const& lists, std::int64_t row,
                                      std::int64_t slot) {
    return slot < lists.columns && lists.positions[row * lists.columns + slot] != -1;
  }

  /// How many of the to.columns slots of another rank's row come before an entry: unused ones come last, by rank.
  KOKKOS_FUNCTION std::int64_t before(std::int64_t other, std::int64_t rank, std::int64_t row,
                                      std::int64_t slot) const {
    auto const own = lists_of(rank), others = lists_of(other);
    bool const own_is_used = is_used(own, row, slot);
    if (!own_is_used && other < rank) return to.columns;
    std::int64_t const entry = row * own.columns + slot;
    return partition_point(others.columns, [&](std::int64_t i) {
      if (!is_used(others, row, i)) return false;
      std::int64_t const theirs = row * others.columns + i;
      return !own_is_used ||
             order.is_before(order.rank(others.values[theirs]), others.positions[theirs],
                             order.rank(own.values[entry]), own.positions[entry]);
    });
  }
};

/// Stores lists in outputs of k slots a row, whose last ones may stay unused.
template <class T, class Values, class Positions>
struct StoreListed {
  ListedKeys<T> lists;
  std::int64_t k;
  T worst;
  Values values;
  Positions positions;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / k, slot = i % k, entry = row * lists.columns + slot;
    bool const is_listed = slot < lists.columns;
    put(values, row, slot, is_listed ? lists.values[entry] : worst);
    put(positions, row, slot, is_listed ? lists.positions[entry] : std::int64_t{-1});
  }
};

/// Tells how many keys each row has.
template <class T, class Counts>
struct CountListed {
  ListedKeys<T> lists;
  Counts counts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    counts(row) = static_cast<typename Counts::value_type>(partition_point(
        lists.columns,
        [&](std::int64_t slot) { return lists.positions[row * lists.columns + slot] != -1; }));
  }
};

/// The lists of a rank, which it merges with those of others.
template <class Exec, class T>
class InstanceLists {
 public:
  /// \param limits  how many keys of each row are wanted
  /// \param listed    this rank's best, in memory.lists, whose positions are its own
  /// \param gathered  whether merge_gathered() follows; else message() and merge() may
  InstanceLists(Exec const& exec, PlanMemory<Exec>& memory, KeyOrder<T> const& order,
                std::vector<std::int64_t> const& limits, std::vector<std::int64_t> const& firsts,
                ListedKeys<T> const& listed, bool gathered)
      : m_exec(exec),
        m_memory(memory),
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
    auto const to = gathered ? listed_in<T>(begin_message(words_in_message(m_rows, m_most)), m_rows,
                                            m_listed.columns)
                             : m_listed;
    launch_each("ktopk::mpi::make_global", exec, m_rows * m_listed.columns,
                MakeGlobal<T>{m_listed, to, first, m_limits, order.worst()});
  }

  static std::int64_t words_in_message(std::int64_t rows, std::int64_t columns) {
    return 1 + words_of(listed_bytes<T>(rows * columns));
  }

  /// The number of columns, then the lists, in words.
  Words message() const {
    std::int64_t const words = words_in_message(m_rows, m_listed.columns);
    std::byte* const lists = begin_message(words);
    copy_out(m_exec, reinterpret_cast<std::byte const*>(m_listed.positions), lists,
             listed_bytes<T>(m_rows * m_listed.columns));
    return end_message(words);
  }
  /// Where a message is received. What was received before has been read then.
  std::uint64_t* receive_buffer(std::size_t words) {
    m_exec.fence("ktopk::mpi: before the next message");
    return m_memory.arrived.template get<std::uint64_t>(static_cast<std::int64_t>(words));
  }

  void assign(Words const& message) { m_listed = received(message, m_memory.lists); }
  void merge(Words const& message) {
    ListedKeys<T> const other = received(message, m_memory.received);
    std::int64_t const columns = m_listed.columns + other.columns;
    std::int64_t const kept = std::min(m_most, columns);
    auto const merged = listed_in<T>(
        m_memory.merged.template get<std::byte>(listed_bytes<T>(m_rows * kept)), m_rows, kept);
    launch_each("ktopk::mpi::merge", m_exec, m_rows * columns,
                MergeListed<T>{m_listed, other, merged, m_limits, m_order});
    std::swap(m_memory.lists, m_memory.merged);
    m_listed = merged;
  }

  /// \param gather  from a message and where those of all ranks go, one behind the other and as long
  template <class Gather>
  void merge_gathered(std::int64_t ranks, Gather const& gather) {
    std::int64_t const words = words_in_message(m_rows, m_most);
    Words const own = end_message(words);
    auto* const all = receive_buffer(static_cast<std::size_t>(ranks * words));
    gather(own, all);
    auto* const there = m_memory.received.template get<std::uint64_t>(ranks * words);
    copy_in(m_exec, static_cast<std::uint64_t const*>(all), there, ranks * words);
    m_listed = listed_in<T>(
        m_memory.merged.template get<std::byte>(listed_bytes<T>(m_rows * m_most)), m_rows, m_most);
    launch_each("ktopk::mpi::merge_messages", m_exec, ranks * m_rows * m_most,
                MergeMessages<T>{there, words, ranks, m_rows, m_listed, m_limits, m_order});
  }

  /// Enqueues the copy to the outputs.
  template <class Values, class Positions, class Counts>
  void store(std::int64_t k, Values const& values, Positions const& positions,
             Counts const& counts) const {
    launch_each("ktopk::mpi::store", m_exec, m_rows * k,
                StoreListed<T, Values, Positions>{m_listed, k, m_order.worst(), values, positions});
    if constexpr (!IsNothing<Counts>)
      launch_each("ktopk::mpi::count", m_exec, m_rows, CountListed<T, Counts>{m_listed, counts});
  }

 private:
  static std::int64_t words_of(std::int64_t bytes) { return (bytes + 7) / 8; }
  /// Where the lists of a message go.
  std::byte* begin_message(std::int64_t words) const {
    auto* const message = m_memory.brought.template get<std::uint64_t>(words);
    message[words - 1] = 0;
    message[0] = static_cast<std::uint64_t>(m_listed.columns);
    return reinterpret_cast<std::byte*>(message + 1);
  }
  Words end_message(std::int64_t words) const {
    m_exec.fence("ktopk::mpi: before a message");
    return {m_memory.brought.template get<std::uint64_t>(words), static_cast<std::size_t>(words)};
  }
  static RowNumbers same_or(std::vector<std::int64_t> const& numbers, std::int64_t const* there) {
    for (std::int64_t const number : numbers)
      if (number != numbers[0]) return {0, there};
    return {numbers.empty() ? 0 : numbers[0]};
  }

  ListedKeys<T> received(Words const& message, Buffer<typename Exec::memory_space>& memory) const {
    auto const columns = static_cast<std::int64_t>(message[0]);
    std::int64_t const bytes = listed_bytes<T>(m_rows * columns);
    auto const lists = listed_in<T>(memory.template get<std::byte>(bytes), m_rows, columns);
    copy_in(m_exec, reinterpret_cast<std::byte const*>(message.data() + 1),
            reinterpret_cast<std::byte*>(lists.positions), bytes);
    return lists;
  }

  Exec const& m_exec;
  PlanMemory<Exec>& m_memory;
  KeyOrder<T> m_order;
  std::int64_t m_rows, m_most;
  ListedKeys<T> m_listed;
  RowNumbers m_limits;
};

}  // namespace ktopk::detail::mpi
