// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/placed.hpp"
#include "support/recorder.hpp"

namespace ktopk::testing {
namespace {

/// One key type of each width.
using ViewTypes = std::tuple<std::uint8_t, bfloat16, float, double>;

/// An array in which a View lies; all the rest of it must stay marked.
template <class Exec, class T>
class Placed {
 public:
  explicit Placed(Placement const& where) : m_where(where), m_buffer(where.size() * sizeof(T)) {}

  void write(std::vector<T> const& elements) { m_buffer.upload(lay_out(m_where, elements)); }

  std::vector<T> read() {
    auto const all = m_buffer.template download<T>(m_where.size());
    bool touched = !m_buffer.untouched_from(all.size() * sizeof(T));
    auto elements = take_out(m_where, all, touched);
    CHECK_FALSE(touched);
    return elements;
  }

  template <class Layout>
  auto view() const {
    return placed_view<T, Layout>(m_buffer, m_where);
  }
  auto strided() const { return view<Kokkos::LayoutStride>(); }

 private:
  Placement m_where;
  Buffer<Exec> m_buffer;
};

/// Keys, values and indices each placed their own way.
template <class Exec, class T>
struct Scene {
  Placed<Exec, T> keys, values;
  Placed<Exec, std::int64_t> indices;

  Scene(Question<T> const& question, int of_keys, int of_values, int of_indices)
      : keys(place(of_keys, question.rows(), question.length(0))),
        values(place(of_values, question.rows(), question.width)),
        indices(place(of_indices, question.rows(), question.width)) {
    keys.write(question.keys);
  }

