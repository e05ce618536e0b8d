// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/algorithm.hpp"
#include "support/run.hpp"

// What a CUDA application may do with a call: capture it in a graph, and enqueue it behind work that has not ended.

namespace ktopk::testing {
namespace {

void check(cudaError_t error) {
  INFO(cudaGetErrorString(error));
  REQUIRE(error == cudaSuccess);
}

/// One for each kind of kernel: short rows; batches of large and of small blocks; rows that a block holds, of some
/// thousand keys and more; rows that a cluster holds, with small and with large k; rows that a cluster reads twice, with
/// small k and with k so large that the blocks share the finish; more rows than clusters of a power of two serve at
/// once; rows that the device holds, and that it reads by and by; one row for the whole device in several kernels; large
/// k, in rows that the device holds and in others, and so large that CUB sorts; and many rows with a warp each.
struct Size {
  std::int64_t rows, n, k;
};
constexpr Size sizes[] = {{300, 256, 32},
                          {200, 5000, 100},
                          {700, 5000, 100},
                          {3, 8000, 2500},
                          {200, 3000, 60},
                          {9, 60'000, 50},
                          {3, 60'000, 2000},
                          {1, 50'000, 7},
                          {20, 20'000, 1500},
                          {3, 700'000, 60},
                          {2, 700'000, 2000},
                          {2, 300'000, 700},
                          {1, 3'000'000, 100},
                          {1, 13'000'000, 100},
                          {2, 300'000, 9'000},
                          {2, 300'000, 80'000},
                          {1, 4'300'000, 2'100'000},
                          {2400, 4101, 9}};

/// A Plan with its keys and outputs, and a workspace between guards.
template <class Layout>
class Call {
  using Memory = Kokkos::CudaSpace;

 public:
  Call(Kokkos::Cuda const& exec, Size const& size, Options const& options)
      : m_exec(exec),
        m_size(size),
        m_options(options),
        m_plan(exec, make_shape<float>(size.rows, size.n, size.k), options),
        m_keys("test::keys", size.rows, size.n),
        m_values("test::values", size.rows, size.k),
        m_indices("test::indices", size.rows, size.k) {}

  /// Sets new keys and clears the outputs.
  void set_keys(std::uint64_t seed) {
    auto const [rows, n, k] = m_size;
    m_question = uniform_question(make_keys<float>(Input::uniform, rows * n, seed), rows, n, k);
    auto const host = Kokkos::create_mirror_view(m_keys);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < n; ++i) host(row, i) = m_question.keys[row * n + i];
    Kokkos::deep_copy(m_keys, host);
    Kokkos::deep_copy(m_values, 0.0F);
    Kokkos::deep_copy(m_indices, -7);
  }

  void enqueue() { m_plan(m_keys, m_values, m_indices); }

  void enqueue_allocating() { top_k(m_exec, m_keys, m_values, m_indices, m_options); }

  void enqueue_in(Workspace<Kokkos::Cuda> const& workspace) {
    top_k(m_exec, m_keys, m_values, m_indices, m_options, workspace);
  }
  std::size_t bytes() const {
    return ktopk::workspace_bytes(m_exec, make_shape<float>(m_size.rows, m_size.n, m_size.k),
                                  m_options);
  }

  void validate(Validation& validation, char const* what) const {
    m_exec.fence();
    Answer<float> answer;
    auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_values);
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_indices);
    for (std::int64_t row = 0; row < m_size.rows; ++row)
      for (std::int64_t slot = 0; slot < m_size.k; ++slot) {
        answer.values.push_back(values(row, slot));
        answer.indices.push_back(indices(row, slot));
      }
    validation.expect(m_question, solve(m_question, m_options), answer, m_options, [&] {
      return std::string(what) + ", " + std::to_string(m_size.rows) + " x " +
             std::to_string(m_size.n) + ", k = " + std::to_string(m_size.k);
    });
  }

 private:
  Kokkos::Cuda m_exec;
  Size m_size;
  Options m_options;
  Plan<Kokkos::Cuda> m_plan;
  Kokkos::View<float**, Layout, Memory> m_keys;
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> m_values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> m_indices;
  Question<float> m_question;
};

Kokkos::Cuda other_instance() {
  return Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1, 1)[1];
}

template <class Body>
void for_each_size(Options options, std::span<Size const> of, Body const& body) {
  Kokkos::Cuda const exec = other_instance();
  for (Sorted const sorted : {Sorted::no, Sorted::yes})
    for (Size const& size : of) {
      options.sorted = sorted;
      Call<Kokkos::LayoutRight> right(exec, size, options);
      body(exec, right);
      Call<Kokkos::LayoutLeft> left(exec, size, options);
      body(exec, left);
    }
}

/// By what automatic takes, tuned and portable, and by each portable implementation.
template <class Body>
void for_each_call(Body const& body) {
  for_each_size({}, sizes, body);
  ktopk::detail::ForcePortable const force;
  for_each_size({}, sizes, body);
  for (auto const& info : algorithms())
    for_each_size({.algorithm = info.algorithm}, std::span(sizes).first(3), body);
}

/// Holds a stream from a host function until it is released, or until it has waited for too long.
class Hold {
 public:
  explicit Hold(cudaStream_t stream) { check(cudaLaunchHostFunc(stream, &Hold::wait, this)); }
  /// Whether the stream is still held.
  bool release() {
    m_released = true;
    return !m_late;
  }

 private:
  static void wait(void* self) {
    auto& hold = *static_cast<Hold*>(self);
    auto const begin = std::chrono::steady_clock::now();
    while (!hold.m_released) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
        hold.m_late = true;
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  std::atomic<bool> m_released = false, m_late = false;
};

/// Leaves a pattern in the shared memory of all processors, where a kernel that reads what it did not write finds it.
__global__ void spoil_shared_memory(unsigned pattern) {
  __shared__ unsigned volatile words[48 * 1024 / sizeof(unsigned)];
  for (unsigned i = threadIdx.x; i < sizeof(words) / sizeof(unsigned); i += blockDim.x)
    words[i] = pattern;
}

void spoil_shared_memory_of_device() {
  for (unsigned const pattern : {0u, ~0u, 0x40000000u}) {
    spoil_shared_memory<<<2048, 1024>>>(pattern);
    check(cudaDeviceSynchronize());
  }
}

using NarrowTypes =
    std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, float16, bfloat16>;

/// A host thread's own instance, with a call of each size.
struct Caller {
  explicit Caller(Kokkos::Cuda const& exec_) : exec(exec_) {
    for (Sorted const sorted : {Sorted::yes, Sorted::no})
      for (Size const& size : sizes) {
        if (size.rows * size.n > 2'000'000) continue;
        calls.push_back(
            std::make_unique<Call<Kokkos::LayoutRight>>(exec, size, Options{.sorted = sorted}));
        calls.back()->set_keys(calls.size());
      }
    exec.fence();
  }
  void enqueue_all(int times) {
    try {
      for (int i = 0; i < times; ++i) {
        for (auto const& call : calls) call->enqueue();
        exec.fence();
      }
    } catch (...) { failure = std::current_exception(); }
  }

  Kokkos::Cuda exec;
  std::vector<std::unique_ptr<Call<Kokkos::LayoutRight>>> calls;
  std::exception_ptr failure;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("many rows of some thousand keys, each by a warp", "[api]", KeyTypes) {
  Validation validation;
  for (Input input : {Input::random_bits, Input::few_values, Input::ascending})
    for (std::int64_t k : {1, 32})
      expect_algorithm<TestType>(Algorithm::one_pass, input, 2400, k == 1 ? 4101 : 4096, k,
                                 validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("few rows, each by a cluster of 3 to 16 blocks", "[api]", KeyTypes) {
  Validation validation;
  for (Input input : {Input::random_bits, Input::few_values, Input::ascending})
    for (std::int64_t rows : {5, 9, 16, 20, 32, 40})
      expect_algorithm<TestType>(Algorithm::one_pass, input, rows, 33'001, rows < 20 ? 1024 : 3000,
                                 validation);
  validation.close();
}

/// Where a cluster has three to seven blocks, and where the leading one holds few samples.
TEMPLATE_LIST_TEST_CASE("few rows of narrow keys, each by a cluster of any size", "[api]",
                        NarrowTypes) {
  Validation validation;
  for (Input input : {Input::random_bits, Input::few_values})
    for (std::int64_t rows : {1, 4, 15, 18})
      for (std::int64_t n : {6200, 8191, 10'300, 12'321, 14'400, 15'706, 16'047, 33'001})
        for (std::int64_t k : {n / 40, n / 19}) {
          spoil_shared_memory_of_device();
          expect_algorithm<TestType>(Algorithm::one_pass, input, rows, n, k, validation);
        }
  validation.close();
}

TEST_CASE("several host threads call, each with its own instance and Plans", "[api]") {
  auto const instances = Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1, 1, 1, 1);
  std::vector<Caller> callers(instances.begin(), instances.end());
  std::vector<std::thread> threads;
  for (Caller& caller : callers) threads.emplace_back([&] { caller.enqueue_all(20); });
  for (std::thread& thread : threads) thread.join();
  Validation validation;
  for (Caller const& caller : callers) {
    if (caller.failure) std::rethrow_exception(caller.failure);
    for (auto const& call : caller.calls) call->validate(validation, "beside others");
  }
  validation.close();
}

TEST_CASE("a call throws std::runtime_error where CUDA refuses its kernel", "[api]") {
  Validation validation;
  for (Size const& size : {sizes[0], sizes[1], sizes[5], sizes[9], sizes[12]}) {
    Kokkos::Cuda const exec = other_instance();
    Call<Kokkos::LayoutRight> call(exec, size, {});
    call.set_keys(8);
    exec.fence();
    cudaStream_t const stream = exec.cuda_stream();
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    // A stream that is captured must not be waited for; from then on it accepts nothing.
    CHECK(cudaStreamSynchronize(stream) != cudaSuccess);
    CHECK_THROWS_AS(call.enqueue(), std::runtime_error);
    CHECK_THROWS_AS(call.enqueue_allocating(), std::runtime_error);
    CHECK(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
    static_cast<void>(cudaGetLastError());
    call.enqueue();
    call.validate(validation, "after an error");
  }
  validation.close();
}

TEST_CASE("a Plan is captured in a graph and replayed on other keys", "[api]") {
  Validation validation;
  for_each_call([&](Kokkos::Cuda const& exec, auto& call) {
    call.set_keys(1);
    exec.fence();
    cudaStream_t const stream = exec.cuda_stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    call.enqueue();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&replay, graph, 0));
    for (std::uint64_t seed = 2; seed < 5; ++seed) {
      call.set_keys(seed);
      check(cudaGraphLaunch(replay, stream));
      call.validate(validation, "replayed");
    }
    check(cudaGraphExecDestroy(replay));
    check(cudaGraphDestroy(graph));
  });
  validation.close();
}

TEST_CASE("a call that allocates its workspace returns while its stream is held", "[api]") {
  Validation validation;
  for_each_size({}, sizes, [&](Kokkos::Cuda const& exec, auto& call) {
    call.set_keys(5);
    call.enqueue_allocating();
    exec.fence();
    Hold hold(exec.cuda_stream());
    call.enqueue_allocating();
    CHECK(hold.release());
    call.validate(validation, "held");
  });
  validation.close();
}

TEST_CASE("a Plan's call returns while its stream is held", "[api]") {
  Validation validation;
  for_each_call([&](Kokkos::Cuda const& exec, auto& call) {
    call.set_keys(6);
    exec.fence();
    Hold hold(exec.cuda_stream());
    call.enqueue();
    CHECK(hold.release());
    call.validate(validation, "held");
  });
  validation.close();
}

TEST_CASE("a call writes to its workspace alone", "[api]") {
  constexpr std::size_t guard = 4096;
  constexpr auto mark = std::byte{0xa5};
  Validation validation;
  for_each_call([&](Kokkos::Cuda const&, auto& call) {
    call.set_keys(7);
    std::size_t const bytes = call.bytes();
    Workspace<Kokkos::Cuda> const all("test::workspace", bytes + 2 * guard);
    Kokkos::deep_copy(all, mark);
    call.enqueue_in(Kokkos::subview(all, std::pair(guard, guard + bytes)));
    call.validate(validation, "guarded");
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all);
    std::size_t touched = 0;
    for (std::size_t i = 0; i < guard; ++i)
      touched += (host(i) != mark) + (host(guard + bytes + i) != mark);
    CHECK(touched == 0);
  });
  validation.close();
}

TEMPLATE_TEST_CASE("lists that CUB sorts are in order, whatever the keys", "[cuda]", std::uint8_t,
                   bfloat16, std::int32_t, float, double) {
  constexpr std::int64_t n = 4'200'003, k = 2'097'155;
  Validation validation;
  for (Input input : {Input::uniform, Input::all_equal, Input::few_values, Input::ascending})
    expect_algorithm<TestType>(Algorithm::radix, input, 1, n, k, validation);
  if constexpr (is_float_key<TestType>)
    expect_algorithm<TestType>(Algorithm::radix, Input::random_bits, 1, n, k, validation);
  validation.close();
}

}  // namespace ktopk::testing
