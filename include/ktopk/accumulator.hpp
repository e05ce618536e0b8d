// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/listed_keys.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/options.hpp>
#include <ktopk/plan.hpp>
#include <ktopk/reaching.hpp>

#include <ktopk/impl/portable/run/launch.hpp>

/// \file
/// The k best of a stream, chunk after chunk.

namespace ktopk {

template <class T, class I, class Exec, bool copies>
class HostStream;

namespace detail {

/// Turns indices in a chunk into positions in the stream.
template <class Given>
struct PlaceChunk {
  Given given;  // first position, or the position of each key

  template <class I>
  KOKKOS_FUNCTION I operator()(I index) const {
    if constexpr (std::is_integral_v<Given>)
      return index + given;
    else
      return static_cast<I>(given(index));
  }
};

template <class Values, class Positions, class T>
struct ClearLists {
  Values values;
  Positions positions;
  T worst;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto const k = static_cast<std::int64_t>(values.extent(1));
    values(i / k, i % k) = worst;
    positions(i / k, i % k) = -1;
  }
};

/// Rows of a state by their numbers. Those that it does not have are replaced by one that it has, and never written.
template <class Numbers>
struct ListedRows {
  Numbers numbers;
  std::int64_t rows;
  KOKKOS_FUNCTION bool has(std::int64_t i) const {
    auto const row = static_cast<std::int64_t>(numbers(i));
    return 0 <= row && row < rows;
  }
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i) const {
    return has(i) ? static_cast<std::int64_t>(numbers(i)) : 0;
  }
};

/// Copies the first rows of lists to rows by number.
template <class T, class I, class Numbers>
struct ReplaceRows {
  ListedKeys<T, I> from, to;
  ListedRows<Numbers> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / from.columns, at = rows(row) * to.columns + i % from.columns;
    if (!rows.has(row)) return;
    to.values[at] = from.values[i];
    to.positions[at] = from.positions[i];
  }
};

/// Sorts the first keys of each row of lists, by one thread, and marks further slots as unused.
template <class T, class I>
struct SortListed {
  ListedKeys<T, I> lists;
  std::int64_t const* counts;
  KeyOrder<T> order;

  void operator()(std::int64_t row) const {
    Places const places{lists.values + row * lists.columns, lists.positions + row * lists.columns};
    WorstHeap<T, Places> const heap(places, order);
    std::int64_t const count = counts[row];
    for (std::int64_t slot = 0; slot < count; ++slot) {
      T const key = places.key_at(slot);
      heap.rise(slot, order.rank(key), key, places.index_at(slot));
    }
    heap.sort(count);
    for (std::int64_t slot = count; slot < lists.columns; ++slot)
      places.set(slot, order.worst(), I{-1});
  }

 private:
  struct Places {
    T* values;
    I* positions;
    T key_at(std::int64_t slot) const { return values[slot]; }
    I index_at(std::int64_t slot) const { return positions[slot]; }
    void set(std::int64_t slot, T key, I position) const {
      values[slot] = key;
      positions[slot] = position;
    }
  };
};

/// Merges by a thread for each row. \see MergeListed::merge_row
template <class Merge>
struct MergeRows {
  Merge merge;
  void operator()(std::int64_t row) const { merge.merge_row(row); }
};

/// Merges lists of so many rows. A host's threads merge a row each. If there are many more threads than rows, all of them
/// search for the places of entries instead.
template <class Exec, class Merge>
void merge_listed(char const* label, Exec const& exec, std::int64_t rows, Merge const& merge) {
  std::int64_t const columns = merge.a.columns + merge.b.columns;
  if constexpr (is_host_space<Exec>) {
    std::int64_t const threads = exec.concurrency();
    std::int64_t const steps = std::bit_width(static_cast<std::uint64_t>(columns));
    if (std::min(rows, threads) * steps >= threads)
      return launch_each(label, exec, rows, MergeRows<Merge>{merge});
  }
  launch_each(label, exec, rows * columns, merge);
}

}  // namespace detail

