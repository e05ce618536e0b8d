// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
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

  /// Each rank lists about as many keys as are its share. Where more may be among the best, it lists four times as many, and
  /// the search begins anew.
  void by_counts(Lists<T>& lists, std::vector<std::int64_t> const& limits) const {
    auto const merge_all = [&](auto& all) { m_ranks.merge_at_all(all); };
    std::vector<RowCut> cuts;
    for (std::size_t row = 0; row < limits.size(); ++row)
      cuts.push_back({limits[row], m_mine.totals[row]});
    std::int64_t const most = std::min(most_of(limits), m_mine.longest());
    std::int64_t listed = share(cuts, 1);
    m_mine.select(listed, lists);
    for (double widening = 1;; widening *= 4) {
      auto const parts = parts_of(lists, listed);
      ThresholdSearch<T> search(EntryOrder<T>(lists.order(), m_mine.end), lists, parts, cuts,
                                widening, merge_all);
      if (search.is_found()) {
        if (m_how.result == Result::owner) search.settle(merge_all);
        lists = lists.first(selected_in(lists, search));
        break;
      }
      if (listed < most && may_have_more(parts, lists, selected_in(lists, search)))
        m_mine.select(listed = std::min(most, std::max(4 * listed, share(cuts, 4 * widening))),
                      lists);
    }
    if (m_how.result != Result::owner) merge(lists);
  }
  std::vector<RowPart> parts_of(Lists<T> const& lists, std::int64_t listed) const {
    std::vector<RowPart> parts;
    for (std::int64_t row = 0; row < lists.rows(); ++row)
      parts.push_back(
          {m_mine.lengths[row], lists.count(row) == listed && listed < m_mine.lengths[row]});
    return parts;
  }
  static std::vector<std::int64_t> selected_in(Lists<T> const& lists,
                                               ThresholdSearch<T> const& search) {
    std::vector<std::int64_t> counts;
    for (std::int64_t row = 0; row < lists.rows(); ++row) counts.push_back(search.selected(row));
    return counts;
  }
  /// What is to be expected of the row of which this rank has the largest part.
  std::int64_t share(std::vector<RowCut> const& cuts, double widening) const {
    std::int64_t most = 0;
    for (std::size_t row = 0; row < cuts.size(); ++row)
      most = std::max(
          most, listed_share(cuts[row].wanted, m_mine.lengths[row], cuts[row].all_keys, widening));
    return std::min(most, m_mine.longest());
  }
  static bool may_have_more(std::vector<RowPart> const& parts, Lists<T> const& lists,
                            std::vector<std::int64_t> const& selected) {
    for (std::int64_t row = 0; row < lists.rows(); ++row)
      if (parts[row].is_cut && selected[row] == lists.count(row)) return true;
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
