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

/// The bytes of some entries of lists: positions, then values, so that one copy takes both.
template <class T>
std::int64_t listed_bytes(std::int64_t entries) {
  return entries * static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(T));
}
/// Lists in such memory.
template <class T>
ListedKeys<T> listed_in(std::byte* memory, std::int64_t rows, std::int64_t columns) {
  auto* const positions = reinterpret_cast<std::int64_t*>(memory);
  return {columns, positions, reinterpret_cast<T*>(positions + rows * columns)};
}

/// Makes the positions of a rank's lists global, and takes no more of a row than are wanted.
template <class T>
struct MakeGlobal {
  ListedKeys<T> lists;
  RowNumbers firsts, limits;
  T worst;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / lists.columns, slot = i % lists.columns;
    if (lists.positions[i] == -1) return;
    bool const is_wanted = slot < limits[row];
    lists.positions[i] = is_wanted ? lists.positions[i] + firsts[row] : std::int64_t{-1};
    if (!is_wanted) lists.values[i] = worst;
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
    std::int64_t low = 0, high = lists.columns;
    while (low < high) {
      std::int64_t const middle = (low + high) / 2;
      lists.positions[row * lists.columns + middle] != -1 ? low = middle + 1 : high = middle;
    }
    counts(row) = static_cast<typename Counts::value_type>(low);
  }
};

/// The lists of a rank, which it merges with those of others.
template <class Exec, class T>
class InstanceLists {
 public:
  /// \param limits  how many keys of each row are wanted
  /// \param listed  this rank's best, in memory.lists, whose positions are its own
  InstanceLists(Exec const& exec, PlanMemory<Exec>& memory, KeyOrder<T> const& order,
                std::vector<std::int64_t> const& limits, std::vector<std::int64_t> const& firsts,
                ListedKeys<T> const& listed)
      : m_exec(exec),
        m_memory(memory),
        m_order(order),
        m_rows(static_cast<std::int64_t>(limits.size())),
        m_most(limits.empty() ? 0 : *std::max_element(limits.begin(), limits.end())),
        m_listed(listed) {
    auto* const here = memory.rows.template get<std::int64_t>(2 * m_rows);
    auto* const there = memory.numbers.template get<std::int64_t>(2 * m_rows);
    std::copy(limits.begin(), limits.end(), here);
    std::copy(firsts.begin(), firsts.end(), here + m_rows);
    m_limits = same_or(limits, there);
    RowNumbers const first = same_or(firsts, there + m_rows);
    if (m_limits.of_rows != nullptr || first.of_rows != nullptr)
      copy_in(exec, static_cast<std::int64_t const*>(here), there, 2 * m_rows);
    launch_each("ktopk::mpi::make_global", exec, m_rows * m_listed.columns,
                MakeGlobal<T>{m_listed, first, m_limits, order.worst()});
  }

  /// The number of columns, then the lists, in words.
  Words message() const {
    std::int64_t const bytes = listed_bytes<T>(m_rows * m_listed.columns);
    auto* const words = m_memory.brought.template get<std::uint64_t>(1 + words_of(bytes));
    words[0] = static_cast<std::uint64_t>(m_listed.columns);
    words[words_of(bytes)] = 0;
    copy_out(m_exec, reinterpret_cast<std::byte const*>(m_listed.positions),
             reinterpret_cast<std::byte*>(words + 1), bytes);
    m_exec.fence("ktopk::mpi: before a message");
    return {words, static_cast<std::size_t>(1 + words_of(bytes))};
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
