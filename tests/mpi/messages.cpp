// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stdexcept>

#include "support.hpp"
#include "support/recorder.hpp"

// From which memory MPI sends the lists that kernels merge. On hosts that is one memory, so that any MPI takes both.

namespace ktopk::testing {
namespace {

namespace parts = ktopk::detail::mpi;

using Catch::Matchers::ContainsSubstring;
using Exec = Kokkos::DefaultHostExecutionSpace;
using parts::ForceMergeKernels;

bool is_last() { return rank() == ranks() - 1; }

std::string told() { return mpi::describe<Exec>(MPI_COMM_WORLD); }

/// Whether a selection of all ranks allocates what messages are copied to.
bool copies_messages() {
  Recorder const recorder;
  Kokkos::View<float*, Kokkos::HostSpace> const keys("test::keys", 20), values("test::values", 5);
  for (int i = 0; i < 20; ++i) keys(i) = static_cast<float>(20 * rank() + i);
  mpi::top_k(MPI_COMM_WORLD, Exec(), keys, values, nothing);
  for (int slot = 0; slot < 5; ++slot) CHECK(values(slot) == 20 * ranks() - 1 - slot);
  for (Event const& event : recorder.all(Event::Kind::allocation))
    if (event.label == "ktopk::mpi::brought") return true;
  return false;
}

}  // namespace

TEST_CASE("the environment says where messages lie, if kernels merge", "[mpi][few]") {
  GpuAwareMpi const yes("yes");
  CHECK_THAT(told(), ContainsSubstring("messages through the memory of the host") &&
                         !ContainsSubstring("KTOPK"));
  ForceMergeKernels const by_kernels;
  CHECK_THAT(told(), ContainsSubstring(
                         "lists from and to the memory of the device (KTOPK_GPU_AWARE_MPI=yes)"));
  CHECK_FALSE(copies_messages());
  GpuAwareMpi const no("no");
  CHECK_THAT(told(), ContainsSubstring(
                         "through the memory of the host (KTOPK_GPU_AWARE_MPI=no on a rank)"));
  CHECK(copies_messages() == (ranks() > 1));
  GpuAwareMpi const unset(nullptr);
  CHECK_THAT(told(), ContainsSubstring("through the memory of the host (neither"));
  CHECK(copies_messages() == (ranks() > 1));
}

TEST_CASE("one rank that says no makes all use the memory of the host", "[mpi][few]") {
  ForceMergeKernels const by_kernels;
  for (char const* const other : {"no", static_cast<char const*>(nullptr)}) {
    GpuAwareMpi const environment(is_last() ? other : "yes");
    CHECK_THAT(told(), ContainsSubstring("messages through the memory of the host ("));
    CHECK(copies_messages() == (ranks() > 1));
  }
}

TEST_CASE("a Plan reads the environment once", "[mpi][few]") {
  ForceMergeKernels const by_kernels;
  Recorder const recorder;
  Kokkos::View<float*, Kokkos::HostSpace> const keys("test::keys", 3), values("test::values", 2);
  GpuAwareMpi const yes("yes");
  mpi::Plan<Exec> plan(MPI_COMM_WORLD, Exec());
  GpuAwareMpi const wrong(is_last() ? "wrong" : "no");
  plan.top_k(keys, values, nothing);
  for (Event const& event : recorder.all(Event::Kind::allocation))
    CHECK(event.label != "ktopk::mpi::brought");
}

TEST_CASE("a wrong word of one rank is an error on all", "[mpi][few]") {
  for (char const* const wrong : {"maybe", "", "YES"}) {
    std::string const text =
        "KTOPK_GPU_AWARE_MPI is '" + std::string(wrong) + "', but must be yes or no";
    std::string const of_last = "rank " + std::to_string(ranks() - 1) + ": ";
    auto const message = [&](std::string const& function) {
      return Catch::Matchers::MessageMatches(ContainsSubstring(of_last + function + ": " + text));
    };
    GpuAwareMpi const environment(is_last() ? wrong : "yes");
    CHECK_THROWS_MATCHES(mpi::Plan<Exec>(MPI_COMM_WORLD, Exec()), std::invalid_argument,
                         message("ktopk::mpi::Plan"));
    CHECK_THROWS_MATCHES(told(), std::invalid_argument, message("ktopk::mpi::describe"));
  }
  CHECK_THAT(told(), ContainsSubstring("messages through the memory of the host"));
}

TEST_CASE("MPI's memory kinds are read", "[mpi][few]") {
  CHECK(parts::memory_kind_of("Cuda") == "cuda");
  CHECK(parts::memory_kind_of("HIP") == "rocm");
  CHECK(parts::memory_kind_of("Host").empty());
  for (char const* const kinds : {"cuda", "cuda:device", "system,mpi,cuda:device",
                                  "system,cuda,rocm", "cuda:host,cuda:device"})
    CHECK(parts::has_device_memory(kinds, "cuda"));
  for (char const* const kinds :
       {"", "system,mpi", "cuda:host", "cuda:managed,rocm:device", "cudas", "xcuda:device", ","})
    CHECK_FALSE(parts::has_device_memory(kinds, "cuda"));
  CHECK(parts::has_device_memory("cuda:managed,rocm:device", "rocm"));

  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  CHECK(parts::value_in(info, "mpi_memory_alloc_kinds").empty());
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,mpi,cuda:device");
  CHECK(parts::value_in(info, "mpi_memory_alloc_kinds") == "system,mpi,cuda:device");
  MPI_Info_free(&info);
  CHECK_FALSE(parts::has_device_memory(parts::memory_kinds(MPI_COMM_WORLD), "no kind"));
}

namespace {

template <class T>
void expect_columns() {
  for (std::int64_t const rows : {1, 2, 7, 1000})
    for (std::int64_t columns = 0; columns < 20; ++columns) {
      std::int64_t const words = parts::listed_words<T>(rows * columns);
      CHECK(parts::columns_of<T>(words, rows) == columns);
    }
  CHECK(parts::columns_of<T>(0, 0) == 0);
}

}  // namespace

TEST_CASE("the length of a message tells its columns", "[mpi][few]") {
  expect_columns<std::uint8_t>();
  expect_columns<bfloat16>();
  expect_columns<float>();
  expect_columns<double>();
}

}  // namespace ktopk::testing
