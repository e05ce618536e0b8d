// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/accumulator.hpp>
#include <ktopk/computed.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/host_stream.hpp>
#include <ktopk/merge.hpp>
#include <ktopk/team.hpp>
#include <ktopk/team_accumulator.hpp>

#include "ask_questions.hpp"

// What else has the answer of top_k, of rows of one length.

namespace ktopk::fuzz {

/// The keys of a matrix, by a functor.
template <class T>
struct ReadKey {
  T const* first;
  std::int64_t row, step;
  KOKKOS_FUNCTION T operator()(std::int64_t r, std::int64_t i) const {
    return first[r * row + i * step];
  }
};
struct Mask {
  std::uint64_t cut;
  KOKKOS_FUNCTION bool operator()(std::int64_t r, std::int64_t i) const {
    return passes(cut, r, i);
  }
};

template <class T, class Exec>
void ask_masked(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  using Wide = typename Views<T, Exec>::Wide;
  auto const source = [&](Case const& one) {
    Placement const& p = one.key_place;
    ReadKey<T> const read{static_cast<T const*>(memory.keys) + p.shift, p.row, p.step};
    return where(generate<T>(one.rows, one.n, read), Mask{one.cut});
  };
  std::optional<Plan<Exec>> plan;
  if (c.way == Way::plan) plan.emplace(exec, ktopk::shape_of<Wide>(source(c), c.k), c.options);
  for_each_call(c, hooks, [&](Case const& one) {
    Views<T, Exec> const views{one, memory};
    // Where they are not asked for, nobody looks at them.
    auto const counts = per_row(nothing, views.counts());
    if (plan)
      (*plan)(source(one), views.values(), views.template indices<Wide>(), counts);
    else
      top_k(exec, source(one), views.values(), views.template indices<Wide>(), counts, one.options);
  });
}

template <class T, class Exec>
void ask_gathered(Exec const& exec, Case const& c, Memory const& memory) {
  Views<T, Exec> const views{c, memory};
  auto const indices = views.template indices<typename Views<T, Exec>::Wide>();
  top_k(exec, views.keys(), nothing, indices, c.options);
  gather(exec, indices, payload(views.keys(), views.values()));
}

/// Some columns of a matrix.
template <class Matrix>
auto columns(Matrix const& matrix, std::int64_t begin, std::int64_t end) {
  return Kokkos::subview(matrix, Kokkos::ALL, Kokkos::pair<std::int64_t, std::int64_t>(begin, end));
}

/// Adds a row's parts in any order; sometimes some of them to a second Accumulator, which is merged in the end.
template <class T, class Exec>
void add_parts(Accumulator<T, std::int64_t, Exec>& best, Case const& c,
               Views<T, Exec> const& views) {
  std::int64_t const parts = part_count(c);
  std::optional<Accumulator<T, std::int64_t, Exec>> second;
  if ((c.cut >> 20) % 4 == 0) second.emplace(best.exec(), c.rows, c.k, c.options);
  for (std::int64_t i = 0; i < parts; ++i) {
    std::int64_t const turned = (i + static_cast<std::int64_t>(c.cut >> 32)) % parts;
    std::int64_t const part = (c.cut >> 30) % 2 == 0 ? turned : parts - 1 - turned;
    std::int64_t const begin = begin_of_part(c, part);
    (second && part % 2 == 0 ? *second : best)
        .add(columns(views.keys(), begin, begin_of_part(c, part + 1)), begin);
  }
  if (second) best.merge(*second);
}

/// Adds keys that the host has.
template <class T, class Exec>
void add_of_host(Accumulator<T, std::int64_t, Exec> const& best, Case const& c,
                 Views<T, Exec> const& views) {
  using OnHost = Kokkos::View<T const**, Kokkos::LayoutStride, Kokkos::HostSpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Placement const& p = c.key_place;
  Kokkos::LayoutStride const layout(p.rows, p.row, p.columns, p.step);
  auto const chunk =
      static_cast<std::int64_t>((c.cut >> 8) % static_cast<std::uint64_t>(2 * c.rows * c.n));
  HostStream<T, std::int64_t, Exec, true> stream(best, chunk + 1);
  best.exec().fence("fuzz: keys of the host");
  if constexpr (ktopk::detail::is_host_space<Exec>) {
    stream.add(OnHost(views.keys().data(), layout), 0);
  } else {
    using Device = Kokkos::View<T const*, typename Exec::memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::View<T*, Kokkos::HostSpace> const copy("fuzz::host_keys", p.size());
    Kokkos::deep_copy(best.exec(), copy,
                      Device(static_cast<T const*>(views.memory.keys), p.size()));
    best.exec().fence("fuzz: keys of the host");
    stream.add(OnHost(copy.data() + p.shift, layout), 0);
  }
}

template <class T, class Exec>
void ask_stream(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  Accumulator<T, std::int64_t, Exec> best(exec, c.rows, c.k, c.options);
  for_each_call(c, hooks, [&](Case const& one) {
    Views<T, Exec> const views{one, memory};
    best.clear();
    if (c.ask == Ask::host_stream)
      add_of_host(best, one, views);
    else
      add_parts(best, one, views);
    auto const indices = views.template indices<typename Views<T, Exec>::Wide>();
    if (c.has_counts())
      best.result(views.values(), indices, views.counts());
    else
      best.result(views.values(), indices);
  });
}

/// Turns indices in a part into positions in the row.
template <class I>
struct ShiftIndices {
  I* indices;
  I begin;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (indices[i] != static_cast<I>(-1)) indices[i] += begin;
  }
};