/// The k best keys of each row of a stream of which a part is there at a time, and their positions in the stream. The result
/// is that of top_k of the whole stream, bit for bit, for every split into chunks and every order of `add` and `merge`; so
/// `Options::sorted` and Ties::any make no difference: it is sorted, and the lowest position wins.
///
/// Its state are Views that may be copied, sent and saved: 3 * rows * k values and positions, whatever the length of the
/// stream. All work is enqueued on the instance; nothing is read back.
///
/// Cost of a chunk: that of top_k of it, and of one kernel that merges 2 k entries a row. Chunks that are long beside k are
/// worth it. Hosts read neighbors in memory once, for what reaches the thresholds; top_k is for chunks of which that is more
/// than k keys. The second of two successive chunks of one shape makes a Plan, whose workspace stays; if there is one for
/// another shape, that waits until the instance has ended with it. A copy is another name for the same state, as that of a
/// View is.
/// \tparam T  the key type
/// \tparam I  std::int32_t or std::int64_t: positions
template <class T, class I = std::int64_t, class Exec = Kokkos::DefaultExecutionSpace>
class Accumulator {
  using Memory = typename Exec::memory_space;
  using Lists = Kokkos::View<T***, Kokkos::LayoutRight, Memory>;
  using PositionLists = Kokkos::View<I***, Kokkos::LayoutRight, Memory>;
  static_assert(std::is_signed_v<I> && detail::Index<I>,
                "ktopk::Accumulator: positions are int32 or int64");

 public:
  /// Allocates the state, which holds no key yet.
  /// \throws std::invalid_argument for negative sizes
  Accumulator(Exec const& exec, std::int64_t rows, std::int64_t k, Options const& options = {})
      : m_exec(exec), m_options(options) {
    detail::check_sizes(name, make_shape<T, I>(rows, k, k));
    detail::check_options(name, options);
    m_options.sorted = Sorted::yes;
    m_options.short_rows = ShortRows::fill;
    if (options.ties == Ties::any) m_options.ties = Ties::lowest_index;
    auto const extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    m_values =
        Lists(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::Accumulator::values"),
              3, extent(rows), extent(k));
    m_positions = PositionLists(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::Accumulator::positions"), 3,
        extent(rows), extent(k));
    clear();
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(m_values.extent(1)); }
  std::int64_t k() const { return static_cast<std::int64_t>(m_values.extent(2)); }
  Exec const& exec() const { return m_exec; }

  /// Forgets all keys.
  void clear() {
    m_own->seen = 0;
    detail::launch_each(
        "ktopk::Accumulator::clear", m_exec, rows() * k(),
        detail::ClearLists<decltype(values()), decltype(positions()), T>{
            values(), positions(), std::bit_cast<T>(detail::worst_key<T>(m_options))});
  }

  /// Adds a chunk.
  /// \param keys            whatever top_k takes, with as many rows or fewer: those are the first. A chunk may be shorter
  ///                        than k.
  /// \param first_position  in the stream, of the first key of each row; further positions follow
  /// \throws std::invalid_argument for more rows, for positions that are negative or more than I holds, of ragged rows the
  ///         first one alone, and for what top_k rejects
  template <detail::KeyRows Keys>
  void add(Keys const& keys, std::int64_t first_position) {
    check_first_position(keys, first_position);
    add_at(keys, static_cast<I>(first_position));
  }
  /// The same for keys at other positions, the same for all rows: positions(i) is that of keys(i) or keys(row, i). They
  /// ascend, which nobody checks.
  template <detail::KeyRows Keys, class Positions>
    requires(Kokkos::is_view_v<Positions>)
  void add(Keys const& keys, Positions const& positions) {
    static_assert(Positions::rank == 1 && detail::reachable<Exec, Positions>,
                  "ktopk::Accumulator: positions are a View of rank 1 that the instance can read");
    detail::require_equal(name, "the number of positions",
                          static_cast<std::int64_t>(positions.extent(0)),
                          detail::Source<Keys>::shape(name, keys).n);
    add_at(keys, positions);
  }

  /// The same for some rows: row i of the chunk is one more part of row `rows(i)` of the state. It costs what a chunk of so
  /// many rows costs, however many rows the state has, and one more kernel.
  /// \param rows  rows(i), of any integer type: distinct, which nobody checks. What is not a row of the state is left out.
  /// \throws std::invalid_argument also where there are not as many numbers as rows of the chunk
  template <class RowNumbers, detail::KeyRows Keys>
    requires(Kokkos::is_view_v<RowNumbers>)
  void add_rows(RowNumbers const& rows, Keys const& keys, std::int64_t first_position) {
    static_assert(RowNumbers::rank == 1 && detail::reachable<Exec, RowNumbers> &&
                      std::is_integral_v<typename RowNumbers::non_const_value_type>,
                  "ktopk::Accumulator: row numbers are a View of rank 1, of an integer type, that "
                  "the instance can read");
    detail::require_equal(name, "the number of row numbers",
                          static_cast<std::int64_t>(rows.extent(0)),
                          detail::Source<Keys>::shape(name, keys).rows);
    check_first_position(keys, first_position);
    std::int64_t const count = rows_of_chunk(keys);
    select_chunk(keys, count);
    detail::ListedRows<RowNumbers> const some{rows, this->rows()};
    auto const spare = listed(2 - m_own->state), state = listed(m_own->state);
    merge_lists(count, detail::MergeListed<T, I, detail::PlaceChunk<I>, decltype(some)>{
                           state,
                           listed(chunk),
                           spare,
                           {k()},
                           detail::KeyOrder<T>(m_options),
                           {static_cast<I>(first_position)},
                           count,
                           some});
    detail::launch_each("ktopk::Accumulator::add_rows", m_exec, count * k(),
                        detail::ReplaceRows<T, I, RowNumbers>{spare, state, some});
  }

