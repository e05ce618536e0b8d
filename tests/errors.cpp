// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "support/bytes.hpp"
#include "support/recorder.hpp"
#include "support/rejects.hpp"
#include "support/run.hpp"

namespace ktopk::testing {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Keys = Kokkos::View<float*, Memory>;
using Keys2 = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
using Index = Kokkos::View<std::int64_t*, Memory>;
using Index2 = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory>;

template <class T>
using Borrowed = Kokkos::View<T, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

constexpr unsigned char mark = 77;

template <class View>
View marked(View const& view) {
  Kokkos::deep_copy(bytes_of(view), mark);
  return view;
}

template <class View>
bool still_marked(View const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), bytes_of(view));
  return std::all_of(host.data(), host.data() + host.size(),
                     [](unsigned char byte) { return byte == mark; });
}

/// A row of 10 keys with outputs for 4, all marked.
struct Row {
  Exec exec;
  Keys keys = marked(Keys("test::keys", 10));
  Keys values = marked(Keys("test::values", 4));
  Index indices = marked(Index("test::indices", 4));

  void check_untouched() const {
    CHECK(still_marked(keys));
    CHECK(still_marked(values));
    CHECK(still_marked(indices));
  }
};

/// Three rows of 10 keys with outputs for 4, all marked.
struct Batch {
  Exec exec;
  Keys2 keys = marked(Keys2("test::keys", 3, 10));
  Keys2 values = marked(Keys2("test::values", 3, 4));
  Index2 indices = marked(Index2("test::indices", 3, 4));

  void check_untouched() const {
    CHECK(still_marked(keys));
    CHECK(still_marked(values));
    CHECK(still_marked(indices));
  }
};

}  // namespace

TEST_CASE("k larger than the row", "[errors]") {
  Row const row;
  Keys const values = marked(Keys("test::values", 11));
  Index const indices = marked(Index("test::indices", 11));
  Workspace<Exec> const workspace("test::workspace", 1 << 20);
  std::vector<std::string> const parts{"ktopk::top_k", "11", "10"};
  rejects([&] { top_k(row.exec, row.keys, values, indices); }, parts);
  rejects([&] { top_k(row.exec, row.keys, values, nothing); }, parts);
  rejects([&] { top_k(row.exec, row.keys, nothing, indices); }, parts);
  rejects([&] { top_k(row.keys, values, indices); }, parts);
  rejects([&] { top_k(row.exec, row.keys, values, indices, {}, workspace); }, parts);
  CHECK(still_marked(values));
  CHECK(still_marked(indices));
}

TEST_CASE("k larger than the rows of a batch", "[errors]") {
  Batch const batch;
  Keys2 const values = marked(Keys2("test::values", 3, 12));
  rejects([&] { top_k(batch.exec, batch.keys, values, nothing); }, {"ktopk::top_k", "12", "10"});
  CHECK(still_marked(values));
}

TEST_CASE("k larger than uniform rows, with a k for each row", "[errors]") {
  Batch const batch;
  Keys2 const values = marked(Keys2("test::values", 3, 12));
  Index const wanted("test::wanted", 3);
  rejects([&] { top_k(batch.exec, batch.keys, values, nothing, per_row(wanted)); },
          {"ktopk::top_k", "12", "10"});
  CHECK(still_marked(values));
}

TEST_CASE("values and indices of different k", "[errors]") {
  Row const row;
  Keys const values = marked(Keys("test::values", 5));
  rejects([&] { top_k(row.exec, row.keys, values, row.indices); },
          {"ktopk::top_k", "5", "4", "values"});
  CHECK(still_marked(values));
  row.check_untouched();
}

TEST_CASE("values with another number of rows", "[errors]") {
  Batch const batch;
  Keys2 const values = marked(Keys2("test::values", 2, 4));
  rejects([&] { top_k(batch.exec, batch.keys, values, batch.indices); },
          {"ktopk::top_k", "rows of values", "2", "3"});
  CHECK(still_marked(values));
  batch.check_untouched();
}

