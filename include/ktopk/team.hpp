// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/key_order.hpp>
#include <ktopk/core/key_traits.hpp>
#include <ktopk/core/stored.hpp>
#include <ktopk/core/unrolled.hpp>
#include <ktopk/detail/host_row.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>

/// \file
/// Selection inside a caller's kernel: by a thread, by a team, and as a reducer. The rules, and so the bits, are those of
/// top_k. Nothing is allocated and nothing throws. Of the options, `order`, `ties` (any is lowest_index), `nan` and `by`
/// matter; the output is always sorted.
///
/// `keys` is a View of rank 1, or a functor with a number: in_kernel(n, f) has the keys f(0) .. f(n - 1). A functor is pure,
/// for it is called several times for a key. Values are any type with values(slot) of the key type, as a View of rank 1 is,
/// or ktopk::Nothing{}; indices, of a 32- or 64-bit integer type, are the same.

namespace ktopk {

/// What in_kernel returns.
template <class F>
struct InKernelKeys {
  std::int64_t n;
  F f;
};

/// The keys f(0) .. f(n - 1), which lie nowhere.
template <class F>
KOKKOS_FUNCTION InKernelKeys<F> in_kernel(std::int64_t n, F const& f) {
  return {n, f};
}

namespace detail {

/// The keys of a call inside a kernel.
template <class Keys>
struct KernelKeys {
  using Key = typename Keys::non_const_value_type;
  Keys const& keys;
  KOKKOS_FUNCTION std::int64_t size() const { return static_cast<std::int64_t>(keys.extent(0)); }
  template <class I>
  KOKKOS_FUNCTION Key operator[](I i) const {
    return keys(i);
  }
  /// Where the keys lie, one after the other; null if they do not.
  Stored<bits_of<Key>> const* stored() const {
    if constexpr (Kokkos::is_view_v<Keys>)
      if constexpr (std::is_same_v<typename Keys::reference_type, typename Keys::value_type&>)
        if (keys.stride(0) == 1) return reinterpret_cast<Stored<bits_of<Key>> const*>(keys.data());
    return nullptr;
  }
};
template <class F>
struct KernelKeys<InKernelKeys<F>> {
  using Key = std::remove_cvref_t<std::invoke_result_t<F const&, std::int64_t>>;
  InKernelKeys<F> const& keys;
  KOKKOS_FUNCTION std::int64_t size() const { return keys.n; }
  Stored<bits_of<Key>> const* stored() const { return nullptr; }
  KOKKOS_FUNCTION Key operator[](std::int64_t i) const { return keys.f(i); }
};

template <class Values, class T>
KOKKOS_FUNCTION void store_value(Values const& values, std::int64_t slot, T key) {
  if constexpr (!IsNothing<Values>) values(slot) = key;
}
template <class Indices>
KOKKOS_FUNCTION void store_index(Indices const& indices, std::int64_t slot, std::int64_t index) {
  if constexpr (!IsNothing<Indices>)
    indices(slot) = static_cast<typename Indices::non_const_value_type>(index);
}

/// Stores the k best keys that one thread of a host selects, and fills the slots that are left.
/// \param most  how many these are, 1 .. most_of_host_row
/// \return how many keys there are
template <class Source, class T, class Values, class Indices>
std::int64_t store_host_row(Source const& source, KeyOrder<T> const& order, std::int64_t k,
                            std::int64_t most, Values const& values, Indices const& indices) {
  HostRow<T, Source> const row(source, order, static_cast<int>(most));
  for (std::int64_t slot = 0; slot < k; ++slot) {
    bool const exists = slot < row.count();
    std::int64_t const position = exists ? row.position(static_cast<int>(slot)) : -1;
    store_value(values, slot, exists ? source[position] : order.worst());
    store_index(indices, slot, position);
  }
  return row.count();
}

/// Selects by one thread if that is faster by code for its processor, as on hosts; else does nothing.
/// \param[out] count  how many keys there are
/// \return whether it did
template <class Source, class T, class Values, class Indices>
KOKKOS_FUNCTION bool select_alone([[maybe_unused]] Source const& source,
                                  [[maybe_unused]] KeyOrder<T> const& order,
                                  [[maybe_unused]] std::int64_t k,
                                  [[maybe_unused]] Values const& values,
                                  [[maybe_unused]] Indices const& indices,
                                  [[maybe_unused]] std::int64_t& count) {
  KOKKOS_IF_ON_HOST((if constexpr (has_host_rows) {
    std::int64_t const most = k < source.size() ? k : source.size();
    if (most <= 0 || most > most_of_host_row) return false;
    count = store_host_row(source, order, k, most, values, indices);
    return true;
  }))
  return false;
}

/// How many of `size` items, for the first of which `holds` is true and for the others not, are the first: a binary search.
template <class Holds>
KOKKOS_FUNCTION std::int64_t partition_point(std::int64_t size, Holds const& holds) {
  std::int64_t low = 0, high = size;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    holds(middle) ? low = middle + 1 : high = middle;
  }
  return low;
}

/// Calls take(key, rank, i) for each key whose rank is `least` or more, in the order of positions. `take` may raise `least`.
template <class T, class Source, class Take>
KOKKOS_FUNCTION void for_each_reaching(Source const& source, KeyOrder<T> const& order,
                                       bits_of<T> const& least, Take const& take) {
  constexpr int at_once = 16;  // keys that are looked at together, mostly in vain
  std::int64_t const n = source.size();
  for (std::int64_t begin = 0; begin < n; begin += at_once) {
    std::int64_t const end = begin + at_once < n ? begin + at_once : n;
    if (end - begin == at_once) {
      bits_of<T> const first = least;
      unsigned reaching = 0;
      for (int j = 0; j < at_once; ++j)
        reaching |= order.rank(source[begin + j]) >= first ? 1u : 0u;
      if (reaching == 0) continue;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      T const key = source[i];
      auto const rank = order.rank(key);
      if (rank >= least) take(key, rank, i);
    }
  }
}

/// Keys with their indices as a heap, whose top is the worst.
/// \tparam Places  has key_at(slot), index_at(slot) and set(slot, key, index)
template <class T, class Places>
class WorstHeap {
 public:
  using Bits = bits_of<T>;

