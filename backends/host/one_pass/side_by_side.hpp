// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../rows_in_cache.hpp"
#include "../tile.hpp"
#include "kept.hpp"

// Rows that lie side by side, as in LayoutLeft. A cache line holds keys of one place of several rows, so a thread copies
// these rows to a tile together, long ones block by block, and selects from each of them there.

namespace ktopk::detail::host {

/// How many short rows are copied together, and by how many threads.
struct TileSizes {
  TileSizes(Device const& device, Shape const& shape)
      : rows(std::min<std::int64_t>(line / shape.key_bytes,
                                    (shape.rows + device.concurrency - 1) / device.concurrency)),
        tiles(rows > 0 ? (shape.rows + rows - 1) / rows : 0),
        threads(std::min<std::int64_t>(tiles, device.concurrency)),
        row_stride((shape.n + line - 1) / line * line + line) {}

  static constexpr int line = 64;
  std::int64_t rows, tiles, threads;
  /// In keys: of a power of two, the rows of a tile would share few places of a cache.
  std::int64_t row_stride;

  std::int64_t keys() const { return rows * row_stride; }
  bool are_worth_it() const { return rows >= least_in_tile; }
};

template <class Bits>
struct TileLayout {
  TileLayout(void* workspace, Device const& device, Shape const& shape)
      : layout(workspace),
        sizes(device, shape),
        tiles(layout.take<Bits>(sizes.threads * sizes.keys())) {}

  WorkspaceLayout layout;
  TileSizes sizes;
  Bits* tiles;
};

template <class Bits, class CompositeKey>
struct SelectByTiles {
  RowsInCache<Bits, CompositeKey> rows;
  TileLayout<Bits> work;
  HostShares* shares;

  /// Each thread has a tile.
  void operator()(std::int64_t thread) const {
    Bits* const tile = work.tiles + thread * work.sizes.keys();
    shares->work(thread, [&](std::int64_t index) { select(index * work.sizes.rows, tile); });
  }

 private:
  void select(std::int64_t first, Bits* tile) const {
    Shape const& shape = rows.sink.problem.shape;
    auto const count = static_cast<int>(std::min(work.sizes.rows, shape.rows - first));
    copy_to_tile(rows.sink.problem.rows, first, count, {0, shape.n}, tile, work.sizes.row_stride);
    for (int r = 0; r < count; ++r) rows.select_from(first + r, tile + r * work.sizes.row_stride);
  }
};

template <class Exec, class Bits, class CompositeKey>
[[gnu::noinline]] void select_by_tiles(Exec const& exec,
                                       RowsInCache<Bits, CompositeKey> const& rows,
                                       void* workspace) {
  TileLayout<Bits> const work(workspace, device_of(exec), rows.sink.problem.shape);
  HostShares shares(work.sizes.tiles, work.sizes.threads);
  host::launch("ktopk::host::one_pass::side_by_side", exec, shares.threads(),
               SelectByTiles<Bits, CompositeKey>{rows, work, &shares});
}

/// Bytes for short rows of any layout.
inline std::size_t bytes_for_tiles(Device const& device, Shape const& shape) {
  if (shape.packed) return 0;
  TileSizes const sizes(device, shape);
  if (!sizes.are_worth_it()) return 0;
  WorkspaceLayout layout;
  layout.take<std::byte>(sizes.threads * sizes.keys() * shape.key_bytes);
  return layout.bytes();
}

/// How long rows are read together.
struct LongTiles {
  LongTiles(Device const& device, Shape const& shape)
      : rows(std::min<std::int64_t>(2 * TileSizes::line / shape.key_bytes, shape.rows)),
        tiles((shape.rows + rows - 1) / rows),
        parts(host::parts_of_row(device, tiles, shape.n)) {}

  static constexpr int block = 1024, padding = 64, row_stride = block + padding;  // in keys
  /// The part of a thread has 17 bytes and more for each of 8192 keys. \see HostMemory
  static_assert(2 * TileSizes::line * row_stride <= 17 * 8192);
  std::int64_t rows, tiles, parts;
};

/// The one read of long rows, of a part of those of a tile. \see KeepReaching
template <class Bits, class CompositeKey>
struct KeepSideBySide {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  LongTiles tiles;
  Kept<CompositeKey> kept;
  HostLoops<Bits> loops;

  void operator()(std::int64_t index) const {
    std::int64_t const first = index / tiles.parts * tiles.rows;
    auto const count = static_cast<int>(std::min(tiles.rows, problem.shape.rows - first));
    Range const range = part_of(problem.shape.n, index % tiles.parts, tiles.parts);
    ThreadArray<Bits> const memory(tiles.rows * tiles.row_stride);
    Bits* const tile = memory.get();
    for (std::int64_t begin = range.begin; begin < range.end; begin += tiles.block) {
      Range const block{begin, std::min(begin + tiles.block, range.end)};
      copy_to_tile(problem.rows, first, count, block, tile, tiles.row_stride);
      for (int r = 0; r < count; ++r) keep(first + r, block, tile + r * tiles.row_stride);
    }
    tally(Count::keys_read, count * (range.end - range.begin));
  }

 private:
  void keep(std::int64_t row, Range block, Bits const* keys) const {
    CompositeKey const threshold = kept.thresholds[row];
    Bits least;
    if (!map.rank_to_reach(threshold, static_cast<std::uint64_t>(block.begin),
                           static_cast<std::uint64_t>(block.end), least))
      return;
    std::uint16_t hits[LongTiles::block + 1];
    int const found = loops.filter(keys, static_cast<int>(block.end - block.begin), map.rank,
                                   ranks_from(least), hits);
    if (found == 0) return;
    Appender<CompositeKey> out({kept.row_composites(row)}, &kept.validations[row].kept,
                               kept.capacity);
    out.add_reaching(found, threshold, [&](int h) {
      return map(keys[hits[h]], static_cast<std::uint64_t>(block.begin + hits[h]));
    });
    out.flush();
  }
};

}  // namespace ktopk::detail::host
