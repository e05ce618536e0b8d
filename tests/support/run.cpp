// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/run.hpp"

#include "support/placed.hpp"

namespace ktopk::testing {
namespace {

/// The number of elements that outputs need in any of the layouts.
std::int64_t largest_size(std::int64_t rows, std::int64_t columns) {
  std::int64_t most = 0;
  for (int way = 0; way < ways; ++way) most = std::max(most, place(way, rows, columns).size());
  return most;
}

template <class T, class Exec>
std::vector<T> read_placed(Buffer<Exec>& buffer, Placement const& where) {
  auto const all = buffer.template download<T>(where.size());
  bool touched = !buffer.untouched_from(all.size() * sizeof(T));
  auto elements = take_out(where, all, touched);
  if (touched) FAIL("written outside of a View");
  return elements;
}

}  // namespace

template <class Exec, class T>
UniformCall<Exec, T>::UniformCall(Exec const& exec, std::vector<T> const& keys, std::int64_t rows,
                                  std::int64_t n, std::int64_t most)
    : m_exec(exec),
      m_host_keys(keys),
      m_rows(rows),
      m_n(n),
      m_keys(keys.size() * sizeof(T)),
      m_values(largest_size(rows, most) * sizeof(T)),
      m_indices(largest_size(rows, most) * sizeof(std::int64_t)) {
  m_keys.upload(keys);
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::operator()(std::int64_t k, Options const& options,
                                           Outputs outputs) {
  m_values.clear();
  m_indices.clear();
  auto const keys = m_keys.template matrix<T const>(m_rows, m_n);
  auto const values = m_values.template matrix<T>(m_rows, k);
  auto const indices = m_indices.template matrix<std::int64_t>(m_rows, k);
  if (outputs == Outputs::both) top_k(m_exec, keys, values, indices, options);
  if (outputs == Outputs::values) top_k(m_exec, keys, values, nothing, options);
  if (outputs == Outputs::indices) top_k(m_exec, keys, nothing, indices, options);
  m_exec.fence();
  return fetch(m_rows * k, outputs);
}

template <class Exec, class T>
Buffer<Exec> const& UniformCall<Exec, T>::keys_laid_out(int way) {
  if (way == right) return m_keys;
  auto const found = m_laid_out.find(way);
  if (found != m_laid_out.end()) return found->second;
  Placement const where = place(way, m_rows, m_n);
  auto& buffer = m_laid_out.emplace(way, where.size() * sizeof(T)).first->second;
  buffer.upload(lay_out(where, m_host_keys));
  return buffer;
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::by_plan(std::int64_t k, Options const& options) {
  auto const draw = random_bits(static_cast<std::uint64_t>(1000 * m_n + k), m_turn++);
  return by_plan_in(static_cast<int>(draw % ways), k, options);
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::with_gaps(std::int64_t k, Options const& options) {
  return by_plan_in(every_other, k, options);
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::with_neighbors(std::int64_t k, Options const& options) {
  return by_plan_in(left, k, options);
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::by_plan_in(int way, std::int64_t k, Options const& options) {
  auto const keys = place(way, m_rows, m_n), outputs = place(way, m_rows, k);
  auto const& key_buffer = keys_laid_out(way);
  m_values.clear();
  m_indices.clear();
  Plan<Exec> plan(m_exec, make_shape<T>(m_rows, m_n, k), options);
  with_layout(way, [&]<class Layout>(Layout) {
    plan(placed_view<T const, Layout>(key_buffer, keys), placed_view<T, Layout>(m_values, outputs),
         placed_view<std::int64_t, Layout>(m_indices, outputs));
  });
  m_exec.fence();
  return {read_placed<T>(m_values, outputs), read_placed<std::int64_t>(m_indices, outputs), {}};
}

template <class Exec, class T>
Answer<T> UniformCall<Exec, T>::fetch(std::size_t places, Outputs outputs) {
  Answer<T> answer;
  auto values = m_values.template download<T>(places);
  auto indices = m_indices.template download<std::int64_t>(places);
  if (outputs != Outputs::indices) answer.values = std::move(values);
  if (outputs != Outputs::values) answer.indices = std::move(indices);
  if (!m_values.untouched_from(answer.values.size() * sizeof(T)))
    FAIL("values written past their end");
  if (!m_indices.untouched_from(answer.indices.size() * sizeof(std::int64_t)))
    FAIL("indices written past their end");
  return answer;
}

void Validation::report(std::string const& wrong) {
  FAIL_CHECK(wrong);
  if (++m_wrong == 10) FAIL("ten wrong answers: giving up");
}

void Validation::close() const { CHECK(m_checked > m_wrong); }

#if defined(KOKKOS_ENABLE_CUDA)
#define KTOPK_TESTS_CALL(T) template class UniformCall<Kokkos::Cuda, T>;
KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_CALL)
#elif defined(KOKKOS_ENABLE_HIP)
#define KTOPK_TESTS_CALL(T) template class UniformCall<Kokkos::HIP, T>;
KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_CALL)
#else
#ifdef KOKKOS_ENABLE_SERIAL
#define KTOPK_TESTS_SERIAL_CALL(T) template class UniformCall<Kokkos::Serial, T>;
KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_SERIAL_CALL)
#endif
#ifdef KOKKOS_ENABLE_OPENMP
#define KTOPK_TESTS_OPENMP_CALL(T) template class UniformCall<Kokkos::OpenMP, T>;
KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_OPENMP_CALL)
#endif
#ifdef KOKKOS_ENABLE_THREADS
#define KTOPK_TESTS_THREADS_CALL(T) template class UniformCall<Kokkos::Threads, T>;
KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_THREADS_CALL)
#endif
#endif

}  // namespace ktopk::testing
