// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/positions.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/workspace.hpp>
#include <ktopk/detail/checks.hpp>

// Which group reads what in a pass of radix over several rows: RadiK's task rescheduling (Li et al., ICS '24, 3.2.1).
// A row that a pass still has to read is a task of so many lines of 64 keys, in a list that is made anew for each pass.
// The groups take equal shares of all lines: a share may span many rows and a row many shares, and no group is kept for
// a row that has settled. The order of a list differs from run to run; what is selected does not.

namespace ktopk::detail {

inline constexpr std::int64_t keys_of_line = 64;

KOKKOS_INLINE_FUNCTION std::int64_t lines_of(std::int64_t keys) {
  return (keys + keys_of_line - 1) / keys_of_line;
}

struct RadixTask {
  std::int64_t row;
  std::int64_t first;  // of its lines among those of all tasks
  std::int64_t lines;
};

/// The lines of a row that a group reads, and how many groups read the row.
struct RadixPiece {
  std::int64_t row;
  Range lines;
  std::int64_t groups;
};

/// The places of some lines in a row of `size` keys, which begins `lead` places after its first line begins.
KOKKOS_INLINE_FUNCTION Range keys_in(Range lines, std::int64_t size, std::int64_t lead) {
  auto const place = [&](std::int64_t line) {
    std::int64_t const i = line * keys_of_line - lead;
    return i < 0 ? 0 : i < size ? i : size;
  };
  return {place(lines.begin), place(lines.end)};
}

/// Tasks one after the other, cut into shares of equal length. After the lines of a task there may be lines that
/// nobody reads.
struct RadixShares {
  RadixTask const* tasks = nullptr;
  std::int64_t count = 0;
  std::int64_t lines = 0;
  std::int64_t share = 1;

  KOKKOS_FUNCTION Range of_group(std::int64_t group) const {
    std::int64_t const begin = group * share, end = begin + share;
    return {begin < lines ? begin : lines, end < lines ? end : lines};
  }
  /// The last task that begins at a line or before it.
  KOKKOS_FUNCTION std::int64_t task_at(std::int64_t line) const {
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
      std::int64_t const middle = (low + high) / 2;
      (tasks[middle].first <= line ? low : high) = middle;
    }
    return low;
  }
  KOKKOS_FUNCTION std::int64_t groups_of(RadixTask const& task) const {
    return (task.first + task.lines - 1) / share - task.first / share + 1;
  }
};

/// Goes through the share of a group. Every line of every task belongs to one group.
class RadixCursor {
 public:
  KOKKOS_FUNCTION RadixCursor(RadixShares const& shares, std::int64_t group)
      : m_shares(shares),
        m_mine(shares.of_group(group)),
        m_task(m_mine.begin < m_mine.end ? shares.task_at(m_mine.begin) : shares.count) {}

  /// Returns false if nothing is left.
  KOKKOS_FUNCTION bool next(RadixPiece& piece) {
    while (m_task < m_shares.count) {
      RadixTask const task = m_shares.tasks[m_task++];
      std::int64_t const begin = m_mine.begin - task.first, end = m_mine.end - task.first;
      if (end <= 0) return false;
      Range const lines{begin > 0 ? begin : 0, end < task.lines ? end : task.lines};
      if (lines.begin >= lines.end) continue;
      piece = {task.row, lines, m_shares.groups_of(task)};
      return true;
    }
    return false;
  }

 private:
  RadixShares m_shares;
  Range m_mine;
  std::int64_t m_task;
};

/// A list to which many groups append; the next kernel reads it.
struct RadixTaskList {
  Count64* appended = nullptr;  // tasks above, lines below, counted by one addition
  RadixTask* tasks = nullptr;
  std::int64_t groups = 0;
  std::int64_t least = 0;  // lines that are worth a group; a task counts for no fewer

  // As many as 2^14 rows of 2^40 keys have: rows may overlap.
  static constexpr int line_bits = 48;
  static constexpr Count64 one_task = Count64{1} << line_bits;

