// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/testing.hpp>

#include "support/recorder.hpp"
#include "support/run.hpp"

namespace ktopk::testing {
namespace {

/// Views of an execution space with keys to select from.
template <class Exec>
struct Scene {
  using Memory = typename Exec::memory_space;

  static constexpr int rows = 3, n = 40'000, k = 40;

  Kokkos::View<float**, Memory> keys{"test::keys", rows, n};
  Kokkos::View<float**, Memory> values{"test::values", rows, k};
  Kokkos::View<std::int64_t**, Memory> indices{"test::indices", rows, k};
  Shape shape = make_shape<float>(rows, n, k);

  Scene() {
    auto const host = Kokkos::create_mirror_view(keys);
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < n; ++i) host(row, i) = key_at<float>(Input::uniform, n, i, row);
    Kokkos::deep_copy(keys, host);
  }
};

/// Whether a call needs memory: some kernels need none.
template <class Exec>
bool needs_workspace(Exec const& exec, Scene<Exec> const& scene, Options const& options) {
  Shape shape = scene.shape;
  shape.packed = scene.keys.stride(1) == 1;
  return explain(exec, shape, options).workspace_bytes > 0;
}

/// An instance that is not the default one, if the space has others.
template <class Exec>
Exec other_instance() {
  return Kokkos::Experimental::partition_space(Exec(), 1, 1)[1];
}

#ifdef KOKKOS_ENABLE_SERIAL
template <>
[[maybe_unused]] Kokkos::Serial other_instance<Kokkos::Serial>() {
  return Kokkos::Serial(Kokkos::NewInstance{});
}
#endif

bool is_ours(Event const& event) { return event.label.rfind("ktopk::", 0) == 0; }

/// Kokkos has its own scratch memory, which grows when a kernel first requests it, and fences when it frees.
bool is_kokkos_own(Event const& event) {
  return event.label.rfind("Kokkos::", 0) == 0 ||
         event.label.find("Space::impl_deallocate") != std::string::npos;
}

void check_labels(std::vector<Event> const& events) {
  for (Event const& event : events) {
    CAPTURE(event.label);
    CHECK((is_ours(event) || is_kokkos_own(event)));
  }
}

template <class Exec>
void check_kernels(Recorder const& record, Exec const& exec) {
  for (Event const& event : record.all(Event::Kind::kernel)) {
    CAPTURE(event.label);
    CHECK(is_ours(event));
    CHECK(event.device == Kokkos::Tools::Experimental::device_id(exec));
  }
}

/// Kokkos's Threads wait for each other around every kernel. An explicit fence has another label.
bool is_end_of_a_kernel(Event const& event) {
  return event.kind == Event::Kind::fence &&
         event.label.starts_with("Kokkos::ThreadsInternal::fence");
}

/// Nothing but kernels. With `warm`, not even Kokkos's own scratch may grow.
void check_quiet(Recorder const& record, bool warm) {
  for (auto kind : {Event::Kind::allocation, Event::Kind::fence, Event::Kind::copy})
    for (Event const& event : record.all(kind)) {
      if (is_end_of_a_kernel(event)) continue;
      CAPTURE(event.label, static_cast<int>(kind), warm);
      CHECK((!warm && is_kokkos_own(event)));
    }
}

template <class Body>
void for_each_algorithm_and_space(Body const& body) {
  for_each_space([&](auto const& exec) {
    for (Algorithm algorithm : algorithms_on(exec))
      for (Sorted sorted : {Sorted::yes, Sorted::no}) {
        Options const options{.sorted = sorted, .algorithm = algorithm};
        INFO(exec.name() << ", " << describe(options));
        body(exec, options);
      }
  });
}

}  // namespace

TEST_CASE("a call's kernels and allocations are labeled and on its instance", "[labels]") {
  for_each_algorithm_and_space([](auto const& space, Options const& options) {
    using Exec = std::decay_t<decltype(space)>;
    Scene<Exec> const scene;
    Exec const exec = other_instance<Exec>();
    Recorder const record;
    top_k(exec, scene.keys, scene.values, scene.indices, options);
    exec.fence("test::done");
    check_kernels(record, exec);
    check_labels(record.all(Event::Kind::region));
    if (options.algorithm != Algorithm::automatic) CHECK(record.ran(name(options.algorithm)));
    auto const allocations = record.all(Event::Kind::allocation);
    check_labels(allocations);
    CHECK(std::count_if(allocations.begin(), allocations.end(), is_ours) ==
          (needs_workspace(exec, scene, options) ? 1 : 0));
    for (Event const& fence : record.all(Event::Kind::fence)) {
      CAPTURE(fence.label);
      CHECK((fence.label == "test::done" || is_ours(fence) || is_kokkos_own(fence)));
    }
  });
}

