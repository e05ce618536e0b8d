// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "portable/refinement/refinement.hpp"
#include "support/run.hpp"

// bucket, sample and quick on rows that several groups share, where the refinement continues in lists and in radix.

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;

using Widths = std::tuple<std::uint8_t, bfloat16, std::int32_t, float, double>;

constexpr Algorithm algorithms[] = {Algorithm::bucket, Algorithm::sample, Algorithm::quick};

template <class T>
void select_each(std::int64_t rows, std::int64_t n, std::int64_t k, Input input,
                 testing::Validation& validation) {
  auto const all = all_options<T>();
  auto const question = uniform_question(make_keys<T>(input, rows * n, 9), rows, n, k);
  Options options = all[random_bits(11, n + 100 * k + static_cast<int>(input)) % all.size()];
  auto const truth = solve(question, options);
  for (Algorithm algorithm : algorithms) {
    options.algorithm = algorithm;
    for_each_space([&](auto const& exec) {
      UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, rows, n, k);
      validation.expect(question, truth, call(k, options), options, [&] {
        return std::string(exec.name()) + ", " + name(input) + ", rows = " + std::to_string(rows) +
               ", n = " + std::to_string(n) + ", k = " + std::to_string(k);
      });
    });
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("implementations that refine partitions, on long rows of every input",
                        "[refinement]", Widths) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t rows : {1, 2}) {
      std::int64_t const n = 70'001;
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{2000}, n / 2})
        select_each<TestType>(rows, n, k, input, validation);
    }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("implementations that refine partitions, on rows of a group each",
                        "[refinement]", Widths) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {70, 3000, 20'000})
      for (std::int64_t k : {std::int64_t{1}, n / 20, n / 2})
        select_each<TestType>(5, n, k, input, validation);
  validation.close();
}

namespace {

/// The refinement of one row of floats, inspected: it writes the positions of selected keys.
template <class Splitters>
class OneRow {
  using Bits = std::uint32_t;

 public:
  using Work = PartitionRefinement<Splitters, KeySource<StoredRows<Bits>, CompositeKey64>, Bits,
                                   CompositeKey64>;

  OneRow(std::vector<float> keys, std::int64_t k, Device const& device)
      : m_keys(std::move(keys)), m_positions(static_cast<std::size_t>(k)) {
    std::int64_t const n = std::ssize(m_keys);
    auto problem = make_stored_problem<Bits>(make_shape<float>(1, n, k));
    problem.rank = make_ordered_bits_map<float>(m_options);
    problem.rows.keys = reinterpret_cast<Bits const*>(m_keys.data());
    problem.out.indices = m_positions.data();
    m_source.problem = problem;
    m_source.map = make_composite_key_map<CompositeKey64>(problem.rank, n, m_options.ties);
    WorkspaceLayout sizes;
    RefinementScratch<CompositeKey64>(sizes, device, {1, n, n}, Splitters::ways);
    m_memory.resize(sizes.bytes());
    WorkspaceLayout layout(m_memory.data());
    m_scratch = RefinementScratch<CompositeKey64>(layout, device, {1, n, n}, Splitters::ways);
  }

  Work work() const { return {m_source, m_scratch, {m_source.problem, m_source.map, nullptr}}; }
  bool is_settled() const { return m_scratch.states[0].settled; }
  bool is_right() {
    auto best =
        best_positions(m_keys.data(), std::ssize(m_keys), std::ssize(m_positions), m_options);
    std::sort(best.begin(), best.end());
    std::sort(m_positions.begin(), m_positions.end());
    return m_positions == best;
  }

 private:
  Options m_options{.sorted = Sorted::no};
  std::vector<float> m_keys;
  std::vector<std::int64_t> m_positions;
  std::vector<std::byte> m_memory;
  KeySource<StoredRows<Bits>, CompositeKey64> m_source{};
  RefinementScratch<CompositeKey64> m_scratch;
};

/// On which a fixed number of passes suffices; others may be left to radix.
constexpr Input easy_inputs[] = {Input::uniform, Input::normal, Input::ascending, Input::all_equal};

}  // namespace

TEMPLATE_TEST_CASE("partitions are refined without radix", "[refinement]", EqualParts,
                   FifteenSplitters, OnePivot) {
  for (Input input : easy_inputs)
    for (std::int64_t n : {20'000, 200'000})
      for_each_space([&](auto const& exec) {
        if constexpr (is_host_space<std::decay_t<decltype(exec)>>) {
          OneRow<TestType> row(make_keys<float>(input, n, 9), n / 40, device_of(exec));
          refine(exec, row.work(), TestType::passes, TestType::labels);
          exec.fence();
          CAPTURE(exec.name(), name(input), n);
          CHECK(row.is_settled());
          CHECK(row.is_right());
        }
      });
}

#if defined(KOKKOS_ENABLE_OPENMP)
TEMPLATE_TEST_CASE("a team refines partitions as a thread does", "[refinement]", EqualParts,
                   FifteenSplitters, OnePivot) {
  Kokkos::OpenMP const exec;
  for (Input input : easy_inputs)
    for (std::int64_t n : {100, 3000, 20'000}) {
      using Body = RefineWholeRow<typename OneRow<TestType>::Work>;
      OneRow<TestType> row(make_keys<float>(input, n, 9), n / 40, device_of(exec));
      constexpr int shared = OneRow<TestType>::Work::shared_bytes;
      Kokkos::TeamPolicy<Kokkos::OpenMP> policy(exec, 1, std::min(2, exec.concurrency()));
      policy.set_scratch_size(0, Kokkos::PerTeam(shared + 16));
      Kokkos::parallel_for("test::team", policy, OnTeams<Body>{{row.work()}, shared});
      exec.fence();
      CAPTURE(name(input), n);
      CHECK(row.is_settled());
      CHECK(row.is_right());
    }
}
#endif

TEST_CASE("a thread counts no more keys of a part than 32 bits hold", "[refinement]") {
  for (int threads : {1, 64})
    for (std::int64_t rows : {1, 1000})
      for (std::int64_t n : {std::int64_t{1} << 20, std::int64_t{1} << 33, std::int64_t{1} << 40}) {
        WorkspaceLayout layout;
        RefinementScratch<CompositeKey64> const scratch(layout, {true, threads}, {rows, n, n}, 16);
        CHECK(part_of(n, 0, scratch.parts).end < std::int64_t{1} << 32);
      }
}

}  // namespace ktopk::detail