  /// Adds what another one has: of other keys, with the same options, rows and k.
  /// \throws std::invalid_argument where options, rows or k differ
  void merge(Accumulator const& other) {
    detail::require_equal(name, "the number of rows", other.rows(), rows());
    detail::require_equal(name, "k", other.k(), k());
    detail::require_equal(name, "the order of the other one", int(other.m_options.order),
                          int(m_options.order));
    detail::require_equal(name, "the tie rule of the other one", int(other.m_options.ties),
                          int(m_options.ties));
    detail::require_equal(name, "the NaN rule of the other one", int(other.m_options.nan),
                          int(m_options.nan));
    detail::require_equal(name, "Options::by of the other one", int(other.m_options.by),
                          int(m_options.by));
    take_in(other.listed(other.m_own->state), rows(), detail::SamePositions{});
    m_own->seen += other.m_own->seen;
  }

  /// The state: values(row, slot), best first, and positions; -1 behind the last. They stay what they are until the next
  /// call that changes it.
  auto values() const { return of(m_values, m_own->state); }
  auto positions() const { return of(m_positions, m_own->state); }
  /// The worst key of each row that is kept, which a key has to reach; the worst of all where a row is not full.
  auto thresholds() const { return Kokkos::subview(values(), Kokkos::ALL, k() > 0 ? k() - 1 : 0); }

  /// Copies the state to Views of the caller's: one kernel, and one more for counts, enqueued. Nothing is allocated.
  /// \param values   values(row, slot) of T, or values(slot) of one row; or ktopk::nothing
  /// \param indices  the same, of an integer type that is no narrower than I
  /// \param counts   counts(row), of int32 or int64, as counts() writes it; or ktopk::nothing
  /// \throws std::invalid_argument for other extents
  template <class Values, class Indices, class Counts = Nothing>
  void result(Values const& values, Indices const& indices, Counts const& counts = {}) const {
    static_assert(!(detail::IsNothing<Values> && detail::IsNothing<Indices>),
                  "ktopk::Accumulator: neither values nor indices");
    if constexpr (!detail::IsNothing<Values>)
      static_assert(std::is_same_v<typename Values::value_type, T>,
                    "ktopk::Accumulator: values have the type of the keys");
    if constexpr (!detail::IsNothing<Indices>)
      static_assert(std::is_integral_v<typename Indices::value_type> &&
                        sizeof(typename Indices::value_type) >= sizeof(I),
                    "ktopk::Accumulator: indices hold every position");
    check_result(values, "values");
    check_result(indices, "indices");
    if constexpr (!detail::IsNothing<Counts>) check_counts(counts);
    detail::launch_each(
        "ktopk::Accumulator::result", m_exec, rows() * k(),
        detail::StoreListed<T, I, Values, Indices>{
            listed(m_own->state), k(), detail::KeyOrder<T>(m_options).worst(), values, indices});
    if constexpr (!detail::IsNothing<Counts>) this->counts(counts);
  }

  /// How many keys each row has, at most k.
  /// \param counts  counts(row), of int32 or int64
  template <class Counts>
  void counts(Counts const& counts) const {
    check_counts(counts);
    detail::launch_each("ktopk::Accumulator::counts", m_exec, rows(),
                        detail::CountListed<T, I, Counts>{listed(m_own->state), counts});
  }

 private:
  template <class, class, class, bool>
  friend class HostStream;

  static constexpr char const* name = "ktopk::Accumulator";
  static constexpr int chunk = 1;  // of the three lists, between the state and the next one
  static constexpr int most_skipped = 31;

  /// A Plan for chunks of one shape. The second of two successive ones makes it, for that takes longer than a call.
  template <class PlanOf>
  struct KeptPlan {
    std::unique_ptr<PlanOf> plan;
    Shape shape;

