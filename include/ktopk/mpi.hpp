// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <mpi.h>

#include <ktopk/mpi/agreement.hpp>
#include <ktopk/mpi/communicator.hpp>
#include <ktopk/mpi/digits.hpp>
#include <ktopk/mpi/distribution.hpp>
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/selection.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>
#include <ktopk/top_k.hpp>

/// \file
/// Selection from keys that are spread over the ranks of an MPI communicator. Needs the target ktopk::mpi.
///
/// Keys of rank 1 are this rank's part of one row; of several rows, every rank has a part of each. Positions are global: those
/// of the first rank come first, unless a Distribution says otherwise. Ties are decided by them. The result is that of one
/// process that has all keys, bit for bit, for every number of ranks and every split; some ranks may have no keys.
///
/// Every call is made by all ranks of the communicator, in the same order. It returns when the result is there, and fences
/// the instance. Messages go through the memory of the host. Before anything is selected the ranks agree that all of their
/// arguments are right: what is wrong on one rank is a std::invalid_argument on all, and the message says which rank.
/// Whatever else is thrown on one rank, as for want of memory, leaves the others waiting.
///
/// The output is sorted whatever Options::sorted, best first, and Ties::any is lowest_index. MPI is initialized by the
/// caller; one thread at a time calls.

namespace ktopk::mpi {

namespace detail {

using namespace ktopk::detail;
using namespace ktopk::detail::mpi;

template <class Exec>
constexpr void require_host() {
  static_assert(
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible,
      "ktopk::mpi: keys lie in the memory of the host");
}

/// What the lengths of rows are on this rank.
template <class R>
struct RowLengths {
  R rows;
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> lengths;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { lengths(row) = rows.length(row); }
};

/// A communicator with an instance, as Kokkos Comm has it.
template <class Handle>
concept CommHandle = requires(Handle const& handle) {
  { handle.comm() } -> std::convertible_to<MPI_Comm>;
  { handle.exec() } -> ExecutionSpace;
};

}  // namespace detail

/// The calls of this file with a communicator that is duplicated once; the free functions do so in each call.
template <ktopk::detail::ExecutionSpace Exec = Kokkos::DefaultExecutionSpace>
class Plan {
 public:
  /// Called by all ranks.
  /// \param comm   duplicated: messages of the library cannot meet others
  /// \param where  its `first` and `firsts` are those of each rank; all else is the same on all ranks
  /// \throws std::invalid_argument on all ranks if it is not, or root is no rank
  Plan(MPI_Comm comm, Exec const& exec, Options const& options = {}, Distribution const& where = {})
      : m_exec(exec),
        m_options(ktopk::detail::mpi::local_options(options)),
        m_where(where),
        m_fills(options.short_rows == ShortRows::fill),
        m_ranks(comm, where.root, where.node_size) {
    detail::require_host<Exec>();
    agree_on_distribution();
  }

  /// The k best keys of each row and their global positions.
  /// \param keys       what ktopk::top_k takes: this rank's keys
  /// \param values     values(k) or values(row, k) of the key type, or ktopk::nothing. For Result::owner, k slots on each rank
  /// \param positions  the same, of a 32- or 64-bit integer type that holds the last global position; or ktopk::nothing
  /// \param per_row    a k of each row, the same on all ranks; counts get how many keys of each row are stored here
  ///
  /// Slots behind the selected keys are filled as those of short rows are. For Result::root other ranks' outputs stay as they
  /// are. For Result::owner each rank gets those of the selected keys that it holds, in order of position.
  /// \throws std::invalid_argument on all ranks, outputs untouched, for what top_k rejects on one of them, for rows, k or
  ///         options that differ between ranks, and for a k larger than the n of all ranks together, but for ragged rows
  ///         and ShortRows::fill
  template <ktopk::detail::KeyRows Keys, ktopk::detail::ViewOrNothing Values,
            ktopk::detail::ViewOrNothing Positions, ktopk::detail::PerRowArgument Rows>
  void top_k(Keys const& keys, Values const& values, Positions const& positions,
             Rows const& per_row) {
    select("ktopk::mpi::top_k", keys, values, positions, per_row);
  }
  /// The same with one k for all rows.
  template <ktopk::detail::KeyRows Keys, ktopk::detail::ViewOrNothing Values,
            ktopk::detail::ViewOrNothing Positions>
  void top_k(Keys const& keys, Values const& values, Positions const& positions) {
    select("ktopk::mpi::top_k", keys, values, positions, nothing);
  }

