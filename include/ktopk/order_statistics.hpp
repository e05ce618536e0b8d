// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/detail/question_plan.hpp>
#include <ktopk/detail/rank_call.hpp>
#include <ktopk/options.hpp>
#include <ktopk/top_k.hpp>

/// \file
/// The k-th best key of each row, keys of other ranks, and quantiles, without the keys before them. Results stay on the
/// device.
///
/// `keys` is what top_k takes: a View of rank 1 or 2, ragged rows, or keys of <ktopk/computed.hpp>. Values have an extent
/// less than there: of a row of keys of rank 1, what is one a row may be a View of rank 0, or of one entry.
///
/// A value is a key; but of equal keys with different bits it is always the same one: +0 of both zeros, and the quiet NaN
/// of all. It is the same on every backend and for any number of threads. The value of a rank that a row does not have,
/// because it is too short or empty, is the worst key, as in top_k; and NaN if values are not of the keys' type.
///
/// Of the options, `order` and `nan` matter.
///
/// Ranks that only the device can read are read when the kernels run. Others are read before the call returns, and checked.
///
/// Cost: up to 16 keys of each row are found together. One rank, or ranks that are close, mostly take a read of the row
/// and a second one of a part of it; ranks that are far from each other take another read of the row. If a sample
/// misled, it reads the row again, and at most ten times for 64 bits. Workspace: up to 5/16 of the bytes of all keys
/// (none for keys of 8 and 16 bits), and 18 KB for each row that several groups share; on hosts, 64 KB and more a
/// thread.

namespace ktopk {

/// The k-th best key of each row: the least of the k keys that top_k selects.
///
/// \param exec     execution space instance: all work is enqueued on it
/// \param keys     rows of n keys
/// \param k        from 1 to n; or a View of int32 or int64 that has the k of each row, on the device or on the host
/// \param value    value(row), of the key type
/// \throws std::invalid_argument before any kernel for a k that the host knows to be out of range, and extents that
///         disagree
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::RankArgument K, class Value>
void kth(Exec const& exec, Keys const& keys, K const& k, Value const& value,
         Options const& options = {}) {
  find_ranks_allocating(exec, detail::kth_call<Exec>("ktopk::kth", keys, k, value, options));
}

/// The keys of some ranks of each row.
///
/// \param ranks   from 0, which is the best, to n - 1, the same for all rows, in any order, also several times: a View of
///                int32 or int64, or anything that is a std::span of std::int64_t
/// \param values  values(row, i) is the key of rank ranks(i), of the key type
/// \throws std::invalid_argument before any kernel for a rank that the host knows to be out of range, and extents that
///         disagree
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::RankList List, class Values>
void ranks(Exec const& exec, Keys const& keys, List const& ranks, Values const& values,
           Options const& options = {}) {
  find_ranks_allocating(exec,
                        detail::ranks_call<Exec>("ktopk::ranks", keys, ranks, values, options));
}
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, class Values>
void ranks(Exec const& exec, Keys const& keys, std::initializer_list<std::int64_t> ranks,
           Values const& values, Options const& options = {}) {
  find_ranks_allocating(
      exec, detail::ranks_call<Exec>("ktopk::ranks", keys,
                                     std::span<std::int64_t const>(ranks.begin(), ranks.size()),
                                     values, options));
}

/// Quantiles of each row: the keys, in ascending order whatever Options::order, at the place q (n - 1), computed in double.
///
/// \param q              from 0 to 1: a View of double, or anything that is a std::span of double
/// \param values         values(row, i) is the quantile q(i): of the key type, or numbers of type float or double
/// \param interpolation  what a quantile between two keys is. For linear and midpoint it is computed in double and rounded
///                       to the type of values, which then is no integer.
/// \throws std::invalid_argument before any kernel for a q that the host knows not to be from 0 to 1, extents that
///         disagree, and integers as values between keys
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::QuantileList List,
          class Values>
void quantiles(Exec const& exec, Keys const& keys, List const& q, Values const& values,
               Interpolation interpolation = Interpolation::linear, Options const& options = {}) {
  find_ranks_allocating(exec, detail::quantiles_call<Exec>("ktopk::quantiles", keys, q, values,
                                                           interpolation, options));
}
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, class Values>
void quantiles(Exec const& exec, Keys const& keys, std::initializer_list<double> q,
               Values const& values, Interpolation interpolation = Interpolation::linear,
               Options const& options = {}) {
  quantiles(exec, keys, std::span<double const>(q.begin(), q.size()), values, interpolation,
            options);
}

/// The same calls in a workspace that is allocated once: a call enqueues kernels and does nothing else. What Plan says of
/// its calls holds for these.
template <detail::ExecutionSpace Exec>
class RanksPlan {
 public:
  /// \param shape  from make_shape, or shape_of(source, 1) for computed keys; with k_per_row set if k is a View. Calls may
  ///               have fewer rows, and if it is ragged fewer keys. Its k does not matter.
  RanksPlan(Exec const& exec, Shape const& shape, Options const& options = {})
      : m_plan(name, exec, shape, options,
               [&](Shape const& of) { return detail::ranks_bytes(exec, of); }) {}

  /// \see ktopk::kth
  template <detail::KeyRows Keys, detail::RankArgument K, class Value>
  void kth(Keys const& keys, K const& k, Value const& value) {
    run(detail::kth_call<Exec>(name, keys, k, value, m_plan.options()));
  }
  /// \see ktopk::ranks
  template <detail::KeyRows Keys, detail::RankList List, class Values>
  void ranks(Keys const& keys, List const& ranks, Values const& values) {
    run(detail::ranks_call<Exec>(name, keys, ranks, values, m_plan.options()));
  }
  /// \see ktopk::quantiles
  template <detail::KeyRows Keys, detail::QuantileList List, class Values>
  void quantiles(Keys const& keys, List const& q, Values const& values,
                 Interpolation interpolation = Interpolation::linear) {
    run(detail::quantiles_call<Exec>(name, keys, q, values, interpolation, m_plan.options()));
  }

  std::size_t workspace_bytes() const { return m_plan.workspace().size(); }

 private:
  static constexpr char const* name = "ktopk::RanksPlan";

  template <class Call>
  void run(Call const& call) {
    m_plan.check(call.shape);
    find_ranks_in(m_plan.exec(), call, m_plan.workspace().data(), m_plan.workspace().size());
  }

  detail::QuestionPlan<Exec> m_plan;
};

}  // namespace ktopk

#if defined(KTOPK_HEADER_ONLY)
#include <ktopk/impl/dispatch/header_only.hpp>
#endif
