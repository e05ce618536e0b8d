// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
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
#include <ktopk/mpi/message_memory.hpp>
#include <ktopk/mpi/selection.hpp>
#include <ktopk/mpi/staging.hpp>
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
/// Every call is made by all ranks of the communicator, in the same order. It returns when the result is there, and
/// fences the instance. Messages go through the memory of the host, pinned where the instance is of a GPU. Lists that a
/// GPU merges are sent from its own memory and received there if MPI takes such pointers on all ranks: if the
/// environment variable KTOPK_GPU_AWARE_MPI is `yes`, or it is not set and MPI 4.1's memory kinds say so. A Plan reads
/// it once, a free function in each call. Before anything is selected the ranks agree that all of their arguments are
/// right: what is wrong on one rank is a std::invalid_argument on all, and the message says which rank. Anything else
/// that a rank throws before they have agreed, as for want of memory, is a std::runtime_error on the others. What is
/// thrown later leaves them waiting.
///
/// The output is sorted whatever Options::sorted, best first, and Ties::any is lowest_index. MPI is initialized by the
/// caller; one thread at a time calls.

namespace ktopk::mpi {

namespace detail {

using namespace ktopk::detail;
using namespace ktopk::detail::mpi;

/// What the lengths of rows are on this rank.
template <class R>
struct RowLengths {
  R rows;
  std::int64_t* lengths;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { lengths[row] = rows.length(row); }
};

/// How many keys of each row are wanted.
template <class Wanted>
struct RowLimits {
  Wanted wanted;
  std::int64_t k;
  std::int64_t* limits;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    auto const own = static_cast<std::int64_t>(wanted(row));
    limits[row] = own < 0 ? 0 : (own > k ? k : own);
  }
};

/// Makes global positions of those in a row.
template <class Positions>
struct ShiftPositions {
  Positions positions;
  std::int64_t columns;
  std::int64_t const *found, *firsts;  // of each row
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / columns, slot = i % columns;
    if (slot >= found[row]) return;
    auto const first = static_cast<typename Positions::value_type>(firsts[row]);
    if constexpr (Positions::rank == 1)
      positions(slot) += first;
    else
      positions(row, slot) += first;
  }
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
  /// \throws std::invalid_argument on all ranks if it is not, root is no rank, or KTOPK_GPU_AWARE_MPI is neither yes nor no
  Plan(MPI_Comm comm, Exec const& exec, Options const& options = {}, Distribution const& where = {})
      : m_exec(exec),
        m_options(ktopk::detail::mpi::local_options(options)),
        m_where(where),
        m_fills(options.short_rows == ShortRows::fill),
        m_ranks(comm, where.root, where.node_size) {
    m_memory.messages = detail::memory_for(agree_on_distribution(comm));
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
  /// Cost: a read of the keys for each digit of 11 bits, until a rank has an eighth of its keys left; then it reads copies.
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
    auto const rows = ktopk::detail::Source<Keys>::rows(keys, m_options);
    detail::DigitSearch<Exec, std::remove_const_t<decltype(rows)>> search(
        m_ranks.all(), m_exec, m_memory, rows, order, ktopk::detail::skips_nan<T>(m_options),
        mine.lengths, std::vector<std::int64_t>(mine.totals.size(), k - 1));
    auto const* const found = search.run();
    auto const count = static_cast<std::int64_t>(mine.totals.size());
    T* const values = m_memory.values.template get<T>(count);
    for (std::int64_t row = 0; row < count; ++row)
      values[row] =
          std::bit_cast<T>(found[row].is_missing ? ktopk::detail::worst_key<T>(m_options)
                                                 : detail::key_of(order, found[row].prefix));
    store_matrices(count, 1, values, value, values, nothing);
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
    std::int64_t const entries = rows * columns;
    auto* const here = m_memory.counts.template get<std::int64_t>(2 * entries);
    if constexpr (ktopk::detail::Source<Keys>::output_rank == 1)
      ktopk::count(m_exec, keys, bounds, Row(here, columns), Row(here + entries, columns),
                   m_options);
    else
      ktopk::count(m_exec, keys, bounds, Matrix(here, rows, columns),
                   Matrix(here + entries, rows, columns), m_options);
    std::int64_t const* const counts = detail::brought(
        m_exec, static_cast<std::int64_t const*>(here), 2 * entries, m_memory.brought);
    std::vector<std::int64_t> sums(counts, counts + 2 * entries);
    m_ranks.all().reduce(sums, MPI_SUM);
    std::int64_t* const all = m_memory.values.template get<std::int64_t>(2 * entries);
    std::copy(sums.begin(), sums.end(), all);
    store_matrices(rows, columns, all, better, all + entries, equal);
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
    auto* const found = m_memory.counts.template get<std::int64_t>(rows);
    ktopk::reaching(m_exec, keys, thresholds, values, positions, Row(found, rows), m_options);
    if constexpr (!ktopk::detail::IsNothing<Positions>) {
      auto* const firsts = m_memory.rows.template get<std::int64_t>(rows);
      std::copy(mine.firsts.begin(), mine.firsts.end(), firsts);
      std::int64_t const slots = ktopk::detail::matrix_of(positions).columns;
      detail::launch_each("ktopk::mpi::shift", m_exec, rows * slots,
                          detail::ShiftPositions<Positions>{positions, slots, found, firsts});
    }
    store_matrices(rows, 1, found, counts, found, nothing);
  }

