// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/computed.hpp>

/// \file
/// Algorithm::bitonic for computed and masked keys, as section 5 of its paper has it (bitonic-topk-sigmod18): the filter
/// and the ranking function are fused into it. Its kernels are compiled in the file that calls, and only for what
/// for_bitonic marks.

namespace ktopk {

/// What for_bitonic returns.
template <class Keys>
struct ForBitonic {
  Keys keys;
};

/// The same keys, of which Options::algorithm = Algorithm::bitonic may select. Without it radix takes the place of
/// bitonic. Under bitonic a functor is called once for each position where there is a key, and at most once more for each
/// that is selected; a mask is called once for each position.
/// \param keys  what a function of <ktopk/computed.hpp> returns; nothing nests around for_bitonic
template <class Keys>
ForBitonic<Keys> for_bitonic(Keys const& keys) {
  static_assert(detail::is_computed<Keys>,
                "ktopk::for_bitonic: bitonic selects from keys in memory without it");
  return {keys};
}

namespace detail {

template <class K>
inline constexpr bool is_computed<ForBitonic<K>> = true;
template <class K>
inline constexpr bool is_outermost<ForBitonic<K>> = true;

/// Rows for which bitonic is compiled, too.
template <Rows GivenRows>
struct BitonicRows : GivenRows {
  using Given = GivenRows;
  BitonicRows without_first(std::int64_t rows) const { return {Given::without_first(rows)}; }
  BitonicRows with_room(std::int64_t n, std::int64_t absent) const {
    return {Given::with_room(n, absent)};
  }
};

template <class K>
struct Source<ForBitonic<K>> : Source<K> {
  static Shape shape(char const* function, ForBitonic<K> const& source) {
    Shape shape = Source<K>::shape(function, source.keys);
    shape.for_bitonic = true;
    return shape;
  }
  static BitonicRows<source_rows<K>> rows(ForBitonic<K> const& source, Options const& options) {
    return {Source<K>::rows(source.keys, options)};
  }
  static Extent keys_extent(ForBitonic<K> const& source) {
    return Source<K>::keys_extent(source.keys);
  }
};

}  // namespace detail

}  // namespace ktopk

#include <ktopk/impl/dispatch/computed_bitonic.hpp>