  /// Calls select(keys, values, indices), then takes the answer.
  template <class Layout, class Select>
  Answer<T> ask(Exec const& exec, Layout, Select const& select) {
    select(keys.template view<Layout>(), values.template view<Layout>(),
           indices.template view<Layout>());
    exec.fence();
    return {values.read(), indices.read(), {}};
  }
};

/// Asks by top_k, and by one Plan for all ways.
template <class Exec, class T>
void ask_every_way(Exec const& exec, Question<T> const& question, Algorithm algorithm,
                   Validation& validation) {
  Options const options{.algorithm = algorithm};
  auto const truth = solve(question, options);
  std::int64_t const rows = question.rows(), n = question.length(0);
  Plan<Exec> plan(exec, make_shape<T>(rows, n, question.width), options);
  auto const by_call = [&](auto const&... views) { top_k(exec, views..., options); };
  auto const by_plan = [&](auto const&... views) { plan(views...); };
  for (int of_keys = 0; of_keys < ways; ++of_keys)
    for (int of_values = 0; of_values < ways; ++of_values) {
      int const of_indices = of_keys < 2 ? of_values : (of_keys + of_values) % ways;
      auto const ask = [&](char const* how, auto const& select) {
        Scene<Exec, T> scene(question, of_keys, of_values, of_indices);
        with_layout(of_keys == of_values ? of_keys : int{every_other}, [&](auto layout) {
          validation.expect(question, truth, scene.ask(exec, layout, select), options, [&] {
            return std::string(Exec::name()) + ", " + how + ", keys by way " +
                   std::to_string(of_keys) + ", values by way " + std::to_string(of_values) +
                   ", rows = " + std::to_string(rows) + ", n = " + std::to_string(n);
          });
        });
      };
      ask("by a call", by_call);
      ask("by a Plan", by_plan);
    }
}

/// One Plan and one workspace, made for packed rows, called with every layout in turn.
template <class Exec, class T>
void ask_in_one_workspace(Exec const& exec, Question<T> const& question, Algorithm algorithm,
                          Validation& validation) {
  Options const options{.algorithm = algorithm};
  auto const truth = solve(question, options);
  std::int64_t const rows = question.rows(), n = question.length(0);
  Shape const shape = make_shape<T>(rows, n, question.width);
  Plan<Exec> plan(exec, shape, options);
  Algorithm const planned = plan.algorithm();
  Workspace<Exec> const workspace("test::workspace", workspace_bytes(exec, shape, options));
  auto const by_plan = [&](auto const&... views) { plan(views...); };
  auto const in_workspace = [&](auto const&... views) {
    top_k(exec, views..., options, workspace);
  };
  for (int way = 0; way < ways; ++way) {
    Scene<Exec, T> scene(question, way, way, way);
    auto const check = [&](char const* how, auto const& select) {
      with_layout(way, [&](auto layout) {
        validation.expect(question, truth, scene.ask(exec, layout, select), options, [&] {
          return std::string(Exec::name()) + ", " + how + ", by way " + std::to_string(way) +
                 ", rows = " + std::to_string(rows) + ", n = " + std::to_string(n);
        });
      });
    };
    check("by a Plan", by_plan);
    check("in a workspace", in_workspace);
  }
  CHECK(plan.algorithm() == planned);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("keys and outputs of any layout and stride", "[contract][views]",
                        ViewTypes) {
  Validation validation;
  for_each_space([&](auto const& exec) {
    for (auto [rows, n, k] : {std::tuple(1, 700, 5), std::tuple(4, 300, 300), std::tuple(9, 33, 7),
                              std::tuple(2, 20'000, 30)})
      for (Algorithm algorithm : algorithms_on(exec))
        ask_every_way(
            exec, uniform_question(make_keys<TestType>(Input::uniform, rows * n, 11), rows, n, k),
            algorithm, validation);
  });
  validation.close();
}

/// A Plan and workspace_bytes do not know the layout of the keys. For some shapes `automatic` chooses another
/// algorithm, or on a GPU another backend, if keys have gaps.
TEST_CASE("one Plan and one workspace serve every layout", "[contract][views]") {
  Validation validation;
  auto const question_of = [](std::int64_t rows, std::int64_t n, std::int64_t k) {
    return uniform_question(make_keys<float>(Input::uniform, rows * n, 23), rows, n, k);
  };
  for_each_space([&](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec))
      ask_in_one_workspace(exec, question_of(3, 1 << 18, 32), algorithm, validation);
    for (auto [rows, n, k] :
         {std::tuple(8, 1 << 20, 32), std::tuple(8, 100'000, 400), std::tuple(40, 9000, 700)})
      ask_in_one_workspace(exec, question_of(rows, n, k), Algorithm::automatic, validation);
  });
  validation.close();
}

/// On a GPU one_pass reads neighboring rows together. A warp finishes a row of many, blocks in turn those of few.
TEMPLATE_LIST_TEST_CASE("one_pass of many rows in every layout", "[contract][views]", ViewTypes) {
  Validation validation;
  for_each_space([&](auto const& exec) {
    for (Input input : {Input::uniform, Input::few_values})
      for (auto [rows, n, k] :
           {std::tuple(1030, 700, 9), std::tuple(33, 5000, 600), std::tuple(21, 20'001, 40)})
        ask_in_one_workspace(exec,
                             uniform_question(make_keys<TestType>(input, rows * n, 29), rows, n, k),
                             Algorithm::one_pass, validation);
  });
  validation.close();
}

/// On a GPU the portable radix reads eight neighboring rows together, or two of these six, if groups share them. Of few
/// values or equal ones it cannot tell where the k-th is. Hosts read each row alone, and need no long ones.
TEMPLATE_LIST_TEST_CASE("radix of rows in every layout", "[contract][views]", ViewTypes) {
  Validation validation;
  for_each_space([&](auto const& exec) {
    int const n = ktopk::detail::is_host_space<std::decay_t<decltype(exec)>> ? 1001 : 17'001;
    for (Input input : {Input::uniform, Input::few_values, Input::all_equal})
      for (auto [rows, k] : {std::pair(16, 900), std::pair(6, n - 1)})
        ask_in_one_workspace(exec,
                             uniform_question(make_keys<TestType>(input, rows * n, 31), rows, n, k),
                             Algorithm::radix, validation);
  });
  validation.close();
}

TEST_CASE("rows and columns of a matrix as Views of rank 1, keys const", "[contract][views]") {
  Validation validation;
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
      validation.expect(question, truth, answer, {}, [&] {
        return std::string(exec.name()) + (column ? ", a column" : ", a row");
      });
    };
    using Memory = typename Exec::memory_space;
    ask(Kokkos::View<float**, Kokkos::LayoutLeft, Memory>("test::matrix", 1500, 3), true);
    ask(Kokkos::View<float**, Kokkos::LayoutRight, Memory>("test::matrix", 1500, 3), true);
    ask(Kokkos::View<float**, Kokkos::LayoutLeft, Memory>("test::matrix", 3, 1500), false);
    ask(Kokkos::View<float**, Kokkos::LayoutRight, Memory>("test::matrix", 3, 1500), false);
  });
  validation.close();
}

TEST_CASE("rows that are not aligned", "[contract][views]") {
  Validation validation;
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
        for (Algorithm algorithm : algorithms_on(exec)) {
          Options const options{.algorithm = algorithm};
          Buffer<Exec> indices(12 * 8);
          Kokkos::View<std::int64_t*, typename Exec::memory_space,
                       Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
              out(indices.template as<std::int64_t>(), 12);
          top_k(exec, keys, nothing, out, options);
          exec.fence();
          Answer<std::uint8_t> const answer{{}, indices.template download<std::int64_t>(12), {}};
          validation.expect(question, truth, answer, options, [&] {
            return std::string(exec.name()) + ", shifted by " + std::to_string(shift);
          });
        }
      }
  });
  validation.close();
}

TEST_CASE("nothing to select is valid and touches nothing", "[contract][views]") {
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = typename Exec::memory_space;
    for (Algorithm algorithm : algorithms_on(exec))
      for (auto [rows, n] :
           {std::pair(0, 0), std::pair(0, 10), std::pair(3, 0), std::pair(3, 10)}) {
        Options const options{.algorithm = algorithm};
        INFO(exec.name() << ", " << describe(options) << ", rows = " << rows << ", n = " << n);
        Kokkos::View<float**, Memory> const keys("test::keys", rows, n);
        Kokkos::View<float**, Memory> const values("test::values", rows, 0);
        Kokkos::View<int**, Memory> const indices("test::indices", rows, 0);
        CHECK_NOTHROW(top_k(exec, keys, values, indices, options));
        CHECK_NOTHROW(top_k(keys, nothing, indices, options));
        Plan<Exec> plan(exec, make_shape<float, int>(rows, n, 0), options);
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

// Their layout says nothing: the step from a key to the next is any number. What a call allocates has to do.
TEMPLATE_LIST_TEST_CASE("rows of one key, one below the other", "[contract][views]", ViewTypes) {
  for_each_space([&]<class Exec>(Exec const& exec) {
    using Memory = typename Exec::memory_space;
    for (std::int64_t const rows : {2, 40, 1000})
      for (Options const& options :
           {Options{}, Options{.sorted = Sorted::no}, Options{.nan = NaN::skip}}) {
        Kokkos::View<TestType**, Kokkos::LayoutLeft, Memory> const keys("test::keys", rows, 1),
            values("test::values", rows, 1);
        Kokkos::View<int**, Kokkos::LayoutLeft, Memory> const indices("test::indices", rows, 1);
        Kokkos::deep_copy(keys, TestType(3));
        Kokkos::deep_copy(indices, 7);
        Recorder const record;
        top_k(exec, keys, values, indices, options);
        exec.fence();
        CHECK_FALSE(record.ran("ktopk::host::one_pass::side_by_side"));
        auto const host_values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
        auto const host_indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
        std::int64_t wrong = 0;
        for (std::int64_t row = 0; row < rows; ++row)
          wrong += host_indices(row, 0) != 0 || !same_bits(host_values(row, 0), TestType(3));
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE("the call without an instance gives the same answer", "[contract][views]") {
  Validation validation;
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
    validation.expect(question, truth, answer, {}, [&] { return std::string(exec.name()); });
  });
  validation.close();
}

}  // namespace ktopk::testing
