// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <ktopk/core/problem.hpp>
#include <ktopk/core/rows.hpp>

#include "../../common/stream.cuh"
#include "../../common/warp.cuh"
#include "tuning.hpp"

// How the kernels for long rows read keys: those in memory by vectors of 16 bytes, those that a functor makes one by one.

namespace ktopk::detail::cuda::grid {

constexpr OnePassTuning tuning = one_pass_tuning;

/// The keys of a row, for a look at a few of them.
template <Rows R>
__device__ RowOf<R> keys_of(Problem<R> const& problem, unsigned row) {
  return problem.rows.row(row);
}
template <class Bits>
__device__ Bits const* keys_of(StoredProblem<Bits> const& problem, unsigned row) {
  return problem.rows.pointer(row);
}

/// As composite_at, which needs Kokkos.
template <class Bits, class CompositeKey, class Row>
__device__ CompositeKey composite_of(CompositeKeyMap<Bits, CompositeKey> const& map, Row const& row,
                                     std::int64_t i) {
  if constexpr (Row::has_gaps)
    if (!row.holds(i)) return map.gap(static_cast<std::uint64_t>(i));
  return map(row[i], static_cast<std::uint64_t>(i));
}
template <class Bits, class CompositeKey>
__device__ CompositeKey composite_of(CompositeKeyMap<Bits, CompositeKey> const& map,
                                     Bits const* keys, std::int64_t i) {
  return map(__ldg(keys + i), static_cast<std::uint64_t>(i));
}

/// The bits of the keys in memory of which rows are made; void if they are made of none.
template <class R>
struct MadeOf {
  using Stored = void;
};
template <class Bits>
struct MadeOf<StoredRows<Bits>> {
  using Stored = Bits;
};
template <class R>
  requires requires { typename R::Inner; }
struct MadeOf<R> : MadeOf<typename R::Inner> {};

template <class Row>
__device__ auto stored_row(Row const& row) {
  if constexpr (requires { row.inner; })
    return stored_row(row.inner);
  else
    return row;
}
/// The key that is made of a stored one.
template <class Row, class Bits>
__device__ typename Row::Bits made_from(Row const& row, Bits stored, std::int64_t i) {
  if constexpr (requires { row.inner; })
    return row.made_of(made_from(row.inner, stored, i), i);
  else
    return stored;
}

/// Whether a functor must not be called for the keys that a mask leaves out.
template <class R>
inline constexpr bool is_made_of_masked = false;
template <class R>
  requires requires { typename R::Inner; }
inline constexpr bool is_made_of_masked<R> =
    (R::Inner::has_gaps && !R::has_own_gaps) || is_made_of_masked<typename R::Inner>;

template <Rows R>
__device__ bool may_make([[maybe_unused]] RowOf<R> const& row, [[maybe_unused]] std::int64_t i) {
  if constexpr (is_made_of_masked<R>) return row.holds(i);
  return true;
}

/// The quick tests of a unit's keys, by the greatest of them.
template <bool NanWins, class Bits>
class UnitTest {
 public:
  __device__ UnitTest(QuickTest<Bits> const& test, NanTest<Bits> const& nan_test)
      : m_test(test), m_nan_test(nan_test) {}
  __device__ void add(Bits key) {
    m_greatest = max(m_greatest, static_cast<Bits>((key & m_test.kept) ^ m_test.flip));
    if (NanWins)
      m_greatest_nan =
          max(m_greatest_nan, static_cast<Bits>((key & m_nan_test.kept) ^ m_nan_test.flip));
  }
  __device__ bool passes() const {
    return m_greatest >= m_test.least || (NanWins && m_greatest_nan > m_nan_test.above);
  }

 private:
  __device__ static Bits max(Bits a, Bits b) { return a < b ? b : a; }

  QuickTest<Bits> const& m_test;
  NanTest<Bits> const& m_nan_test;
  Bits m_greatest = 0, m_greatest_nan = 0;
};

/// A thread's share of a tile of keys that are made of nothing in memory; all are in flight together.
template <class Bits>
struct MadeKeys {
  static constexpr int in_flight = sizeof(Bits) == 8 ? 8 : 16;
  static constexpr int size = tuning.threads * in_flight;

  Bits keys[in_flight];

  __device__ static std::int64_t place(std::int64_t first, int v) {
    return first + v * tuning.threads + static_cast<int>(threadIdx.x);
  }
};

/// A row as it is read once, in units of `width` keys. Here a unit is a key.
template <Rows R, class StoredBits = typename MadeOf<R>::Stored>
class Stream;

template <Rows R>
class Stream<R, void> {
 public:
  using Bits = typename R::Bits;
  static constexpr int width = 1;
  using Share = MadeKeys<Bits>;

  __device__ Stream(Problem<R> const& problem, unsigned row)
      : m_keys(keys_of(problem, row)), m_n(problem.shape.n) {}