  /// The k-th best key of each row, on all ranks whatever Distribution::result: see ktopk::kth.
  /// \param k  from 1 to the n of all ranks together, the same on all ranks
  /// Cost: each digit of 11 bits of the key type takes a read of the keys.
  template <ktopk::detail::KeyRows Keys, class Value>
  void kth(Keys const& keys, std::int64_t k, Value const& value) {
    char const* const function = "ktopk::mpi::kth";
    using T = ktopk::detail::source_key<Keys>;
    static_assert(Value::rank == 1 || ktopk::detail::Source<Keys>::output_rank == 1,
                  "ktopk::mpi::kth: several rows need a value each: a View of rank 1");
    detail::agree(m_ranks.all(), function, terms, [&]() -> Terms {
      auto const call = ktopk::detail::rank_call<Exec>(function, keys, value, m_options, false);
      check_firsts(function, call.shape.rows);
      return terms_of<Keys>(call.shape.rows, k);
    });
    auto const mine = placed(function, keys);
    for (std::int64_t const n : mine.totals)
      if (k < 1 || (k > n && !ktopk::detail::is_ragged<Keys>))
        detail::reject(function, "k is " + std::to_string(k) + ", not from 1 to the " +
                                     std::to_string(n) + " keys that all ranks have in a row");
    auto const order = ktopk::detail::make_ordered_bits_map<T>(m_options);
    auto const found = detail::find_by_digits(m_ranks.all(), m_exec,
                                              ktopk::detail::Source<Keys>::rows(keys, m_options),
                                              order, ktopk::detail::skips_nan<T>(m_options),
                                              std::vector<std::int64_t>(mine.totals.size(), k - 1));
    for (std::size_t row = 0; row < found.size(); ++row) {
      auto const bits = found[row].is_missing ? ktopk::detail::worst_key<T>(m_options)
                                              : detail::key_of(order, found[row].prefix);
      if constexpr (Value::rank == 0)
        value() = std::bit_cast<T>(bits);
      else
        value(row) = std::bit_cast<T>(bits);
    }
  }

  /// How many keys of all ranks are better than each bound, and how many are equal to it, on all ranks: see ktopk::count.
  template <ktopk::detail::KeyRows Keys, class Bounds, ktopk::detail::ViewOrNothing Better,
            ktopk::detail::ViewOrNothing Equal>
  void count(Keys const& keys, Bounds const& bounds, Better const& better, Equal const& equal) {
    char const* const function = "ktopk::mpi::count";
    auto const agreed = detail::agree(m_ranks.all(), function, terms, [&]() -> Terms {
      auto const call =
          ktopk::detail::count_call<Exec>(function, keys, bounds, better, equal, m_options);
      return terms_of<Keys>(call.shape.rows, call.shape.k);
    });
    std::int64_t const rows = agreed[0].value, columns = agreed[1].value;
    using Counts =
        std::conditional_t<ktopk::detail::Source<Keys>::output_rank == 1,
                           Kokkos::View<std::int64_t*, Kokkos::HostSpace>,
                           Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Kokkos::HostSpace>>;
    auto const made = [&](char const* label) {
      if constexpr (Counts::rank == 1)
        return Counts(label, columns);
      else
        return Counts(label, rows, columns);
    };
    Counts const here_better = made("ktopk::mpi::better"), here_equal = made("ktopk::mpi::equal");
    ktopk::count(m_exec, keys, bounds, here_better, here_equal, m_options);
    m_exec.fence("ktopk::mpi: counts");
    add_up(here_better, columns, better);
    add_up(here_equal, columns, equal);
  }

