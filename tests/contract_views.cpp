// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/run.hpp"

namespace ktopk::testing {
namespace {

using Some = std::tuple<std::uint8_t, float>;

/// rows x columns elements somewhere in an array.
struct Placement {
  std::int64_t rows, columns, first, row_stride, column_stride;

  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return first + row * row_stride + column * column_stride;
  }
  std::int64_t size() const { return first + rows * columns * 4 + 8; }
};

enum Way { right, left, part_of_right, part_of_left, every_other, every_other_down };
constexpr int ways = 6;

Placement place(int way, std::int64_t rows, std::int64_t columns) {
  switch (way) {
    case right: return {rows, columns, 0, columns, 1};
    case left: return {rows, columns, 0, 1, rows};
    case part_of_right: return {rows, columns, columns + 3, columns + 1, 1};
    case part_of_left: return {rows, columns, 3 * rows, 1, rows + 2};
    case every_other: return {rows, columns, 1, 2 * columns, 2};
    default: return {rows, columns, 5, 2, 2 * rows + 1};
  }
}

/// An array in which a View lies; all the rest of it must stay marked.
template <class Exec, class T>
class Placed {
 public:
  explicit Placed(Placement const& where) : m_where(where), m_buffer(where.size() * sizeof(T)) {}

  void write(std::vector<T> const& items) {
    std::vector<T> all(m_where.size());
    for (std::int64_t i = 0; i < m_where.rows * m_where.columns; ++i)
      all[m_where.at(i / m_where.columns, i % m_where.columns)] = items[i];
    m_buffer.upload(all);
  }

  std::vector<T> read() {
    auto const all = m_buffer.template download<T>(m_where.size());
    std::vector<T> items;
    std::vector<bool> inside(all.size());
    for (std::int64_t row = 0; row < m_where.rows; ++row)
      for (std::int64_t column = 0; column < m_where.columns; ++column) {
        items.push_back(all[m_where.at(row, column)]);
        inside[m_where.at(row, column)] = true;
      }
    T mark;
    std::memset(&mark, 0xa5, sizeof mark);
    bool touched = !m_buffer.untouched_from(all.size() * sizeof(T));
    for (std::size_t i = 0; i < all.size(); ++i) touched |= !inside[i] && !same_bits(all[i], mark);
    CHECK_FALSE(touched);
    return items;
  }

  auto strided() const {
    return view<Kokkos::LayoutStride>(Kokkos::LayoutStride(m_where.rows, m_where.row_stride,
                                                           m_where.columns, m_where.column_stride));
  }

  /// `Layout` is the layout of the placement: right or left.
  template <class Layout>
  auto packed() const {
    return view<Layout>(Layout(m_where.rows, m_where.columns));
  }

 private:
  template <class Layout>
  auto view(Layout const& layout) const {
    return Kokkos::View<T**, Layout, typename Exec::memory_space,
                        Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
        m_buffer.template as<T>() + m_where.first, layout);
  }

  Placement m_where;
  Buffer<Exec> m_buffer;
};

/// Keys, values and indices each placed their own way.
template <class Exec, class T>
struct Scene {
  Placed<Exec, T> keys, values;
  Placed<Exec, std::int64_t> indices;

  Answer<T> answer() { return {values.read(), indices.read(), {}}; }

  template <class Layout>
  void ask_packed(Exec const& exec, Options const& options) {
    top_k(exec, keys.template packed<Layout>(), values.template packed<Layout>(),
          indices.template packed<Layout>(), options);
    exec.fence();
  }

  void ask_strided(Exec const& exec, Options const& options) {
    top_k(exec, keys.strided(), values.strided(), indices.strided(), options);
    exec.fence();
  }
};

