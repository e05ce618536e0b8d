// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <ktopk/computed.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/explain.hpp>
#include <ktopk/ktopk.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "baseline_rows.hpp"
#include "measure.hpp"
#include "verify.hpp"
#ifdef KTOPK_PERF_CUB
#include "baselines_cub.hpp"
#endif

// Keys that are computed or masked, and other questions than the best keys: each of few key types, for each takes long to
// compile.

namespace ktopk::perf {

namespace {

template <class Exec>
using Marks = Kokkos::View<bool**, Kokkos::LayoutRight, typename Exec::memory_space>;

/// What a question is asked of.
template <class Exec, class T>
struct Asked {
  Exec exec;
  Case c;
  KeyView<Exec, T> keys;
  Marks<Exec> marks;  // of no extent without a mask

  bool is_masked() const { return marks.size() != 0; }
  Options options() const {
    return {.sorted = c.sorted,
            .ties = c.ties,
            .by = c.key == KeyForm::magnitude ? By::magnitude : By::value};
  }
};

template <class T>
struct Absolute {
  KOKKOS_FUNCTION T operator()(T key) const { return key < 0 ? -key : key; }
};
template <class Keys>
struct Affine {
  Keys keys;
  KOKKOS_FUNCTION typename Keys::non_const_value_type operator()(std::int64_t row,
                                                                 std::int64_t i) const {
    return keys(row, i) / 2 + 1;
  }
};

/// Writes the keys that a case compares; those that its mask leaves out become minus infinity.
template <class Exec, class T>
struct WriteKeys {
  KeyForm form;
  bool is_masked;
  KeyView<Exec, T> keys;
  Marks<Exec> marks;
  KeyView<Exec, T> to;
  std::int64_t part;  // of a row, which a team has

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const n = static_cast<std::int64_t>(keys.extent(1));
    std::int64_t const parts = (n + part - 1) / part, row = team.league_rank() / parts;
    std::int64_t const begin = team.league_rank() % parts * part;
    WriteKeys const& own = *this;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, begin + part < n ? begin + part : n),
                         [&](std::int64_t i) { own.to(row, i) = own.made(row, i); });
  }
  KOKKOS_FUNCTION T made(std::int64_t row, std::int64_t i) const {
    if (is_masked && !marks(row, i)) return -Kokkos::Experimental::infinity_v<T>;
    if (form == KeyForm::plain) return keys(row, i);
    return form == KeyForm::generate ? Affine<KeyView<Exec, T>>{keys}(row, i)
                                     : Absolute<T>{}(keys(row, i));
  }
};

template <class Exec, class T>
void write_keys(Asked<Exec, T> const& asked, KeyView<Exec, T> const& to) {
  constexpr std::int64_t part = 4096;
  std::int64_t const teams = asked.c.rows * ((asked.c.n + part - 1) / part);
  Kokkos::parallel_for(
      "ktopk::perf::write_keys",
      Kokkos::TeamPolicy<Exec>(asked.exec, static_cast<int>(teams), Kokkos::AUTO),
      WriteKeys<Exec, T>{asked.c.key, asked.is_masked(), asked.keys, asked.marks, to, part});
}

template <class Exec>
Marks<Exec> make_marks(Exec const& exec, Case const& c) {
  if (c.mask == "1") return {};
  Marks<Exec> const marks("ktopk::perf::marks", static_cast<std::size_t>(c.rows),
                          static_cast<std::size_t>(c.n));
  auto const least = static_cast<std::uint64_t>(std::stod(c.mask) * 0x1p32);
  bool* const first = marks.data();
  Kokkos::parallel_for(
      "ktopk::perf::marks",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, c.rows * c.n),
      KOKKOS_LAMBDA(std::int64_t i) {
        first[i] = testing::random_bits(23, static_cast<std::uint64_t>(i)) >> 32 < least;
      });
  return marks;
}

/// Keys and marks are read once: the bound is the time for a buffer of their size.
template <class Exec, class T>
void measure_selection(benchmark::State& state, Asked<Exec, T> const& asked,
                       std::function<void()> const& call, std::function<void()> const& check) {
  if (!asked.is_masked())
    return measure<Exec, T>(state, asked.exec, asked.c, asked.keys, [] {}, call, check);
  std::size_t const bytes = asked.keys.size() * sizeof(T) + asked.marks.size();
  Kokkos::View<unsigned char*, typename Exec::memory_space> const read("ktopk::perf::read", bytes);
  measure<Exec>(
      state, asked.exec, asked.c, MustRead{workload_name(asked.c) + "/masked", read.data(), bytes},
      [] {}, call, check);
}