  /// This rank's keys that reach the row's threshold, with their global positions: see ktopk::reaching. The threshold is the
  /// same on all ranks, for example that of kth. No key travels.
  template <ktopk::detail::KeyRows Keys, class Thresholds, ktopk::detail::ViewOrNothing Values,
            ktopk::detail::ViewOrNothing Positions, ktopk::detail::ViewOrNothing Counts>
  void reaching(Keys const& keys, Thresholds const& thresholds, Values const& values,
                Positions const& positions, Counts const& counts) {
    char const* const function = "ktopk::mpi::reaching";
    std::int64_t rows = 0;
    detail::agree(m_ranks.all(), function, terms + 1, [&]() -> Terms {
      rows = ktopk::detail::reaching_call<Exec>(function, keys, thresholds, values, positions,
                                                counts, m_options)
                 .shape.rows;
      check_firsts(function, rows);
      Terms all = terms_of<Keys>(rows, 0);
      all.push_back(term_of<Positions>());
      return all;
    });
    auto const mine = placed(function, keys);
    check_positions<Positions>(function, mine.end);
    Kokkos::View<std::int64_t*, Kokkos::HostSpace> const found("ktopk::mpi::found", rows);
    ktopk::reaching(m_exec, keys, thresholds, values, positions, found, m_options);
    m_exec.fence("ktopk::mpi: reaching");
    for (std::int64_t row = 0; row < rows; ++row) {
      shift(positions, row, found(row), mine.firsts[row]);
      if constexpr (!ktopk::detail::IsNothing<Counts>) {
        auto const count = static_cast<typename Counts::value_type>(found(row));
        if constexpr (Counts::rank == 0)
          counts() = count;
        else
          counts(row) = count;
      }
    }
  }

 private:
  using Terms = std::vector<detail::Term>;

  void agree_on_distribution() const {
    char const* const function = "ktopk::mpi::Plan";
    int const size = m_ranks.all().size();
    detail::agree(m_ranks.all(), function, 5, [&]() -> Terms {
      if (m_where.root < 0 || m_where.root >= size)
        detail::reject(function, "root is " + std::to_string(m_where.root) + " of " +
                                     std::to_string(size) + " ranks");
      if (m_where.node_size < 0)
        detail::reject(function, "node_size is " + std::to_string(m_where.node_size));
      if (m_where.first < -1)
        detail::reject(function, "Distribution::first is " + std::to_string(m_where.first));
      return {{"Distribution::result", static_cast<int>(m_where.result)},
              {"Distribution::root", m_where.root},
              {"Distribution::way", static_cast<int>(m_where.way)},
              {"Distribution::node_size", m_where.node_size},
              {"whether the Distribution says where keys are", says_where() ? 1 : 0}};
    });
  }
  bool says_where() const { return m_where.first >= 0 || m_where.firsts.extent(0) != 0; }

  /// What all calls agree on.
  template <class Keys>
  Terms terms_of(std::int64_t rows, std::int64_t k) const {
    using T = ktopk::detail::source_key<Keys>;
    return {{"the number of rows", rows},
            {"k", k},
            {"the size of a key", static_cast<int>(sizeof(T))},
            {"the kind of keys", static_cast<int>(ktopk::detail::KeyTraits<T>::kind)},
            {"Options::order", static_cast<int>(m_options.order)},
            {"Options::ties", static_cast<int>(m_options.ties)},
            {"Options::nan", static_cast<int>(m_options.nan)},
            {"Options::by", static_cast<int>(m_options.by)},
            {"Options::short_rows", m_fills ? 1 : 0}};
  }
  static constexpr std::size_t terms = 9;