  __device__ std::int64_t units() const { return m_n; }
  /// Of the first key of a unit.
  __device__ std::int64_t position(std::int64_t unit) const { return unit; }
  __device__ RowOf<R> const& keys() const { return m_keys; }
  __device__ void load(Share& share, std::int64_t first) const {
    bool const is_whole = first + Share::size <= m_n;
#pragma unroll
    for (int v = 0; v < Share::in_flight; ++v) {
      std::int64_t const i = Share::place(first, v);
      bool const is_there = (is_whole || i < m_n) && may_make<R>(m_keys, i);
      share.keys[v] = is_there ? m_keys[i] : Bits{0};
    }
  }
  /// Returns a mask: bit v is set if a key of unit v of the share passes. Bits of units behind the last mean nothing.
  template <bool NanWins>
  __device__ unsigned hits(Share const& share, std::int64_t, QuickTest<Bits> const& test,
                           NanTest<Bits> const& nan_test) const {
    UnitTest<NanWins, Bits> all(test, nan_test);
#pragma unroll
    for (Bits const key : share.keys) all.add(key);
    if (!all.passes()) return 0;
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < Share::in_flight; ++v) {
      UnitTest<NanWins, Bits> one(test, nan_test);
      one.add(share.keys[v]);
      bits |= static_cast<unsigned>(one.passes()) << v;
    }
    return bits;
  }
  __device__ void prefetch_shares(int, int) const {}

 private:
  RowOf<R> m_keys;
  std::int64_t m_n;
};

/// The keys in memory of a row that has them, in vectors of 16 bytes.
template <class StoredBits>
class VectorStream {
 public:
  static constexpr int width = Vector<StoredBits>::size;
  using Share = Tile<StoredBits, tuning.threads, tuning.vectors_in_flight>;

  __device__ VectorStream(StoredBits const* keys, std::int64_t n) : m_row(keys, n) {}

  __device__ std::int64_t units() const { return m_row.vectors; }
  __device__ std::int64_t position(std::int64_t unit) const { return m_row.head + unit * width; }
  __device__ void load(Share& share, std::int64_t first) const {
    share.load(m_row.keys, first, m_row.vectors);
  }
  /// Prefetches some of a block's shares to L2.
  __device__ void prefetch_shares(int begin, int end) const {
    constexpr int line = 128 / 16;
    if (threadIdx.x % line != 0) return;
    for (int t = begin; t < end; ++t) {
      std::int64_t const first = (blockIdx.x + std::int64_t{t} * gridDim.x) * Share::size;
      if (first + Share::size > m_row.vectors) return;
      for (int v = 0; v < Share::in_flight; ++v)
        prefetch(m_row.keys + Share::place(first, v) * width);
    }
  }

 protected:
  AlignedRow<StoredBits> m_row;
};

template <class Bits>
class Stream<StoredRows<Bits>, Bits> : public VectorStream<Bits> {
 public:
  using Share = typename VectorStream<Bits>::Share;

  __device__ Stream(StoredProblem<Bits> const& problem, unsigned row)
      : VectorStream<Bits>(keys_of(problem, row), problem.shape.n) {}
  __device__ Bits const* keys() const { return this->m_row.keys - this->m_row.head; }
  template <bool NanWins>
  __device__ unsigned hits(Share const& share, std::int64_t, QuickTest<Bits> const& test,
                           NanTest<Bits> const& nan_test) const {
    return share.template hits<NanWins>(test, nan_test);
  }
};

template <Rows R, class StoredBits>
class Stream : public VectorStream<StoredBits> {
 public:
  using Bits = typename R::Bits;
  using Share = typename VectorStream<StoredBits>::Share;
  using VectorStream<StoredBits>::width;

  __device__ Stream(Problem<R> const& problem, unsigned row)
      : VectorStream<StoredBits>(stored_row(problem.rows.row(row)).keys, problem.shape.n),
        m_keys(keys_of(problem, row)) {}
  __device__ RowOf<R> const& keys() const { return m_keys; }
  /// As above. No key is made of what is behind the last unit.
  template <bool NanWins>
  __device__ unsigned hits(Share const& share, std::int64_t first, QuickTest<Bits> const& test,
                           NanTest<Bits> const& nan_test) const {
    bool const is_whole = first + Share::size <= this->units();
    return is_whole ? hits_before<NanWins, true>(share, first, test, nan_test)
                    : hits_before<NanWins, false>(share, first, test, nan_test);
  }

 private:
  template <bool NanWins, bool IsWhole>
  __device__ unsigned hits_before(Share const& share, std::int64_t first,
                                  QuickTest<Bits> const& test,
                                  NanTest<Bits> const& nan_test) const {
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < Share::in_flight; ++v) {
      std::int64_t const place = Share::place(first, v);
      if (IsWhole || place < this->units())
        bits |= static_cast<unsigned>(passes<NanWins>(share.vectors[v], place, test, nan_test))
                << v;
    }
    return bits;
  }
  template <bool NanWins>
  __device__ bool passes(Vector<StoredBits> const& vector, std::int64_t unit,
                         QuickTest<Bits> const& test, NanTest<Bits> const& nan_test) const {
    UnitTest<NanWins, Bits> keys(test, nan_test);
    std::int64_t const begin = this->position(unit);
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (may_make<R>(m_keys, begin + i)) keys.add(made_from(m_keys, vector.key(i), begin + i));
    return keys.passes();
  }

  RowOf<R> m_keys;
};

}  // namespace ktopk::detail::cuda::grid