/// Of selected keys, the values that are compared.
template <class Exec, class T>
void verify_selection(Asked<Exec, T> const& asked, KeyView<Exec, T> const& values,
                      KeyView<Exec, std::int32_t> const& indices) {
  auto const made =
      uninitialized<Exec, T>("ktopk::perf::made", asked.keys.extent(0), asked.keys.extent(1));
  write_keys(asked, made);
  auto const compared =
      uninitialized<Exec, T>("ktopk::perf::compared", values.extent(0), values.extent(1));
  Asked<Exec, T> selected{asked.exec, asked.c, values, {}};
  if (asked.c.key != KeyForm::magnitude) selected.c.key = KeyForm::plain;
  selected.c.n = asked.c.k;
  write_keys(selected, compared);
  asked.exec.fence();
  verify(asked.exec, asked.c, made, compared, indices);
}

template <class Exec, class T>
struct Outputs {
  KeyView<Exec, T> values;
  KeyView<Exec, std::int32_t> indices;
  explicit Outputs(Case const& c)
      : values(make_places<Exec, T>("ktopk::perf::values", c)),
        indices(make_places<Exec, std::int32_t>("ktopk::perf::indices", c)) {}
};

template <class Exec, class T, class Source>
void measure_source(benchmark::State& state, Asked<Exec, T> const& asked, Source const& source) {
  Outputs<Exec, T> const out(asked.c);
  Options options = asked.options();
  Plan<Exec> plan(asked.exec, shape_of<std::int32_t>(source, asked.c.k), options);
  measure_selection<Exec, T>(
      state, asked, [&] { plan(source, out.values, out.indices); },
      [&] { verify_selection(asked, out.values, out.indices); });
  options.algorithm = plan.algorithm();
  state.SetLabel(explain(asked.exec, plan.shape(), options).kernel);
}

template <class Exec, class T>
void measure_ours(benchmark::State& state, Asked<Exec, T> const& asked) {
  if (asked.is_masked()) return measure_source(state, asked, where(asked.keys, asked.marks));
  if (asked.c.key == KeyForm::transform)
    return measure_source(state, asked, transform(asked.keys, Absolute<T>{}));
  if (asked.c.key == KeyForm::generate)
    return measure_source(
        state, asked, generate<T>(asked.c.rows, asked.c.n, Affine<KeyView<Exec, T>>{asked.keys}));
  measure_source(state, asked, asked.keys);
}

/// What one does without computed keys: write them, and select.
template <class Exec, class T>
void measure_copy(benchmark::State& state, Asked<Exec, T> const& asked) {
  Outputs<Exec, T> const out(asked.c);
  auto const copy =
      uninitialized<Exec, T>("ktopk::perf::copy", asked.keys.extent(0), asked.keys.extent(1));
  Plan<Exec> plan(asked.exec, shape_of<std::int32_t>(copy, asked.c.k),
                  {.sorted = asked.c.sorted, .ties = asked.c.ties});
  measure_selection<Exec, T>(
      state, asked,
      [&] {
        write_keys(asked, copy);
        plan(copy, out.values, out.indices);
      },
      [&] { verify_selection(asked, out.values, out.indices); });
}

template <class Exec, class T>
void measure_nth_element(benchmark::State& state, Asked<Exec, T> const& asked) {
  auto const copy =
      uninitialized<Exec, T>("ktopk::perf::copy", asked.keys.extent(0), asked.keys.extent(1));
  auto const rows = rows_of(asked.c, copy.data());
  measure_selection<Exec, T>(
      state, asked,
      [&] {
        write_keys(asked, copy);
        over_rows(asked.exec, rows, nth_element_row<T>);
      },
      [&] {
        auto const made =
            uninitialized<Exec, T>("ktopk::perf::made", asked.keys.extent(0), asked.keys.extent(1));
        write_keys(asked, made);
        asked.exec.fence();
        mark_if_wrong<Exec>(state, asked.c, made, [&](std::int64_t row) {
          return rows[static_cast<std::size_t>(row)].begin;
        });
      });
}

