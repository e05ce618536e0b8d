// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/core/one_pass_plan.hpp>

#include "dispatch/choose.hpp"

#include <catch2/catch_test_macros.hpp>

#include "backends/cuda/choose.hpp"
#include "dispatch/tuned.hpp"

// The choice is a pure function, so the choice for a GPU is tested without one, and that for many threads with few.

namespace ktopk::detail {
namespace {

constexpr Device gpu{false, 132 * 2048};
constexpr Device processor{true, 8};
constexpr TunedAlgorithms tuned_on_hosts{.one_pass = true, .radix = true, .heap = true};

}  // namespace

TEST_CASE(
    "of the portable implementations a GPU is given one_pass for long rows and few selected keys",
    "[choose]") {
  for (std::int64_t rows : {1, 8, 64, 2000})
    for (std::int64_t n : {1 << 14, 1 << 17, 1 << 20, 1 << 26})
      for (bool packed : {false, true}) {
        Shape shape = make_shape<float>(rows, n, 1);
        shape.packed = packed;
        CAPTURE(rows, n, packed);
        bool const is_for_radix = rows == 1 && packed && n == 1 << 20;
        std::int64_t const most =
            is_for_radix ? 16384 : n / (n <= 1 << (packed ? 18 : 15) ? 8 : 16);
        for (std::int64_t k : {std::int64_t{1}, std::int64_t{256}, most}) {
          shape.k = k;
          CHECK(choose(gpu, shape, {}) == Algorithm::one_pass);
        }
        shape.k = most + 1;
        CHECK(choose(gpu, shape, {}) == Algorithm::radix);
        shape.k = n / 16 + 1;
        CHECK(choose(processor, shape, {}) == Algorithm::radix);
      }
  Shape ragged = make_shape<float>(64, 1 << 20, 32);
  ragged.ragged = true;
  CHECK(choose(gpu, ragged, {}) == Algorithm::one_pass);
  ragged.k = 1 << 13;
  CHECK(choose(gpu, ragged, {}) == Algorithm::radix);
  ragged.rows = 1 << 16;
  CHECK(choose(gpu, ragged, {}) == Algorithm::bisection);
}

TEST_CASE("many selected keys of a packed row of a GPU are left to the portable radix",
          "[choose]") {
  for (std::int64_t n : {1 << 19, 1 << 20, 1 << 22, 1 << 23}) {
    Shape shape = make_shape<float>(1, n, 16384);
    CAPTURE(n);
    CHECK(choose(gpu, shape, {}) == Algorithm::one_pass);
    shape.k = 16385;
    CHECK(choose(gpu, shape, {}) == (n <= 1 << 22 ? Algorithm::radix : Algorithm::one_pass));
    CHECK(choose(processor, shape, {}) == Algorithm::one_pass);
    shape.packed = false;
    CHECK(choose(gpu, shape, {}) == Algorithm::one_pass);
    shape.packed = true;
    shape.rows = 2;
    CHECK(choose(gpu, shape, {}) == Algorithm::one_pass);
  }
}

TEST_CASE("where a tuned one_pass serves, it is chosen for small k", "[choose]") {
  std::int64_t const n = 1 << 20;
  TunedAlgorithms const both{.one_pass = true, .radix = true};
  CHECK(choose(gpu, make_shape<float>(1, n, n / 512), both) == Algorithm::one_pass);
  CHECK(choose(gpu, make_shape<float>(1, n, n / 512 + 1), both) == Algorithm::radix);
  std::int64_t const most = 1 << 18, long_row = most * 4096;
  CHECK(choose(gpu, make_shape<float>(1, long_row, most), both) == Algorithm::one_pass);
  CHECK(choose(gpu, make_shape<float>(1, long_row, most + 1), both) == Algorithm::radix);
}

TEST_CASE("of a row that a device holds a tuned radix is given many selected keys", "[choose]") {
  TunedAlgorithms const both{.one_pass = true, .radix = true};
  for (std::int64_t n : {1 << 17, 965'000}) {
    CAPTURE(n);
    CHECK(choose(gpu, make_shape<float>(1, n, 4607), both) == Algorithm::one_pass);
    CHECK(choose(gpu, make_shape<float>(1, n, 4608), both) == Algorithm::radix);
    CHECK(choose(gpu, make_shape<float>(1, n, n / 16), both) == Algorithm::radix);
    CHECK(choose(gpu, make_shape<float>(1, n, n / 16 + 1), both) == Algorithm::one_pass);
    CHECK(choose(gpu, make_shape<float>(2, n, 4608), both) == Algorithm::one_pass);
  }
}

TEST_CASE("where a tuned one_pass serves, it is given batches, but no very long ragged rows",
          "[choose]") {
  for (std::int64_t rows : {8, 100, 4096})
    for (std::int64_t n : {512, 1 << 15, 1 << 20})
      for (bool ragged : {false, true}) {
        Shape shape = make_shape<float>(rows, ragged ? rows * n : n, n / 4);
        shape.ragged = ragged;
        CAPTURE(rows, n, ragged);
        bool const one_pass =
            choose(gpu, shape, {.one_pass = true, .radix = true}) == Algorithm::one_pass;
        CHECK(one_pass == (!ragged || n < 1 << 20));
      }
}

TEST_CASE("few long rows with gaps between their keys are not for one_pass", "[choose]") {
  for (std::int64_t rows : {2, 4, 5, 8}) {
    Shape shape = make_shape<float>(rows, 1 << 20, 32);
    shape.packed = false;
    CAPTURE(rows);
    CHECK(choose(gpu, shape, {.one_pass = true, .radix = true}) ==
          (rows < 5 ? Algorithm::radix : Algorithm::one_pass));
  }
}

TEST_CASE("long batches with gaps between their keys are left to the portable choice", "[choose]") {
  Shape shape = make_shape<float>(1024, 1 << 17, 32);
  shape.packed = false;
  TunedAlgorithms const all{.one_pass = true, .bisection = true, .radix = true};
  CHECK(cuda::is_for_portable_one_pass(shape));
  CHECK(choose(gpu, shape, all) == Algorithm::one_pass);
  shape.k = shape.n / 4;
  CHECK(choose(gpu, shape, all) == Algorithm::radix);
  shape.ragged = true;
  CHECK_FALSE(cuda::is_for_portable_one_pass(shape));
}

TEST_CASE("so are many rows of some thousand keys if k is neither small nor large", "[choose]") {
  for (std::int64_t k : {63, 64, 512, 513})
    for (std::int64_t rows : {511, 512})
      for (std::int64_t n : {4096, 4097, (1 << 14) - 1}) {
        Shape shape = make_shape<float>(rows, n, k);
        shape.packed = false;
        CAPTURE(rows, n, k);
        bool const is_portable = rows == 512 && n > 4096 && (k == 64 || k == 512);
        CHECK(cuda::is_for_portable_one_pass(shape) == is_portable);
        if (is_portable)
          CHECK(choose(gpu, shape, {.one_pass = true, .radix = true}) ==
                (n <= 8192 ? Algorithm::bisection : Algorithm::one_pass));
      }
}

TEST_CASE("few rows with gaps between their keys are for the tuned one_pass", "[choose]") {
  Shape shape = make_shape<float>(100, 1 << 17, 2048);
  shape.packed = false;
  CHECK_FALSE(cuda::is_for_portable_one_pass(shape));
  shape.k = 4096;
  CHECK(cuda::is_for_portable_one_pass(shape));
  shape = make_shape<float>(100, 1 << 18, 32);
  shape.packed = false;
  CHECK(cuda::is_for_portable_one_pass(shape));
  shape = make_shape<float>(200, 1 << 15, 64);
  shape.packed = false;
  CHECK_FALSE(cuda::is_for_portable_one_pass(shape));
}

TEST_CASE("many rows of some thousand keys with gaps are for one_pass", "[choose]") {
  TunedAlgorithms const all{.one_pass = true, .bisection = true, .radix = true};
  Shape shape = make_shape<float>(4096, 4096, 64);
  CHECK(choose(gpu, shape, all) == Algorithm::bisection);
  shape.packed = false;
  CHECK(choose(gpu, shape, all) == Algorithm::one_pass);
}

TEST_CASE("few rows of some thousand keys are for one_pass, more and shorter ones for bisection",
          "[choose]") {
  TunedAlgorithms const all{.one_pass = true, .bisection = true, .radix = true};
  for (std::int64_t k : {1, 512, 2049}) {
    CAPTURE(k);
    CHECK(choose(gpu, make_shape<float>(1, 2049, k), all) == Algorithm::one_pass);
    CHECK(choose(gpu, make_shape<float>(256, 4096, k), all) == Algorithm::one_pass);
    CHECK(choose(gpu, make_shape<float>(257, 4096, k), all) == Algorithm::bisection);
  }
  CHECK(choose(gpu, make_shape<float>(1, 2048, 64), all) == Algorithm::bisection);
  for (std::int64_t rows : {512, 513}) {
    Shape ragged = make_shape<float>(rows, rows * 300, 64);
    ragged.ragged = true;
    CHECK(choose(gpu, ragged, all) == (rows == 512 ? Algorithm::one_pass : Algorithm::bisection));
  }
}

TEST_CASE("where a tuned radix serves, it is given what a tuned one_pass is not", "[choose]") {
  for (std::int64_t rows : {1, 8, 100})
    for (std::int64_t n : {1 << 14, 1 << 17, 1 << 20}) {
      Shape const shape = make_shape<float>(rows, n, n / 4);
      CAPTURE(rows, n);
      CHECK(choose(gpu, shape, {.radix = true}) == Algorithm::radix);
      CHECK(choose(gpu, shape, {.one_pass = true, .radix = true}) ==
            (rows < 8 && n >= 1 << 20 ? Algorithm::radix : Algorithm::one_pass));
    }
  CHECK(choose(gpu, make_shape<float>(1 << 16, 256, 32), {.radix = true}) == Algorithm::bisection);
}

TEST_CASE("where a tuned bisection serves, it is chosen", "[choose]") {
  Shape const short_rows = make_shape<float>(1 << 16, 256, 32);
  CHECK(choose(gpu, short_rows, {.one_pass = true, .bisection = true}) == Algorithm::bisection);
  CHECK(choose(gpu, short_rows, {}) == Algorithm::bisection);
  Shape ragged = make_shape<float>(1000, 100'000, 8);
  ragged.ragged = true;
  CHECK(choose(gpu, ragged, {.one_pass = true, .bisection = true}) == Algorithm::bisection);
}

TEST_CASE("on a host heap serves few selected keys of a long row, one_pass more, radix many",
          "[choose]") {
  std::int64_t const n = 1 << 26;
  auto const chosen = [&](std::int64_t k) {
    return choose(processor, make_shape<float>(1, n, k), tuned_on_hosts);
  };
  CHECK(chosen(128) == Algorithm::heap);
  CHECK(chosen(129) == Algorithm::one_pass);
  CHECK(chosen(n / 32) == Algorithm::one_pass);
  CHECK(chosen(n / 32 + 1) == Algorithm::radix);
}

TEST_CASE("on a host heap serves more selected keys where each row has a thread", "[choose]") {
  std::int64_t const n = 1 << 20;
  auto const chosen = [&](std::int64_t rows, std::int64_t k) {
    return choose(processor, make_shape<float>(rows, n, k), tuned_on_hosts);
  };
  CHECK(chosen(100, 128) == Algorithm::heap);
  CHECK(chosen(100, 129) == Algorithm::one_pass);
  CHECK(chosen(1, 128) == Algorithm::one_pass);
}

TEST_CASE("on a host one_pass serves rows that fit a cache, whatever k", "[choose]") {
  for (std::int64_t n : {2, 8192, 1 << 18})
    for (std::int64_t k : {std::int64_t{1}, n / 2, n}) {
      CAPTURE(n, k);
      Shape shape = make_shape<float>(100, n, k);
      CHECK(choose(processor, shape, tuned_on_hosts) == Algorithm::one_pass);
      shape.packed = false;
      CHECK((choose(processor, shape, tuned_on_hosts) == Algorithm::one_pass) ==
            (n <= 8192 || ktopk::detail::one_pass_serves(shape)));
    }
  Shape ragged = make_shape<float>(100, 1 << 20, 100);
  ragged.ragged = true;
  CHECK(choose(processor, ragged, tuned_on_hosts) == Algorithm::one_pass);
}

TEST_CASE("a host without tuned implementations is given what a GPU without them is", "[choose]") {
  auto const chosen = [&](std::int64_t n, std::int64_t k) {
    return choose(processor, make_shape<float>(1, n, k), {});
  };
  CHECK(chosen(100, 10) == Algorithm::bisection);
  CHECK(chosen(8192, 65) == Algorithm::bisection);
  CHECK(chosen(8193, 10) == Algorithm::one_pass);
  CHECK(chosen(1 << 26, 10) == Algorithm::one_pass);
  CHECK(chosen(1 << 26, 1 << 25) == Algorithm::radix);
}

#if KTOPK_ENABLE_CUDA_TUNED
/// Checks whether a kernel serves, if this build has it.
template <class Kernel>
void expect(bool serves, Shape const& shape, Options const& options = {}) {
  if constexpr (cuda::has_kernels(Kernel::algorithm))
    CHECK((Kernel::declines({{}, shape, options}) == nullptr) == serves);
}

TEST_CASE("the kernels decline what would be slow or does not fit their composite keys",
          "[choose]") {
  std::int64_t const most = std::int64_t{1} << 32;
  for (std::int64_t n : {most, most + 1}) {
    CAPTURE(n);
    expect<cuda::BitonicParts>(n == most, make_shape<float>(1, n, 32));
    expect<cuda::QueueParts>(n == most, make_shape<float>(1, n, 32));
    expect<cuda::BitonicParts>(true, make_shape<bfloat16>(1, n, 32));
    expect<cuda::QueueParts>(true, make_shape<double>(1, n, 32));
  }
  for (Sorted const sorted : {Sorted::no, Sorted::yes}) {
    auto const expect_sorts = [&]<class T>(bool serves, T, std::int64_t k) {
      CAPTURE(k);
      expect<cuda::BisectionRows>(serves, make_shape<T>(9, 2000, k), {.sorted = sorted});
    };
    expect_sorts(true, bfloat16{}, 512);
    expect_sorts(true, 0.0F, 512);
    expect_sorts(true, 0.0, 128);
    expect_sorts(sorted == Sorted::no, bfloat16{}, 513);
    expect_sorts(sorted == Sorted::no, 0.0F, 513);
    expect_sorts(sorted == Sorted::no, 0.0, 129);
  }
}
#endif

}  // namespace ktopk::detail
