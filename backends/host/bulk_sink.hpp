// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/selected.hpp>

namespace ktopk::detail::host {

/// Stores many of the selected keys of a row at once.
template <class Bits, class CompositeKey>
struct BulkSink : SelectedSink<StoredRows<Bits>, CompositeKey> {
  using SelectedSink<StoredRows<Bits>, CompositeKey>::problem;
  using SelectedSink<StoredRows<Bits>, CompositeKey>::map;
  using SelectedSink<StoredRows<Bits>, CompositeKey>::composites;

  /// Puts the keys at from[hits[0]], from[hits[1]] ..., where `from` is position `first` of the row.
  void put_hits(std::int64_t row, std::int64_t slot, Stored<Bits> const* from,
                std::uint16_t const* hits, int count, std::int64_t first) const {
    auto const position = [=](int h) { return static_cast<std::uint64_t>(first + hits[h]); };
    put_many(
        row, slot, count, [=, to = map](int h) { return to(from[hits[h]], position(h)); },
        [=](int h) { return from[hits[h]]; }, position);
  }
  /// Puts the composite keys at from[hits[0]], from[hits[1]] ...
  void put_hits(std::int64_t row, std::int64_t slot, CompositeKey const* from,
                std::uint16_t const* hits, int count) const {
    BulkSink const to = *this;  // a copy that no store can change stays in registers
    put_many(
        row, slot, count, [=](int h) { return from[hits[h]]; },
        [=](int h) { return to.key_of(row, from[hits[h]]); },
        [=](int h) { return to.map.position(from[hits[h]]); });
  }
  void put_composite_keys(std::int64_t row, std::int64_t slot, CompositeKey const* from,
                          int count) const {
    BulkSink const to = *this;
    put_many(
        row, slot, count, [=](int h) { return from[h]; },
        [=](int h) { return to.key_of(row, from[h]); },
        [=](int h) { return to.map.position(from[h]); });
  }

 private:
  /// Puts `count` selected keys by one loop for each array: composite(h), or key(h) and position(h).
  template <class MakeComposite, class MakeKey, class MakePosition>
  void put_many(std::int64_t row, std::int64_t slot, int count, MakeComposite const& composite,
                MakeKey const& key, MakePosition const& position) const {
    if (composites != nullptr)
      return put_all<CompositeKey>(composites + row * problem.shape.k + slot, 1, count, composite);
    if (problem.out.values != nullptr)
      put_all<Bits>(
          problem.out.values + row * problem.out.value_row + slot * problem.out.value_step,
          problem.out.value_step, count, key);
    if (problem.out.indices == nullptr) return;
    std::int64_t const at = row * problem.out.index_row + slot * problem.out.index_step;
    if (problem.shape.index_bytes == 4)
      put_all<std::uint32_t>(static_cast<std::uint32_t*>(problem.out.indices) + at,
                             problem.out.index_step, count, position);
    else
      put_all<std::uint64_t>(static_cast<std::uint64_t*>(problem.out.indices) + at,
                             problem.out.index_step, count, position);
  }
  /// Takes a copy of `make`, which no store can change, so that it stays in registers.
  template <class T, class Make>
  static void put_all(Stored<T>* out, std::int64_t step, int count, Make make) {
    for (int h = 0; h < count; ++h) out[h * step] = static_cast<T>(make(h));
  }
};

/// What an Appender calls to put what it holds.
template <class Bits, class CompositeKey>
struct PutMany {
  BulkSink<Bits, CompositeKey> sink;
  std::int64_t row;
  void operator()(std::int64_t slot, CompositeKey const* composites, int count) const {
    sink.put_composite_keys(row, slot, composites, count);
  }
};

}  // namespace ktopk::detail::host