template <class T, class Exec>
void ask_merged(Exec const& exec, Case const& c, Memory const& memory) {
  using Wide = typename Views<T, Exec>::Wide;
  using Space = typename Exec::memory_space;
  Views<T, Exec> const views{c, memory};
  std::int64_t const parts = part_count(c), slots = c.rows * c.k;
  auto const named = [&](char const* label) {
    return Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label));
  };
  Kokkos::View<T***, Kokkos::LayoutRight, Space> const values(named("fuzz::parts"), parts, c.rows,
                                                              c.k);
  Kokkos::View<Wide***, Kokkos::LayoutRight, Space> const indices(named("fuzz::parts"), parts,
                                                                  c.rows, c.k);
  Placement const packed{c.rows, c.k, 0, c.k, 1};
  for (std::int64_t part = 0; part < parts; ++part) {
    std::int64_t const begin = begin_of_part(c, part);
    Wide* const of_part = indices.data() + part * slots;
    top_k(exec, columns(views.keys(), begin, begin_of_part(c, part + 1)),
          views.template matrix<T>(values.data() + part * slots, packed),
          views.template matrix<Wide>(of_part, packed), c.options);
    Kokkos::parallel_for("fuzz::shift", Kokkos::RangePolicy<Exec>(exec, 0, slots),
                         ShiftIndices<Wide>{of_part, static_cast<Wide>(begin)});
  }
  merge(exec, values, indices, views.values(), views.template indices<Wide>(), c.options);
}

/// How a kernel selects.
enum class InKernel { team, offers, thread };

template <class Keys, class Values, class Indices>
struct SelectInKernel {
  Keys keys;
  Values values;
  Indices indices;
  std::int64_t k;
  Options options;
  InKernel how;
  int level;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int64_t const r = member.league_rank();
    auto const row = Kokkos::subview(keys, r, Kokkos::ALL);
    auto const to = Kokkos::subview(values, r, Kokkos::ALL);
    auto const at = Kokkos::subview(indices, r, Kokkos::ALL);
    if (how == InKernel::offers)
      offer(member, row, to, at);
    else if (how == InKernel::team)
      team_top_k(member, member.team_scratch(level), row, k, to, at, options);
    else if (member.team_rank() == 0)
      thread_top_k(row, k, to, at, options);
  }

  static std::size_t scratch_bytes(std::int64_t k) {
    return std::max(team_scratch_bytes<T>(k), TeamAccumulator<T>::scratch_bytes(k));
  }

 private:
  using T = typename Keys::non_const_value_type;

  template <class Member, class Row, class To, class At>
  KOKKOS_FUNCTION void offer(Member const& member, Row const& row, To const& to,
                             At const& at) const {
    TeamAccumulator<T> const best(member, member.team_scratch(level), k, options);
    auto const n = static_cast<std::int64_t>(row.extent(0));
    for (std::int64_t i = member.team_rank(); i < n; i += member.team_size()) best.offer(row(i), i);
    best.finish(member, to, at);
  }
};

template <class T, class Exec>
void ask_team(Exec const& exec, Case const& c, Memory const& memory) {
  Views<T, Exec> const views{c, memory};
  auto const indices = views.template indices<typename Views<T, Exec>::Wide>();
  using Select = SelectInKernel<decltype(views.keys()), decltype(views.values()),
                                std::remove_cv_t<decltype(indices)>>;
  std::size_t const bytes = Select::scratch_bytes(c.k);
  constexpr std::size_t most_on_level_0 = 30000;
  bool const is_short = c.n <= 2048 && c.k <= 64;
  auto const how = static_cast<InKernel>((c.cut >> 8) % (is_short ? 3 : 2));
  int const level = bytes > most_on_level_0 || (c.cut >> 16) % 2 == 0 ? 1 : 0;
  int const threads = ktopk::detail::is_host_space<Exec> ? 1 : 32 << ((c.cut >> 24) % 4);
  Kokkos::TeamPolicy<Exec> policy(exec, static_cast<int>(c.rows), threads);
  policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
  Kokkos::parallel_for("fuzz::select_in_kernel", policy,
                       Select{views.keys(), views.values(), indices, c.k, c.options, how, level});
}

template <class T, class Exec>
void ask_selection(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  if (c.ask == Ask::masked) return ask_masked<T>(exec, c, memory, hooks);
  if (c.ask == Ask::stream || c.ask == Ask::host_stream)
    return ask_stream<T>(exec, c, memory, hooks);
  for_each_call(c, hooks, [&](Case const& one) {
    if (c.ask == Ask::gathered) return ask_gathered<T>(exec, one, memory);
    if (c.ask == Ask::merged) return ask_merged<T>(exec, one, memory);
    ask_team<T>(exec, one, memory);
  });
}

}  // namespace ktopk::fuzz
