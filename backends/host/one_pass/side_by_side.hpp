// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../rows_in_cache.hpp"

// Short rows that lie side by side, as in LayoutLeft. A cache line holds keys of one place of several rows, so a thread
// copies these rows to a tile together, and selects from each of them there.

namespace ktopk::detail::host {

/// How many rows are copied together, and by how many threads.
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
  bool are_worth_it() const { return rows >= 4; }
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
  static constexpr int ahead = 16;  // a processor does not foresee which line is next

  void select(std::int64_t first, Bits* tile) const {
    Shape const& shape = rows.sink.problem.shape;
    auto const count = static_cast<int>(std::min(work.sizes.rows, shape.rows - first));
    copy(first, count, tile);
    for (int r = 0; r < count; ++r) rows.select_from(first + r, tile + r * work.sizes.row_stride);
  }

  void copy(std::int64_t first, int count, Bits* tile) const {
    StoredRows<Bits> const& from = rows.sink.problem.rows;
    std::int64_t const n = from.n, step = from.step, stride = work.sizes.row_stride;
    Stored<Bits> const* keys = from.pointer(first);
    for (std::int64_t i = 0; i < n; ++i, keys += step) {
      __builtin_prefetch(keys + (i + ahead < n ? ahead * step : 0));
      for (int r = 0; r < count; ++r) tile[r * stride + i] = keys[r];
    }
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
  if (shape.packed || shape.computed) return 0;
  TileSizes const sizes(device, shape);
  if (!sizes.are_worth_it()) return 0;
  WorkspaceLayout layout;
  layout.take<std::byte>(sizes.threads * sizes.keys() * shape.key_bytes);
  return layout.bytes();
}

}  // namespace ktopk::detail::host