TEST_CASE("no tuned implementation serves where the portable ones are forced", "[labels]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    Scene<Exec> const scene;
    char const* const tuned =
        ktopk::detail::is_host_space<Exec> ? "ktopk::host::" : "ktopk::cuda::";
    auto const runs_tuned = [&](Algorithm algorithm) {
      Recorder const record;
      top_k(exec, scene.keys, scene.values, scene.indices, {.algorithm = algorithm});
      exec.fence("test::done");
      return record.ran(tuned);
    };
    CHECK(runs_tuned(Algorithm::automatic) ==
          (serves_tuned(exec, Algorithm::one_pass) || serves_tuned(exec, Algorithm::radix)));
    for (Algorithm algorithm : all_algorithms()) {
      INFO(exec.name() << ", " << name(algorithm));
      if (!serves_tuned(exec)) CHECK_FALSE(runs_tuned(algorithm));
    }
  });
}

/// Otherwise tests of a tuned implementation could be tests of the portable one, which serves what it declines.
TEST_CASE("the algorithms that are listed as tuned run tuned, and no others", "[labels]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    constexpr bool on_host = ktopk::detail::is_host_space<Exec>;
    std::string const backend = on_host ? "ktopk::host::" : "ktopk::cuda::";
    auto const runs_tuned = [&](AlgorithmInfo const& info, std::int64_t rows, std::int64_t n) {
      UniformCall<Exec, float> call(exec, make_keys<float>(Input::uniform, rows * n, 5), rows, n,
                                    20);
      Recorder const record;
      call(20, {.sorted = Sorted::no, .algorithm = info.algorithm});
      return record.ran(backend + info.name);
    };
    for (AlgorithmInfo const& info : algorithms()) {
      INFO(exec.name() << ", " << info.name);
      CHECK((runs_tuned(info, 1, 1 << 18) || runs_tuned(info, 3, 2000)) ==
            serves_tuned(exec, info.algorithm));
    }
  });
}

TEST_CASE("what one thread does alone is a kernel of its instance too", "[labels]") {
  for_each_space([](auto const& space) {
    using Exec = std::decay_t<decltype(space)>;
    using Memory = typename Exec::memory_space;
    Kokkos::View<float**, Memory> const keys("test::keys", 1, 100), values("test::values", 1, 7);
    Kokkos::View<int**, Memory> const indices("test::indices", 1, 7);
    Exec const exec = other_instance<Exec>();
    Recorder const record;
    top_k(exec, keys, values, indices, {.algorithm = Algorithm::radix});
    exec.fence("test::done");
    CHECK(record.ran("radix"));
    bool const hides_kernels =
        serves_tuned(exec, Algorithm::radix) && !ktopk::detail::is_host_space<Exec>;
    CHECK(record.all(Event::Kind::kernel).empty() == hides_kernels);
    check_kernels(record, exec);
  });
}

TEST_CASE("on hosts and on CUDA a call frees its workspace without a fence", "[labels]") {
  for_each_algorithm_and_space([](auto const& exec, Options const& options) {
    using Exec = std::decay_t<decltype(exec)>;
    if (!ktopk::detail::is_host_space<Exec> && std::string_view(exec.name()) != "Cuda") return;
    Scene<Exec> const scene;
    auto const call = [&] { top_k(exec, scene.keys, scene.values, scene.indices, options); };
    call();
    Recorder const record;
    call();
    for (Event const& event : record.all(Event::Kind::fence)) {
      CAPTURE(event.label);
      CHECK(is_end_of_a_kernel(event));
    }
    auto const allocations = record.all(Event::Kind::allocation);
    REQUIRE(allocations.size() == (needs_workspace(exec, scene, options) ? 1 : 0));
    for (Event const& allocation : allocations) CHECK(allocation.label == "ktopk::workspace");
    CHECK(record.frees_what_it_allocates());
  });
}

