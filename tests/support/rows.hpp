// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Rows that differ in length or in k, through the API and back.

#include "support/run.hpp"

namespace ktopk::testing {

/// Ragged rows or rows that ask for different k, on one space.
template <class Exec, class T, class Integer>
class RowsCall {
  using Memory = typename Exec::memory_space;
  using Borrow = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  template <class CompositeKey>
  using Line = Kokkos::View<CompositeKey*, Memory, Borrow>;

 public:
  RowsCall(Exec const& exec, Question<T> const& question)
      : m_exec(exec),
        m_question(question),
        m_keys(question.keys.size() * sizeof(T)),
        m_values(places() * sizeof(T)),
        m_indices(places() * sizeof(std::int64_t)),
        m_offsets((question.rows() + 1) * sizeof(Integer)),
        m_wanted(question.rows() * sizeof(Integer)),
        m_counts(question.rows() * sizeof(Integer)) {
    m_keys.upload(question.keys);
    m_offsets.upload(std::vector<Integer>(question.begins.begin(), question.begins.end()));
    m_wanted.upload(std::vector<Integer>(question.ks.begin(), question.ks.end()));
  }

  Answer<T> ragged_rows(Options const& options) {
    clear();
    top_k(m_exec, ragged(all_keys(), offsets()), values(), indices(), options);
    return fetch(false);
  }
  Answer<T> ragged_rows_counted(Options const& options) {
    clear();
    top_k(m_exec, ragged(all_keys(), offsets()), values(), indices(), per_row(nothing, counts()),
          options);
    return fetch(true);
  }
  Answer<T> ragged_rows_wanting(Options const& options) {
    clear();
    top_k(m_exec, ragged(all_keys(), offsets()), values(), indices(), per_row(wanted(), counts()),
          options);
    return fetch(true);
  }
  Answer<T> equal_rows_wanting(Options const& options) {
    clear();
    top_k(m_exec, equal_rows(), values(), indices(), per_row(wanted(), counts()), options);
    return fetch(true);
  }
  Answer<T> equal_rows_wanting_by_host(Options const& options) {
    clear();
    Kokkos::View<Integer*, Kokkos::HostSpace> const host("test::wanted", m_question.rows());
    std::copy(m_question.ks.begin(), m_question.ks.end(), host.data());
    top_k(m_exec, equal_rows(), values(), indices(), per_row(host), options);
    return fetch(false);
  }
  Answer<T> equal_rows_counted(Options const& options) {
    clear();
    top_k(m_exec, equal_rows(), values(), nothing, per_row(nothing, counts()), options);
    Answer<T> answer = fetch(true);
    answer.indices.clear();
    return answer;
  }
  Answer<T> ragged_rows_by_plan(Options const& options) {
    clear();
    Shape shape = make_shape<T>(
        m_question.rows(), static_cast<std::int64_t>(m_question.keys.size()), m_question.width);
    shape.ragged = true;
    shape.k_per_row = true;
    Plan<Exec> plan(m_exec, shape, options);
    plan(ragged(all_keys(), offsets()), values(), indices(), per_row(wanted(), counts()));
    return fetch(true);
  }

 private:
  std::int64_t places() const { return m_question.rows() * m_question.width; }
  auto all_keys() const {
    return Line<T const>(m_keys.template as<T const>(), m_question.keys.size());
  }
  auto equal_rows() const {
    return m_keys.template matrix<T const>(m_question.rows(), m_question.length(0));
  }
  auto offsets() const {
    return Line<Integer const>(m_offsets.template as<Integer const>(), m_question.rows() + 1);
  }
  auto wanted() const {
    return Line<Integer const>(m_wanted.template as<Integer const>(), m_question.rows());
  }
  auto counts() const { return Line<Integer>(m_counts.template as<Integer>(), m_question.rows()); }
  auto values() const { return m_values.template matrix<T>(m_question.rows(), m_question.width); }
  auto indices() const {
    return m_indices.template matrix<std::int64_t>(m_question.rows(), m_question.width);
  }

  void clear() {
    m_values.clear();
    m_indices.clear();
    m_counts.clear();
  }

  Answer<T> fetch(bool counted) {
    m_exec.fence();
    Answer<T> answer{m_values.template download<T>(places()),
                     m_indices.template download<std::int64_t>(places()),
                     {}};
    auto const counts = m_counts.template download<Integer>(m_question.rows());
    if (counted) answer.counts.assign(counts.begin(), counts.end());
    CHECK(m_values.untouched_from(places() * sizeof(T)));
    CHECK(m_counts.untouched_from(counted ? m_question.rows() * sizeof(Integer) : 0));
    return answer;
  }

  Exec m_exec;
  Question<T> const& m_question;
  Buffer<Exec> m_keys, m_values, m_indices, m_offsets, m_wanted, m_counts;
};

/// Every row has its own k; one is negative, one exceeds the number of output slots.
template <class T>
void draw_ks(Question<T>& question, std::uint64_t seed) {
  for (std::int64_t row = 0; row < question.rows(); ++row)
    question.ks[row] = static_cast<std::int64_t>(random_bits(seed, row) % (question.width + 1));
  question.ks.front() = -3;
  question.ks.back() = question.width + 100;
}

}  // namespace ktopk::testing