    /// The Plan for a chunk, or null.
    PlanOf* of(Exec const& exec, Shape const& chunk, Shape const& before, Options const& options) {
      if (chunk == before && chunk != shape) {
        plan = std::make_unique<PlanOf>(exec, chunk, options);
        shape = chunk;
      }
      return chunk == shape ? plan.get() : nullptr;
    }
  };

  /// State that copies share, besides the lists.
  struct Own {
    int state = 0;  // which list is the state: 0 or 2
    KeptPlan<Plan<Exec>> plan;
    KeptPlan<ReachingPlan<Exec>> reaching;
    Shape last;                                   // of the chunk before
    Kokkos::View<std::int64_t*, Memory> reached;  // how many keys of each row reached its threshold
    std::int64_t seen = 0;                        // keys of a row
    int to_skip = 0,
        skipped = 0;  // chunks that are selected from at once, after one that was read in vain
  };

  template <class Counts>
  void check_counts(Counts const& counts) const {
    detail::require_equal(name, "the length of counts", static_cast<std::int64_t>(counts.extent(0)),
                          rows());
  }
  template <class Output>
  void check_result(Output const& output, char const* what) const {
    if constexpr (!detail::IsNothing<Output>) {
      static_assert(Kokkos::is_view_v<Output> && detail::reachable<Exec, Output> &&
                        (Output::rank == 1 || Output::rank == 2),
                    "ktopk::Accumulator: a result goes to Views of rank 1 or 2 that the instance "
                    "can reach");
      auto const extent = [&](int r) { return static_cast<std::int64_t>(output.extent(r)); };
      bool const is_row = Output::rank == 1;
      detail::check_output_rows(name, what, is_row ? 1 : extent(0), extent(is_row ? 0 : 1), rows());
      detail::require_equal(name, (std::string("the number of columns of ") + what).c_str(),
                            extent(is_row ? 0 : 1), k());
    }
  }
  template <class Keys>
  static void check_first_position(Keys const& keys, std::int64_t first) {
    Shape const shape = detail::Source<Keys>::shape(name, keys);
    std::int64_t const longest = detail::longest_row_of(keys, shape);
    check_positions(first, shape.ragged ? std::min<std::int64_t>(longest, 1) : longest);
  }
  static void check_positions(std::int64_t first, std::int64_t count) {
    if (first < 0) detail::reject(name, "the first position is " + std::to_string(first));
    if (count > std::numeric_limits<std::int64_t>::max() - first)
      detail::reject(name, "the first position is " + std::to_string(first) + ", and a row has " +
                               std::to_string(count) + " keys");
    detail::check_index_range<I>(name, first + count);
  }

  template <class View>
  static auto of(View const& view, int list) {
    return Kokkos::subview(view, list, Kokkos::ALL, Kokkos::ALL);
  }
  auto chunk_values() const { return of(m_values, chunk); }
  auto chunk_positions() const { return of(m_positions, chunk); }

  template <class View>
  static auto first_rows(View const& view, std::int64_t rows) {
    return Kokkos::subview(view, Kokkos::pair<std::int64_t, std::int64_t>(0, rows), Kokkos::ALL);
  }

  template <class Keys, class Given>
  void add_at(Keys const& keys, Given const& given) {
    std::int64_t const count = rows_of_chunk(keys);
    bool const is_added = add_reaching(keys, given, count);
    m_own->seen += detail::Source<Keys>::shape(name, keys).n;
    if (is_added) return;
    select_chunk(keys, count);
    take_in(listed(chunk), count, detail::PlaceChunk<Given>{given});
  }

  /// On a host, adds the keys of a chunk that reach the thresholds. Returns false where it does not: rows are not full, the
  /// keys are no neighbors in memory, or more than k of a row reach its threshold, or did in the chunks before.
  template <class Keys, class Given>
  bool add_reaching(Keys const& keys, Given const& given, std::int64_t count) {
    if constexpr (detail::runs_at_once<Exec> &&
                  std::is_same_v<detail::source_rows<Keys>,
                                 detail::StoredRows<detail::bits_of<T>>>) {
      Shape const shape = shape_of<I>(keys, k());
      if (!is_worth_reading(shape, count)) return false;
      list_reaching(keys, count, shape);
      std::int64_t most = 0;
      for (std::int64_t row = 0; row < count; ++row) most = std::max(most, m_own->reached(row));
      m_own->to_skip = most > k() ? std::min(2 * m_own->to_skip + 1, most_skipped) : 0;
      if (most == 0) return true;
      if (most > k()) return false;
      detail::launch_each("ktopk::Accumulator::sort", m_exec, count,
                          detail::SortListed<T, I>{listed(chunk), m_own->reached.data(),
                                                   detail::KeyOrder<T>(m_options)});
      take_in(listed(chunk), count, detail::PlaceChunk<Given>{given});
      return true;
    } else {
      return false;
    }
  }

