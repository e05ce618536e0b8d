// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/collapse.hpp>
#include <ktopk/detail/select.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

/// \file
/// The k best keys of a row, or of every row, with their positions.

namespace ktopk {

/// The buffer in which a selection works, in the memory space of `Exec`.
template <class Exec>
using Workspace = Kokkos::View<std::byte*, typename Exec::memory_space>;

/// Bytes that a call of this shape needs: exact, and the same for every call of the shape, whatever the layout of its
/// Views. So `packed` of the shape does not matter here.
/// For one_pass they are bounded in n, and none on hosts for rows of medium length besides those of the threads. Radix
/// needs at most n / 4 composite keys a row; its tuned implementation for CUDA holds those of the rows in work alone.
/// Where the output is sorted it needs two more for each of the k of a row, as others do; sort needs two for each key.
/// A composite key has 8 bytes, or 16 for keys of 64 bits, and of 32 bits in rows of more than 2^32. Besides, radix
/// needs up to 136 bytes a row, and on a host up to 430 KB a thread.
template <detail::ExecutionSpace Exec>
std::size_t workspace_bytes(Exec const& exec, Shape const& shape, Options const& options = {}) {
  Shape const settled = detail::settled(shape, options);
  detail::check_sizes("ktopk::workspace_bytes", settled);
  detail::check_options("ktopk::workspace_bytes", options);
  return detail::check_needed("ktopk::workspace_bytes",
                              detail::call_bytes(exec, settled, detail::settled(options)));
}

namespace detail {

template <class Exec, class Keys, class Values, class Indices, class Rows>
void top_k_allocating(Exec const& exec, Keys const& keys, Values const& values,
                      Indices const& indices, Rows const& per_row, Options const& options) {
  select_allocating(exec, collapse<Exec>("ktopk::top_k", keys, values, indices, per_row, options),
                    settled(options));
}

template <class Exec, class Keys, class Values, class Indices, class Rows>
void top_k_in_place(Exec const& exec, Keys const& keys, Values const& values,
                    Indices const& indices, Rows const& per_row, Options const& options,
                    ktopk::Workspace<Exec> const& workspace) {
  select_in(exec, collapse<Exec>("ktopk::top_k", keys, values, indices, per_row, options),
            settled(options), workspace.data(), workspace.size());
}

/// Options that were passed without the struct that they are members of.
template <class T>
concept LoneOption = std::is_same_v<T, Order> || std::is_same_v<T, Sorted> ||
                     std::is_same_v<T, Ties> || std::is_same_v<T, NaN> || std::is_same_v<T, By> ||
                     std::is_same_v<T, ShortRows> || std::is_same_v<T, Algorithm>;

template <class T>
constexpr void refuse_lone_option() {
  static_assert(!LoneOption<T>,
                "ktopk: pass Order, Sorted, Ties, NaN, By, ShortRows and Algorithm as members of "
                "Options, like "
                "{.order = ktopk::Order::smallest}");
}

}  // namespace detail

/// The k best keys of every row and their positions in it.
///
/// \param exec     execution space instance: all work is enqueued on it, nothing else is touched
/// \param keys     rank 1: keys(n); rank 2: keys(rows, n); or ragged(keys, offsets). Any layout and stride.
///                 float, double, float16, bfloat16 or an integer of 8 to 64 bits; n up to 2^40
/// \param values   values(k) or values(rows, k) of the key type, or ktopk::nothing
/// \param indices  indices(k) or indices(rows, k) of a 32- or 64-bit integer type, or ktopk::nothing;
///                 positions count from the beginning of the row
/// \param options  order, ties, NaN, sorted, algorithm; the default is deterministic to the bit
///
/// A value that comes out is the key that went in, bit for bit. Rows shorter than k (ragged) are filled
/// with the index -1 (largest value if unsigned) and the worst key: the lowest value or -infinity for
/// Order::largest, the highest or +infinity for Order::smallest. No rows, n = 0 and k = 0 are valid.
///
/// Cost: allocates no more than workspace_bytes(exec, shape, options) and frees it at its end. On hosts, and on CUDA where
/// the device has memory pools, that fences nothing; else it waits for the device, as Kokkos's deallocation does: there use
/// a Plan or the overload with a workspace to stay asynchronous. On CUDA a pool keeps up to 256 MB for later calls. Reads
/// the input once (one_pass) or two to five times (radix).
/// \throws std::invalid_argument before any kernel, outputs untouched: k > n of uniform rows, extents
///         that disagree, outputs seen to overlap keys or each other, an index type too small for n
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::ViewOrNothing Values,
          detail::ViewOrNothing Indices>
void top_k(Exec const& exec, Keys const& keys, Values const& values, Indices const& indices,
           Options const& options = {}) {
  detail::top_k_allocating(exec, keys, values, indices, nothing, options);
}

/// The same with a k for each row, with counts, or with both: see ktopk::per_row.
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::ViewOrNothing Values,
          detail::ViewOrNothing Indices, detail::PerRowArgument Rows>
void top_k(Exec const& exec, Keys const& keys, Values const& values, Indices const& indices,
           Rows const& per_row, Options const& options = {}) {
  detail::top_k_allocating(exec, keys, values, indices, per_row, options);
}

/// The same in the caller's workspace: never allocates, never fences.
/// \param workspace  at least workspace_bytes(exec, shape, options) bytes; in use until `exec` is done
/// \throws std::invalid_argument also for a workspace too small
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::ViewOrNothing Values,
          detail::ViewOrNothing Indices>
void top_k(Exec const& exec, Keys const& keys, Values const& values, Indices const& indices,
           Options const& options, Workspace<Exec> const& workspace) {
  detail::top_k_in_place(exec, keys, values, indices, nothing, options, workspace);
}

/// The same in the caller's workspace, with a k for each row. A `wanted` that only the host can reach
/// is copied in stream order: it must not change before `exec` is done.
template <detail::ExecutionSpace Exec, detail::KeyRows Keys, detail::ViewOrNothing Values,
          detail::ViewOrNothing Indices, detail::PerRowArgument Rows>
void top_k(Exec const& exec, Keys const& keys, Values const& values, Indices const& indices,
           Rows const& per_row, Options const& options, Workspace<Exec> const& workspace) {
  detail::top_k_in_place(exec, keys, values, indices, per_row, options, workspace);
}

/// The same on the default instance of the keys' execution space, with a fence before and after, as
/// Kokkos's own algorithms do.
template <detail::StoredKeys Keys, detail::ViewOrNothing Values, detail::ViewOrNothing Indices>
void top_k(Keys const& keys, Values const& values, Indices const& indices,
           Options const& options = {}) {
  using Exec = typename detail::ExecOfKeys<Keys>::type;
  Kokkos::fence("ktopk::top_k: before");
  detail::top_k_allocating(Exec(), keys, values, indices, nothing, options);
  Kokkos::fence("ktopk::top_k: after");
}

/// The same on the default instance, with a k for each row.
template <detail::StoredKeys Keys, detail::ViewOrNothing Values, detail::ViewOrNothing Indices,
          detail::PerRowArgument Rows>
void top_k(Keys const& keys, Values const& values, Indices const& indices, Rows const& per_row,
           Options const& options = {}) {
  using Exec = typename detail::ExecOfKeys<Keys>::type;
  Kokkos::fence("ktopk::top_k: before");
  detail::top_k_allocating(Exec(), keys, values, indices, per_row, options);
  Kokkos::fence("ktopk::top_k: after");
}

/// Does not compile, and says what a kernel calls.
template <class Member, class... Arguments>
  requires(Kokkos::is_team_handle_v<Member>)
void top_k(Member const&, Arguments const&...) {
  static_assert(!Kokkos::is_team_handle_v<Member>,
                "ktopk: top_k is called by the host; a kernel calls team_top_k or thread_top_k of "
                "<ktopk/team.hpp>");
}

/// Does not compile, and says how options are passed.
template <class... Arguments>
  requires(detail::LoneOption<Arguments> || ...)
void top_k(Arguments const&...) {
  (detail::refuse_lone_option<Arguments>(), ...);
}

/// Does not compile, either.
template <detail::ExecutionSpace Exec, detail::LoneOption Option>
std::size_t workspace_bytes(Exec const&, Shape const&, Option) {
  detail::refuse_lone_option<Option>();
  return 0;
}

}  // namespace ktopk
