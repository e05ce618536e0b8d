// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/sources.hpp>
#include <ktopk/mpi/communicator.hpp>
#include <ktopk/mpi/distribution.hpp>
#include <ktopk/mpi/instance_lists.hpp>
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/staging.hpp>
#include <ktopk/mpi/threshold.hpp>
#include <ktopk/top_k.hpp>

namespace ktopk::detail::mpi {

using ktopk::mpi::Distribution;
using ktopk::mpi::Result;
using ktopk::mpi::Way;

/// The options of each rank's own selection: what a rank lacks others may have.
inline Options local_options(Options options) {
  options.sorted = Sorted::yes;
  options.short_rows = ShortRows::fill;
  if (options.ties == Ties::any) options.ties = Ties::lowest_index;
  return options;
}

/// Keys of this rank, and where they are among those of all.
template <class Exec, class Keys>
struct RankKeys {
  Exec exec;
  Keys const& keys;
  Options options;
  PlanMemory<Exec>& memory;
  std::vector<std::int64_t> lengths;  // of each row, on this rank
  std::vector<std::int64_t> firsts;   // global positions
  std::vector<std::int64_t> totals;   // positions of each row on all ranks
  std::int64_t end = 0;               // all positions are less

  using T = source_key<Keys>;
  std::int64_t rows() const { return static_cast<std::int64_t>(lengths.size()); }
  std::int64_t longest() const { return most_of(lengths); }

  /// Enqueues the selection of the `most` best keys of each row of this rank, with its own positions.
  ListedKeys<T> listed(std::int64_t most) const {
    std::int64_t const k = std::min(most, longest()), entries = rows() * k;
    auto const lists =
        listed_in<T>(memory.lists.template get<std::uint64_t>(listed_words<T>(entries)), rows(), k);
    if (entries == 0) return lists;
    auto const extent = static_cast<std::size_t>(entries);
    if constexpr (Source<Keys>::output_rank == 1)
      top_k(exec, keys, Row<T>(lists.values, extent), Row<std::int64_t>(lists.positions, extent),
            options);
    else
      top_k(exec, keys, Rows<T>(lists.values, rows(), k),
            Rows<std::int64_t>(lists.positions, rows(), k), options);
    return lists;
  }

  /// The same, on the host, with global positions.
  void select(std::int64_t most, Lists<T>& lists) const {
    lists.clear();
    auto const best = listed(most);
    std::int64_t const k = best.columns, entries = rows() * k;
    if (entries == 0) return;
    auto const* const host = brought(exec, reinterpret_cast<std::uint64_t const*>(best.positions),
                                     listed_words<T>(entries), memory.brought);
    auto const* const positions = reinterpret_cast<std::int64_t const*>(host);
    auto const* const values = reinterpret_cast<T const*>(positions + entries);
    for (std::int64_t row = 0; row < rows(); ++row) {
      std::int64_t const limit = std::min(k, lists.limit(row));
      for (std::int64_t i = row * k; i < row * k + limit && positions[i] != -1; ++i)
        lists.append(values[i], firsts[row] + positions[i]);
      lists.end_row(row);
    }
  }

 private:
  template <class X>
  using Row =
      Kokkos::View<X*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class X>
  using Rows = Kokkos::View<X**, Kokkos::LayoutRight, typename Exec::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
};

/// The selection on all ranks: the selected keys, on the ranks that get them.
template <class Exec, class Keys>
class RankSelection {
  using T = source_key<Keys>;

 public:
  RankSelection(Ranks& ranks, RankKeys<Exec, Keys> const& mine, Distribution const& how)
      : m_ranks(ranks), m_mine(mine), m_how(how) {}

  /// Whether the instance merges lists.
  bool merges_on_instance(std::vector<std::int64_t> const& limits) const {
    return merges_by_kernels<Exec>() && m_how.result != Result::owner &&
           way(limits) == Way::candidates;
  }
  /// Enqueues what a GPU can do while ranks agree: its own selection, in memory of the Plan.
  void begin(std::vector<std::int64_t> const& limits) {
    m_has_begun = merges_on_instance(limits);
    if (m_has_begun) m_begun = m_mine.listed(most_of(limits));
  }
  InstanceLists<Exec, T> run_on_instance(std::vector<std::int64_t> const& limits) const {
    using Lists = InstanceLists<Exec, T>;
    std::int64_t const most = most_of(limits);
    bool const gathered = m_how.result == Result::all &&
                          m_ranks.is_gathered(8 * listed_words<T>(m_mine.rows() * most));
    auto const listed = m_has_begun ? m_begun : m_mine.listed(most);
    Lists lists(m_mine.exec, m_mine.memory, KeyOrder<T>(m_mine.options), limits, m_mine.firsts,
                listed, gathered);
    gathered ? m_ranks.merge_gathered(lists) : merge(lists);
    return lists;
  }

