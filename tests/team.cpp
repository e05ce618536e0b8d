// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/results.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// Selection inside a kernel: the answers of the oracle, as for top_k.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

/// What kernels answer.
template <class T, class Memory>
using Answers = Results<T, std::int64_t, Memory>;

template <class T>
std::vector<Options> sorted_options() {
  std::vector<Options> some;
  for (Options const& options : every_option<T>())
    if (options.sorted == Sorted::yes) some.push_back(options);
  return some;
}

/// The keys of a row, by a functor.
template <class Keys>
struct KeyOfRow {
  Keys keys;
  std::int64_t row;
  KOKKOS_FUNCTION auto operator()(std::int64_t i) const { return keys(row, i); }
};

enum class Given { view, functor };

template <class Exec, class T>
struct ByTeam {
  using Memory = MemoryOf<Exec>;
  Kokkos::View<T**, Kokkos::LayoutLeft, Memory> keys;
  Answers<T, Memory> out;
  Options options;
  int level;
  Given given;

  KOKKOS_FUNCTION void operator()(
      typename Kokkos::TeamPolicy<Exec>::member_type const& member) const {
    std::int64_t const row = member.league_rank();
    auto const values = Kokkos::subview(out.values, row, Kokkos::ALL);
    auto const indices = Kokkos::subview(out.indices, row, Kokkos::ALL);
    auto const k = static_cast<std::int64_t>(values.extent(0));
    auto const n = static_cast<std::int64_t>(keys.extent(1));
    std::int64_t count = 0;
    if (given == Given::view)
      count = team_top_k(member, member.team_scratch(level),
                         Kokkos::subview(keys, row, Kokkos::ALL), k, values, indices, options);
    else
      count = team_top_k(member, member.team_scratch(level),
                         in_kernel(n, KeyOfRow<decltype(keys)>{keys, row}), k, values, indices,
                         options);
    Kokkos::single(Kokkos::PerTeam(member), [&] { out.counts(row) = count; });
  }
};

template <class Exec, class T, class Layout>
struct ByThread {
  using Memory = MemoryOf<Exec>;
  Kokkos::View<T**, Layout, Memory> keys;
  Answers<T, Memory> out;
  Options options;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    auto const values = Kokkos::subview(out.values, row, Kokkos::ALL);
    auto const indices = Kokkos::subview(out.indices, row, Kokkos::ALL);
    auto const k = static_cast<std::int64_t>(values.extent(0));
    auto const of_row = Kokkos::subview(keys, row, Kokkos::ALL);
    // Each output alone, then both.
    thread_top_k(of_row, k, Nothing{}, indices, options);
    thread_top_k(of_row, k, values, Nothing{}, options);
    for (std::int64_t slot = 0; slot < k; ++slot)
      if (indices(slot) >= 0 && !is_same(keys(row, indices(slot)), values(slot))) return;
    out.counts(row) = thread_top_k(of_row, k, values, indices, options);
  }
  KOKKOS_FUNCTION static bool is_same(T a, T b) {
    using Bits = ktopk::detail::bits_of<T>;
    return Kokkos::bit_cast<Bits>(a) == Kokkos::bit_cast<Bits>(b);
  }
};

/// Rows of an input, the oracle's answer, and what a kernel answers.
template <class T, class Layout = Kokkos::LayoutLeft, class Exec, class Run>
void ask(Exec const& exec, Input input, std::int64_t rows, std::int64_t n, std::int64_t k,
         Options const& options, Validation& validation, Run const& run) {
  auto question = uniform_question(filled<T>(input, rows, n), rows, n, k);
  Answers<T, MemoryOf<Exec>> const out(rows, k);
  run(copied_to<MemoryOf<Exec>, Layout>(question.keys, rows, n), out);
  exec.fence();
  validation.expect(question, solve(question, options), out.fetch(), options, [&] {
    return std::string(exec.name()) + ", " + name(input) + ", n = " + std::to_string(n) +
           ", k = " + std::to_string(k);
  });
}

struct Size {
  std::int64_t n, k;
};

template <class Exec>
struct IdleTeam {
  KOKKOS_FUNCTION void operator()(
      typename Kokkos::TeamPolicy<Exec>::member_type const& /*member*/) const {}
};

