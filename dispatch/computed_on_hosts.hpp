// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../backends/host/computed_keys.hpp"

// Computed rows on hosts: the caller's file makes keys in a thread's cache, those of a short row or a block of a long
// one, and compiled code selects from them there.

namespace ktopk::detail {

/// The key at a position. A functor of masked keys is called for those that there are alone; one behind a mask, for all, as
/// the portable kernels call it.
template <class Row>
typename Row::Bits key_at(Row const& row, std::int64_t i) {
  if constexpr (requires { row.inner; }) {
    if constexpr (decltype(row.inner)::has_gaps && !Row::has_own_gaps)
      if (!row.inner.holds(i)) return {};
    return row.made_of(key_at(row.inner, i), i);
  } else {
    return row[i];
  }
}

/// The key at a position, or `worst` if there is none, and counts it. Without a branch, which a processor could not
/// predict.
template <class Row>
typename Row::Bits key_or_worst(Row const& row, std::int64_t i, typename Row::Bits worst,
                                int& count) {
  using Bits = typename Row::Bits;
  Bits const key = key_at(row, i);
  if constexpr (!Row::has_gaps) {
    return key;
  } else {
    bool const holds = row.holds(i);
    count += holds;
    auto const bits = static_cast<Bits>(-static_cast<std::make_signed_t<Bits>>(holds));
    return static_cast<Bits>((key & bits) | (worst & ~bits));
  }
}

/// The row of which a row is made in the end; the row itself if it is made of none.
template <class Row>
auto& innermost(Row& row) {
  if constexpr (requires { row.inner; })
    return innermost(row.inner);
  else
    return row;
}

/// Makes `count` keys from position `first` on, and returns how many there are. By blocks that nothing else can point to:
/// what a functor reads may not change meanwhile, and the compiler makes several keys at a time. Blocks are of a size that
/// it knows: a call of memcpy would read by larger words than were written, for which a processor waits.
template <class Row>
[[gnu::always_inline]] inline int make_by_blocks(Row const& row, std::int64_t first, int count,
                                                 typename Row::Bits worst,
                                                 Stored<typename Row::Bits>* keys) {
  constexpr int size = 128 / static_cast<int>(sizeof(typename Row::Bits));
  int present = 0, at = 0;
  for (; at + size <= count; at += size) {
    typename Row::Bits block[size];
    for (int i = 0; i < size; ++i) block[i] = key_or_worst(row, first + at + i, worst, present);
    std::memcpy(keys + at, block, sizeof(block));
  }
  for (; at < count; ++at) keys[at] = key_or_worst(row, first + at, worst, present);
  return Row::has_gaps ? present : count;
}

/// The same. Keys that are neighbors in memory get a loop of their own, in which the compiler knows that they are: of any
/// step it reads one key at a time.
template <class Row>
int make_some(Row row, std::int64_t first, int count, typename Row::Bits worst,
              Stored<typename Row::Bits>* keys) {
  auto& stored = innermost(row);
  if constexpr (requires { stored.step; })
    if (stored.step == 1) {
      stored.step = 1;
      return make_by_blocks(row, first, count, worst, keys);
    }
  return make_by_blocks(row, first, count, worst, keys);
}

/// Makes the keys that there are, and their positions. Without a branch, as above.
template <class Row>
int make_existing(Row const& row, int length, Stored<typename Row::Bits>* keys,
                  std::uint16_t* positions) {
  int count = 0;
  for (int i = 0; i < length; ++i) {
    positions[count] = static_cast<std::uint16_t>(i);
    keys[count] = key_at(row, i);
    count += row.holds(i);
  }
  return count;
}

/// The functions of host::ComputedKeys.
template <Rows R>
struct MakeKeys {
  using Bits = typename R::Bits;
  using Keys = Stored<Bits>*;

  static int row(void const* rows, std::int64_t number, Keys keys, std::uint16_t* positions) {
    auto const length = static_cast<int>(of(rows).length(number));
    if constexpr (R::has_gaps) return make_existing(of(rows).row(number), length, keys, positions);
    return make_some(of(rows).row(number), 0, length, Bits{}, keys);
  }
  static int block(void const* rows, std::int64_t number, std::int64_t first, int count, Bits worst,
                   Keys keys) {
    return make_some(of(rows).row(number), first, count, worst, keys);
  }
  static void at(void const* rows, std::int64_t number, std::int64_t const* positions, int count,
                 Bits worst, Keys keys) {
    auto const row = of(rows).row(number);
    int present = 0;
    for (int i = 0; i < count; ++i) keys[i] = key_or_worst(row, positions[i], worst, present);
  }

 private:
  static R const& of(void const* rows) { return *static_cast<R const*>(rows); }
};

/// Selects from rows that OnePass<Host> serves. \see host::select_computed
template <class Exec, Rows R>
[[nodiscard]] bool select_on_host(Exec const& exec, Problem<R> const& computed,
                                  Options const& options, void* workspace) {
  using Bits = typename R::Bits;
  using Make = MakeKeys<R>;
  auto problem = make_stored_problem<Bits>(computed.shape);
  problem.rank = computed.rank;
  problem.out = computed.out;
  problem.wanted = computed.wanted;
  problem.counts = computed.counts;
  host::ComputedKeys<Bits> const keys{&computed.rows, &Make::row, &Make::block, &Make::at};
  return host::select_computed(exec, keys, problem, options, workspace);
}

}  // namespace ktopk::detail