  /// Ranks that could not store the same positions would not all refuse them.
  template <class Positions>
  static detail::Term term_of() {
    std::int64_t bytes = 0;
    if constexpr (!ktopk::detail::IsNothing<Positions>)
      bytes = static_cast<std::int64_t>(sizeof(typename Positions::value_type));
    return {"the size of a position", bytes};
  }

  /// Checks that a Distribution is one for these rows.
  void check_firsts(char const* function, std::int64_t rows) const {
    if (m_where.firsts.extent(0) != 0)
      detail::require_equal(function, "the length of Distribution::firsts",
                            static_cast<std::int64_t>(m_where.firsts.extent(0)), rows);
  }

  /// How this rank's rows lie among all, once all ranks agree that they are right.
  template <class Keys>
  detail::RankKeys<Exec, Keys> placed(char const* function, Keys const& keys) const {
    auto const rows = ktopk::detail::Source<Keys>::rows(keys, m_options);
    auto const count =
        static_cast<std::size_t>(ktopk::detail::Source<Keys>::shape(function, keys).rows);
    Kokkos::View<std::int64_t*, Kokkos::HostSpace> const lengths("ktopk::mpi::lengths", count);
    Kokkos::parallel_for("ktopk::mpi::lengths",
                         Kokkos::RangePolicy<Exec>(m_exec, 0, static_cast<std::int64_t>(count)),
                         detail::RowLengths<decltype(rows)>{rows, lengths});
    m_exec.fence("ktopk::mpi: lengths");
    detail::RankKeys<Exec, Keys> mine{m_exec, keys, m_options, {}, {}, {}};
    mine.lengths.assign(lengths.data(), lengths.data() + count);
    mine.totals = mine.lengths;
    m_ranks.all().reduce(mine.totals, MPI_SUM);
    if (!says_where()) {
      mine.firsts = m_ranks.all().sums_before(mine.lengths);
      for (std::int64_t const n : mine.totals) mine.end = std::max(mine.end, n);
      return mine;
    }
    mine.firsts.assign(count, m_where.first);
    if (m_where.firsts.extent(0) != 0)
      mine.firsts.assign(m_where.firsts.data(), m_where.firsts.data() + count);
    for (std::size_t row = 0; row < count; ++row)
      if (mine.lengths[row] > 0)
        mine.end = std::max(mine.end, mine.firsts[row] + mine.lengths[row]);
    mine.end = m_ranks.all().reduce(mine.end, MPI_MAX);
    return mine;
  }

  template <class Keys, class Values, class Positions, class Rows>
  void select(char const* function, Keys const& keys, Values const& values,
              Positions const& positions, Rows const& per_row) {
    std::vector<std::int64_t> limits;
    auto const agreed = detail::agree(m_ranks.all(), function, terms + 2, [&]() -> Terms {
      auto const call =
          ktopk::detail::collapse<Exec>(function, keys, values, positions, per_row, m_options);
      auto const& shape = call.problem.shape;
      check_firsts(function, shape.rows);
      limits = limits_of(shape.rows, call.columns, per_row);
      Terms all = terms_of<Keys>(shape.rows, call.columns);
      all.push_back({"the k of rows, summed up", sum_of(limits)});
      all.push_back(term_of<Positions>());
      return all;
    });
    auto const mine = placed(function, keys);
    check_positions<Positions>(function, mine.end);
    if (!m_fills && !ktopk::detail::is_ragged<Keys>)
      check_k(function, mine.totals, agreed[1].value);
    detail::RankSelection<Exec, Keys> const selection(m_ranks, mine, m_where);
    auto const lists = selection.run(limits);
    if (m_where.result == Result::root && m_ranks.all().rank() != m_where.root) return;
    store(lists, agreed[1].value, values, positions, per_row);
  }

