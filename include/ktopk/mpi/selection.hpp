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
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/threshold.hpp>
#include <ktopk/top_k.hpp>

namespace ktopk::detail::mpi {

using ktopk::mpi::Distribution;
using ktopk::mpi::Result;
using ktopk::mpi::Way;

/// Copies to the host what the instance's work makes of a View.
template <class Exec, class View>
auto brought(Exec const& exec, View const& view) {
  auto const host = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, view);
  Kokkos::deep_copy(exec, host, view);
  exec.fence("ktopk::mpi: before messages");
  return host;
}

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
  std::vector<std::int64_t> lengths;  // of each row, on this rank
  std::vector<std::int64_t> firsts;   // global positions
  std::vector<std::int64_t> totals;   // positions of each row on all ranks
  std::int64_t end = 0;               // all positions are less

  using T = source_key<Keys>;
  std::int64_t rows() const { return static_cast<std::int64_t>(lengths.size()); }
  std::int64_t longest() const {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  }

  /// The `most` best keys of each row of this rank.
  void select(std::int64_t most, Lists<T>& lists) const {
    using Memory = typename Exec::memory_space;
    std::int64_t const k = std::min(most, longest());
    lists.clear();
    if (rows() == 0 || k == 0) return;
    auto const unset = [&](std::string const& label) {
      return Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label);
    };
    Kokkos::View<T**, Kokkos::LayoutRight, Memory> const values(unset("ktopk::mpi::values"), rows(),
                                                                k);
    Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const positions(
        unset("ktopk::mpi::positions"), rows(), k);
    if constexpr (Source<Keys>::output_rank == 1)
      top_k(exec, keys, Kokkos::subview(values, 0, Kokkos::ALL),
            Kokkos::subview(positions, 0, Kokkos::ALL), options);
    else
      top_k(exec, keys, values, positions, options);
    auto const host_values = brought(exec, values);
    auto const host_positions = brought(exec, positions);
    for (std::int64_t row = 0; row < rows(); ++row) {
      std::int64_t const limit = std::min(k, lists.limit(row));
      for (std::int64_t slot = 0; slot < limit && host_positions(row, slot) != -1; ++slot)
        lists.append(host_values(row, slot), firsts[row] + host_positions(row, slot));
      lists.end_row(row);
    }
  }
};

/// The selection on all ranks: the selected keys, on the ranks that get them.
template <class Exec, class Keys>
class RankSelection {
  using T = source_key<Keys>;

 public:
  RankSelection(Ranks& ranks, RankKeys<Exec, Keys> const& mine, Distribution const& how)
      : m_ranks(ranks), m_mine(mine), m_how(how) {}

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
  static std::int64_t most_of(std::vector<std::int64_t> const& numbers) {
    return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  }
  Way way(std::vector<std::int64_t> const& limits) const {
    if (m_how.way != Way::automatic) return m_how.way;
    return ktopk::mpi::choose_way({m_ranks.all().size(), m_mine.rows(), most_of(limits),
                                   static_cast<int>(sizeof(T)), m_how.result});
  }

  void by_candidates(Lists<T>& lists, std::vector<std::int64_t> const& limits) const {
    m_mine.select(most_of(limits), lists);
    if (m_how.result != Result::owner) return travel(lists);
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
    if (m_how.result != Result::owner) travel(lists);
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

  void travel(Lists<T>& lists) const {
    if (m_how.result == Result::root)
      m_ranks.merge_at_root(lists);
    else
      m_ranks.merge_at_all(lists);
  }

  Ranks& m_ranks;
  RankKeys<Exec, Keys> const& m_mine;
  Distribution const& m_how;
};

}  // namespace ktopk::detail::mpi