TEST_CASE("indices with another number of rows", "[errors]") {
  Batch const batch;
  Index2 const indices = marked(Index2("test::indices", 5, 4));
  rejects([&] { top_k(batch.exec, batch.keys, batch.values, indices); },
          {"ktopk::top_k", "rows of indices", "5", "3"});
  CHECK(still_marked(indices));
  batch.check_untouched();
}

TEST_CASE("transposed outputs", "[errors]") {
  Batch const batch;
  Keys2 const values = marked(Keys2("test::values", 4, 3));
  Index2 const indices = marked(Index2("test::indices", 4, 3));
  rejects(
      [&] { top_k(batch.exec, batch.keys, values, nothing); },
      {"ktopk::top_k", "rows of values is 4 but must be 3", "transposed", "(4, 3)", "(rows, k)"});
  rejects([&] { top_k(batch.exec, batch.keys, nothing, indices); },
          {"ktopk::top_k", "rows of indices is 4 but must be 3", "transposed", "(4, 3)"});
  CHECK(still_marked(values));
  CHECK(still_marked(indices));
  batch.check_untouched();
}

TEST_CASE("values over the keys", "[errors]") {
  Row const row;
  Borrowed<float*> const values(row.keys.data() + 8, 2);
  rejects([&] { top_k(row.exec, row.keys, values, nothing); },
          {"ktopk::top_k", "keys", "values", "overlap", "8 bytes"});
  row.check_untouched();
}

TEST_CASE("indices over the keys", "[errors]") {
  Row const row;
  Borrowed<std::int32_t*> const indices(reinterpret_cast<std::int32_t*>(row.keys.data()), 4);
  rejects([&] { top_k(row.exec, row.keys, nothing, indices); },
          {"ktopk::top_k", "keys", "indices", "overlap", "16 bytes"});
  row.check_untouched();
}

TEST_CASE("values over the indices", "[errors]") {
  Row const row;
  Borrowed<float*> const values(reinterpret_cast<float*>(row.indices.data()), 4);
  rejects([&] { top_k(row.exec, row.keys, values, row.indices); },
          {"ktopk::top_k", "values", "indices", "overlap", "16 bytes"});
  row.check_untouched();
}

TEST_CASE("counts over the keys, the values and the indices", "[errors]") {
  Batch const batch;
  auto const counts_at = [](void* place) {
    return Borrowed<std::int32_t*>(static_cast<std::int32_t*>(place), 3);
  };
  auto const call = [&](void* place) {
    top_k(batch.exec, batch.keys, batch.values, batch.indices, per_row(nothing, counts_at(place)));
  };
  rejects([&] { call(batch.keys.data()); },
          {"ktopk::top_k", "counts", "keys", "overlap", "12 bytes"});
  rejects([&] { call(batch.values.data()); },
          {"ktopk::top_k", "counts", "values", "overlap", "12 bytes"});
  rejects([&] { call(batch.indices.data()); },
          {"ktopk::top_k", "counts", "indices", "overlap", "12 bytes"});
  batch.check_untouched();
}

TEST_CASE("neighbors do not overlap", "[errors]") {
  Keys const all("test::all", 12);
  Borrowed<float*> const keys(all.data(), 10), values(all.data() + 10, 2);
  CHECK_NOTHROW(top_k(Exec(), keys, values, nothing));
  Kokkos::fence();
}

/// These Views' extents exceed their memory; nothing may be read.
TEST_CASE("a 32-bit index type too small for the row", "[errors]") {
  Kokkos::View<std::int8_t*, Memory> const some("test::some", 8);
  std::int64_t const n = (std::int64_t{1} << 31) + 1;
  Borrowed<std::int8_t*> const keys(some.data(), n);
  Kokkos::View<std::int32_t*, Memory> const indices =
      marked(Kokkos::View<std::int32_t*, Memory>("test::indices", 4));
  rejects([&] { top_k(Exec(), keys, nothing, indices); },
          {"ktopk::top_k", "index type", "2147483647", "2147483648"});
  CHECK(still_marked(indices));

  Borrowed<std::int8_t*> const more(some.data(), 2 * n);
  Kokkos::View<std::uint32_t*, Memory> const unsigned_indices =
      marked(Kokkos::View<std::uint32_t*, Memory>("test::indices", 4));
  rejects([&] { top_k(Exec(), more, nothing, unsigned_indices); },
          {"ktopk::top_k", "index type", "4294967295", "4294967297"});
  CHECK(still_marked(unsigned_indices));
}