  // What only all ranks together show is checked alike on each.
  template <class Positions>
  static void check_positions(char const* function, std::int64_t end) {
    if constexpr (!ktopk::detail::IsNothing<Positions>)
      ktopk::detail::check_index_range<typename Positions::non_const_value_type>(function, end);
  }
  static void check_k(char const* function, std::vector<std::int64_t> const& totals,
                      std::int64_t k) {
    for (std::int64_t const n : totals)
      if (k > n)
        detail::reject(function, "k is " + std::to_string(k) + ", but all ranks together have " +
                                     std::to_string(n) + " keys in a row");
  }

  template <class Rows>
  static std::vector<std::int64_t> limits_of(std::int64_t rows, std::int64_t k,
                                             Rows const& per_row) {
    std::vector<std::int64_t> limits(static_cast<std::size_t>(rows), k);
    if constexpr (ktopk::detail::is_per_row<Rows>)
      if constexpr (!ktopk::detail::IsNothing<decltype(per_row.wanted)>)
        for (std::int64_t row = 0; row < rows; ++row)
          limits[static_cast<std::size_t>(row)] =
              std::clamp(static_cast<std::int64_t>(per_row.wanted(row)), std::int64_t{0}, k);
    return limits;
  }
  static std::int64_t sum_of(std::vector<std::int64_t> const& numbers) {
    std::int64_t sum = 0;
    for (std::int64_t const number : numbers) sum += number;
    return sum;
  }

  template <class Lists, class Values, class Positions, class Rows>
  void store(Lists const& lists, std::int64_t k, Values const& values, Positions const& positions,
             Rows const& per_row) const {
    for (std::int64_t row = 0; row < lists.rows(); ++row) {
      std::int64_t const count = lists.count(row);
      for (std::int64_t slot = 0; slot < k; ++slot) {
        bool const is_there = slot < count;
        std::int64_t const entry = lists.begin(row) + slot;
        put(values, row, slot, is_there ? lists.value(entry) : lists.order().worst());
        put(positions, row, slot, is_there ? lists.position(entry) : std::int64_t{-1});
      }
      if constexpr (ktopk::detail::is_per_row<Rows>)
        if constexpr (!ktopk::detail::IsNothing<decltype(per_row.counts)>)
          per_row.counts(row) = static_cast<typename decltype(per_row.counts)::value_type>(count);
    }
  }
  /// The sums over all ranks.
  template <class Here, class Counts>
  void add_up(Here const& here, std::int64_t columns, Counts const& counts) const {
    if constexpr (!ktopk::detail::IsNothing<Counts>) {
      std::vector<std::int64_t> sums(here.data(), here.data() + here.size());
      m_ranks.all().reduce(sums, MPI_SUM);
      for (std::size_t i = 0; i < sums.size(); ++i)
        put(counts, static_cast<std::int64_t>(i) / columns, static_cast<std::int64_t>(i) % columns,
            sums[i]);
    }
  }
  /// Makes global positions of those of a row.
  template <class Positions>
  static void shift(Positions const& positions, std::int64_t row, std::int64_t count,
                    std::int64_t first) {
    if constexpr (!ktopk::detail::IsNothing<Positions>) {
      std::int64_t const slots = ktopk::detail::matrix_of(positions).columns;
      for (std::int64_t slot = 0; slot < std::min(count, slots); ++slot)
        if constexpr (Positions::rank == 1)
          positions(slot) += static_cast<typename Positions::value_type>(first);
        else
          positions(row, slot) += static_cast<typename Positions::value_type>(first);
    }
  }
  template <class View, class X>
  static void put(View const& view, std::int64_t row, std::int64_t slot, X x) {
    if constexpr (ktopk::detail::IsNothing<View>)
      return;
    else if constexpr (View::rank == 1)
      view(slot) = static_cast<typename View::value_type>(x);
    else
      view(row, slot) = static_cast<typename View::value_type>(x);
  }

