// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/run.hpp"

namespace ktopk::testing {
namespace {

using Some = std::tuple<std::uint8_t, std::int16_t, float, double>;

template <class T, class Layout, class Exec>
using Panel = Kokkos::View<T**, Layout, typename Exec::memory_space>;

template <class T, class Exec>
using Strided = Kokkos::View<T**, Kokkos::LayoutStride, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
inline constexpr T marker = static_cast<T>(99);

/// A View of any layout inside a larger array, the rest of which must stay as it is.
template <class View, class Parent>
struct Placed {
  using T = typename View::non_const_value_type;
  View view;
  Parent parent;

  /// Marks the view's own elements again and looks at the whole array.
  bool left_the_rest_alone() const {
    Kokkos::deep_copy(view, marker<T>);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), parent);
    return std::all_of(host.data(), host.data() + host.span(), [](T item) { return item == marker<T>; });
  }
};

/// rows x columns, the way `way` says, in an array twice as large each way.
template <class T, class Exec, class Body>
void place(int way, std::int64_t rows, std::int64_t columns, Body const& body) {
  auto const whole = [&](auto layout) {
    Panel<T, decltype(layout), Exec> parent("test::parent", rows, columns);
    Kokkos::deep_copy(parent, marker<T>);
    body(Placed<decltype(parent), decltype(parent)>{parent, parent});
  };
  auto const part = [&](auto layout) {
    Panel<T, decltype(layout), Exec> parent("test::parent", 2 * rows, 2 * columns + 1);
    Kokkos::deep_copy(parent, marker<T>);
    auto const view = Kokkos::subview(parent, std::pair(rows, 2 * rows), std::pair(std::int64_t{1}, 1 + columns));
    body(Placed<std::decay_t<decltype(view)>, decltype(parent)>{view, parent});
  };
  auto const every_other = [&](std::int64_t row_stride, std::int64_t column_stride) {
    Kokkos::View<T*, typename Exec::memory_space> parent("test::parent", 4 * rows * columns + 4);
    Kokkos::deep_copy(parent, marker<T>);
    Strided<T, Exec> const view(parent.data() + 3,
                                Kokkos::LayoutStride(rows, row_stride, columns, column_stride));
    body(Placed<Strided<T, Exec>, decltype(parent)>{view, parent});
  };
  if (way == 0) whole(Kokkos::LayoutRight());
  if (way == 1) whole(Kokkos::LayoutLeft());
  if (way == 2) part(Kokkos::LayoutRight());
  if (way == 3) part(Kokkos::LayoutLeft());
  if (way == 4) every_other(2 * columns, 2);
  if (way == 5) every_other(2, 2 * rows);
}
constexpr int ways = 6;

template <class Exec, class View, class T>
void write(View const& view, std::vector<T> const& items) {
  Panel<T, Kokkos::LayoutRight, Exec> const packed("test::packed", view.extent(0), view.extent(1));
  auto const host = Kokkos::create_mirror_view(packed);
  std::copy(items.begin(), items.end(), host.data());
  Kokkos::deep_copy(packed, host);
  Kokkos::deep_copy(view, packed);
}

template <class Exec, class View>
auto read(View const& view) {
  using T = typename View::non_const_value_type;
  Panel<T, Kokkos::LayoutRight, Exec> const packed("test::packed", view.extent(0), view.extent(1));
  Kokkos::deep_copy(packed, view);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), packed);
  return std::vector<T>(host.data(), host.data() + host.size());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("keys and outputs of any layout and stride", "[contract][views]", Some) {
  using T = TestType;
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (auto [rows, n, k] : {std::tuple(1, 700, 5), std::tuple(4, 300, 300), std::tuple(9, 33, 7)}) {
      auto const question = uniform_question(make_keys<T>(Input::uniform, rows * n, 11), rows, n, k);
      auto const truth    = solve(question, {});
      for (int way = 0; way < ways; ++way)
        place<T, Exec>(way, rows, n, [&](auto const& keys) {
          write<Exec>(keys.view, question.keys);
          int const out = (way * 5 + rows) % ways;
          place<T, Exec>(out, rows, k, [&](auto const& values) {
            place<std::int64_t, Exec>(way, rows, k, [&](auto const& indices) {
              for (Algorithm algorithm : all_algorithms()) {
                Options const options{.algorithm = algorithm};
                top_k(exec, keys.view, values.view, indices.view, options);
                exec.fence();
                Answer<T> const answer{read<Exec>(values.view), read<Exec>(indices.view), {}};
                verdict.expect(question, truth, answer, options, [&] {
                  return std::string(exec.name()) + ", keys by way " + std::to_string(way) + ", values by way " +
                         std::to_string(out) + ", n = " + std::to_string(n);
                });
                CHECK(values.left_the_rest_alone());
                CHECK(indices.left_the_rest_alone());
              }
            });
          });
        });
    }
  });
  verdict.close();
}