template <class Exec, class T>
void ask_every_way(Exec const& exec, Question<T> const& question, std::int64_t n,
                   Verdict& verdict) {
  auto const truth = solve(question, {});
  std::int64_t const rows = question.rows(), k = question.width;
  for (int of_keys = 0; of_keys < ways; ++of_keys)
    for (int of_values = 0; of_values < ways; ++of_values)
      for (Algorithm algorithm : all_algorithms()) {
        int const of_indices = of_keys < 2 ? of_values : (of_keys + of_values) % ways;
        Scene<Exec, T> scene{Placed<Exec, T>(place(of_keys, rows, n)),
                             Placed<Exec, T>(place(of_values, rows, k)),
                             Placed<Exec, std::int64_t>(place(of_indices, rows, k))};
        scene.keys.write(question.keys);
        Options const options{.algorithm = algorithm};
        if (of_keys == right && of_values == right)
          scene.template ask_packed<Kokkos::LayoutRight>(exec, options);
        else if (of_keys == left && of_values == left)
          scene.template ask_packed<Kokkos::LayoutLeft>(exec, options);
        else
          scene.ask_strided(exec, options);
        verdict.expect(question, truth, scene.answer(), options, [&] {
          return std::string(Exec::name()) + ", keys by way " + std::to_string(of_keys) +
                 ", values by way " + std::to_string(of_values) +
                 ", rows = " + std::to_string(rows) + ", n = " + std::to_string(n);
        });
      }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("keys and outputs of any layout and stride", "[contract][views]", Some) {
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    for (auto [rows, n, k] : {std::tuple(1, 700, 5), std::tuple(4, 300, 300), std::tuple(9, 33, 7),
                              std::tuple(2, 20'000, 30)})
      ask_every_way(exec,
                    uniform_question(make_keys<TestType>(Input::uniform, rows * n, 11), rows, n, k),
                    n, verdict);
  });
  verdict.close();
}

TEST_CASE("rows and columns of a matrix as Views of rank 1, keys const", "[contract][views]") {
  Verdict verdict;
  auto const keys = make_keys<float>(Input::few_values, 1500, 13);
  auto const question = uniform_question(keys, 1, 1500, 20);
  auto const truth = solve(question, {});
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    auto const ask = [&](auto matrix_of_layout, bool column) {
      auto const matrix = matrix_of_layout;
      auto const host = Kokkos::create_mirror_view(matrix);
      for (int i = 0; i < 1500; ++i) (column ? host(i, 1) : host(1, i)) = keys[i];
      Kokkos::deep_copy(matrix, host);
      Buffer<Exec> values(20 * sizeof(float)), indices(20 * sizeof(std::int64_t));
      Kokkos::View<float*, typename Exec::memory_space,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>> const value(values.template as<float>(),
                                                                        20);
      Kokkos::View<std::int64_t*, typename Exec::memory_space> const index(
          indices.template as<std::int64_t>(), 20);
      typename std::decay_t<decltype(matrix)>::const_type const read_only = matrix;
      if (column)
        top_k(exec, Kokkos::subview(read_only, Kokkos::ALL, 1), value, index);
      else
        top_k(exec, Kokkos::subview(read_only, 1, Kokkos::ALL), value, index);
      exec.fence();
      Answer<float> const answer{
          values.template download<float>(20), indices.template download<std::int64_t>(20), {}};
      verdict.expect(question, truth, answer, {}, [&] {
        return std::string(exec.name()) + (column ? ", a column" : ", a row");
      });
    };
    using Memory = typename Exec::memory_space;
    ask(Kokkos::View<float**, Kokkos::LayoutLeft, Memory>("test::matrix", 1500, 3), true);
    ask(Kokkos::View<float**, Kokkos::LayoutRight, Memory>("test::matrix", 1500, 3), true);
    ask(Kokkos::View<float**, Kokkos::LayoutLeft, Memory>("test::matrix", 3, 1500), false);
    ask(Kokkos::View<float**, Kokkos::LayoutRight, Memory>("test::matrix", 3, 1500), false);
  });
  verdict.close();
}

TEST_CASE("rows that are not aligned", "[contract][views]") {
  Verdict verdict;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (std::int64_t n : {1000, 1001, 40'003})
      for (std::int64_t shift : {1, 2, 3, 5, 7}) {
        auto const question =
            uniform_question(make_keys<std::uint8_t>(Input::normal, n, 17), 1, n, 12);
        auto const truth = solve(question, {});
        Placed<Exec, std::uint8_t> all({1, n, shift, n, 1});
        all.write(question.keys);
        auto const keys = Kokkos::subview(all.strided(), 0, Kokkos::ALL);
        for (Algorithm algorithm : all_algorithms()) {
          Options const options{.algorithm = algorithm};
          Buffer<Exec> indices(12 * 8);
          Kokkos::View<std::int64_t*, typename Exec::memory_space,
                       Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
              out(indices.template as<std::int64_t>(), 12);
          top_k(exec, keys, nothing, out, options);
          exec.fence();
          Answer<std::uint8_t> const answer{{}, indices.template download<std::int64_t>(12), {}};
          verdict.expect(question, truth, answer, options, [&] {
            return std::string(exec.name()) + ", shifted by " + std::to_string(shift);
          });
        }
      }
  });
  verdict.close();
}

TEST_CASE("nothing to select is valid and touches nothing", "[contract][views]") {
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = typename Exec::memory_space;
    for (Algorithm algorithm : all_algorithms())
      for (auto [rows, n] :
           {std::pair(0, 0), std::pair(0, 10), std::pair(3, 0), std::pair(3, 10)}) {
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
  auto const question = uniform_question(make_keys<float>(Input::uniform, 9000, 19), 3, 3000, 25);
  auto const truth = solve(question, {});
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Device = Kokkos::Device<Exec, typename Exec::memory_space>;
    Kokkos::View<float**, Kokkos::LayoutRight, Device> const keys("test::keys", 3, 3000);
    Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Device> const indices("test::indices", 3,
                                                                             25);
    auto const host = Kokkos::create_mirror_view(keys);
    std::copy(question.keys.begin(), question.keys.end(), host.data());
    Kokkos::deep_copy(keys, host);
    top_k(keys, nothing, indices);
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
    Answer<float> const answer{
        {},
        signed_indices(std::vector<std::uint32_t>(found.data(), found.data() + found.size())),
        {}};
    verdict.expect(question, truth, answer, {}, [&] { return std::string(exec.name()); });
  });
  verdict.close();
}

}  // namespace ktopk::testing
