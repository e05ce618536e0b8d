// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <ktopk/order_statistics.hpp>
#include <type_traits>

#include "keys_on.hpp"
#include "selectors.hpp"
#include "spaces.hpp"

namespace ktopk::tools {
namespace {

template <class Exec, class T>
class KthSelector : public BlockSelector {
 public:
  KthSelector(std::int64_t k, Options const& options) : m_k(k), m_options(options) {}

  void select(Matrix const& block, Selected& selected) override {
    using Space = typename Exec::memory_space;
    Matrix const keys = m_keys.bring(m_exec, block);
    std::byte* const values =
        m_values.prepare(selected.values, keys.rows * static_cast<std::int64_t>(sizeof(T)));
    kth(m_exec, keys_at<T, Space>(keys), m_k,
        array_at<T, Space>(reinterpret_cast<T*>(values), static_cast<std::size_t>(keys.rows)),
        m_options);
    m_values.fetch(m_exec, selected.values);
    m_exec.fence("ktopk::tools::kth");
  }

 private:
  Exec m_exec;
  std::int64_t m_k;
  Options m_options;
  KeyPlace<Exec> m_keys;
  ResultPlace<Exec> m_values;
};

template <class T>
using Quantile =
    std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, double, float>;

template <class Exec, class T>
class QuantilesSelector : public BlockSelector {
 public:
  QuantilesSelector(std::vector<double> const& q, Interpolation interpolation,
                    Options const& options)
      : m_q(q), m_interpolation(interpolation), m_options(options) {}

  void select(Matrix const& block, Selected& selected) override {
    using Space = typename Exec::memory_space;
    using Value = Quantile<T>;
    Matrix const keys = m_keys.bring(m_exec, block);
    auto const count = static_cast<std::int64_t>(m_q.size());
    std::byte* const values = m_values.prepare(
        selected.values, keys.rows * count * static_cast<std::int64_t>(sizeof(Value)));
    quantiles(m_exec, keys_at<T, Space>(keys), m_q, rows_at<Value, Space>(values, keys.rows, count),
              m_interpolation, m_options);
    m_values.fetch(m_exec, selected.values);
    m_exec.fence("ktopk::tools::quantiles");
  }

 private:
  Exec m_exec;
  std::vector<double> m_q;
  Interpolation m_interpolation;
  Options m_options;
  KeyPlace<Exec> m_keys;
  ResultPlace<Exec> m_values;
};

}  // namespace

KeyType quantile_type(KeyType type) {
  return on_key_type(type, [](auto key) {
    using Value = Quantile<typename decltype(key)::type>;
    return std::is_same_v<Value, double> ? KeyType::f64 : KeyType::f32;
  });
}

std::unique_ptr<BlockSelector> make_kth_selector(std::string const& backend, KeyType type,
                                                 std::int64_t k, Options const& options) {
  return for_types<BlockSelector>(backend, type, [&](auto space, auto key) {
    using Selector = KthSelector<typename decltype(space)::type, typename decltype(key)::type>;
    return std::make_unique<Selector>(k, options);
  });
}

std::unique_ptr<BlockSelector> make_quantiles_selector(std::string const& backend, KeyType type,
                                                       std::vector<double> const& q,
                                                       Interpolation interpolation,
                                                       Options const& options) {
  return for_types<BlockSelector>(backend, type, [&](auto space, auto key) {
    using Selector =
        QuantilesSelector<typename decltype(space)::type, typename decltype(key)::type>;
    return std::make_unique<Selector>(q, interpolation, options);
  });
}

}  // namespace ktopk::tools
