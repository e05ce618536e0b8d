// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/selected.hpp>

namespace ktopk::detail::host {

template <class CompositeKey>
struct PutInList {
  CompositeKey* list;
  void operator()(std::int64_t slot, CompositeKey const* composites, int count) const {
    std::copy_n(composites, count, list + slot);
  }
};

/// Appends composite keys, by put(slot, composites, count), to a list that many threads fill. A thread gathers them
/// first, so that threads seldom meet at the counter. `capacity` bounds how many are put, not how many are counted.
template <class CompositeKey, class Put = PutInList<CompositeKey>>
class Appender {
 public:
  Appender(Put const& put, Count64* count, std::int64_t capacity)
      : m_put(put), m_count(count), m_capacity(static_cast<Count64>(capacity)) {}
  /// Adds without a branch on `wanted`, which a processor could not predict.
  void add_if(bool wanted, CompositeKey composite) {
    m_held[m_holds] = composite;
    m_holds += wanted;
    if (m_holds == most_held) flush();
  }
  /// Adds those of composite(0) .. composite(count - 1) that reach `least`.
  template <class MakeComposite>
  void add_reaching(int count, CompositeKey least, MakeComposite const& composite) {
    constexpr int stride = most_held / 2;
    for (int first = 0; first < count; first += stride) {
      if (m_holds > most_held - stride) flush();
      int const end = first + stride < count ? first + stride : count;
      int holds = m_holds;  // a copy that no store can change stays in a register
      for (int i = first; i < end; ++i) {
        CompositeKey const next = m_held[holds] = composite(i);
        holds += next >= least;
      }
      m_holds = holds;
    }
  }
  void flush() {
    if (m_holds == 0) return;
    auto const count = static_cast<Count64>(m_holds);
    Count64 const slot = Kokkos::atomic_fetch_add(m_count, count);
    Count64 const left = slot < m_capacity ? m_capacity - slot : 0;
    m_put(static_cast<std::int64_t>(slot), m_held, static_cast<int>(count < left ? count : left));
    m_holds = 0;
    tally(Count::flushes, 1);
  }

  static constexpr int most_held = 256;

 private:
  Put m_put;
  Count64* m_count;
  Count64 m_capacity;
  int m_holds = 0;
  CompositeKey m_held[most_held + 1];
};

}  // namespace ktopk::detail::host