 private:
  using Terms = std::vector<detail::Term>;
  using Memory = typename Exec::memory_space;
  using Row = Kokkos::View<std::int64_t*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Matrix = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// \return what all ranks know of their MPI
  detail::DevicePointers agree_on_distribution(MPI_Comm comm) const {
    char const* const function = "ktopk::mpi::Plan";
    int const size = m_ranks.all().size();
    auto const agreed = detail::agree(m_ranks.all(), function, 6, [&]() -> Terms {
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
              {"whether the Distribution says where keys are", says_where() ? 1 : 0},
              detail::device_pointers_term<Exec>(function, comm)};
    });
    return static_cast<detail::DevicePointers>(agreed.back().value);
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
  detail::RankKeys<Exec, Keys> placed(char const* function, Keys const& keys) {
    auto mine = own_rows(function, keys);
    place(mine);
    return mine;
  }
  /// This rank's rows, without a word to the others.
  template <class Keys>
  detail::RankKeys<Exec, Keys> own_rows(char const* function, Keys const& keys) {
    auto const shape = ktopk::detail::Source<Keys>::shape(function, keys);
    auto const count = static_cast<std::size_t>(shape.rows);
    detail::RankKeys<Exec, Keys> mine{m_exec, keys, m_options, m_memory, {}, {}, {}};
    mine.lengths.assign(count, shape.n);
    if constexpr (ktopk::detail::is_ragged<Keys>) {
      auto const rows = ktopk::detail::Source<Keys>::rows(keys, m_options);
      auto* const lengths = m_memory.rows.template get<std::int64_t>(shape.rows);
      detail::launch_each("ktopk::mpi::lengths", m_exec, shape.rows,
                          detail::RowLengths<std::remove_const_t<decltype(rows)>>{rows, lengths});
      m_exec.fence("ktopk::mpi: lengths");
      mine.lengths.assign(lengths, lengths + count);
    }
    return mine;
  }
  template <class Keys>
  void place(detail::RankKeys<Exec, Keys>& mine) const {
    mine.totals = mine.lengths;
    m_ranks.all().reduce(mine.totals, MPI_SUM);
    if (!says_where()) {
      mine.firsts = m_ranks.all().sums_before(mine.lengths);
      for (std::int64_t const n : mine.totals) mine.end = std::max(mine.end, n);
      return;
    }
    auto const count = mine.lengths.size();
    mine.firsts.assign(count, m_where.first);
    if (m_where.firsts.extent(0) != 0)
      mine.firsts.assign(m_where.firsts.data(), m_where.firsts.data() + count);
    for (std::size_t row = 0; row < count; ++row)
      if (mine.lengths[row] > 0)
        mine.end = std::max(mine.end, mine.firsts[row] + mine.lengths[row]);
    mine.end = m_ranks.all().reduce(mine.end, MPI_MAX);
  }