  /// Returns the task's place in the list.
  KOKKOS_FUNCTION std::int64_t append(std::int64_t row, std::int64_t lines) const {
    auto const weight = static_cast<Count64>(lines > least ? lines : least);
    Count64 const before = Kokkos::atomic_fetch_add(appended, one_task + weight);
    auto const place = static_cast<std::int64_t>(before >> line_bits);
    tasks[place] = {row, static_cast<std::int64_t>(before % one_task), lines};
    return place;
  }
  KOKKOS_FUNCTION bool empty() const { return *appended == 0; }
  KOKKOS_FUNCTION RadixShares shares() const {
    Count64 const all = *appended;
    auto const lines = static_cast<std::int64_t>(all % one_task);
    std::int64_t const equal = (lines + groups - 1) / groups;
    auto const count = static_cast<std::int64_t>(all >> line_bits);
    return {tasks, count, lines, equal > least ? equal : least};
  }
};

/// What rows claim a part of.
enum class RadixClaim { shared_row, buffered_composite };

/// The lists of a selection: one for each pass, of which only those of this pass and the next are kept, and one of the
/// rows to gather from.
struct RadixSchedule {
  RadixSchedule() = default;
  RadixSchedule(WorkspaceLayout& layout, std::int64_t groups_, std::int64_t least_,
                std::int64_t capacity_)
      : groups(groups_),
        least(least_),
        capacity(capacity_),
        appended(capacity > 0 ? layout.take<Count64>(most_lists) : nullptr),
        tasks(capacity > 0 ? layout.take<RadixTask>(3 * capacity) : nullptr) {}

  RadixTaskList of_pass(int pass) const {
    if (capacity == 0) return {};
    return {appended + 1 + pass, tasks + (1 + pass % 2) * capacity, groups, least};
  }
  RadixTaskList of_gather() const { return {appended, tasks, groups, least}; }

  /// Makes rows claim what they need. Rows overlap if their offsets descend, and may then need more than there is: a
  /// row that comes too late gets nothing.
  void limit_claims(WorkspaceLayout& layout) {
    claims_are_limited = true;
    claimed = layout.take<Count64>(claim_kinds);
  }
  /// Claims an amount, and returns how much was claimed before. One thread calls it, if claims are limited.
  KOKKOS_FUNCTION std::int64_t claim(RadixClaim what, std::int64_t amount) const {
    return static_cast<std::int64_t>(
        Kokkos::atomic_fetch_add(&claimed[static_cast<int>(what)], static_cast<Count64>(amount)));
  }

  /// Must be called with 0 .. counts() - 1 before anything is appended or claimed.
  struct Clear {
    Count64 *appended, *claimed;
    std::int64_t lists;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      (i < lists ? appended[i] : claimed[i - lists]) = 0;
    }
  };
  Clear clear() const { return {appended, claimed, lists()}; }
  std::int64_t counts() const { return lists() + (claims_are_limited ? claim_kinds : 0); }

  /// The digits of a composite key: of its ordered bits, of its position, and one more where a digit ends at a block of
  /// positions. None has fewer bits than `fewest_digit_bits`, but for the last of each.
  static constexpr int fewest_digit_bits = 8, most_rank_bits = 64;
  static constexpr int most_digits =
      most_rank_bits / fewest_digit_bits + position_bits_for(longest_row) / fewest_digit_bits + 1;
  static constexpr int most_aimed_in_vain = 1;
  /// One list of the rows to gather from, one for each pass, and one after the last pass.
  static constexpr int most_lists = 1 + most_digits + most_aimed_in_vain + 1;
  static_assert(position_bits_for(longest_row) % fewest_digit_bits == 0);

  std::int64_t groups = 0;
  std::int64_t least = 0;
  std::int64_t capacity = 0;
  static constexpr int claim_kinds = 2;
  bool claims_are_limited = false;
  Count64* claimed = nullptr;
  Count64* appended = nullptr;
  RadixTask* tasks = nullptr;

 private:
  std::int64_t lists() const { return capacity > 0 ? most_lists : 0; }
};

}  // namespace ktopk::detail