TEST_CASE("the longest row of a 32-bit index type passes that check", "[errors]") {
  Kokkos::View<std::int8_t*, Memory> const some("test::some", 64);
  Borrowed<std::int8_t*> const keys(some.data(), std::int64_t{1} << 31);
  Borrowed<std::int32_t*> const indices(reinterpret_cast<std::int32_t*>(some.data()), 4);
  rejects([&] { top_k(Exec(), keys, nothing, indices); }, {"ktopk::top_k", "overlap"});
}

TEST_CASE("rows longer than 2^40", "[errors]") {
  Kokkos::View<std::int8_t*, Memory> const some("test::some", 8);
  std::int64_t const n = (std::int64_t{1} << 40) + 1;
  Borrowed<std::int8_t*> const keys(some.data(), n);
  Kokkos::View<std::int8_t*, Memory> const values =
      marked(Kokkos::View<std::int8_t*, Memory>("test::values", 4));
  rejects([&] { top_k(Exec(), keys, values, nothing); },
          {"ktopk::top_k", std::to_string(n), std::to_string(n - 1)});
  CHECK(still_marked(values));
}

/// These extents exceed the memory too.
TEST_CASE("more than 2^31 - 1 rows", "[errors]") {
  Kokkos::View<std::int8_t*, Memory> const some("test::some", 8);
  std::int64_t const most = std::numeric_limits<std::int32_t>::max();
  Borrowed<std::int8_t**> const keys(some.data(), most + 1, 1),
      values(some.data() + 4, most + 1, 1);
  std::vector<std::string> const numbers{"rows", std::to_string(most + 1), std::to_string(most)};
  auto const with = [&](std::string const& function) {
    auto parts = numbers;
    parts.push_back(function);
    return parts;
  };
  rejects([&] { top_k(Exec(), keys, values, nothing); }, with("ktopk::top_k"));
  rejects([&] { Plan<Exec>(Exec(), make_shape<std::int8_t>(most + 1, 1, 1)); },
          with("ktopk::Plan"));
  rejects([&] { (void)workspace_bytes(Exec(), make_shape<std::int8_t>(most + 1, 0, 0)); },
          with("ktopk::workspace_bytes"));
  Shape ragged_rows = make_shape<std::int8_t>(most + 1, 1, 1);
  ragged_rows.ragged = true;
  rejects([&] { Plan<Exec>(Exec(), ragged_rows); }, with("ktopk::Plan"));
  CHECK_NOTHROW(workspace_bytes(Exec(), make_shape<std::int8_t>(most, 1, 1)));
}

TEST_CASE("more keys or output slots than 64 bits can count", "[errors]") {
  std::int64_t const rows = std::int64_t{1} << 30, n = std::int64_t{1} << 33;
  Options const heap{.algorithm =
                         Algorithm::heap};  // needs a workspace only where groups share rows
  rejects([&] { (void)workspace_bytes(Exec(), make_shape<float>(rows, n, 1)); },
          {"ktopk::workspace_bytes", std::to_string(rows), "n = " + std::to_string(n), "2^63"});
  rejects([&] { Plan<Exec>(Exec(), make_shape<float>(rows, n, 1)); },
          {"ktopk::Plan", std::to_string(rows), "n = " + std::to_string(n)});
  CHECK_NOTHROW(workspace_bytes(Exec(), make_shape<float>(rows, n - 1, 1), heap));
  Shape shape = make_shape<float>(rows, n, n);
  shape.ragged = true;
  rejects([&] { (void)workspace_bytes(Exec(), shape); },
          {"ktopk::workspace_bytes", std::to_string(rows), "k = " + std::to_string(n), "2^63"});
  shape.k = 1;
  CHECK_NOTHROW(workspace_bytes(Exec(), shape));
}

