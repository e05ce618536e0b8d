// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <ktopk/accumulator.hpp>
#include <ktopk/host_stream.hpp>
#include <ktopk/top_k.hpp>

#include "keys_on.hpp"
#include "selectors.hpp"
#include "spaces.hpp"

namespace ktopk::tools {
namespace {

template <class Exec, class T>
class TopKSelector : public BlockSelector {
 public:
  TopKSelector(std::int64_t k, Options const& options) : m_k(k), m_options(options) {}

  void select(Matrix const& block, Selected& selected) override {
    using Space = typename Exec::memory_space;
    Matrix const keys = m_keys.bring(m_exec, block);
    auto const size = keys.rows * m_k;
    std::byte* const values =
        m_values.prepare(selected.values, size * static_cast<std::int64_t>(sizeof(T)));
    std::byte* const indices = m_indices.prepare(selected.indices, size);
    top_k(m_exec, keys_at<T, Space>(keys), rows_at<T, Space>(values, keys.rows, m_k),
          rows_at<std::int64_t, Space>(indices, keys.rows, m_k), m_options);
    m_values.fetch(m_exec, selected.values);
    m_indices.fetch(m_exec, selected.indices);
    m_exec.fence("ktopk::tools::select");
  }

 private:
  Exec m_exec;
  std::int64_t m_k;
  Options m_options;
  KeyPlace<Exec> m_keys;
  ResultPlace<Exec> m_values, m_indices;
};

template <class Exec, class T>
class AccumulatingSelector : public RowSelector {
 public:
  AccumulatingSelector(std::int64_t k, Options const& options)
      : m_best(m_exec, 1, k, options), m_stream(m_best) {}

  /// A device need not have selected from the part when it returns.
  void add(Matrix const& part, std::int64_t first) override {
    if constexpr (on_host<Exec>) {
      m_best.add(keys_at<T, Kokkos::HostSpace>(m_keys.bring(m_exec, part)), first);
      m_exec.fence("ktopk::tools::add");
    } else if (is_aligned(part)) {
      m_stream.add(keys_at<T, Kokkos::HostSpace>(part), first);
    } else {
      m_stream.add(part.n, first, [&](T* to, std::int64_t begin, std::int64_t count) {
        gather(some_keys(part, begin, count), reinterpret_cast<std::byte*>(to));
      });
    }
  }

  void finish(Selected& selected) override {
    auto const k = static_cast<std::size_t>(m_best.k());
    selected.values.resize(k * sizeof(T));
    selected.indices.resize(k);
    fetch(m_best.values(), reinterpret_cast<T*>(selected.values.data()));
    fetch(m_best.positions(), selected.indices.data());
    m_exec.fence("ktopk::tools::finish");
    m_best.clear();
  }

 private:
  template <class List, class Entry>
  void fetch(List const& list, Entry* target) {
    Kokkos::deep_copy(m_exec, array_at<Entry, Kokkos::HostSpace>(target, list.extent(1)),
                      Kokkos::subview(list, 0, Kokkos::ALL));
  }

  Exec m_exec;
  Accumulator<T, std::int64_t, Exec> m_best;
  HostStream<T, std::int64_t, Exec> m_stream;
  KeyPlace<Exec> m_keys;
};

}  // namespace

std::unique_ptr<BlockSelector> make_top_k_selector(std::string const& backend, KeyType type,
                                                   std::int64_t k, Options const& options) {
  return for_types<BlockSelector>(backend, type, [&](auto space, auto key) {
    using Selector = TopKSelector<typename decltype(space)::type, typename decltype(key)::type>;
    return std::make_unique<Selector>(k, options);
  });
}

std::unique_ptr<RowSelector> make_row_selector(std::string const& backend, KeyType type,
                                               std::int64_t k, Options const& options) {
  return for_types<RowSelector>(backend, type, [&](auto space, auto key) {
    using Selector =
        AccumulatingSelector<typename decltype(space)::type, typename decltype(key)::type>;
    return std::make_unique<Selector>(k, options);
  });
}

}  // namespace ktopk::tools