#ifdef KTOPK_PERF_CUB
template <class T>
void measure_cub(benchmark::State& state, Asked<Kokkos::Cuda, T> const& asked) {
  Case const& c = asked.c;
  Outputs<Kokkos::Cuda, T> const out(c);
  CubQuestion cub{asked.keys.data(),
                  asked.is_masked() ? asked.marks.data() : nullptr,
                  c.key == KeyForm::generate,
                  c.n,
                  c.k,
                  out.values.data(),
                  out.indices.data()};
  bool const is_both = asked.is_masked() && c.key != KeyForm::plain;
  if (c.rows != 1 || c.sorted == Sorted::yes || is_both || !cub.supported())
    return state.SkipWithError(
        "one row, no sorted output, and keys either computed or masked are what it serves");
  auto const bytes = cub.workspace_bytes();
  Kokkos::View<std::byte*, Kokkos::CudaSpace> const workspace("ktopk::perf::workspace", bytes);
  cub.prepare(workspace.data(), bytes, asked.exec.cuda_stream());
  measure_selection<Kokkos::Cuda, T>(
      state, asked, [&] { cub.run(workspace.data(), bytes, asked.exec.cuda_stream()); },
      [&] { verify_selection(asked, out.values, out.indices); });
}
#endif

template <class Exec, class T>
void measure_best(benchmark::State& state, Asked<Exec, T> const& asked) {
  if (asked.is_masked() && asked.c.k > std::stod(asked.c.mask) * double(asked.c.n) / 2)
    return state.SkipWithError("the mask may leave fewer than k keys");
  if (asked.c.method == "automatic") return measure_ours(state, asked);
  if (asked.c.method == "copy") return measure_copy(state, asked);
  if constexpr (on_host<Exec>) {
    if (asked.c.method == "std::nth_element") return measure_nth_element(state, asked);
  }
#ifdef KTOPK_PERF_CUB
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    if (asked.c.method == "cub::DeviceTopK") return measure_cub(state, asked);
  }
#endif
  state.SkipWithError("this method does not answer it");
}

template <class Exec, class T>
std::int64_t count_reaching(Exec const& exec, KeyRow<T> const& row, T limit) {
  std::int64_t count = 0;
  T const* const keys = row.keys;
  Kokkos::parallel_reduce(
      "ktopk::perf::count_reaching",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, row.n),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& sum) { sum += keys[i] >= limit; }, count);
  return count;
}

/// Calls check(row, its keys) for some rows whose keys are all ordered.
template <class Exec, class T, class Check>
void verify_rows(Asked<Exec, T> const& asked, Check const& check) {
  asked.exec.fence();
  if (!has_nans(asked.c)) for_some_rows<Exec>(asked.c, asked.keys, check);
}

template <class Exec, class T>
void require_rank(Exec const& exec, KeyRow<T> const& row, T value, std::int64_t rank) {
  require(
      count_above(exec, row.keys, row.n, value) <= rank && count_reaching(exec, row, value) > rank,
      "a key has another rank");
}

template <class Exec, class T>
void measure_kth(benchmark::State& state, Asked<Exec, T> const& asked) {
  Kokkos::View<T*, typename Exec::memory_space> const value("ktopk::perf::value",
                                                            static_cast<std::size_t>(asked.c.rows));
  RanksPlan<Exec> plan(asked.exec, make_shape<T>(asked.c.rows, asked.c.n, 1));
  measure_selection<Exec, T>(
      state, asked, [&] { plan.kth(asked.keys, asked.c.k, value); },
      [&] {
        verify_rows(asked, [&](std::int64_t row, KeyRow<T> const& keys) {
          auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), value);
          require_rank(asked.exec, keys, host(row), keys.k - 1);
        });
      });
}

