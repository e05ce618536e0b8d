// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/kokkos_version.hpp>

/// \file
/// What an argument may be, besides a plain View.

namespace ktopk {

/// Takes the place of values, indices, wanted or counts that the caller does not need.
struct Nothing {};
inline constexpr Nothing nothing{};

/// Rows of different lengths, one after the other.
template <class Keys, class Offsets>
struct Ragged {
  Keys keys;
  Offsets offsets;
};

/// Rows of different lengths: row r holds keys(offsets(r)) .. keys(offsets(r + 1) - 1).
/// \param keys     rank-1 View of all keys
/// \param offsets  rank-1 View of rows + 1 ascending int32 or int64, accessible to the execution space
/// Offsets are read on the device, so their values cannot be checked. Whatever they are, no key outside `keys` is
/// read: an offset below 0 counts as 0, one beyond the number of keys as that number, and a row that then ends
/// before it begins is empty. Rows may overlap.
/// The result takes the place of `keys` in every call. Indices count from the beginning of their row.
template <class Keys, class Offsets>
Ragged<Keys, Offsets> ragged(Keys const& keys, Offsets const& offsets) {
  static_assert(Keys::rank == 1 && Offsets::rank == 1,
                "ktopk::ragged: keys and offsets have rank 1");
  return {keys, offsets};
}

/// Rows that begin and end where two Views say.
template <class Keys, class Begins, class Ends>
struct BoundedRows {
  Keys keys;
  Begins begins;
  Ends ends;
};

/// Rows of different lengths anywhere among some keys: row r holds keys(begins(r)) .. keys(ends(r) - 1). Rows may overlap
/// and come in any order, as the pages or windows of a cache do.
/// \param keys          rank-1 View of all keys
/// \param begins, ends  rank-1 Views of int32 or int64, one for each row, accessible to the execution space
/// They are read on the device; what ragged(keys, offsets) says of offsets holds for both. A row that shares keys with
/// another, or begins before the row above it, is selected from by one group of threads, however long it is.
template <class Keys, class Begins, class Ends>
BoundedRows<Keys, Begins, Ends> ragged(Keys const& keys, Begins const& begins, Ends const& ends) {
  static_assert(Keys::rank == 1 && Begins::rank == 1 && Ends::rank == 1,
                "ktopk::ragged: keys, begins and ends have rank 1");
  return {keys, begins, ends};
}

/// The rows of a matrix of which each holds less than all columns: row r is keys(r, 0) .. keys(r, lengths(r) - 1).
/// \param keys     rank-2 View
/// \param lengths  rank-1 View of int32 or int64, one for each row, accessible to the execution space
/// They are read on the device, so their values cannot be checked: one below 0 counts as 0, one beyond the columns as
/// their number. The result takes the place of `keys` in every call.
template <class Keys, class Lengths>
BoundedRows<Keys, Nothing, Lengths> rows(Keys const& keys, Lengths const& lengths) {
  static_assert(Keys::rank == 2 && Lengths::rank == 1,
                "ktopk: rows: keys have rank 2, and lengths rank 1");
  return {keys, nothing, lengths};
}

/// The same for rows that begin behind the first column: row r is keys(r, begins(r)) .. keys(r, ends(r) - 1). Indices
/// count from the beginning of their row, so that keys(r, begins(r) + index) is the key.
template <class Keys, class Begins, class Ends>
BoundedRows<Keys, Begins, Ends> rows(Keys const& keys, Begins const& begins, Ends const& ends) {
  static_assert(Keys::rank == 2 && Begins::rank == 1 && Ends::rank == 1,
                "ktopk: rows: keys have rank 2, and begins and ends rank 1");
  return {keys, begins, ends};
}

/// How many keys each row asks for, and how many it got.
template <class Wanted, class Counts>
struct PerRow {
  Wanted wanted;
  Counts counts;
};

/// A k for each row.
/// \param wanted  rank-1 View of int32 or int64, one for each row, on the device or on the host; read
///                on the device, clipped to 0 .. extent of values; or ktopk::nothing: all rows ask for k
/// \param counts  rank-1 View of int32 or int64 that gets how many keys of each row are selected
///                (no more than the row has); or ktopk::nothing
template <class Wanted, class Counts = Nothing>
PerRow<Wanted, Counts> per_row(Wanted const& wanted, Counts const& counts = {}) {
  return {wanted, counts};
}

namespace detail {

template <class T>
inline constexpr bool is_ragged = false;
template <class K, class O>
inline constexpr bool is_ragged<Ragged<K, O>> = true;
template <class K, class B, class E>
inline constexpr bool is_ragged<BoundedRows<K, B, E>> = true;

/// The execution space that reads keys in memory unless a call names another.
template <class Keys>
struct ExecOfKeys {
  using type = typename Keys::execution_space;
};
template <class K, class O>
struct ExecOfKeys<Ragged<K, O>> : ExecOfKeys<K> {};
template <class K, class B, class E>
struct ExecOfKeys<BoundedRows<K, B, E>> : ExecOfKeys<K> {};

template <class T>
inline constexpr bool is_per_row = false;
template <class W, class C>
inline constexpr bool is_per_row<PerRow<W, C>> = true;

template <class T>
concept IsNothing = std::is_same_v<T, Nothing>;

/// Whether keys are made by what <ktopk/computed.hpp> offers.
template <class T>
inline constexpr bool is_computed = false;

template <class T>
concept StoredKeys = Kokkos::is_view_v<T> || is_ragged<T>;

template <class T>
concept KeyRows = StoredKeys<T> || is_computed<T>;

template <class T>
concept ViewOrNothing = Kokkos::is_view_v<T> || IsNothing<T>;

template <class T>
concept PerRowArgument = is_per_row<T>;

template <class T>
concept ExecutionSpace = Kokkos::is_execution_space_v<T>;

}  // namespace detail
}  // namespace ktopk