  KOKKOS_FUNCTION WorstHeap(Places const& places, KeyOrder<T> const& order)
      : m_places(places), m_order(order) {}

  /// Whether a key comes before that of a slot.
  template <class I>
  KOKKOS_FUNCTION bool is_before(Bits rank, I index, std::int64_t slot) const {
    return m_order.is_before(rank, index, rank_at(slot), m_places.index_at(slot));
  }
  /// Adds a key, in a slot behind the last.
  template <class I>
  KOKKOS_FUNCTION void rise(std::int64_t slot, Bits rank, T key, I index) const {
    while (slot > 0 && !is_before(rank, index, (slot - 1) / 2)) {
      move((slot - 1) / 2, slot);
      slot = (slot - 1) / 2;
    }
    m_places.set(slot, key, index);
  }
  /// Replaces the top of so many.
  template <class I>
  KOKKOS_FUNCTION void sink(std::int64_t size, Bits rank, T key, I index) const {
    std::int64_t slot = 0;
    for (std::int64_t child = 1; child < size; child = 2 * slot + 1) {
      Held<I> worse = held<I>(child);
      if (child + 1 < size) {
        Held<I> const other = held<I>(child + 1);
        if (m_order.is_before(worse.rank, worse.index, other.rank, other.index)) {
          worse = other;
          ++child;
        }
      }
      if (!m_order.is_before(rank, index, worse.rank, worse.index)) break;
      m_places.set(slot, worse.key, worse.index);
      slot = child;
    }
    m_places.set(slot, key, index);
  }
  /// Makes it a list, best first.
  KOKKOS_FUNCTION void sort(std::int64_t size) const {
    for (std::int64_t end = size - 1; end > 0; --end) {
      T const key = m_places.key_at(end);
      auto const index = m_places.index_at(end);
      move(0, end);
      sink(end, m_order.rank(key), key, index);
    }
  }

 private:
  template <class I>
  struct Held {
    T key;
    Bits rank;
    I index;
  };

  template <class I>
  KOKKOS_FUNCTION Held<I> held(std::int64_t slot) const {
    T const key = m_places.key_at(slot);
    return {key, m_order.rank(key), static_cast<I>(m_places.index_at(slot))};
  }
  KOKKOS_FUNCTION Bits rank_at(std::int64_t slot) const {
    return m_order.rank(m_places.key_at(slot));
  }
  KOKKOS_FUNCTION void move(std::int64_t from, std::int64_t to) const {
    m_places.set(to, m_places.key_at(from), m_places.index_at(from));
  }

  Places const& m_places;
  KeyOrder<T> const& m_order;
};

/// The best keys so far of a thread, in its outputs: sorted, or as a heap whose top is the worst, which moves fewer of many.
/// They are offered in the order of positions.
template <class Source, class Values, class Indices>
class ThreadList {
 public:
  using T = typename Source::Key;
  using Bits = bits_of<T>;

  KOKKOS_FUNCTION ThreadList(Source const& source, std::int64_t k, Values const& values,
                             Indices const& indices, KeyOrder<T> const& order)
      : least(order.is_key(0) ? 0 : 1),
        m_source(source),
        m_k(k),
        m_values(values),
        m_indices(indices),
        m_order(order) {}

