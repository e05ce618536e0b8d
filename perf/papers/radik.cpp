// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>

#include "papers.hpp"

// RadiK: how often a block's write buffer is flushed, by equations 1 to 5 and as counted on uniform keys.
// The buffers are simulated, for a host's implementation has no blocks; what it flushes is counted beside them.

namespace ktopk::papers {
namespace {

struct Grid {
  std::int64_t n, blocks, block;
  int digit_bits;
  std::int64_t partitions() const { return (n + blocks * block - 1) / (blocks * block); }
  double share() const { return std::exp2(-digit_bits); }
};

/// Keys of partition `p` of a block whose digit is the wanted one; 0 behind the end of the input.
std::int64_t hits(Grid const& grid, std::int64_t block, std::int64_t p) {
  std::int64_t const begin = (p * grid.blocks + block) * grid.block;
  std::int64_t const end = std::min(grid.n, begin + grid.block);
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i)
    count += random_bits(7, static_cast<std::uint64_t>(i)) >> (64 - grid.digit_bits) == 1 ? 1 : 0;
  return count;
}

struct Flushes {
  double every = 0;      // buffer of BLOCK: after each partition that left something in it
  double half = 0;       // buffer of 2 BLOCK: when more than BLOCK are in it ...
  double final_one = 0;  // ... and for the rest
  double fullest = 0;
};

Flushes count_flushes(Grid const& grid) {
  Rows<double> const out("ktopk::papers::flushes", grid.blocks, 4);
  Kokkos::parallel_for("ktopk::papers::flushes", Kokkos::RangePolicy<Exec>(0, grid.blocks),
                       [=](std::int64_t b) {
                         std::int64_t held = 0;
                         for (std::int64_t p = 0; p < grid.partitions(); ++p) {
                           std::int64_t const found = hits(grid, b, p);
                           out(b, 0) += found > 0 ? 1 : 0;
                           held += found;
                           out(b, 3) = std::max(out(b, 3), static_cast<double>(held));
                           if (held <= grid.block) continue;
                           out(b, 1) += 1;
                           held = 0;
                         }
                         out(b, 2) = held > 0 ? 1 : 0;
                       });
  Exec().fence();
  Flushes sum;
  for (std::int64_t b = 0; b < grid.blocks; ++b) {
    auto const share = 1 / static_cast<double>(grid.blocks);
    sum.every += out(b, 0) * share;
    sum.half += out(b, 1) * share;
    sum.final_one += out(b, 2) * share;
    sum.fullest = std::max(sum.fullest, out(b, 3));
  }
  return sum;
}

void check(Report& report, Grid const& grid) {
  auto const partitions = static_cast<double>(grid.partitions()),
             block = static_cast<double>(grid.block);
  double const per_pass = 1 - std::pow(1 - grid.share(), block);
  double const bound = block * grid.share() / (block + 1) * partitions;
  Flushes const counted = count_flushes(grid);
  std::string const where =
      text("BLOCK %lld, d %d", static_cast<long long>(grid.block), grid.digit_bits);
  report.compare(where + ": flushes per pass, eq. 2", {per_pass}, {counted.every / partitions},
                 0.01, 4);
  report.claim(where + ": worst case, eq. 1", text("<= %.0f", partitions),
               text("%.2f", counted.every), counted.every <= partitions);
  report.compare(where + ": all flushes, eq. 3", {per_pass * partitions}, {counted.every},
                 0.01 * partitions);
  report.claim(where + ": with 2 BLOCK, eq. 4",
               text("<= %.2f, eq. 5: %.2f", bound, partitions * grid.share()),
               text("%.2f and %.2f at the end", counted.half, counted.final_one),
               counted.half <= bound,
               "the equation leaves out the flush of what is left at the end");
  report.claim(where + ": the buffer never overflows", text("2 BLOCK = %.0f", 2 * block),
               text("at most %.0f held", counted.fullest), counted.fullest <= 2 * block);
}

/// On a host a thread is a group; it holds 256 candidates, or all selected keys of a block of 2048. These it
/// puts at once, so where k is so small that a block has few of them, they are few for each flush.
void implementation(Report& report) {
  report.section(
      "The implementation radix, 2^24 uniform keys: composite keys written for each flush");
  std::int64_t const n = 1 << 24;
  auto const keys = make_rows<float>(
      1, n, [](std::int64_t i) { return uniform(8, static_cast<std::uint64_t>(i)); });
  Options options;
  options.algorithm = Algorithm::radix;
  double const blocks = static_cast<double>(n) / 2048, groups = 4.0 * Exec().concurrency();
  for (std::int64_t k : {n / 64, n / 4, n / 2}) {
    auto const counted = select(keys, k, options).counted;
    double const candidates = counted[Count::composites_written];
    double const composites = candidates + static_cast<double>(k);
    double const most = blocks + candidates / 256 + 2 * groups;
    report.claim(text("k = %lld: worst case, as eq. 1", static_cast<long long>(k)),
                 text("one a block: <= %.0f", most), text("%.0f flushes", counted[Count::flushes]),
                 counted[Count::flushes] <= most);
    if (k < n / 4) continue;
    report.claim(text("k = %lld: atomic operations saved", static_cast<long long>(k)),
                 "> BLOCK composite keys a flush",
                 text("%.0f composite keys, %.0f flushes", composites, counted[Count::flushes]),
                 composites > 256 * counted[Count::flushes]);
  }
}

}  // namespace

void radik(Report& report) {
  report.section(
      "RadiK, equations 1 to 5: buffer flushes of a block, 2^26 uniform keys, GRID = 160");
  report.compare("eq. 2 for BLOCK = 1024, d = 8, in the text", {0.98},
                 {1 - std::pow(255.0 / 256, 1024)}, 0.005);
  for (Grid const& grid : {Grid{1 << 26, 160, 1024, 8}, Grid{1 << 26, 160, 256, 8},
                           Grid{1 << 26, 160, 1024, 4}, Grid{1 << 26, 160, 512, 11}})
    check(report, grid);
  implementation(report);
}

}  // namespace ktopk::papers