template <class Exec>
std::vector<int> team_sizes(Exec const& exec) {
  if (!ktopk::detail::is_host_space<Exec>) return {1, 3, 32, 67, 256, 1000};
  Kokkos::TeamPolicy<Exec> const policy(exec, 1, 1);
  int const most = policy.team_size_max(IdleTeam<Exec>(), Kokkos::ParallelForTag());
  return most > 1 ? std::vector{1, 2} : std::vector{1};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a team selects as top_k does", "[team]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::uint64_t turn = 0;
    auto const options = sorted_options<TestType>();
    for (Input input : inputs_for<TestType>())
      for (Size const size :
           {Size{1, 1}, Size{5, 9}, Size{300, 17}, Size{4000, 64}, Size{1000, 1000}})
        for (int const team : team_sizes(exec)) {
          Options const& chosen = options[random_bits(1, turn++) % options.size()];
          int const level = static_cast<int>(turn % 2);
          Given const given = turn % 3 == 0 ? Given::functor : Given::view;
          ask<TestType>(exec, input, 5, size.n, size.k, chosen, validation,
                        [&](auto const& keys, auto const& out) {
                          ByTeam<Exec, TestType> const body{keys, out, chosen, level, given};
                          auto const scratch =
                              Kokkos::PerTeam(team_scratch_bytes<TestType>(size.k));
                          Kokkos::TeamPolicy<Exec> some(exec, 5, 1);
                          some.set_scratch_size(level, scratch);
                          int const most = some.team_size_max(body, Kokkos::ParallelForTag());
                          Kokkos::TeamPolicy<Exec> policy(exec, 5, std::min(team, most));
                          policy.set_scratch_size(level, scratch);
                          Kokkos::parallel_for("test::team", policy, body);
                        });
        }
  });
  validation.close();
}

namespace {

template <class T, class Layout, class Exec>
void ask_threads(Exec const& exec, Input input, Size size, Options const& options,
                 Validation& validation) {
  ask<T, Layout>(exec, input, 4, size.n, size.k, options, validation,
                 [&](auto const& keys, auto const& out) {
                   Kokkos::parallel_for("test::thread", Kokkos::RangePolicy<Exec>(exec, 0, 4),
                                        ByThread<Exec, T, Layout>{keys, out, options});
                 });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a thread selects as top_k does", "[team]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    for (Input input : inputs_for<TestType>())
      for (Options const& options : sorted_options<TestType>())
        for (Size const size : {Size{1, 1}, Size{5, 9}, Size{200, 10}, Size{300, 45}, Size{30, 40}})
          ask_threads<TestType, Kokkos::LayoutLeft>(exec, input, size, options, validation);
  });
  validation.close();
}

// A thread of a host takes rows in chunks of 4096 keys, of 2048 if they have 64 bits, and up to 512 keys of them by SIMD.
TEMPLATE_LIST_TEST_CASE("a thread selects from long rows as top_k does", "[team]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    std::uint64_t turn = 0;
    auto const options = sorted_options<TestType>();
    for (Input input : inputs_for<TestType>())
      for (Size const size : {Size{2048, 512}, Size{2049, 1}, Size{4096, 300}, Size{4097, 512},
                              Size{12289, 40}, Size{5000, 513}, Size{600, 700}}) {
        Options const& chosen = options[random_bits(2, turn++) % options.size()];
        ask_threads<TestType, Kokkos::LayoutLeft>(exec, input, size, chosen, validation);
        ask_threads<TestType, Kokkos::LayoutRight>(exec, input, size, chosen, validation);
      }
  });
  validation.close();
}

namespace {

template <class Exec, class T, int K>
using ReducerOn = TopK<T, std::int64_t, K, MemoryOf<Exec>>;

template <class Exec, class T, int K>
struct OfferRow {
  Kokkos::View<T**, Kokkos::LayoutLeft, MemoryOf<Exec>> keys;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t i,
                                  typename ReducerOn<Exec, T, K>::value_type& best) const {
    best.offer(keys(row, i), i);
  }
};

template <class Answers, class Best>
KOKKOS_FUNCTION void store(Answers const& out, int row, Best const& best) {
  for (std::size_t slot = 0; slot < out.values.extent(1); ++slot) {
    out.values(row, slot) = best.values[slot];
    out.indices(row, slot) = best.indices[slot];
  }
  out.counts(row) = best.count;
}