  /// \param rank  `least` or more
  KOKKOS_FUNCTION void take(T key, Bits rank, std::int64_t i) {
    std::int64_t const worst = is_heap() ? 0 : m_k - 1;
    if (m_count == m_k && !comes_before(rank, rank_at(worst))) return;
    if (is_heap() && m_count == m_k)
      heap().sink(m_k, rank, key, i);
    else if (is_heap())
      heap().rise(m_count++, rank, key, i);
    else
      insert(rank, key, i);
    if (m_count == m_k) least = m_order.least_after(rank_at(worst));
  }

  /// Sorts them, fills the slots that are left, and returns how many keys there are.
  KOKKOS_FUNCTION std::int64_t finish() const {
    if (is_heap()) heap().sort(m_count);
    for (std::int64_t slot = m_count; slot < m_k; ++slot) {
      store_value(m_values, slot, m_order.worst());
      store_index(m_indices, slot, -1);
    }
    return m_count;
  }

  Bits least;  // the rank of a key that may be among the best

 private:
  friend class WorstHeap<T, ThreadList>;

  /// Without indices nothing but the order of the outputs says which of equal keys came first.
  KOKKOS_FUNCTION bool is_heap() const {
    constexpr std::int64_t most_sorted = 16;
    return !IsNothing<Indices> && m_k > most_sorted;
  }
  KOKKOS_FUNCTION bool comes_before(Bits rank, Bits earlier) const {
    return rank > earlier || (rank == earlier && m_order.highest_wins());
  }
  KOKKOS_FUNCTION T key_at(std::int64_t slot) const {
    if constexpr (IsNothing<Values>)
      return m_source[static_cast<std::int64_t>(m_indices(slot))];
    else
      return m_values(slot);
  }
  KOKKOS_FUNCTION Bits rank_at(std::int64_t slot) const { return m_order.rank(key_at(slot)); }
  /// 0 where there are no indices, and so no heap.
  KOKKOS_FUNCTION std::int64_t index_at([[maybe_unused]] std::int64_t slot) const {
    if constexpr (IsNothing<Indices>)
      return 0;
    else
      return static_cast<std::int64_t>(m_indices(slot));
  }
  KOKKOS_FUNCTION void set(std::int64_t slot, T key, std::int64_t index) const {
    store_value(m_values, slot, key);
    store_index(m_indices, slot, index);
  }
  KOKKOS_FUNCTION WorstHeap<T, ThreadList> heap() const { return {*this, m_order}; }

  KOKKOS_FUNCTION void insert(Bits rank, T key, std::int64_t i) {
    std::int64_t const end = m_count < m_k ? m_count++ : m_k - 1;
    std::int64_t const slot =
        partition_point(end, [&](std::int64_t s) { return !comes_before(rank, rank_at(s)); });
    for (std::int64_t s = end; s > slot; --s) {
      if constexpr (!IsNothing<Values>) m_values(s) = m_values(s - 1);
      if constexpr (!IsNothing<Indices>) m_indices(s) = m_indices(s - 1);
    }
    set(slot, key, i);
  }

  Source const& m_source;
  std::int64_t m_k, m_count = 0;
  Values const& m_values;
  Indices const& m_indices;
  KeyOrder<T> const& m_order;
};

}  // namespace detail

/// The k best keys, by one thread. One of a host selects by SIMD if k is at most 512, in up to 64 KB of its stack. Else the
/// best so far are in the outputs: sorted if k is at most 16, where a key that is among the best
/// so far takes up to k moves; else as a heap, where it takes O(log k), and the end O(k log k). Without indices always sorted.
/// \return how many keys were selected; further slots are filled as a short row's are
template <class Keys, class Values, class Indices>
KOKKOS_FUNCTION std::int64_t thread_top_k(Keys const& keys, std::int64_t k, Values const& values,
                                          Indices const& indices, Options const& options = {}) {
  static_assert(!(detail::IsNothing<Values> && detail::IsNothing<Indices>),
                "ktopk::thread_top_k: neither values nor indices");
  using Source = detail::KernelKeys<Keys>;
  using T = typename Source::Key;
  if (k <= 0) return 0;
  Source const source{keys};
  detail::KeyOrder<T> const order(options);
  std::int64_t count = 0;
  if (detail::select_alone(source, order, k, values, indices, count)) return count;
  detail::ThreadList<Source, Values, Indices> list(source, k, values, indices, order);
  detail::for_each_reaching(
      source, order, list.least,
      [&](T key, detail::bits_of<T> rank, std::int64_t i) { list.take(key, rank, i); });
  return list.finish();
}

