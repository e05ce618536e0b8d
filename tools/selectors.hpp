// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <ktopk/core/rank_request.hpp>
#include <ktopk/options.hpp>
#include <memory>
#include <string>
#include <vector>

#include "files/matrix.hpp"
#include "sink.hpp"

namespace ktopk::tools {

/// Answers for blocks of rows on one backend. Needs a KokkosSession.
class BlockSelector {
 public:
  virtual ~BlockSelector() = default;

  /// Fills selected with the answer for every row. A host backend reads the keys in place, unless they are not aligned;
  /// for a device they are copied.
  virtual void select(Matrix const& block, Selected& selected) = 0;
};

/// The best k keys of every row and their indices.
std::unique_ptr<BlockSelector> make_top_k_selector(std::string const& backend, KeyType type,
                                                   std::int64_t k, Options const& options);

/// The k-th best key of every row alone.
std::unique_ptr<BlockSelector> make_kth_selector(std::string const& backend, KeyType type,
                                                 std::int64_t k, Options const& options);

/// Quantiles of every row, of the type quantile_type(type).
std::unique_ptr<BlockSelector> make_quantiles_selector(std::string const& backend, KeyType type,
                                                       std::vector<double> const& q,
                                                       Interpolation interpolation,
                                                       Options const& options);

/// f64 for f64 and integers, f32 for shorter floats.
KeyType quantile_type(KeyType type);

/// Selects from one row that comes part by part. The memory it takes depends on k alone.
class RowSelector {
 public:
  virtual ~RowSelector() = default;

  /// Adds the next keys; first is the position of the first of them.
  virtual void add(Matrix const& part, std::int64_t first) = 0;

  /// Fills selected, and forgets all keys: the next row may follow.
  virtual void finish(Selected& selected) = 0;
};

std::unique_ptr<RowSelector> make_row_selector(std::string const& backend, KeyType type,
                                               std::int64_t k, Options const& options);

}  // namespace ktopk::tools
