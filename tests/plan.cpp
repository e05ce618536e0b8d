// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stdexcept>
#include <utility>

#include "support/recorder.hpp"
#include "support/rejects.hpp"
#include "support/run.hpp"

// What a Plan does with Views that have fewer rows than it was made for, or are not of its shape.

namespace ktopk::testing {
namespace {

template <class Exec>
using Keys = Kokkos::View<float**, Kokkos::LayoutRight, typename Exec::memory_space>;
template <class Exec>
using Row = Kokkos::View<float*, typename Exec::memory_space>;
template <class Exec>
using Integers = Kokkos::View<std::int64_t*, typename Exec::memory_space>;

/// Keys that all tests of a space share, and outputs of some rows.
template <class Exec>
struct Scene {
  Row<Exec> keys;
  Keys<Exec> values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, typename Exec::memory_space> indices;
  Integers<Exec> counts;

  Scene(std::vector<float> const& from, std::int64_t rows, std::int64_t k)
      : keys("test::keys", from.size()),
        values("test::values", rows, k),
        indices("test::indices", rows, k),
        counts("test::counts", rows) {
    Kokkos::deep_copy(keys,
                      Kokkos::View<float const*, Kokkos::HostSpace>(from.data(), from.size()));
  }
  /// The first rows of the keys as a matrix.
  auto matrix(std::int64_t rows, std::int64_t n) const {
    return Kokkos::View<float**, Kokkos::LayoutRight, typename Exec::memory_space,
                        Kokkos::MemoryTraits<Kokkos::Unmanaged>>(keys.data(), rows, n);
  }
};

template <class View>
auto first_rows(View const& view, std::int64_t rows) {
  if constexpr (View::rank == 1)
    return Kokkos::subview(view, Kokkos::make_pair(std::int64_t{0}, rows));
  else
    return Kokkos::subview(view, Kokkos::make_pair(std::int64_t{0}, rows), Kokkos::ALL);
}

template <class View>
auto host_copy(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Whether the first rows are equal; all indices differ if the values do.
template <class Exec>
bool same_rows(Scene<Exec> const& a, Scene<Exec> const& b, std::int64_t rows) {
  auto const first = host_copy(a.indices), second = host_copy(b.indices);
  auto const one = host_copy(a.values), other = host_copy(b.values);
  auto const some = host_copy(a.counts), others = host_copy(b.counts);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (some(row) != others(row)) return false;
    for (std::size_t slot = 0; slot < one.extent(1); ++slot)
      if (first(row, slot) != second(row, slot) || one(row, slot) != other(row, slot)) return false;
  }
  return true;
}

struct Sizes {
  std::int64_t rows, n, k;
};
/// Rows that groups share, rows that they do not, and some of which only a few are shared.
std::vector<Sizes> const all_sizes{{8, 70'000, 40}, {7, 70'000, 300},  {37, 3'000, 5},
                                   {300, 100, 7},   {3, 200'000, 200}, {9, 131'072, 15},
                                   {5, 40'000, 1}};

std::vector<std::int64_t> fewer_rows(std::int64_t rows) {
  std::vector<std::int64_t> all{rows, 0, 1, 3, rows / 2, rows - 1};
  std::erase_if(all, [&](std::int64_t r) { return r < 0 || r > rows; });
  return all;
}

template <class Body>
void for_each_algorithm_and_space(Body const& body) {
  for_each_space([&](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec)) {
      INFO(exec.name() << ", " << name(algorithm));
      body(exec, algorithm);
    }
  });
}

/// Checks that a call of a Plan allocates nothing of ours.
template <class Call>
void run_quietly(Call const& call) {
  Recorder const record;
  call();
  for (Event const& event : record.all(Event::Kind::allocation))
    CHECK(event.label.find("ktopk") == std::string::npos);
}

using Exec = Kokkos::DefaultExecutionSpace;

}  // namespace

TEST_CASE("a Plan takes fewer rows than it was made for", "[plan]") {
  for (Sizes const& sizes : all_sizes) {
    std::int64_t const rows = sizes.rows, n = sizes.n, k = sizes.k;
    auto const keys = make_keys<float>(Input::few_values, rows * n, 5);
    for_each_algorithm_and_space([&](auto const& exec, Algorithm algorithm) {
      using Space = std::decay_t<decltype(exec)>;
      Scene<Space> const whole(keys, rows, k);
      top_k(exec, whole.matrix(rows, n), whole.values, whole.indices,
            per_row(nothing, whole.counts), {.algorithm = Algorithm::radix});
      Plan<Space> plan(exec, make_shape<float>(rows, n, k), {.algorithm = algorithm});
      for (std::int64_t const r : fewer_rows(rows)) {
        Scene<Space> const some(keys, rows, k);
        run_quietly([&] {
          plan(some.matrix(r, n), first_rows(some.values, r), first_rows(some.indices, r),
               per_row(nothing, first_rows(some.counts, r)));
        });
        exec.fence();
        INFO(r << " of " << rows << " rows, n = " << n << ", k = " << k);
        CHECK(same_rows(some, whole, r));
      }
    });
  }
}

TEST_CASE("a Plan takes fewer ragged rows and fewer keys than it was made for", "[plan]") {
  for (Sizes const& sizes : all_sizes) {
    std::int64_t const rows = sizes.rows, n = sizes.n, k = sizes.k;
    std::int64_t const all = rows * n;
    auto const keys = make_keys<float>(Input::uniform, all, 5);
    std::vector<std::int64_t> offsets{0};
    for (std::int64_t row = 0; row < rows; ++row)
      offsets.push_back(row % 3 == 1 ? offsets.back() + n / 50 : (row + 1) * n);
    for_each_algorithm_and_space([&](auto const& exec, Algorithm algorithm) {
      using Space = std::decay_t<decltype(exec)>;
      Integers<Space> const begins("test::offsets", offsets.size());
      Kokkos::deep_copy(begins, Kokkos::View<std::int64_t const*, Kokkos::HostSpace>(
                                    offsets.data(), offsets.size()));
      Kokkos::View<std::int64_t*, Kokkos::HostSpace> const wanted("test::wanted", rows);
      for (std::int64_t row = 0; row < rows; ++row) wanted(row) = row % 4 == 0 ? k / 2 : k;
      Shape shape = make_shape<float>(rows, all, k);
      shape.ragged = shape.k_per_row = true;
      Plan<Space> plan(exec, shape, {.algorithm = algorithm});
      for (std::int64_t const r : fewer_rows(rows))
        // The last row is cut where the keys end, in the middle of it.
        for (std::int64_t const most : {all, std::max<std::int64_t>(0, r * n - n / 2)}) {
          Scene<Space> const whole(keys, rows, k), some(keys, rows, k);
          auto const call = [&](Scene<Space> const& scene, auto const& select) {
            select(ragged(first_rows(scene.keys, most), first_rows(begins, r + 1)),
                   first_rows(scene.values, r), first_rows(scene.indices, r),
                   per_row(first_rows(wanted, r), first_rows(scene.counts, r)));
          };
          call(whole, [&](auto const&... arguments) {
            top_k(exec, arguments..., Options{.algorithm = Algorithm::radix});
          });
          run_quietly([&] { call(some, [&](auto const&... arguments) { plan(arguments...); }); });
          exec.fence();
          INFO(r << " of " << rows << " rows, " << most << " of " << all << " keys, k = " << k);
          CHECK(same_rows(some, whole, r));
        }
    });
  }
}

/// Otherwise the tests above would not test batches.
TEST_CASE("some calls of fewer rows need more than the Plan holds", "[plan]") {
  int in_batches = 0;
  for_each_space([&](auto const& exec) {
    using Space = std::decay_t<decltype(exec)>;
    if (exec.concurrency() != 3) return;
    for (Algorithm algorithm : algorithms_on(exec))
      for (Sizes const& sizes : all_sizes) {
        std::int64_t const rows = sizes.rows, n = sizes.n, k = sizes.k;
        Plan<Space> const plan(exec, make_shape<float>(rows, n, k), {.algorithm = algorithm});
        for (std::int64_t const r : fewer_rows(rows))
          if (workspace_bytes(exec, make_shape<float>(r, n, k), {.algorithm = plan.algorithm()}) >
              plan.workspace_bytes())
            ++in_batches;
      }
  });
  if (in_batches == 0) SKIP("needs three threads");
}

TEST_CASE("a Plan of equal rows says that its Shape lacks ragged", "[plan]") {
  Exec const exec;
  Scene<Exec> const scene(std::vector<float>(30), 3, 4);
  Integers<Exec> const offsets("test::offsets", 4);
  auto const call = [&](Plan<Exec>& plan) {
    plan(ragged(scene.keys, offsets), scene.values, scene.indices);
  };
  for (std::int64_t n : {10, 30, 1'000'000}) {
    Plan<Exec> plan(exec, make_shape<float>(3, n, 4));
    rejects([&] { call(plan); }, {"ktopk::Plan", "3 ragged rows", "30 keys", "ragged = true"});
  }
  Shape shape = make_shape<float>(3, 30, 4);
  shape.ragged = true;
  Plan<Exec> of_ragged(exec, shape);
  CHECK_NOTHROW(call(of_ragged));
  rejects([&] { of_ragged(scene.matrix(3, 10), scene.values, scene.indices); },
          {"ktopk::Plan", "3 equal rows", "10 keys", "ragged = true"});
  shape.n = 29;
  Plan<Exec> of_fewer(exec, shape);
  rejects([&] { call(of_fewer); }, {"ktopk::Plan", "keys", "30", "29"});
  exec.fence();
}

TEST_CASE("a Plan says that its Shape lacks k_per_row", "[plan]") {
  Exec const exec;
  Scene<Exec> const scene(std::vector<float>(30), 3, 4);
  Integers<Exec> const wanted("test::wanted", 3);
  for (Algorithm algorithm : {Algorithm::automatic, Algorithm::heap, Algorithm::sort}) {
    Plan<Exec> plan(exec, make_shape<float>(3, 10, 4), {.algorithm = algorithm});
    rejects([&] { plan(scene.matrix(3, 10), scene.values, scene.indices, per_row(wanted)); },
            {"ktopk::Plan", "3 rows", "k_per_row = true"});
    CHECK_NOTHROW(
        plan(scene.matrix(3, 10), scene.values, scene.indices, per_row(nothing, scene.counts)));
  }
  exec.fence();
}

TEST_CASE("a Plan of more rows than it was made for", "[plan]") {
  Exec const exec;
  Scene<Exec> const scene(std::vector<float>(30), 3, 4);
  Plan<Exec> plan(exec, make_shape<float>(2, 10, 4));
  rejects([&] { plan(scene.matrix(3, 10), scene.values, scene.indices); },
          {"ktopk::Plan", "rows", "3", "2"});
}

TEST_CASE("a Shape without key_bytes", "[plan]") {
  Shape shape{1, 10, 4};
  rejects([&] { Plan<Exec>(Exec(), shape); }, {"ktopk::Plan", "key_bytes", "0"});
  rejects([&] { (void)workspace_bytes(Exec(), shape); },
          {"ktopk::workspace_bytes", "key_bytes", "0"});
  shape.key_bytes = 3;
  rejects([&] { Plan<Exec>(Exec(), shape); }, {"ktopk::Plan", "key_bytes", "3"});
}

TEST_CASE("a Plan that was moved from", "[plan]") {
  Exec const exec;
  Scene<Exec> const scene(std::vector<float>(30), 3, 4);
  auto const call = [&](Plan<Exec>& plan) {
    plan(scene.matrix(3, 10), scene.values, scene.indices);
  };
  auto const make = [&] { return Plan<Exec>(exec, make_shape<float>(3, 10, 4)); };
  Plan<Exec> first = make();
  Plan<Exec> second = std::move(first);
  rejects([&] { call(first); }, {"ktopk::Plan", "moved from"});
  CHECK_NOTHROW(call(second));
  first = std::move(second);
  CHECK_NOTHROW(call(first));
  rejects([&] { call(second); }, {"ktopk::Plan", "moved from"});
  second = make();
  CHECK_NOTHROW(call(second));
  exec.fence();
}

}  // namespace ktopk::testing
