// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/rank_request.hpp>
#include <ktopk/core/rows.hpp>

#include "layout.hpp"

namespace ktopk::detail::host {

/// Which keys of rows are found together.
template <class Bits>
struct RanksAsked {
  StoredRows<Bits> rows;
  Shape shape;
  OrderedBitsMap<Bits> rank;
  RankRequest request;
  std::int64_t first;  // value
  int keys;

  std::int64_t nth(std::int64_t row, int key) const { return request.nth(row, first, key, rows.n); }
};

/// What becomes of the keys of a row that are found: call(context, row, nth, ordered), with as many entries as keys are asked
/// for. nth is 0 for a key that the row does not have.
template <class Bits>
struct RankStore {
  void const* context;
  void (*call)(void const* context, std::int64_t row, std::int64_t const* nth, Bits const* ordered);
  void operator()(std::int64_t row, std::int64_t const* nth, Bits const* ordered) const {
    call(context, row, nth, ordered);
  }
};

/// Finds keys of given ranks in rows that serves_ranks, with SIMD: a sample brackets each rank, and one read counts the keys
/// around the brackets and moves those in them to a buffer, where the ranks are found (Floyd and Rivest, Algorithm 489, CACM
/// 18(3), 1975, brackets a rank by a sample, too). Rows that fit a thread's cache are searched there.
/// \param rows       of keys that are neighbors in memory, and none skipped
/// \param workspace  as HostRankLayout lays out
/// \return whether it did: a bracket may miss its rank or hold too many keys. Then some rows may be stored.
template <class Exec, class Bits>
bool find_ranks(Exec const& exec, RanksAsked<Bits> const& asked, RankStore<Bits> const& store,
                void* workspace);

}  // namespace ktopk::detail::host