  Exec m_exec;
  Options m_options;
  Distribution m_where;
  bool m_fills;
  detail::Ranks m_ranks;
};

/// \see Plan::top_k
template <ktopk::detail::ExecutionSpace Exec, ktopk::detail::KeyRows Keys,
          ktopk::detail::ViewOrNothing Values, ktopk::detail::ViewOrNothing Positions>
void top_k(MPI_Comm comm, Exec const& exec, Keys const& keys, Values const& values,
           Positions const& positions, Options const& options = {},
           Distribution const& where = {}) {
  Plan<Exec>(comm, exec, options, where).top_k(keys, values, positions);
}
template <ktopk::detail::ExecutionSpace Exec, ktopk::detail::KeyRows Keys,
          ktopk::detail::ViewOrNothing Values, ktopk::detail::ViewOrNothing Positions,
          ktopk::detail::PerRowArgument Rows>
void top_k(MPI_Comm comm, Exec const& exec, Keys const& keys, Values const& values,
           Positions const& positions, Rows const& per_row, Options const& options = {},
           Distribution const& where = {}) {
  Plan<Exec>(comm, exec, options, where).top_k(keys, values, positions, per_row);
}

/// \see Plan::kth
template <ktopk::detail::ExecutionSpace Exec, ktopk::detail::KeyRows Keys, class Value>
void kth(MPI_Comm comm, Exec const& exec, Keys const& keys, std::int64_t k, Value const& value,
         Options const& options = {}) {
  Plan<Exec>(comm, exec, options).kth(keys, k, value);
}

/// \see Plan::count
template <ktopk::detail::ExecutionSpace Exec, ktopk::detail::KeyRows Keys, class Bounds,
          ktopk::detail::ViewOrNothing Better, ktopk::detail::ViewOrNothing Equal>
void count(MPI_Comm comm, Exec const& exec, Keys const& keys, Bounds const& bounds,
           Better const& better, Equal const& equal, Options const& options = {}) {
  Plan<Exec>(comm, exec, options).count(keys, bounds, better, equal);
}

/// \see Plan::reaching
template <ktopk::detail::ExecutionSpace Exec, ktopk::detail::KeyRows Keys, class Thresholds,
          ktopk::detail::ViewOrNothing Values, ktopk::detail::ViewOrNothing Positions,
          ktopk::detail::ViewOrNothing Counts>
void reaching(MPI_Comm comm, Exec const& exec, Keys const& keys, Thresholds const& thresholds,
              Values const& values, Positions const& positions, Counts const& counts,
              Options const& options = {}, Distribution const& where = {}) {
  Plan<Exec>(comm, exec, options, where).reaching(keys, thresholds, values, positions, counts);
}

// The same with anything that has a communicator and an instance: comm() and exec().

template <detail::CommHandle Handle, class... Arguments>
void top_k(Handle const& handle, Arguments const&... arguments) {
  mpi::top_k(MPI_Comm(handle.comm()), handle.exec(), arguments...);
}
template <detail::CommHandle Handle, class... Arguments>
void kth(Handle const& handle, Arguments const&... arguments) {
  mpi::kth(MPI_Comm(handle.comm()), handle.exec(), arguments...);
}
template <detail::CommHandle Handle, class... Arguments>
void count(Handle const& handle, Arguments const&... arguments) {
  mpi::count(MPI_Comm(handle.comm()), handle.exec(), arguments...);
}
template <detail::CommHandle Handle, class... Arguments>
void reaching(Handle const& handle, Arguments const&... arguments) {
  mpi::reaching(MPI_Comm(handle.comm()), handle.exec(), arguments...);
}

/// How the library's messages travel on these ranks, for a log.
/// \return for example "8 ranks on 2 nodes, messages through the memory of the host"
inline std::string describe(MPI_Comm comm) {
  detail::Communicator const all(comm), node = all.node(0);
  std::int64_t const nodes = all.reduce(node.rank() == 0 ? 1 : 0, MPI_SUM);
  return std::to_string(all.size()) + (all.size() == 1 ? " rank on " : " ranks on ") +
         std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") +
         ", messages through the memory of the host";
}

}  // namespace ktopk::mpi
