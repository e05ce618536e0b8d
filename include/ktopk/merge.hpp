// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/listed_keys.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/options.hpp>
#include <ktopk/team.hpp>
#include <ktopk/top_k.hpp>

#include <ktopk/impl/dispatch/run_call.hpp>

/// \file
/// The k best of lists that were selected elsewhere: of parts of a row, of chunks of a stream, of other processes.

namespace ktopk::detail {

/// Lists of keys with positions: those of a row are entries 0 .. count - 1, part after part.
template <class Values, class Positions>
struct MergeParts {
  using T = typename Values::non_const_value_type;
  using Position = typename Positions::non_const_value_type;
  static constexpr bool has_rows = Values::rank == 3;

  Values values;
  Positions positions;

  KOKKOS_FUNCTION std::int64_t parts() const { return static_cast<std::int64_t>(values.extent(0)); }
  KOKKOS_FUNCTION std::int64_t rows() const {
    return has_rows ? static_cast<std::int64_t>(values.extent(1)) : 1;
  }
  KOKKOS_FUNCTION std::int64_t slots() const {
    return static_cast<std::int64_t>(values.extent(has_rows ? 2 : 1));
  }
  KOKKOS_FUNCTION std::int64_t count() const { return parts() * slots(); }

  KOKKOS_FUNCTION T key(std::int64_t row, std::int64_t entry) const {
    return at(values, row, entry);
  }
  KOKKOS_FUNCTION Position position(std::int64_t row, std::int64_t entry) const {
    return at(positions, row, entry);
  }
  KOKKOS_FUNCTION bool is_there(std::int64_t row, std::int64_t entry) const {
    return position(row, entry) != static_cast<Position>(-1);
  }

 private:
  template <class View>
  KOKKOS_FUNCTION auto at(View const& view, [[maybe_unused]] std::int64_t row,
                          std::int64_t entry) const {
    std::int64_t const part = entry / slots(), slot = entry % slots();
    if constexpr (has_rows)
      return view(part, row, slot);
    else
      return view(part, slot);
  }
};

/// The positions as numbers whose order is that of the tie rule by index; entries that are not there come where they lose
/// every tie.
template <class Lists>
struct MergePositions {
  Lists lists;
  bool highest_wins;
  std::int64_t* to;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / lists.count(), entry = i % lists.count();
    using Limits = std::numeric_limits<std::int64_t>;
    std::int64_t const none = highest_wins ? Limits::min() : Limits::max();
    to[i] =
        lists.is_there(row, entry) ? static_cast<std::int64_t>(lists.position(row, entry)) : none;
  }
};

/// The ranks of the keys in the order of their positions; 0 for those that are not there.
template <class Lists>
struct MergeRanks {
  using Bits = bits_of<typename Lists::T>;
  Lists lists;
  KeyOrder<typename Lists::T> order;
  std::int32_t const* in_order;
  Bits* to;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / lists.count(), entry = in_order[i];
    to[i] = lists.is_there(row, entry) ? order.rank(lists.key(row, entry)) : Bits{0};
  }
};

template <class Lists, class Values, class Positions>
struct StoreMerged {
  Lists lists;
  KeyOrder<typename Lists::T> order;
  std::int32_t const *in_order, *selected;
  std::int64_t k, found;  // found: slots that have an entry
  Values values;
  Positions positions;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t entry = -1;
    if (slot < found) entry = in_order[row * lists.count() + selected[row * found + slot]];
    bool const is_key =
        entry >= 0 && lists.is_there(row, entry) && order.is_key(order.rank(lists.key(row, entry)));
    put(values, row, slot, is_key ? lists.key(row, entry) : order.worst());
    using Position = typename Positions::non_const_value_type;
    put(positions, row, slot,
        is_key ? static_cast<Position>(lists.position(row, entry)) : static_cast<Position>(-1));
  }
};

