// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/detail/host_row.hpp>

#include "rows_in_cache.hpp"

namespace ktopk::detail {
namespace {

/// A selection from one row, which writes where its keys lie.
template <class Bits>
StoredProblem<Bits> row_problem(Stored<Bits> const* keys, int count,
                                OrderedBitsMap<Bits> const& rank, int k, std::uint32_t* places) {
  Shape shape;
  shape.rows = 1;
  shape.n = count;
  shape.k = k;
  shape.key_bytes = sizeof(Bits);
  shape.index_bytes = sizeof *places;
  auto problem = make_stored_problem<Bits>(shape);
  problem.rows.keys = keys;
  problem.rank = rank;
  problem.out.indices = places;
  return problem;
}

template <class Bits>
HostLoops<Bits> const& picked_loops() {
  static HostLoops<Bits> const loops = pick_host_loops<Bits>();
  return loops;
}

}  // namespace

template <class Bits>
void select_from_chunk(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
                       Options const& options, int k, std::uint32_t* places) {
  // The ranks and places of all keys, or composite keys of the selected ones; each array begins with a cache line.
  constexpr std::size_t bytes = host_chunk<Bits> * (sizeof(Bits) + 2) + 4096;
  alignas(64) std::byte memory[bytes];
  HostLoops<Bits> const& loops = picked_loops<Bits>();
  auto const problem = row_problem<Bits>(keys, count, rank, k, places);
  UseThreadMemory const use({memory, memory + bytes});
  with_composite_key_type<Bits>(count, [&](auto composite) {
    using CompositeKey = decltype(composite);
    auto const map = make_composite_key_map<CompositeKey>(rank, count, options.ties);
    RowsInCache<Bits, CompositeKey>{{problem, map, nullptr}, loops, options.sorted}(0);
  });
}

#define KTOPK_CHUNK_OF(Bits)                                                                   \
  template void select_from_chunk<Bits>(Stored<Bits> const*, int, OrderedBitsMap<Bits> const&, \
                                        Options const&, int, std::uint32_t*);
KTOPK_CHUNK_OF(std::uint8_t)
KTOPK_CHUNK_OF(std::uint16_t)
KTOPK_CHUNK_OF(std::uint32_t)
KTOPK_CHUNK_OF(std::uint64_t)
#undef KTOPK_CHUNK_OF

}  // namespace ktopk::detail
