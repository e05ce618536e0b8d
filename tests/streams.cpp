// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include <thread>
#include <type_traits>
#include <utility>

#include "support/run.hpp"

namespace ktopk::testing {
namespace {

constexpr std::int64_t n = 60'000, k = 50;

/// A Plan with its own keys and outputs on one instance.
template <class Exec>
class Worker {
  using Memory = typename Exec::memory_space;

 public:
  Worker(Exec const& exec, Options const& options, std::uint64_t seed)
      : m_exec(exec),
        m_options(options),
        m_plan(exec, make_shape<float>(1, n, k), options),
        m_keys("test::keys", n),
        m_values("test::values", k),
        m_indices("test::indices", k) {
    set_keys(seed);
  }

  void set_keys(std::uint64_t seed) {
    m_question = uniform_question(make_keys<float>(Input::uniform, n, seed), 1, n, k);
    auto const host = Kokkos::create_mirror_view(m_keys);
    std::copy(m_question.keys.begin(), m_question.keys.end(), host.data());
    Kokkos::deep_copy(m_keys, host);
    Kokkos::deep_copy(m_values, 0.0F);
    Kokkos::deep_copy(m_indices, -7);
  }

  void enqueue() { m_plan(m_keys, m_values, m_indices); }

  void validate(Validation& validation, char const* what) const {
    m_exec.fence();
    auto const value = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_values);
    auto const index = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_indices);
    Answer<float> const answer{
        {value.data(), value.data() + k}, {index.data(), index.data() + k}, {}};
    validation.expect(m_question, solve(m_question, m_options), answer, m_options,
                      [&] { return std::string(m_exec.name()) + ", " + what; });
  }

 private:
  Exec m_exec;
  Options m_options;
  Plan<Exec> m_plan;
  Kokkos::View<float*, Memory> m_keys, m_values;
  Kokkos::View<std::int64_t*, Memory> m_indices;
  Question<float> m_question;
};

/// Whether the space lets two host threads use two of its instances at a time.
template <class Exec>
constexpr bool serves_two_threads = true;
#ifdef KOKKOS_ENABLE_THREADS
template <>
constexpr bool serves_two_threads<Kokkos::Threads> = false;
#endif

template <class Body>
void for_each_pair(Body const& body) {
  for_each_space([&](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec)) {
      Options const options{.algorithm = algorithm};
      auto const instances = Kokkos::Experimental::partition_space(exec, 1, 1);
      Worker a(instances[0], options, 1), b(instances[1], options, 2);
      body(a, b);
    }
  });
}

}  // namespace

TEST_CASE("two instances, calls in turn without a fence", "[streams]") {
  Validation validation;
  for_each_pair([&](auto& a, auto& b) {
    for (int round = 0; round < 5; ++round) {
      a.enqueue();
      b.enqueue();
    }
    a.validate(validation, "first of two");
    b.validate(validation, "second of two");
  });
  validation.close();
}

TEST_CASE("a Plan's calls follow each other with other keys", "[streams]") {
  Validation validation;
  for_each_pair([&](auto& a, auto&) {
    for (std::uint64_t seed = 10; seed < 14; ++seed) {
      a.set_keys(seed);
      a.enqueue();
      a.validate(validation, "again");
    }
  });
  validation.close();
}

TEST_CASE("a Plan has its workspace to itself, and moves with it", "[streams]") {
  Validation validation;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = typename Exec::memory_space;
    using Keys = Kokkos::View<float*, Memory>;
    using Indices = Kokkos::View<int*, Memory>;
    static_assert(!std::is_copy_constructible_v<Plan<Exec>> &&
                  !std::is_copy_assignable_v<Plan<Exec>>);
    static_assert(std::is_move_constructible_v<Plan<Exec>> &&
                  std::is_move_assignable_v<Plan<Exec>>);
    static_assert(std::is_invocable_v<Plan<Exec>&, Keys const&, Keys const&, Indices const&>);
    static_assert(
        !std::is_invocable_v<Plan<Exec> const&, Keys const&, Keys const&, Indices const&>);
    Options const options{.algorithm = Algorithm::sort};
    Worker<Exec> first(exec, options, 30);
    Worker<Exec> second(std::move(first));
    second.enqueue();
    second.validate(validation, "moved");
    first = Worker<Exec>(exec, options, 31);
    first.enqueue();
    first.validate(validation, "assigned");
  });
  validation.close();
}

#if defined(KOKKOS_ENABLE_SERIAL) || defined(KOKKOS_ENABLE_OPENMP) || \
    defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
TEST_CASE("two host threads, each with an instance", "[streams]") {
  Validation validation;
  for_each_space([&]<class Exec>(Exec const& exec) {
    if constexpr (serves_two_threads<Exec>)
      for (Algorithm algorithm : algorithms_on(exec)) {
        auto const instances = Kokkos::Experimental::partition_space(exec, 1, 1);
        Worker<Exec> a(instances[0], {.algorithm = algorithm}, 1),
            b(instances[1], {.algorithm = algorithm}, 2);
        std::thread other([&] {
          for (int round = 0; round < 5; ++round) b.enqueue();
        });
        for (int round = 0; round < 5; ++round) a.enqueue();
        other.join();
        a.validate(validation, "first thread");
        b.validate(validation, "second thread");
      }
  });
  validation.close();
}
#endif

#ifdef KOKKOS_ENABLE_CUDA
TEST_CASE("a Plan's call is captured in a CUDA graph and replayed", "[streams][graph]") {
  Validation validation;
  for (Algorithm algorithm : all_algorithms()) {
    INFO(name(algorithm));
    auto const exec = Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1)[0];
    Worker<Kokkos::Cuda> worker(exec, {.algorithm = algorithm}, 1);
    worker.enqueue();
    exec.fence();
    cudaGraph_t graph{};
    cudaGraphExec_t replay{};
    REQUIRE(cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeGlobal) == cudaSuccess);
    worker.enqueue();
    REQUIRE(cudaStreamEndCapture(exec.cuda_stream(), &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
    for (std::uint64_t seed = 20; seed < 23; ++seed) {
      worker.set_keys(seed);
      Kokkos::fence();
      REQUIRE(cudaGraphLaunch(replay, exec.cuda_stream()) == cudaSuccess);
      worker.validate(validation, "replayed");
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  validation.close();
}
#endif

}  // namespace ktopk::testing