TEST_CASE("what is seen is not nothing", "[labels]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    Scene<Exec> const scene;
    Recorder const record;
    top_k(exec, scene.keys, scene.values, scene.indices, {.algorithm = Algorithm::radix});
    exec.fence();
    CHECK(record.ran("radix"));
    CHECK_FALSE(record.all(Event::Kind::allocation).empty());
    CHECK_FALSE(record.all(Event::Kind::fence).empty());
  });
}

TEST_CASE("a Plan allocates once and its call does nothing but kernels", "[labels]") {
  for_each_algorithm_and_space([](auto const& space, Options const& options) {
    using Exec = std::decay_t<decltype(space)>;
    Scene<Exec> const scene;
    Exec const exec = other_instance<Exec>();
    auto plan = [&] {
      Recorder const record;
      Plan<Exec> made(exec, scene.shape, options);
      check_labels(record.all(Event::Kind::allocation));
      return made;
    }();
    for (bool warm : {false, true}) {
      Recorder const record;
      plan(scene.keys, scene.values, scene.indices);
      check_quiet(record, warm);
      check_kernels(record, exec);
    }
    exec.fence();
  });
}

TEST_CASE("a call in the caller's workspace does nothing but kernels", "[labels]") {
  for_each_algorithm_and_space([](auto const& space, Options const& options) {
    using Exec = std::decay_t<decltype(space)>;
    Scene<Exec> const scene;
    Exec const exec = other_instance<Exec>();
    Workspace<Exec> const workspace("test::workspace", workspace_bytes(exec, scene.shape, options));
    for (bool warm : {false, true}) {
      Recorder const record;
      top_k(exec, scene.keys, scene.values, scene.indices, options, workspace);
      check_quiet(record, warm);
      check_kernels(record, exec);
    }
    exec.fence();
  });
}

TEST_CASE("the call without an instance fences before and after", "[labels]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    Scene<Exec> const scene;
    Recorder const record;
    top_k(scene.keys, scene.values, scene.indices);
    auto const fences = record.all(Event::Kind::fence);
    auto const count = [&](std::string_view label) {
      return std::count_if(fences.begin(), fences.end(),
                           [&](Event const& fence) { return fence.label == label; });
    };
    CHECK(count("ktopk::top_k: before") >= 1);
    CHECK(count("ktopk::top_k: after") >= 1);
    REQUIRE_FALSE(fences.empty());
    CHECK(fences.front().label == "ktopk::top_k: before");
    CHECK(fences.back().label == "ktopk::top_k: after");
  });
}

TEST_CASE("the workspace of one_pass is bounded in n", "[labels][workspace]") {
  for_each_space([]<class Exec>(Exec const& exec) {
    Options const options{.algorithm = Algorithm::one_pass};
    auto const bytes = [&](int log_n) {
      return workspace_bytes(exec, make_shape<float>(1, std::int64_t{1} << log_n, 100), options);
    };
    CHECK(bytes(40) == bytes(36));
    // Host threads have their own memory, a device's threads do not.
    std::size_t const threads =
        ktopk::detail::is_host_space<Exec> ? exec.concurrency() * std::size_t{1 << 18} : 0;
    CHECK(bytes(40) < (std::size_t{1} << 27) + threads);
    CHECK(bytes(30) < (std::size_t{1} << 24) + threads);
  });
}

TEST_CASE("a workspace of exactly workspace_bytes suffices, at any alignment",
          "[labels][workspace]") {
  for_each_algorithm_and_space([](auto const& exec, Options const& options) {
    using Exec = std::decay_t<decltype(exec)>;
    Scene<Exec> const scene;
    std::size_t const bytes = workspace_bytes(exec, scene.shape, options);
    Buffer<Exec> buffer(bytes + 1);
    auto const place = Kokkos::View<std::byte*, typename Exec::memory_space>(
        buffer.template as<std::byte>() + 1, bytes);
    top_k(exec, scene.keys, scene.values, scene.indices, options, place);
    exec.fence();
    auto const seen = buffer.template download<unsigned char>(bytes + 1);
    CHECK(seen[0] == 0xa5);
    CHECK(ktopk::detail::arrays_beyond_workspace == 0);
    CHECK(buffer.untouched_from(bytes + 1));
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), scene.values);
    for (int place = 0; place < scene.k; ++place) CHECK(host(0, place) > 0.9F);
  });
}

}  // namespace ktopk::testing
