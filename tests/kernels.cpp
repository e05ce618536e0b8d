// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <set>
#include <string_view>

#include "dispatch/kernel_table.hpp"
#include "support/algorithm.hpp"
#include "support/recorder.hpp"

// Every line of the table by name: that it runs where `explain` says so, and that it is right on every hostile input.

namespace ktopk::testing {
namespace {

/// Runs only where it is asked for by a recall. \see tests/recall.cpp
constexpr std::string_view approximate = ktopk::detail::TwoStage::label;

/// One key type of each width, floating-point where there is one.
using WidthTypes = std::tuple<std::uint8_t, bfloat16, float, double>;
using FloatTypes = std::tuple<bfloat16, float, double>;

struct Size {
  std::int64_t rows, n, k;
  ktopk::detail::KeyLayout layout = ktopk::detail::KeyLayout::packed;
};

using enum ktopk::detail::KeyLayout;

/// From small to large: of these each kernel gets the first that reaches it.
constexpr Size sizes[] = {
    {5, 300, 32},         {64, 2000, 100},     {3, 6000, 40},        {40, 5000, 100, side_by_side},
    {3, 8000, 500},       {3, 20'000, 300},    {200, 3000, 60},      {9, 60'000, 50},
    {700, 5000, 100},     {2400, 4101, 9},     {2, 140'000, 300},    {2, 300'000, 9000},
    {1, 600'000, 70'000}, {1, 3'000'000, 100}, {1, 13'000'000, 2000}};

/// The first size at which the kernel serves, as the library itself explains.
template <class T, class Exec>
std::optional<Size> size_that_reaches(Exec const& exec, ktopk::detail::Kernel<Exec> const& kernel,
                                      Options options) {
  options.algorithm = kernel.algorithm;
  for (Size const& size : sizes) {
    Shape shape = make_shape<T>(size.rows, size.n, size.k);
    shape.packed = size.layout == packed;
    if (explain(exec, shape, options).kernel == kernel.label) return size;
  }
  return std::nullopt;
}

bool ran(Recorder const& record, std::string const& label) {
  for (auto kind : {Event::Kind::region, Event::Kind::kernel})
    for (Event const& event : record.all(kind))
      if (event.label == label || event.label.starts_with(label + "::")) return true;
  return false;
}

template <class T, class Exec>
void expect_kernel(Exec const& exec, ktopk::detail::Kernel<Exec> const& kernel, Size const& size,
                   Input input, Options const& options, Validation& validation) {
  auto const question =
      uniform_question(make_keys<T>(input, size.rows * size.n, 5), size.rows, size.n, size.k);
  UniformCall<Exec, T> call(exec, question.keys, size.rows, size.n, size.k);
  Recorder const record;
  Answer<T> const answer =
      size.layout == packed ? call(size.k, options) : call.with_neighbors(size.k, options);
  INFO(kernel.label << ", " << name(input) << ", " << key_name<T>());
  CHECK(ran(record, kernel.label));
  validation.expect(question, solve(question, options), answer, options,
                    [&] { return std::string(kernel.label) + ", " + name(input); });
}

/// Of long rows every fourth input: others with each width of keys.
template <class T>
bool is_asked(Size const& size, Input input) {
  constexpr std::int64_t many = 1 << 20;
  return size.rows * size.n < many || static_cast<int>(input) % 4 == std::countr_zero(sizeof(T));
}

template <class T, class Exec>
bool validate_kernel(Exec const& exec, ktopk::detail::Kernel<Exec> const& kernel,
                     Validation& validation) {
  bool reached = false;
  for (Sorted const sorted : {Sorted::no, Sorted::yes}) {
    auto const size = size_that_reaches<T>(exec, kernel, {.sorted = sorted});
    if (!size) continue;
    reached = true;
    for (auto const& [input, input_name] : input_table) {
      if (!is_asked<T>(*size, input)) continue;
      auto const all = all_options<T>();
      Options options = all[random_bits(11, static_cast<int>(input)) % all.size()];
      options.sorted = sorted;
      options.algorithm = kernel.algorithm;
      expect_kernel<T>(exec, kernel, *size, input, options, validation);
    }
  }
  return reached;
}

/// Rows side by side, of sizes of which the host's kernel of a name copies tiles, on every hostile input.
template <class T>
void validate_tiles(char const* label, std::initializer_list<Size> sizes) {
  if (!ktopk::detail::is_host_space<Kokkos::DefaultExecutionSpace>) SKIP("this is of hosts");
  Validation validation;
  for_each_space([&]<class Exec>(Exec const& exec) {
    if (!ktopk::detail::is_host_space<Exec> || !serves_tuned(exec)) return;
    auto by_tiles = ktopk::detail::kernels_of<Exec>().front();
    by_tiles.label = label;
    auto const all = all_options<T>();
    int next = 0;
    for (Size size : sizes)
      for (auto const& [input, input_name] : input_table) {
        if (!is_asked<T>(size, input)) continue;
        Options options = all[random_bits(12, next++) % all.size()];
        options.algorithm = by_tiles.algorithm;
        size.layout = side_by_side;
        expect_kernel<T>(exec, by_tiles, size, input, options, validation);
      }
  });
  validation.close();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every kernel of the table, on every hostile input", "[kernels]",
                        WidthTypes) {
  Validation validation;
  for_each_space([&]<class Exec>(Exec const& exec) {
    for (auto const& kernel : ktopk::detail::kernels_of<Exec>()) {
      bool const tuned =
          serves_tuned(exec) && ktopk::detail::TunedKernels<Exec>::has_key_bytes(sizeof(TestType));
      if (kernel.tuned != tuned) continue;
      if (kernel.label == approximate) continue;
      INFO(exec.name() << ", " << kernel.label);
      bool const reached = validate_kernel<TestType>(exec, kernel, validation);
      CHECK((reached || sizeof(TestType) != 4));
    }
  });
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("short rows side by side are copied by tiles on hosts", "[kernels]",
                        WidthTypes) {
  validate_tiles<TestType>("ktopk::host::one_pass::side_by_side",
                           {{150, 513, 40}, {9, 8192, 300}, {70, 33, 33}});
}

TEMPLATE_LIST_TEST_CASE("long rows side by side are read by tiles on hosts", "[kernels]",
                        WidthTypes) {
  validate_tiles<TestType>("ktopk::host::one_pass::keep_side_by_side",
                           {{37, 9'001, 60}, {5, 70'003, 200}, {135, 9'001, 20}});
  for (auto const threshold :
       {ktopk::detail::Threshold::too_low, ktopk::detail::Threshold::too_high}) {
    ktopk::detail::ForceThreshold const force(threshold);
    validate_tiles<TestType>("ktopk::host::one_pass::keep_side_by_side", {{4, 9'001, 30}});
  }
}

TEMPLATE_LIST_TEST_CASE("every kernel that compares magnitudes, on every hostile input",
                        "[kernels]", FloatTypes) {
  Validation validation;
  auto const all = more_options<TestType>();
  for_each_space([&]<class Exec>(Exec const& exec) {
    int reached = 0;
    for (auto const& kernel : ktopk::detail::kernels_of<Exec>()) {
      if (!size_that_reaches<TestType>(exec, kernel, {.by = By::magnitude})) continue;
      ++reached;
      for (auto const& [input, input_name] : input_table) {
        Options options =
            all[random_bits(12, reached * 100 + static_cast<int>(input)) % all.size()];
        options.by = By::magnitude;
        options.algorithm = kernel.algorithm;
        auto const size = size_that_reaches<TestType>(exec, kernel, options);
        if (!size || !is_asked<TestType>(*size, input)) continue;
        expect_kernel<TestType>(exec, kernel, *size, input, options, validation);
      }
    }
    CHECK(reached > 10);
  });
  validation.close();
}

TEST_CASE("the labels of the table are different, and radix serves whatever is asked",
          "[kernels]") {
  for_each_space([]<class Exec>(Exec const& exec) {
    std::set<std::string> labels;
    for (auto const& kernel : ktopk::detail::kernels_of<Exec>()) labels.insert(kernel.label);
    CHECK(labels.size() == ktopk::detail::kernels_of<Exec>().size());
    Options const options{.algorithm = Algorithm::bitonic};
    auto const explained = explain(exec, make_shape<float>(3, 100'000, 5000), options);
    CHECK(explained.algorithm == Algorithm::radix);
    CHECK_FALSE(explained.declined.empty());
    for (auto const& [kernel, reason] : explained.declined) {
      CHECK(labels.contains(kernel));
      CHECK_FALSE(reason.empty());
    }
    CHECK(to_string(explained).find(explained.declined.front().reason) != std::string::npos);
  });
}

TEST_CASE("what is explained is what runs, by a call and by a Plan", "[kernels]") {
  for_each_space([]<class Exec>(Exec const& exec) {
    using Memory = typename Exec::memory_space;
    for (Size const& size : sizes)
      for (Sorted const sorted : {Sorted::no, Sorted::yes}) {
        if (size.layout != packed || size.rows * size.n > 1'000'000) continue;
        INFO(exec.name() << ", " << size.rows << " x " << size.n << ", k = " << size.k);
        Kokkos::View<float**, Kokkos::LayoutRight, Memory> const keys("test::keys", size.rows,
                                                                      size.n),
            values("test::values", size.rows, size.k);
        Shape const shape = make_shape<float>(size.rows, size.n, size.k);
        Options const options{.sorted = sorted};
        std::string const label = explain(exec, shape, options).kernel;
        Plan<Exec> plan(exec, shape, options);
        for (bool by_plan : {false, true}) {
          Recorder const record;
          if (by_plan)
            plan(keys, values, nothing);
          else
            top_k(exec, keys, values, nothing, options);
          exec.fence();
          CHECK(ran(record, label));
        }
      }
  });
}

TEST_CASE("nothing is explained where nothing is selected", "[kernels]") {
  for_each_space([](auto const& exec) {
    CHECK(explain(exec, make_shape<float>(0, 100, 5)).kernel.empty());
    CHECK(explain(exec, make_shape<float>(3, 100, 0)).kernel.empty());
    CHECK(to_string(explain(exec, make_shape<float>(3, 100, 0))) == "nothing is selected\n");
    CHECK_THROWS_AS(explain(exec, make_shape<float>(3, 100, 101)), std::invalid_argument);
  });
}

}  // namespace ktopk::testing