/// The memory in which a merge works.
template <class Bits>
struct MergeMemory {
  /// \param found            slots of each row that have an entry
  /// \param selection_bytes  what each of both selections needs
  MergeMemory(std::byte* buffer, std::int64_t rows, std::int64_t count, std::int64_t found,
              std::size_t selection_bytes)
      : layout(buffer),
        numbers(layout.take<std::int64_t>(rows * count)),
        ranks(layout.take<Bits>(rows * count)),
        in_order(layout.take<std::int32_t>(rows * count)),
        selected(layout.take<std::int32_t>(rows * found)),
        selection(layout.take<std::byte>(static_cast<std::int64_t>(selection_bytes))) {}

  WorkspaceLayout layout;
  std::int64_t* numbers;
  Bits* ranks;
  std::int32_t *in_order, *selected;
  std::byte* selection;
};

/// Merges in two selections that the library has: the positions are sorted, and of the keys in that order the best are
/// selected, so that the tie rule by index is that by position.
template <class Exec, class Lists, class Values, class Positions>
class Merge {
  using T = typename Lists::T;
  using Bits = bits_of<T>;
  template <class X>
  using Rows = Kokkos::View<X**, Kokkos::LayoutRight, typename Exec::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

 public:
  Merge(Exec const& exec, Lists const& lists, Values const& values, Positions const& positions,
        Options const& options)
      : m_exec(exec),
        m_lists(lists),
        m_values(values),
        m_positions(positions),
        m_options(options),
        m_rows(lists.rows()),
        m_count(lists.count()),
        m_k(matrix_of(values).columns),
        m_found(std::min(m_k, m_count)) {}

  void run() const {
    if (m_rows == 0 || m_k == 0) return;
    std::size_t const bytes =
        std::max(workspace_bytes(m_exec, shape<std::int64_t>(m_count), by_position()),
                 workspace_bytes(m_exec, shape<Bits>(m_found), by_rank()));
    auto const memory_in = [&](std::byte* buffer) {
      return MergeMemory<Bits>(buffer, m_rows, m_count, m_found, bytes);
    };
    with_workspace(m_exec, memory_in(nullptr).layout.bytes(), [&](std::byte* buffer) {
      MergeMemory<Bits> const memory = memory_in(buffer);
      if (m_count > 0) select(memory, Workspace<Exec>(memory.selection, bytes));
      launch_each("ktopk::merge::store", m_exec, m_rows * m_k,
                  StoreMerged<Lists, Values, Positions>{m_lists, KeyOrder<T>(m_options),
                                                        memory.in_order, memory.selected, m_k,
                                                        m_found, m_values, m_positions});
    });
  }

 private:
  static Options by_position() { return {.order = Order::smallest}; }
  Options by_rank() const { return {.ties = m_options.ties}; }
  template <class Key>
  Shape shape(std::int64_t k) const {
    return make_shape<Key, std::int32_t>(m_rows, m_count, k);
  }

  void select(MergeMemory<Bits> const& memory, Workspace<Exec> const& workspace) const {
    KeyOrder<T> const order(m_options);
    launch_each("ktopk::merge::positions", m_exec, m_rows * m_count,
                MergePositions<Lists>{m_lists, order.highest_wins(), memory.numbers});
    top_k(m_exec, Rows<std::int64_t const>(memory.numbers, m_rows, m_count), nothing,
          Rows<std::int32_t>(memory.in_order, m_rows, m_count), by_position(), workspace);
    launch_each("ktopk::merge::ranks", m_exec, m_rows * m_count,
                MergeRanks<Lists>{m_lists, order, memory.in_order, memory.ranks});
    top_k(m_exec, Rows<Bits const>(memory.ranks, m_rows, m_count), nothing,
          Rows<std::int32_t>(memory.selected, m_rows, m_found), by_rank(), workspace);
  }

  Exec m_exec;
  Lists m_lists;
  Values m_values;
  Positions m_positions;
  Options m_options;
  std::int64_t m_rows, m_count, m_k, m_found;
};