/// A reduction in each team.
template <class Exec, class T, int K>
struct ReduceInTeam {
  using Reducer = TopK<T, std::int64_t, K>;
  using Best = typename Reducer::value_type;
  Kokkos::View<T**, Kokkos::LayoutLeft, MemoryOf<Exec>> keys;
  Answers<T, MemoryOf<Exec>> out;
  Options options;
  KOKKOS_FUNCTION void operator()(
      typename Kokkos::TeamPolicy<Exec>::member_type const& member) const {
    int const row = member.league_rank();
    Best best;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, static_cast<int>(keys.extent(1))),
        [&](int i, Best& of_thread) { of_thread.offer(keys(row, i), i); }, Reducer(best, options));
    Kokkos::single(Kokkos::PerTeam(member), [&] { store(out, row, best); });
  }
};

/// A reduction by the lanes of each thread.
template <class Exec, class T, int K>
struct ReduceInThread {
  using Reducer = TopK<T, std::int64_t, K>;
  using Best = typename Reducer::value_type;
  Kokkos::View<T**, Kokkos::LayoutLeft, MemoryOf<Exec>> keys;
  Answers<T, MemoryOf<Exec>> out;
  Options options;
  KOKKOS_FUNCTION void operator()(
      typename Kokkos::TeamPolicy<Exec>::member_type const& member) const {
    int const row = member.league_rank();
    Best best;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, static_cast<int>(keys.extent(1))),
        [&](int i, Best& of_lane) { of_lane.offer(keys(row, i), i); }, Reducer(best, options));
    Kokkos::single(Kokkos::PerThread(member), [&] { store(out, row, best); });
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("a reducer of lanes selects as top_k does", "[team]", Types) {
  constexpr int k = 10;
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    int const most = Kokkos::TeamPolicy<Exec>::vector_length_max();
    for (Input input : {Input::normal, Input::all_equal, Input::few_values})
      for (Options const& options : sorted_options<TestType>())
        for (std::int64_t const n : {3, 500})
          for (int const lanes : {1, 2, 8, 32})
            if (lanes <= most)
              ask<TestType>(exec, input, 3, n, k, options, validation,
                            [&](auto const& keys, auto const& out) {
                              Kokkos::parallel_for(
                                  "test::reduce_in_thread",
                                  Kokkos::TeamPolicy<Exec>(exec, 3, 1, lanes),
                                  ReduceInThread<Exec, TestType, k>{keys, out, options});
                            });
  });
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a reducer selects as top_k does", "[team]", Types) {
  constexpr int k = 10;
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    using Reducer = ReducerOn<Exec, TestType, k>;
    using Memory = MemoryOf<Exec>;
    for (Input input : {Input::normal, Input::nans, Input::all_equal, Input::few_values})
      for (Options const& options : sorted_options<TestType>())
        for (std::int64_t const n : {3, 500, 9000}) {
          if (is_float_key<TestType> || input != Input::nans)
            ask<TestType>(
                exec, input, 2, n, k, options, validation, [&](auto const& keys, auto const& out) {
                  Kokkos::View<typename Reducer::value_type, Memory> const best("best");
                  auto const host = Kokkos::create_mirror_view(best);
                  auto const values = Kokkos::create_mirror_view(out.values);
                  auto const indices = Kokkos::create_mirror_view(out.indices);
                  auto const counts = Kokkos::create_mirror_view(out.counts);
                  for (int row = 0; row < 2; ++row) {
                    Kokkos::parallel_reduce("test::reduce", Kokkos::RangePolicy<Exec>(exec, 0, n),
                                            OfferRow<Exec, TestType, k>{keys, row},
                                            Reducer(best, options));
                    exec.fence();
                    Kokkos::deep_copy(host, best);
                    for (int slot = 0; slot < k; ++slot) {
                      values(row, slot) = host().values[slot];
                      indices(row, slot) = host().indices[slot];
                    }
                    counts(row) = host().count;
                  }
                  Kokkos::deep_copy(out.values, values);
                  Kokkos::deep_copy(out.indices, indices);
                  Kokkos::deep_copy(out.counts, counts);
                });
          if (n > 500) continue;
          for (int const team : team_sizes(exec))
            if (team <= 256)
              ask<TestType>(exec, input, 3, n, k, options, validation,
                            [&](auto const& keys, auto const& out) {
                              Kokkos::parallel_for(
                                  "test::reduce_in_team", Kokkos::TeamPolicy<Exec>(exec, 3, team),
                                  ReduceInTeam<Exec, TestType, k>{keys, out, options});
                            });
        }
  });
  validation.close();
}

}  // namespace ktopk::testing