TEMPLATE_LIST_TEST_CASE("rows and columns of a matrix as Views of rank 1", "[contract][views]", Some) {
  using T = TestType;
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    using Exec            = std::decay_t<decltype(exec)>;
    std::int64_t const n  = 1500, k = 20;
    auto const keys       = make_keys<T>(Input::few_values, n, 13);
    auto const question   = uniform_question(keys, 1, n, k);
    auto const truth      = solve(question, {});
    auto const ask_column = [&](auto layout, bool column) {
      using Layout = decltype(layout);
      Panel<T, Layout, Exec> const matrix("test::matrix", column ? n : 3, column ? 3 : n);
      Panel<T, Layout, Exec> const values("test::values", column ? k : 3, column ? 3 : k);
      Panel<std::int64_t, Layout, Exec> const indices("test::indices", column ? k : 3, column ? 3 : k);
      auto const line = [column](auto const& view) {
        return Kokkos::subview(view, column ? std::pair<std::size_t, std::size_t>(0, view.extent(0)) : std::pair<std::size_t, std::size_t>(1, 2),
                               column ? std::pair<std::size_t, std::size_t>(1, 2) : std::pair<std::size_t, std::size_t>(0, view.extent(1)));
      };
      write<Exec>(line(matrix), keys);
      auto const ask = [&](auto const& row, auto const& value, auto const& index) {
        Kokkos::View<typename std::decay_t<decltype(row)>::const_data_type, typename std::decay_t<decltype(row)>::array_layout,
                     typename Exec::memory_space> const read_only = row;
        top_k(exec, read_only, value, index);
        exec.fence();
      };
      if (column)
        ask(Kokkos::subview(matrix, Kokkos::ALL, 1), Kokkos::subview(values, Kokkos::ALL, 1),
            Kokkos::subview(indices, Kokkos::ALL, 1));
      else
        ask(Kokkos::subview(matrix, 1, Kokkos::ALL), Kokkos::subview(values, 1, Kokkos::ALL),
            Kokkos::subview(indices, 1, Kokkos::ALL));
      Answer<T> const answer{read<Exec>(line(values)), read<Exec>(line(indices)), {}};
      verdict.expect(question, truth, answer, {},
                     [&] { return std::string(exec.name()) + (column ? ", a column" : ", a row"); });
    };
    for (bool column : {false, true}) {
      ask_column(Kokkos::LayoutLeft(), column);
      ask_column(Kokkos::LayoutRight(), column);
    }
  });
  verdict.close();
}

TEST_CASE("rows that are not aligned", "[contract][views]") {
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (std::int64_t n : {1000, 1001, 40'003})
      for (std::int64_t shift : {1, 2, 3, 5, 7}) {
        auto const question = uniform_question(make_keys<std::uint8_t>(Input::normal, n, 17), 1, n, 12);
        auto const truth    = solve(question, {});
        Kokkos::View<std::uint8_t*, typename Exec::memory_space> const all("test::all", n + shift);
        auto const keys = Kokkos::subview(all, std::pair(shift, n + shift));
        auto const host = Kokkos::create_mirror_view(all);
        std::copy(question.keys.begin(), question.keys.end(), host.data() + shift);
        Kokkos::deep_copy(all, host);
        for (Algorithm algorithm : all_algorithms()) {
          Options const options{.algorithm = algorithm};
          Buffer<Exec> indices(12 * 8);
          Kokkos::View<std::int64_t*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const out(
              indices.template as<std::int64_t>(), 12);
          top_k(exec, keys, nothing, out, options);
          exec.fence();
          Answer<std::uint8_t> const answer{{}, indices.template download<std::int64_t>(12), {}};
          verdict.expect(question, truth, answer, options,
                         [&] { return std::string(exec.name()) + ", shifted by " + std::to_string(shift); });
        }
      }
  });
  verdict.close();
}

TEST_CASE("nothing to select is valid and touches nothing", "[contract][views]") {
  for_each_space([&](auto const& exec) {
    using Exec   = std::decay_t<decltype(exec)>;
    using Memory = typename Exec::memory_space;
    for (Algorithm algorithm : all_algorithms())
      for (auto [rows, n] : {std::pair(0, 0), std::pair(0, 10), std::pair(3, 0), std::pair(3, 10)}) {
        Options const options{.algorithm = algorithm};
        INFO(exec.name() << ", " << describe(options) << ", rows = " << rows << ", n = " << n);
        Kokkos::View<float**, Memory> const keys("test::keys", rows, n);
        Kokkos::View<float**, Memory> const values("test::values", rows, 0);
        Kokkos::View<int**, Memory> const indices("test::indices", rows, 0);
        CHECK_NOTHROW(top_k(exec, keys, values, indices, options));
        CHECK_NOTHROW(top_k(keys, nothing, indices, options));
        Plan<Exec> const plan(exec, make_shape<float, int>(rows, n, 0), options);
        CHECK_NOTHROW(plan(keys, values, indices));
        Kokkos::View<int*, Memory> const counts("test::counts", rows);
        Kokkos::deep_copy(counts, 5);
        top_k(exec, keys, values, indices, per_row(nothing, counts), options);
        exec.fence();
        auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
        for (int row = 0; row < rows; ++row) CHECK(host(row) == 0);
      }
    Kokkos::View<float*, Memory> const none("test::none", 0);
    CHECK_NOTHROW(top_k(exec, none, none, nothing));
    CHECK_NOTHROW(top_k(none, none, nothing));
  });
}

TEST_CASE("the call without an instance gives the same answer", "[contract][views]") {
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    using Exec   = std::decay_t<decltype(exec)>;
    auto const question = uniform_question(make_keys<float>(Input::uniform, 9000, 19), 3, 3000, 25);
    auto const truth    = solve(question, {});
    using Memory = Kokkos::Device<Exec, typename Exec::memory_space>;
    Kokkos::View<float**, Kokkos::LayoutRight, Memory> const keys("test::keys", 3, 3000), values("test::values", 3, 25);
    Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Memory> const indices("test::indices", 3, 25);
    write<Exec>(keys, question.keys);
    top_k(keys, values, indices);
    Answer<float> const answer{read<Exec>(values), signed_indices(read<Exec>(indices)), {}};
    verdict.expect(question, truth, answer, {}, [&] { return std::string(exec.name()); });
  });
  verdict.close();
}

}  // namespace ktopk::testing
