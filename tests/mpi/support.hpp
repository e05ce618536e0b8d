// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/mpi.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// Every rank knows all keys, and the answer for them; it takes its own part to the library.

namespace ktopk::testing {

inline int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// While it lives, KTOPK_GPU_AWARE_MPI has this value on this rank, or none.
class GpuAwareMpi {
 public:
  explicit GpuAwareMpi(char const* value) {
    if (char const* const before = std::getenv(name)) m_before = before;
    set(value);
  }
  ~GpuAwareMpi() { set(m_before ? m_before->c_str() : nullptr); }
  GpuAwareMpi(GpuAwareMpi const&) = delete;
  GpuAwareMpi& operator=(GpuAwareMpi const&) = delete;

 private:
  static constexpr char const* name = "KTOPK_GPU_AWARE_MPI";
  static void set(char const* value) { value != nullptr ? setenv(name, value, 1) : unsetenv(name); }
  std::optional<std::string> m_before;
};

/// How n keys are cut into the parts of ranks: ends of parts.
enum class Cut { even, random, all_on_last, every_second_empty };
inline constexpr Cut cuts[] = {Cut::even, Cut::random, Cut::all_on_last, Cut::every_second_empty};

/// Where rank r's part begins; that of rank ranks() is n.
inline std::int64_t cut_at(Cut cut, std::int64_t n, int r, std::uint64_t seed) {
  int const size = ranks();
  if (r == 0) return 0;
  if (r == size) return n;
  switch (cut) {
    case Cut::even: return n * r / size;
    case Cut::all_on_last: return 0;
    case Cut::every_second_empty: return n * (r / 2 * 2) / size;
    case Cut::random: break;
  }
  std::vector<std::int64_t> ends;
  for (int i = 1; i < size; ++i)
    ends.push_back(static_cast<std::int64_t>(random_bits(seed, i) % (n + 1)));
  std::sort(ends.begin(), ends.end());
  return ends[static_cast<std::size_t>(r - 1)];
}

/// This rank's part of rows: where it begins in each, and where it ends.
struct Part {
  std::vector<std::int64_t> begins, ends;
};

template <class T>
Part part_of(Question<T> const& question, Cut cut, std::uint64_t seed, bool same_for_all_rows) {
  Part part;
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    std::uint64_t const of_row = same_for_all_rows ? seed : seed + static_cast<std::uint64_t>(row);
    part.begins.push_back(cut_at(cut, question.length(row), rank(), of_row));
    part.ends.push_back(cut_at(cut, question.length(row), rank() + 1, of_row));
  }
  return part;
}

/// The keys of a part, row after row, and where rows begin.
template <class T>
std::pair<std::vector<T>, std::vector<std::int64_t>> keys_of(Question<T> const& question,
                                                             Part const& part) {
  std::vector<T> keys;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    keys.insert(keys.end(), question.row(row) + part.begins[row],
                question.row(row) + part.ends[row]);
    offsets.push_back(static_cast<std::int64_t>(keys.size()));
  }
  return {std::move(keys), std::move(offsets)};
}

/// What this rank has to store, given the answer for all keys.
template <class T>
Answer<T> expected(Question<T> const& question, Answer<T> const& truth, Part const& part,
                   Options const& options, mpi::Result result) {
  std::int64_t const k = question.width;
  Answer<T> here;
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    std::vector<std::pair<std::int64_t, T>> entries;
    for (std::int64_t slot = 0; slot < k; ++slot) {
      std::int64_t const position = truth.indices[row * k + slot];
      bool const is_mine = part.begins[row] <= position && position < part.ends[row];
      if (position != -1 && (result != mpi::Result::owner || is_mine))
        entries.emplace_back(position, truth.values[row * k + slot]);
    }
    if (result == mpi::Result::owner)
      std::sort(entries.begin(), entries.end(),
                [](auto const& a, auto const& b) { return a.first < b.first; });
    here.counts.push_back(static_cast<std::int64_t>(entries.size()));
    entries.resize(static_cast<std::size_t>(k), {-1, worst_key<T>(options)});
    for (auto const& [position, value] : entries) {
      here.indices.push_back(position);
      here.values.push_back(value);
    }
  }
  return here;
}

template <class T>
void expect_same(Answer<T> const& answer, Answer<T> const& wanted) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.values.size(); ++i)
    if (!same_bits(answer.values[i], wanted.values[i]) || answer.indices[i] != wanted.indices[i])
      ++wrong;
  CHECK(wrong == 0);
  CHECK(answer.counts == wanted.counts);
}

/// Outputs of a call, which begin as something that no call stores.
template <class T, class Memory = Kokkos::HostSpace>
struct RankOutputs {
  static constexpr std::int64_t untouched = -77;
  Kokkos::View<T**, Memory> values;
  Kokkos::View<std::int64_t**, Memory> positions;
  Kokkos::View<std::int64_t*, Memory> counts;

  RankOutputs(std::int64_t rows, std::int64_t k)
      : values("test::values", rows, k),
        positions("test::positions", rows, k),
        counts("test::counts", rows) {
    Kokkos::deep_copy(positions, untouched);
    Kokkos::deep_copy(counts, untouched);
  }
  bool are_untouched() const {
    auto const stored = on_host(positions);
    for (std::size_t i = 0; i < stored.size(); ++i)
      if (stored.data()[i] != untouched) return false;
    return true;
  }
  Answer<T> answer() const {
    Answer<T> answer;
    auto const stored = on_host(values);
    auto const where = on_host(positions);
    auto const used = on_host(counts);
    for (std::size_t row = 0; row < where.extent(0); ++row)
      for (std::size_t slot = 0; slot < where.extent(1); ++slot) {
        answer.values.push_back(stored(row, slot));
        answer.indices.push_back(where(row, slot));
      }
    answer.counts.assign(used.data(), used.data() + used.size());
    return answer;
  }
};

inline std::string describe(mpi::Distribution const& where) {
  std::string text = where.result == mpi::Result::all    ? "all"
                     : where.result == mpi::Result::root ? "root"
                                                         : "owner";
  text += where.way == mpi::Way::candidates ? ", candidates"
          : where.way == mpi::Way::counts   ? ", counts"
                                            : ", automatic";
  return text + ", nodes of " + std::to_string(where.node_size);
}

/// Every result, way and size of nodes.
inline std::vector<mpi::Distribution> distributions() {
  std::vector<mpi::Distribution> all;
  for (auto const result : {mpi::Result::all, mpi::Result::root, mpi::Result::owner})
    for (auto const way : {mpi::Way::candidates, mpi::Way::counts})
      for (int const node_size : {0, 1, 2})
        all.push_back({.result = result, .root = ranks() - 1, .way = way, .node_size = node_size});
  return all;
}

}  // namespace ktopk::testing