/// A reducer for Kokkos::parallel_reduce that keeps the K best of the keys that are offered, in any order and by any thread:
///
///     TopK<float, int, 10>::value_type best;
///     Kokkos::parallel_reduce(policy, KOKKOS_LAMBDA(int i, TopK<float, int, 10>::value_type& of_thread) {
///       of_thread.offer(key(i), i);
///     }, TopK<float, int, 10>(best));
///
/// It is for Range, TeamThread and ThreadVector ranges. No two keys with the same index may be offered: then the result is
/// the same for every order. K is small, for each thread of a device holds a value_type.
///
/// A thread may as well keep the best of what it finds by itself: `auto best = TopK<float, int, 10>::none();`, then
/// `best.offer(key, index)`.
template <class T, class I, int K, class Space = Kokkos::HostSpace>
class TopK {
  static_assert(detail::Key<T> && detail::Index<I> && K > 0);

 public:
  struct value_type {
    T values[K];    ///< best first; behind `count` the worst key
    I indices[K];   ///< behind `count` -1
    int count = 0;  ///< how many were offered, at most K

    KOKKOS_FORCEINLINE_FUNCTION void offer(T key, I index) {
      if (m_order.may_reach(m_reaching, key)) insert(m_order.rank(key), key, index);
    }

   private:
    friend class TopK;
    using Bits = detail::bits_of<T>;

    KOKKOS_FUNCTION bool is_behind(int slot, Bits rank, I index) const {
      return m_order.is_before(rank, index, m_order.rank(values[slot]), indices[slot]);
    }
    KOKKOS_FUNCTION void insert(Bits rank, T key, I index) {
      if (!m_order.is_key(rank) || (count == K && !is_behind(K - 1, rank, index))) return;
      int const end = count < K ? count++ : K - 1;
      KOKKOS_IF_ON_DEVICE((if constexpr (K <= 16) put_in_registers(end, rank, key, index);
                           else put(end, rank, key, index);))
      KOKKOS_IF_ON_HOST((put(end, rank, key, index);))
      if (count == K) m_reaching = m_order.reaching(m_order.rank(values[K - 1]));
    }
    /// Moves what comes behind a key from its slot to `end`.
    KOKKOS_FUNCTION void put(int end, Bits rank, T key, I index) {
      int slot = end;
      for (; slot > 0 && is_behind(slot - 1, rank, index); --slot) {
        values[slot] = values[slot - 1];
        indices[slot] = indices[slot - 1];
      }
      values[slot] = key;
      indices[slot] = index;
    }
    /// The same with slots that the compiler knows, so that they stay in registers.
    KOKKOS_FUNCTION void put_in_registers(int end, Bits rank, T key, I index) {
      bool moves = false;
      detail::unrolled<K>([&](int slot) {
        if (slot > end) return;
        moves = moves || slot == end || is_behind(slot, rank, index);
        if (!moves) return;
        T const value = values[slot];
        I const of_value = indices[slot];
        values[slot] = key;
        indices[slot] = index;
        key = value;
        index = of_value;
      });
    }

    detail::KeyOrder<T> m_order{Options{}};
    /// Of the worst, where there are K.
    detail::OrderedRange<Bits> m_reaching{0, std::numeric_limits<Bits>::max()};
  };

  /// Nothing that was offered.
  KOKKOS_FUNCTION static value_type none(Options const& options = {}) {
    return none_of(detail::KeyOrder<T>(options));
  }

  using reducer = TopK;
  using result_view_type = Kokkos::View<value_type, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  KOKKOS_FUNCTION explicit TopK(value_type& result, Options const& options = {})
      : m_result(&result), m_order(options), m_is_scalar(true) {}
  KOKKOS_FUNCTION explicit TopK(Kokkos::View<value_type, Space> const& result,
                                Options const& options = {})
      : m_result(result), m_order(options) {}

  KOKKOS_FUNCTION void init(value_type& value) const { value = none_of(m_order); }
  KOKKOS_FUNCTION void join(value_type& to, value_type const& from) const {
    for (int slot = 0; slot < from.count; ++slot) to.offer(from.values[slot], from.indices[slot]);
  }
  KOKKOS_FUNCTION value_type& reference() const { return *m_result.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_result; }
  KOKKOS_FUNCTION bool references_scalar() const { return m_is_scalar; }

 private:
  KOKKOS_FUNCTION static value_type none_of(detail::KeyOrder<T> const& order) {
    value_type value;
    value.m_order = order;
    for (int slot = 0; slot < K; ++slot) {
      value.values[slot] = order.worst();
      value.indices[slot] = static_cast<I>(-1);
    }
    return value;
  }

  result_view_type m_result;
  detail::KeyOrder<T> m_order;
  bool m_is_scalar = false;
};

}  // namespace ktopk

#include <ktopk/impl/portable/group/team_selection.hpp>
