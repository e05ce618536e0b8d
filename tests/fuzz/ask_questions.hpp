// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>

#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include "views.hpp"

// Questions with answers of their own.

namespace ktopk::fuzz {

/// The same calls as a RanksPlan has, without one.
template <class Exec>
struct RankCalls {
  Exec const& exec;
  Options const& options;

  void kth(auto const&... arguments) const { ktopk::kth(exec, arguments..., options); }
  void ranks(auto const&... arguments) const { ktopk::ranks(exec, arguments..., options); }
  void quantiles(auto const&... arguments) const { ktopk::quantiles(exec, arguments..., options); }
};

/// Ranks and quantiles of a call.
template <class T, class Exec>
class AskRanks {
 public:
  AskRanks(Case const& c, Memory const& memory) : m_c(c), m_memory(memory), m_views{c, memory} {}

  /// \param asker  a RanksPlan, or RankCalls
  void ask(auto& asker) const {
    m_views.visit_keys([&](auto const& keys) {
      if (m_c.ask == Ask::kth) return ask_kth(asker, keys);
      if (m_c.ask == Ask::ranks) return ask_ranks(asker, keys);
      ask_quantiles(asker, keys);
    });
  }

 private:
  template <class E>
  using List = typename Views<T, Exec>::template View<E const*>;

  template <class E>
  List<E> list() const {
    return List<E>(static_cast<E const*>(m_memory.lists), Kokkos::LayoutStride(list_count(m_c), 1));
  }
  void ask_kth(auto& asker, auto const& keys) const {
    auto const value = Kokkos::subview(m_views.values(), Kokkos::ALL, 0);
    if (m_c.on_device)
      asker.kth(keys, list<std::int64_t>(), value);
    else
      asker.kth(keys, rank_asked(m_c, 0, 0) + 1, value);
  }
  void ask_ranks(auto& asker, auto const& keys) const {
    if (m_c.on_device) return asker.ranks(keys, list<std::int64_t>(), m_views.values());
    std::vector<std::int64_t> ranks;
    for (int j = 0; j < m_c.asked; ++j) ranks.push_back(rank_asked(m_c, 0, j));
    asker.ranks(keys, ranks, m_views.values());
  }
  void ask_quantiles(auto& asker, auto const& keys) const {
    auto const between = m_c.is_shared ? Interpolation::lower : Interpolation::higher;
    if (m_c.on_device) return asker.quantiles(keys, list<double>(), m_views.values(), between);
    std::vector<double> quantiles;
    for (int j = 0; j < m_c.asked; ++j) quantiles.push_back(quantile_asked(m_c, j));
    asker.quantiles(keys, quantiles, m_views.values(), between);
  }

  Case m_c;
  Memory const& m_memory;
  Views<T, Exec> m_views;
};

/// Keys beside bounds, of a call.
template <class T, class Exec>
class AskReaching {
 public:
  AskReaching(Case const& c, Memory const& memory)
      : m_c(c),
        m_views{c, memory},
        m_bounds(m_views.template matrix<T const>(memory.bounds, place_of_bounds(c))) {}

  void ask_count(Exec const& exec) const {
    using Count = typename Views<T, Exec>::Count;
    auto const all = m_views.template indices<Count>();
    auto const columns = [&](std::int64_t first) {
      return Kokkos::subview(all, Kokkos::ALL,
                             Kokkos::pair<std::int64_t, std::int64_t>(first, first + m_c.asked));
    };
    m_views.visit_keys([&](auto const& keys) {
      if (m_c.is_shared)
        count(exec, keys, Kokkos::subview(m_bounds, 0, Kokkos::ALL), columns(0), columns(m_c.asked),
              m_c.options);
      else
        count(exec, keys, m_bounds, columns(0), columns(m_c.asked), m_c.options);
    });
  }

  /// \param call  has the arguments of a ReachingPlan
  template <class Call>
  void ask_reaching(Call const& call) const {
    m_views.visit_keys([&](auto const& keys) {
      if (m_c.is_shared)
        with_outputs(call, keys, Kokkos::subview(m_bounds, 0, 0));
      else
        with_outputs(call, keys, Kokkos::subview(m_bounds, Kokkos::ALL, 0));
    });
  }

 private:
  template <class Call, class Keys, class Thresholds>
  void with_outputs(Call const& call, Keys const& keys, Thresholds const& thresholds) const {
    auto const indices = m_views.template indices<typename Views<T, Exec>::Narrow>();
    if (!m_c.has_values()) return call(keys, thresholds, nothing, indices, m_views.counts());
    if (m_c.has_counts())
      return call(keys, thresholds, m_views.values(), indices, m_views.counts());
    call(keys, thresholds, m_views.values(), indices, nothing);
  }

  Case m_c;
  Views<T, Exec> m_views;
  typename Views<T, Exec>::template View<T const**> m_bounds;
};

inline Shape shape_of_question(Case const& c) {
  Shape shape = shape_of(c);
  shape.k = 1;
  shape.k_per_row = c.ask == Ask::kth && c.on_device;
  return shape;
}

/// Does something for every call of a case.
template <class Call>
void for_each_call(Case const& c, Hooks const& hooks, Call const& call) {
  for (int i = 0; i < c.repeats; ++i) {
    hooks.before(i);
    call(case_of_call(c, i));
    hooks.after(i);
  }
}

template <class T, class Exec>
void ask_ranks(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  std::optional<RanksPlan<Exec>> plan;
  if (c.way == Way::plan) plan.emplace(exec, shape_of_question(c), c.options);
  RankCalls<Exec> calls{exec, c.options};
  for_each_call(c, hooks, [&](Case const& one) {
    AskRanks<T, Exec> const question(one, memory);
    if (plan)
      question.ask(*plan);
    else
      question.ask(calls);
  });
}

template <class T, class Exec>
void ask_reaching(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  std::optional<ReachingPlan<Exec>> plan;
  if (c.way == Way::plan) plan.emplace(exec, shape_of_question(c), c.options);
  for_each_call(c, hooks, [&](Case const& one) {
    AskReaching<T, Exec>(one, memory).ask_reaching([&](auto const&... arguments) {
      if (plan)
        (*plan)(arguments...);
      else
        reaching(exec, arguments..., c.options);
    });
  });
}

template <class T, class Exec>
void ask_question(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  if (c.asks_ranks()) return ask_ranks<T>(exec, c, memory, hooks);
  if (c.ask == Ask::reaching) return ask_reaching<T>(exec, c, memory, hooks);
  for_each_call(c, hooks,
                [&](Case const& one) { AskReaching<T, Exec>(one, memory).ask_count(exec); });
}

}  // namespace ktopk::fuzz