template <class Exec, class T>
void measure_ranks(benchmark::State& state, Asked<Exec, T> const& asked) {
  std::vector<std::int64_t> ranks;
  for (double const q : {0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95})
    ranks.push_back(static_cast<std::int64_t>(q * static_cast<double>(asked.c.n - 1)));
  auto const values = uninitialized<Exec, T>("ktopk::perf::values", asked.c.rows, 7);
  RanksPlan<Exec> plan(asked.exec, make_shape<T>(asked.c.rows, asked.c.n, 1));
  measure_selection<Exec, T>(
      state, asked, [&] { plan.ranks(asked.keys, ranks, values); },
      [&] {
        verify_rows(asked, [&](std::int64_t row, KeyRow<T> const& keys) {
          auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
          for (std::size_t i = 0; i < ranks.size(); ++i)
            require_rank(asked.exec, keys, host(row, i), ranks[i]);
        });
      });
}

/// Bounds among uniform keys, which are from 0 to 1.
template <class Exec, class T>
void measure_count(benchmark::State& state, Asked<Exec, T> const& asked) {
  Kokkos::View<T[4], typename Exec::memory_space> const bounds("ktopk::perf::bounds");
  auto const host_bounds = Kokkos::create_mirror_view(bounds);
  for (int b = 0; b < 4; ++b) host_bounds(b) = static_cast<T>(b + 1) / 5;
  Kokkos::deep_copy(bounds, host_bounds);
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, typename Exec::memory_space> const better(
      "ktopk::perf::better", static_cast<std::size_t>(asked.c.rows), 4);
  measure_selection<Exec, T>(
      state, asked, [&] { count(asked.exec, asked.keys, bounds, better, nothing); },
      [&] {
        verify_rows(asked, [&](std::int64_t row, KeyRow<T> const& keys) {
          auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), better);
          for (int b = 0; b < 4; ++b)
            require(host(row, b) == count_above(asked.exec, keys.keys, keys.n, host_bounds(b)),
                    "a count");
        });
      });
}

/// What reaches the k-th key, which is found beforehand.
template <class Exec, class T>
void measure_reaching(benchmark::State& state, Asked<Exec, T> const& asked) {
  Outputs<Exec, T> const out(asked.c);
  using Memory = typename Exec::memory_space;
  auto const rows = static_cast<std::size_t>(asked.c.rows);
  Kokkos::View<T*, Memory> const thresholds("ktopk::perf::thresholds", rows);
  Kokkos::View<std::int64_t*, Memory> const counts("ktopk::perf::counts", rows);
  kth(asked.exec, asked.keys, asked.c.k, thresholds);
  ReachingPlan<Exec> plan(asked.exec, make_shape<T, std::int32_t>(asked.c.rows, asked.c.n, 1));
  measure_selection<Exec, T>(
      state, asked, [&] { plan(asked.keys, thresholds, out.values, out.indices, counts); },
      [&] {
        verify_rows(asked, [&](std::int64_t row, KeyRow<T> const& keys) {
          auto const at = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), thresholds);
          auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
          require(host(row) == count_reaching(asked.exec, keys, at(row)), "a count");
        });
      });
}

template <class Exec, class T>
void measure_asked(benchmark::State& state, Exec const& exec, Case const& c) {
  Asked<Exec, T> const asked{exec, c, key_cache.get<Exec, T>(c), make_marks(exec, c)};
  switch (c.ask) {
    case Ask::kth: return measure_kth(state, asked);
    case Ask::ranks: return measure_ranks(state, asked);
    case Ask::count: return measure_count(state, asked);
    case Ask::reaching: return measure_reaching(state, asked);
    default:
      if constexpr (std::same_as<T, float>)
        measure_best(state, asked);
      else
        state.SkipWithError("computed and masked keys are measured with f32");
  }
}

}  // namespace

void measure_question(benchmark::State& state, Case const& c) {
  if (c.ask == Ask::kth && c.method != "automatic") return measure_baseline(state, c);
  if (c.n > std::numeric_limits<std::int32_t>::max())
    return state.SkipWithError("questions are asked of rows of up to 2^31 - 1 keys");
  std::optional<detail::ForcePortable> portable;
  if (c.implementations == Implementations::portable) portable.emplace();
  with_backend_and_type(state, c, [&]<class Exec, class T>(Exec const& exec, KeyType<T>) {
    if constexpr (std::same_as<T, float> || std::same_as<T, double>)
      measure_asked<Exec, T>(state, exec, c);
    else
      state.SkipWithError("questions are measured with f32 and f64");
  });
}

}  // namespace ktopk::perf