  template <class Keys>
  std::int64_t rows_of_chunk(Keys const& keys) const {
    std::int64_t const count = detail::Source<Keys>::shape(name, keys).rows;
    if (count > rows())
      detail::reject(name, "a chunk of " + std::to_string(count) + " rows, but the state has " +
                               std::to_string(rows()));
    return count;
  }

  /// Lists the best of each row of a chunk of so many.
  template <class Keys>
  void select_chunk(Keys const& keys, std::int64_t count) {
    with_chunk_lists<Keys>(
        count, [&](auto const& values, auto const& positions) { select(keys, values, positions); });
  }
  /// Calls body(values, positions) with the lists of so many rows, of the rank of outputs for such keys.
  template <class Keys, class Body>
  void with_chunk_lists(std::int64_t count, Body const& body) const {
    auto const values = first_rows(chunk_values(), count);
    auto const positions = first_rows(chunk_positions(), count);
    if constexpr (detail::Source<Keys>::output_rank == 1)
      body(Kokkos::subview(values, 0, Kokkos::ALL), Kokkos::subview(positions, 0, Kokkos::ALL));
    else
      body(values, positions);
  }

  /// Whether hardly more than a few keys of a row reach its threshold, so far as is known.
  bool is_worth_reading(Shape const& shape, std::int64_t count) const {
    bool const by_magnitude = m_options.by == By::magnitude && std::is_integral_v<T>;
    if (!shape.packed || shape.ragged || by_magnitude || k() == 0) return false;
    // Of keys in no order as large a part of the k best is in the chunk as the chunk is of all.
    if (shape.n > m_own->seen / 4) return false;
    if (m_own->skipped < m_own->to_skip) {
      ++m_own->skipped;
      return false;
    }
    m_own->skipped = 0;
    for (std::int64_t row = 0; row < count; ++row)
      if (positions()(row, k() - 1) == -1) return false;
    return true;
  }
  /// Lists the keys of each row that reach its threshold, by position, or the first k of them, and counts them.
  template <class Keys>
  void list_reaching(Keys const& keys, std::int64_t count, Shape const& shape) {
    if (m_own->reached.size() == 0)
      m_own->reached =
          Kokkos::View<std::int64_t*, Memory>("ktopk::Accumulator::reached", this->rows());
    Kokkos::pair<std::int64_t, std::int64_t> const used(0, count);
    auto const reached = Kokkos::subview(m_own->reached, used);
    auto const least = Kokkos::subview(thresholds(), used);
    auto* const plan =
        m_own->reaching.of(m_exec, shape, std::exchange(m_own->last, shape), m_options);
    with_chunk_lists<Keys>(count, [&](auto const& values, auto const& positions) {
      if (plan != nullptr)
        (*plan)(keys, least, values, positions, reached);
      else
        reaching(m_exec, keys, least, values, positions, reached, m_options);
    });
  }

  template <class Keys, class Values, class Positions>
  void select(Keys const& keys, Values const& values, Positions const& positions) {
    Shape const shape = shape_of<I>(keys, k());
    auto* const plan = m_own->plan.of(m_exec, shape, std::exchange(m_own->last, shape), m_options);
    if (plan != nullptr)
      (*plan)(keys, values, positions);
    else
      top_k(m_exec, keys, values, positions, m_options);
  }

  detail::ListedKeys<T, I> listed(int list) const {
    return {k(), of(m_positions, list).data(), of(m_values, list).data()};
  }

  /// Merges the state and lists of the first rows into the next state.
  template <class Place>
  void take_in(detail::ListedKeys<T, I> const& lists, std::int64_t count, Place const& place) {
    int const next = 2 - m_own->state;
    merge_lists(rows(), detail::MergeListed<T, I, Place>{listed(m_own->state),
                                                         lists,
                                                         listed(next),
                                                         {k()},
                                                         detail::KeyOrder<T>(m_options),
                                                         place,
                                                         count});
    m_own->state = next;
  }
  template <class Merge>
  void merge_lists(std::int64_t rows, Merge const& merge) {
    detail::merge_listed("ktopk::Accumulator::merge", m_exec, rows, merge);
  }

  Exec m_exec;
  Options m_options;
  Lists m_values;
  PositionLists m_positions;
  std::shared_ptr<Own> m_own = std::make_shared<Own>();
};

}  // namespace ktopk