  template <class Keys, class Values, class Positions, class Rows>
  void select(char const* function, Keys const& keys, Values const& values,
              Positions const& positions, Rows const& per_row) {
    using Mine = detail::RankKeys<Exec, Keys>;
    std::vector<std::int64_t> limits;
    std::optional<Mine> mine;
    std::optional<detail::RankSelection<Exec, Keys>> selection;
    auto const agreed = detail::agree(m_ranks.all(), function, terms + 3, [&]() -> Terms {
      auto const call =
          ktopk::detail::collapse<Exec>(function, keys, values, positions, per_row, m_options);
      auto const& shape = call.problem.shape;
      check_firsts(function, shape.rows);
      limits = limits_of(shape.rows, call.columns, per_row);
      Terms all = terms_of<Keys>(shape.rows, call.columns);
      all.push_back({"the k of rows, summed up", sum_of(limits)});
      all.push_back({"the largest k of a row", detail::most_of(limits)});
      all.push_back(term_of<Positions>());
      mine.emplace(own_rows(function, keys));
      selection.emplace(m_ranks, *mine, m_where);
      selection->begin(limits);
      return all;
    });
    place(*mine);
    check_positions<Positions>(function, mine->end);
    if (!m_fills && !ktopk::detail::is_ragged<Keys>)
      check_k(function, mine->totals, agreed[1].value);
    bool const has_result = m_where.result != Result::root || m_ranks.all().rank() == m_where.root;
    if (selection->merges_on_instance(limits)) {
      auto const lists = selection->run_on_instance(limits);
      if (has_result) lists.store(agreed[1].value, values, positions, counts_of(per_row));
      m_exec.fence("ktopk::mpi: result");
      return;
    }
    auto const lists = selection->run(limits);
    if (has_result) store(lists, agreed[1].value, values, positions, counts_of(per_row));
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

  template <class PerRow>
  std::vector<std::int64_t> limits_of(std::int64_t rows, std::int64_t k, PerRow const& per_row) {
    if constexpr (ktopk::detail::is_per_row<PerRow>) {
      using Wanted = std::remove_cvref_t<decltype(per_row.wanted)>;
      if constexpr (!ktopk::detail::IsNothing<Wanted>) {
        auto* const limits = m_memory.rows.template get<std::int64_t>(rows);
        detail::launch_each("ktopk::mpi::limits", m_exec, rows,
                            detail::RowLimits<Wanted>{per_row.wanted, k, limits});
        m_exec.fence("ktopk::mpi: limits");
        return {limits, limits + rows};
      }
    }
    return std::vector<std::int64_t>(static_cast<std::size_t>(rows), k);
  }
  template <class PerRow>
  static auto counts_of(PerRow const& per_row) {
    if constexpr (ktopk::detail::is_per_row<PerRow>)
      return per_row.counts;
    else
      return nothing;
  }
  static std::int64_t sum_of(std::vector<std::int64_t> const& numbers) {
    std::int64_t sum = 0;
    for (std::int64_t const number : numbers) sum += number;
    return sum;
  }

  template <class T, class Values, class Positions, class Counts>
  void store(detail::Lists<T> const& lists, std::int64_t k, Values const& values,
             Positions const& positions, Counts const& counts) {
    std::int64_t const rows = lists.rows();
    T* const all_values = m_memory.values.template get<T>(rows * k);
    auto* const all_positions = m_memory.positions.template get<std::int64_t>(rows * k);
    auto* const used = m_memory.rows.template get<std::int64_t>(rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      used[row] = lists.count(row);
      for (std::int64_t slot = 0; slot < k; ++slot) {
        bool const is_there = slot < used[row];
        std::int64_t const entry = lists.begin(row) + slot;
        all_values[row * k + slot] = is_there ? lists.value(entry) : lists.order().worst();
        all_positions[row * k + slot] = is_there ? lists.position(entry) : std::int64_t{-1};
      }
    }
    store_matrices(rows, 1, used, counts, used, nothing);
    store_matrices(rows, k, all_values, values, all_positions, positions);
  }

  /// Stores matrices of the host's memory, and fences.
  template <class A, class Views, class B, class OtherViews>
  void store_matrices(std::int64_t rows, std::int64_t columns, A const* a, Views const& to_a,
                      B const* b, OtherViews const& to_b) {
    if constexpr (!ktopk::detail::IsNothing<Views> || !ktopk::detail::IsNothing<OtherViews>)
      detail::launch_each(
          "ktopk::mpi::store", m_exec, rows * columns,
          detail::StoreMatrices<A, Views, B, OtherViews>{columns, a, to_a, b, to_b});
    m_exec.fence("ktopk::mpi: result");
  }

  Exec m_exec;
  Options m_options;
  Distribution m_where;
  bool m_fills;
  detail::Ranks m_ranks;
  detail::PlanMemory<Exec> m_memory;
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

/// How the library's messages travel on these ranks, for a log. Called by all ranks.
/// \tparam Exec  the type of the instance
/// \return for example "8 ranks on 2 nodes, messages through the memory of the host", and why where Exec is of a GPU
/// \throws std::invalid_argument on all ranks if KTOPK_GPU_AWARE_MPI is neither yes nor no on one of them
template <ktopk::detail::ExecutionSpace Exec = Kokkos::DefaultExecutionSpace>
std::string describe(MPI_Comm comm) {
  detail::Communicator const all(comm), node = all.node(0);
  std::int64_t const nodes = all.reduce(node.rank() == 0 ? 1 : 0, MPI_SUM);
  return std::to_string(all.size()) + (all.size() == 1 ? " rank on " : " ranks on ") +
         std::to_string(nodes) + (nodes == 1 ? " node, " : " nodes, ") +
         detail::messages_of<Exec>(all, comm);
}

}  // namespace ktopk::mpi
