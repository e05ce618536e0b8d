// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include <ktopk/core/one_pass_plan.hpp>
#include <ktopk/core/workspace.hpp>
#include <ktopk/detail/checks.hpp>

#include <limits>
#include <stdexcept>

#include "dispatch/choose.hpp"
#include "portable/bisection/bisection.hpp"
#include "portable/bitonic/bitonic.hpp"
#include "portable/bucket/bucket.hpp"
#include "portable/delegate/delegate.hpp"
#include "portable/delegate/two_stage.hpp"
#include "portable/heap/heap.hpp"
#include "portable/one_pass/one_pass.hpp"
#include "portable/queue/queue.hpp"
#include "portable/quick/quick.hpp"
#include "portable/radix/radix.hpp"
#include "portable/sample/sample.hpp"
#include "portable/sort/sort.hpp"
#include "support/run.hpp"

// The sizes that a host computes, at the limits of what the contract allows. A sanitizer sees what overflows.

namespace ktopk::testing {
namespace {

using namespace ktopk::detail;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Calls body(shape) for the corners of all sizes: the smallest, the largest, and those beside powers of two.
template <class Body>
void for_each_corner(Body const& body) {
  constexpr std::int64_t longest = longest_row;
  for (std::int64_t rows : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{4'097},
                            (std::int64_t{1} << 23) - 1, most_rows})
    for (std::int64_t length : {std::int64_t{0}, std::int64_t{1}, std::int64_t{127},
                                std::int64_t{2'048}, (std::int64_t{1} << 16) + 1,
                                std::int64_t{1} << 20, (std::int64_t{1} << 32) + 1, longest}) {
      std::int64_t const n = std::min(length, most / std::max<std::int64_t>(1, rows));
      for (std::int64_t wanted :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{255}, std::int64_t{2'048}, n / 16, n / 4,
            n, std::int64_t{1} << 61, most})
        for (bool ragged : {false, true})
          for (int key_bytes : {1, 2, 4, 8}) {
            std::int64_t k = std::min(wanted, most / std::max<std::int64_t>(1, rows));
            if (!ragged && rows > 0) k = std::min(k, n);
            Shape shape{rows, ragged ? length : n, k, key_bytes};
            shape.ragged = ragged;
            shape.k_per_row = ragged || k % 2 == 1;
            body(shape);
          }
    }
}

std::vector<Options> planned_options() {
  std::vector<Options> all;
  for (Algorithm algorithm : all_algorithms())
    for (Sorted sorted : {Sorted::yes, Sorted::no})
      all.push_back({.sorted = sorted, .algorithm = algorithm});
  for (Algorithm inner : {Algorithm::bucket, Algorithm::bitonic})
    all.push_back({.algorithm = Algorithm::delegate, .inner = inner});
  all.push_back({.algorithm = Algorithm::delegate, .recall = 0.9});
  return all;
}

/// The sizes of a portable implementation where it supports the shape; a device's, too, where there is none.
template <class Implementation>
void plan_portable(Device const& device, Shape const& shape, Options const& options) {
  if (Implementation::declines({device, shape, options}) != nullptr) return;
  if (shape.rows == 0 || shape.k == 0) return;
  CHECK(Implementation::workspace_bytes(device, shape, options) <=
        WorkspaceLayout::most + WorkspaceLayout::alignment);
}

}  // namespace

TEST_CASE("workspace_bytes at the limits of all sizes", "[planning]") {
  auto const all = planned_options();
  for_each_space([&](auto const& exec) {
    int planned = 0, refused = 0;
    for_each_corner([&](Shape const& shape) {
      for (Options const& options : all) try {
          planned += workspace_bytes(exec, shape, options) < WorkspaceLayout::most;
        } catch (std::invalid_argument const& error) {
          ++refused;
          if (std::string(error.what()).find("2^63 bytes") == std::string::npos)
            FAIL_CHECK(error.what());
        }
    });
    INFO(exec.name());
    CHECK(planned > refused);
    CHECK(refused > 0);
  });
}

TEST_CASE("a Plan of no rows, whatever k", "[planning]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (Options const& options : planned_options())
      CHECK_NOTHROW(
          Plan<Exec>(exec, make_shape<float>(0, 1 << 20, std::int64_t{1} << 61), options));
  });
}

TEST_CASE("portable implementations plan for devices at the limits of all sizes", "[planning]") {
  for (Device const device : {Device{false, 270'336}, Device{true, 1}, Device{true, 1'024}})
    for_each_corner([&](Shape const& shape) {
      for (Sorted sorted : {Sorted::yes, Sorted::no}) {
        Options options{.sorted = sorted};
        plan_portable<OnePass<Generic>>(device, shape, options);
        plan_portable<Radix<Generic>>(device, shape, options);
        plan_portable<Bitonic<Generic>>(device, shape, options);
        plan_portable<Heap<Generic>>(device, shape, options);
        plan_portable<Queue<Generic>>(device, shape, options);
        plan_portable<Sort<Generic>>(device, shape, options);
        plan_portable<Bucket<Generic>>(device, shape, options);
        plan_portable<Sample<Generic>>(device, shape, options);
        plan_portable<Quick<Generic>>(device, shape, options);
        plan_portable<Bisection<Generic>>(device, shape, options);
        for (Algorithm inner : {Algorithm::radix, Algorithm::bucket, Algorithm::bitonic}) {
          options.inner = inner;
          plan_portable<Delegate<Generic>>(device, shape, options);
          Options approximate = options;
          approximate.algorithm = Algorithm::delegate;
          approximate.recall = 0.9;
          plan_portable<TwoStage>(device, shape, approximate);
        }
      }
    });
}

TEST_CASE("the choice at the limits of all sizes", "[planning]") {
  Figures figures;
  for (NamedFigure const& figure : named_figures(figures, true)) *figure.second = 1;
  for (NamedFigure const& figure : named_figures(figures, false)) *figure.second = 1;
  for (Device const device : {Device{false, 270'336}, Device{true, 16}})
    for_each_corner([&](Shape const& shape) {
      for (TunedAlgorithms const& tuned :
           {TunedAlgorithms{}, TunedAlgorithms{true, true, true, true, true}})
        for (bool packed : {true, false}) {
          Shape with = shape;
          with.packed = packed;
          CHECK(choose(device, with, tuned) != Algorithm::automatic);
          CHECK(choose(device, with, tuned, figures) != Algorithm::automatic);
        }
    });
}

/// What the docstring of workspace_bytes states.
TEST_CASE("the workspace of radix is bounded", "[planning]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    if (!is_host_space<Exec>) return;
    for_each_corner([&](Shape const& shape) {
      for (Sorted sorted : {Sorted::yes, Sorted::no}) {
        double const composite = composite_key_bytes(shape.key_bytes, shape.n);
        double const rows = static_cast<double>(shape.rows),
                     keys = static_cast<double>(shape.keys()), threads = exec.concurrency();
        double const lists =
            sorted == Sorted::yes ? 2 * rows * static_cast<double>(shape.k) * composite : 0;
        double const bound = keys / 4 * composite + lists + 136 * rows + 430'000 * threads + 8192;
        if (bound > 9e18) continue;
        CAPTURE(shape.rows, shape.n, shape.k, shape.key_bytes, shape.ragged);
        CHECK(static_cast<double>(workspace_bytes(
                  exec, shape, {.sorted = sorted, .algorithm = Algorithm::radix})) <= bound);
      }
    });
  });
}

}  // namespace ktopk::testing
