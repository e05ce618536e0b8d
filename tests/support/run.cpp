// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/run.hpp"

namespace ktopk::testing {

template <class Exec, class T>
UniformCall<Exec, T>::UniformCall(Exec const& exec, std::vector<T> const& keys, std::int64_t rows,
                                  std::int64_t n, std::int64_t most)
    : m_exec(exec),
      m_rows(rows),
      m_n(n),
      m_keys(keys.size() * sizeof(T)),
      m_values(rows * most * sizeof(T)),
      m_indices(rows * most * sizeof(std::int64_t)) {
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

void Verdict::report(std::string const& wrong) {
  FAIL_CHECK(wrong);
  if (++m_wrong == 10) FAIL("ten wrong answers: giving up");
}

void Verdict::close() const { CHECK(m_checked > m_wrong); }

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