/// Sort needs two composite keys of 16 bytes per key.
TEST_CASE("a workspace of more bytes than can be", "[errors]") {
  Shape const shape = make_shape<double>(1 << 20, std::int64_t{1} << 40, 1);
  Options const sort{.algorithm = Algorithm::sort};
  rejects([&] { (void)workspace_bytes(Exec(), shape, sort); },
          {"ktopk::workspace_bytes", "workspace", "2^63 bytes"});
  rejects([&] { Plan<Exec>(Exec(), shape, sort); }, {"ktopk::Plan", "workspace", "2^63 bytes"});
}

TEST_CASE("a workspace too small", "[errors]") {
  Row const row;
  Options const sort{.algorithm = Algorithm::sort};
  std::size_t const needed = workspace_bytes(row.exec, make_shape<float>(1, 10, 4), sort);
  REQUIRE(needed > 0);
  Workspace<Exec> const workspace("test::workspace", needed - 1);
  rejects([&] { top_k(row.exec, row.keys, row.values, row.indices, sort, workspace); },
          {"ktopk::top_k", "workspace", std::to_string(needed - 1), std::to_string(needed)});
  row.check_untouched();
}

TEST_CASE("wanted and counts of another number of rows", "[errors]") {
  Batch const batch;
  Index const four = marked(Index("test::four", 4));
  Index const two = marked(Index("test::two", 2));
  rejects([&] { top_k(batch.exec, batch.keys, batch.values, batch.indices, per_row(four)); },
          {"ktopk::top_k", "wanted", "4", "3"});
  rejects(
      [&] { top_k(batch.exec, batch.keys, batch.values, batch.indices, per_row(nothing, two)); },
      {"ktopk::top_k", "counts", "2", "3"});
  CHECK(still_marked(two));
  batch.check_untouched();
}

TEST_CASE("offsets without an entry", "[errors]") {
  Batch const batch;
  Keys const keys("test::keys", 10);
  rejects(
      [&] {
        top_k(batch.exec, ragged(keys, Index("test::offsets", 0)), batch.values, batch.indices);
      },
      {"ktopk::top_k", "offsets", "0", "1"});
  batch.check_untouched();
}

TEST_CASE("outputs of another number of rows than the offsets have", "[errors]") {
  Batch const batch;
  Keys const keys("test::keys", 10);
  Index const offsets("test::offsets", 3);
  rejects([&] { top_k(batch.exec, ragged(keys, offsets), batch.values, batch.indices); },
          {"ktopk::top_k", "rows", "3", "2"});
  batch.check_untouched();
}

TEST_CASE("limits of a bisection that cannot be", "[errors]") {
  Row const row;
  auto const call = [&](Options const& options) {
    top_k(row.exec, row.keys, row.values, row.indices, options);
  };
  rejects([&] { call({.max_iterations = -3}); }, {"ktopk::top_k", "max_iterations", "-3"});
  rejects([&] { call({.epsilon = -0.5}); }, {"ktopk::top_k", "epsilon", "-0.5"});
  rejects([&] { call({.epsilon = std::numeric_limits<double>::quiet_NaN()}); },
          {"ktopk::top_k", "epsilon", "nan"});
  rejects([&] { call({.recall = 0}); }, {"ktopk::top_k", "recall", "0.0"});
  rejects([&] { call({.recall = 1.5}); }, {"ktopk::top_k", "recall", "1.5"});
  rejects([&] { call({.recall = std::numeric_limits<double>::quiet_NaN()}); },
          {"ktopk::top_k", "recall", "nan"});
  rejects(
      [] { (void)workspace_bytes(Exec(), make_shape<float>(1, 10, 4), {.max_iterations = -1}); },
      {"ktopk::workspace_bytes", "max_iterations", "-1"});
  rejects([] { Plan<Exec>(Exec(), make_shape<float>(1, 10, 4), {.epsilon = -1}); },
          {"ktopk::Plan", "epsilon", "-1"});
  row.check_untouched();
}