  /// \param limits  how many keys of each row are wanted, of which there may be fewer
  Lists<T> run(std::vector<std::int64_t> const& limits) const {
    Lists<T> lists(KeyOrder<T>(m_mine.options), limits);
    if (way(limits) == Way::candidates)
      by_candidates(lists, limits);
    else
      by_counts(lists, limits);
    if (m_how.result == Result::owner) lists.sort_by_position();
    return lists;
  }

 private:
  Way way(std::vector<std::int64_t> const& limits) const {
    if (m_how.way != Way::automatic) return m_how.way;
    return ktopk::mpi::choose_way({m_ranks.all().size(), m_mine.rows(), most_of(limits),
                                   static_cast<int>(sizeof(T)), m_how.result,
                                   merges_by_kernels<Exec>()});
  }

  void by_candidates(Lists<T>& lists, std::vector<std::int64_t> const& limits) const {
    m_mine.select(most_of(limits), lists);
    if (m_how.result != Result::owner) return merge(lists);
    Lists<T> best = lists;
    m_ranks.merge_at_all(best);
    lists = lists.first(common(lists, best));
  }
  /// How many entries of each row are among the best: its first ones.
  static std::vector<std::int64_t> common(Lists<T> const& own, Lists<T> const& best) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(own.rows()));
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      std::int64_t entry = own.begin(row);
      for (std::int64_t i = best.begin(row); i < best.end(row) && entry < own.end(row); ++i)
        if (best.position(i) == own.position(entry)) ++entry;
      counts[row] = entry - own.begin(row);
    }
    return counts;
  }

  /// Each rank lists about as many keys as are its share. If all of these are among the best it may have more of them, and
  /// lists more.
  void by_counts(Lists<T>& lists, std::vector<std::int64_t> const& limits) const {
    std::int64_t const most = std::min(most_of(limits), m_mine.longest());
    std::int64_t listed = std::min(most, share(limits));
    std::vector<std::int64_t> counts(limits.size());
    m_mine.select(listed, lists);
    for (bool is_proven = false; !is_proven;) {
      ThresholdSearch<T> const search(m_ranks.all(), EntryOrder<T>(lists.order(), m_mine.end),
                                      lists);
      for (std::int64_t row = 0; row < lists.rows(); ++row) counts[row] = search.selected(row);
      bool const has_more = may_have_more(lists, counts, listed);
      is_proven = m_ranks.all().reduce(has_more ? 1 : 0, MPI_MAX) == 0;
      if (has_more) m_mine.select(listed = std::min(most, 4 * listed), lists);
    }
    lists = lists.first(counts);
    if (m_how.result != Result::owner) merge(lists);
  }
  /// What is to be expected of the row of which this rank has the largest part, and some more.
  std::int64_t share(std::vector<std::int64_t> const& limits) const {
    double most = 0;
    for (std::size_t row = 0; row < limits.size(); ++row)
      if (m_mine.totals[row] > 0)
        most = std::max(most, static_cast<double>(limits[row]) *
                                  static_cast<double>(m_mine.lengths[row]) /
                                  static_cast<double>(m_mine.totals[row]));
    return static_cast<std::int64_t>(most + 4 * std::sqrt(most)) + 16;
  }
  bool may_have_more(Lists<T> const& lists, std::vector<std::int64_t> const& counts,
                     std::int64_t listed) const {
    for (std::int64_t row = 0; row < lists.rows(); ++row)
      if (counts[row] == listed && listed < std::min(lists.limit(row), m_mine.lengths[row]))
        return true;
    return false;
  }

  template <class AnyLists>
  void merge(AnyLists& lists) const {
    if (m_how.result == Result::root)
      m_ranks.merge_at_root(lists);
    else
      m_ranks.merge_at_all(lists);
  }

  Ranks& m_ranks;
  RankKeys<Exec, Keys> const& m_mine;
  Distribution const& m_how;
  bool m_has_begun = false;
  ListedKeys<T> m_begun;
};

}  // namespace ktopk::detail::mpi