template <class Exec, class PartValues, class PartPositions, class Values, class Positions>
void check_merge(PartValues const& part_values, PartPositions const& part_positions,
                 Values const& values, Positions const& positions, Options const& options) {
  char const* const function = "ktopk::merge";
  using T = typename PartValues::non_const_value_type;
  require_key_type<T>();
  static_assert(PartValues::rank == 2 || PartValues::rank == 3,
                "ktopk::merge: parts have rank 2, (part, slot), or rank 3, (part, row, slot)");
  static_assert(
      PartPositions::rank == PartValues::rank && Values::rank + 1 == PartValues::rank &&
          Positions::rank == Values::rank,
      "ktopk::merge: positions have the rank of their values, and the output one less than "
      "the parts");
  static_assert(std::is_same_v<typename Values::non_const_value_type, T>,
                "ktopk::merge: values are not of key type");
  static_assert(Index<typename PartPositions::non_const_value_type> &&
                    Index<typename Positions::non_const_value_type>,
                "ktopk::merge: positions are 32- or 64-bit integers");
  static_assert(!std::is_const_v<typename Values::value_type> &&
                    !std::is_const_v<typename Positions::value_type>,
                "ktopk::merge: the outputs are const");
  static_assert(reachable<Exec, PartValues> && reachable<Exec, PartPositions> &&
                    reachable<Exec, Values> && reachable<Exec, Positions>,
                "ktopk: the execution space cannot access the memory of the parts or the outputs");
  check_options(function, options);
  for (int r = 0; r < static_cast<int>(PartValues::rank); ++r)
    require_equal(function, "an extent of the parts' positions",
                  static_cast<std::int64_t>(part_positions.extent(r)),
                  static_cast<std::int64_t>(part_values.extent(r)));
  Matrix const out = matrix_of(values), out_positions = matrix_of(positions);
  if constexpr (Values::rank == 2)
    check_output_rows(function, "values", out.rows, out.columns,
                      static_cast<std::int64_t>(part_values.extent(1)));
  require_equal(function, "the number of rows of positions", out_positions.rows, out.rows);
  require_equal(function, "the k of positions", out_positions.columns, out.columns);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  auto const parts = static_cast<std::int64_t>(part_values.extent(0));
  auto const slots = static_cast<std::int64_t>(part_values.extent(PartValues::rank - 1));
  if (parts > 0 && slots > most / parts)
    reject(function, std::to_string(parts) + " parts of " + std::to_string(slots) +
                         " entries are more than 2^31 - 1 for a row");
  check_disjoint(
      function,
      {extent_of("the parts' values", part_values), extent_of("values", values),
       extent_of("the parts' positions", part_positions), extent_of("positions", positions)});
}

}  // namespace ktopk::detail

namespace ktopk {

/// The k best of lists that are selections themselves, by the rules of top_k. Ties are decided by the positions that come
/// with the keys, so that the result is the same, bit for bit, however a row was cut into parts and in whatever order these
/// come.
///
/// \param exec            execution space instance: all work is enqueued on it
/// \param part_values     part_values(part, slot), or part_values(part, row, slot) of several rows; a list in any order
/// \param part_positions  where the keys were, 32- or 64-bit integers, no two alike in a row; -1 where a list has ended
/// \param values          values(k) or values(row, k) of the key type; k may exceed what all lists of a row have
/// \param positions       the same for positions; further slots are filled with -1 and the worst key, as short rows are
///
/// Cost: it sorts all positions of a row, and selects from its keys. Allocates as top_k does, up to about 60 bytes for each
/// entry of the lists.
/// \throws std::invalid_argument before any kernel for extents that disagree, more than 2^31 - 1 entries of a row, and
///         outputs seen to overlap the parts or each other
template <detail::ExecutionSpace Exec, class PartValues, class PartPositions, class Values,
          class Positions>
void merge(Exec const& exec, PartValues const& part_values, PartPositions const& part_positions,
           Values const& values, Positions const& positions, Options const& options = {}) {
  detail::check_merge<Exec>(part_values, part_positions, values, positions, options);
  using Lists = detail::MergeParts<PartValues, PartPositions>;
  detail::Merge<Exec, Lists, Values, Positions>(exec, Lists{part_values, part_positions}, values,
                                                positions, options)
      .run();
}

}  // namespace ktopk