TEST_CASE("a Plan for more than the row has", "[errors]") {
  rejects([] { Plan<Exec>(Exec(), make_shape<float>(1, 10, 11)); }, {"ktopk::Plan", "11", "10"});
  rejects([] { Plan<Exec>(Exec(), make_shape<float>(-1, 10, 5)); }, {"ktopk::Plan", "-1"});
}

TEST_CASE("workspace_bytes of a shape that cannot be", "[errors]") {
  rejects([] { (void)workspace_bytes(Exec(), make_shape<float>(1, 10, 11)); },
          {"ktopk::workspace_bytes", "11", "10"});
  rejects([] { (void)workspace_bytes(Exec(), make_shape<float>(1, -10, 0)); },
          {"ktopk::workspace_bytes", "-10"});
}

TEST_CASE("a Plan called with Views of another shape", "[errors]") {
  Batch const batch;
  auto const plan = [&](std::int64_t rows, std::int64_t n, std::int64_t k) {
    return Plan<Exec>(batch.exec, make_shape<float>(rows, n, k));
  };
  auto rows = plan(2, 10, 4);
  rejects([&] { rows(batch.keys, batch.values, batch.indices); },
          {"ktopk::Plan", "rows", "3", "2"});
  auto n = plan(3, 9, 4);
  rejects([&] { n(batch.keys, batch.values, batch.indices); }, {"ktopk::Plan", "n is", "10", "9"});
  auto k = plan(3, 10, 3);
  rejects([&] { k(batch.keys, batch.values, batch.indices); }, {"ktopk::Plan", "k is", "4", "3"});
  Plan<Exec> wide(batch.exec, make_shape<double>(3, 10, 4));
  rejects([&] { wide(batch.keys, batch.values, batch.indices); }, {"ktopk::Plan", "key", "4", "8"});
  batch.check_untouched();
}

TEST_CASE("an algorithm that cannot be within delegate", "[errors]") {
  Row const row;
  Batch const batch;
  std::vector<std::string> const parts{"ktopk::top_k", "inner", "heap"};
  Workspace<Exec> const workspace("test::workspace", 1 << 20);
  Options const options{.algorithm = Algorithm::delegate, .inner = Algorithm::heap};
  rejects([&] { top_k(row.exec, row.keys, row.values, row.indices, options); }, parts);
  rejects([&] { top_k(row.keys, row.values, row.indices, options); }, parts);
  rejects([&] { top_k(row.exec, row.keys, row.values, row.indices, options, workspace); }, parts);
  rejects([&] { top_k(batch.exec, batch.keys, batch.values, batch.indices, options); }, parts);
  rejects([&] { top_k(row.exec, row.keys, row.values, nothing, {.inner = Algorithm::delegate}); },
          {"ktopk::top_k", "inner = delegate"});
  rejects(
      [&] {
        top_k(row.exec, row.keys, row.values, nothing, {.inner = static_cast<Algorithm>(99)});
      },
      {"ktopk::top_k", "inner = 99"});
  Shape const shape = make_shape<float>(1, 10, 4);
  rejects([&] { (void)workspace_bytes(Exec(), shape, {.inner = Algorithm::one_pass}); },
          {"ktopk::workspace_bytes", "inner", "one_pass"});
  rejects([&] { Plan<Exec>(Exec(), shape, {.inner = Algorithm::sort}); },
          {"ktopk::Plan", "inner", "sort"});
  row.check_untouched();
  batch.check_untouched();
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
TEST_CASE("a strided wanted on the host", "[errors]") {
  Batch const batch;
  Kokkos::View<std::int64_t*, Kokkos::LayoutStride, Kokkos::HostSpace> const wanted(
      "test::wanted", Kokkos::LayoutStride(3, 2));
  rejects([&] { top_k(batch.exec, batch.keys, batch.values, batch.indices, per_row(wanted)); },
          {"ktopk::top_k", "wanted", "3", "2"});
  batch.check_untouched();
}
#endif

}  // namespace ktopk::testing
