// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bit>
#include <cmath>
#include <functional>

#include "papers.hpp"

// AIR Top-K: what Algorithm 1 reads and writes in each iteration, with candidate buffers where they are
// worth it, always and never; and what early stopping saves. The algorithm is simulated as printed, on
// 32-bit floats with digits of 11, 11 and 10 bits, for the K smallest; the implementation radix counts its own.

namespace ktopk::papers {
namespace {

constexpr std::int64_t n = 1 << 24;
constexpr double key_bytes = 4, candidate_bytes = 8;  // a candidate has an index

struct Input {
  char const* name;
  std::function<float(std::int64_t)> key;
};

float leading(int bits, std::int64_t i) {
  auto const rest =
      static_cast<std::uint32_t>(random_bits(3, static_cast<std::uint64_t>(i)) >> (32 + bits));
  return std::bit_cast<float>((0x3f800000u >> (32 - bits) << (32 - bits)) | rest);
}

std::vector<Input> inputs() {
  return {
      {"uniform (0, 1]",
       [](std::int64_t i) {
         return static_cast<float>(uniform(3, static_cast<std::uint64_t>(i)));
       }},
      {"normal",
       [](std::int64_t i) { return static_cast<float>(normal(3, static_cast<std::uint64_t>(i))); }},
      {"M = 10", [](std::int64_t i) { return leading(10, i); }},
      {"M = 20", [](std::int64_t i) { return leading(20, i); }}};
}

std::uint32_t ordered(float key) {
  auto const bits = std::bit_cast<std::uint32_t>(key);
  return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
}

enum class Early { runs_on, stops };

struct Strategy {
  double alpha;  // candidates are buffered below n / alpha; 0 buffers always, infinity never
  Early early = Early::runs_on;
  bool buffers(double candidates) const {
    return alpha == 0 || candidates < static_cast<double>(n) / alpha;
  }
};

/// Bytes moved by each fused kernel and by the last filter, and the candidates that each digit leaves.
struct Traffic {
  std::vector<double> bytes, candidates;
  double sum() const {
    double all = 0;
    for (double each : bytes) all += each;
    return all;
  }
  /// In reads of the input.
  std::vector<double> reads() const {
    std::vector<double> out;
    for (double each : bytes) out.push_back(each / (key_bytes * static_cast<double>(n)));
    return out;
  }
};

/// The histogram of ranks >> low among those whose bits above `high` are `prefix`.
std::vector<std::int64_t> histogram(Rows<std::uint32_t> const& ranks, std::uint64_t prefix,
                                    int high, int low) {
  std::vector<std::int64_t> bins(std::size_t{1} << (high - low));
  std::uint32_t const* const rank = ranks.data();
  for (std::int64_t i = 0; i < n; ++i)
    if (std::uint64_t{rank[i]} >> high == prefix) ++bins[(rank[i] >> low) & (bins.size() - 1)];
  return bins;
}

/// The settled digits after each iteration: how many candidates, how many results, of which K are left.
struct Digit {
  double candidates, results, left;
};

std::vector<Digit> digits(Rows<std::uint32_t> const& ranks, std::int64_t k,
                          std::vector<int> const& lows = {21, 10, 0}) {
  std::vector<Digit> out;
  std::uint64_t prefix = 0;
  int high = 32;
  for (int low : lows) {
    auto const bins = histogram(ranks, prefix, high, low);
    std::size_t digit = 0;
    std::int64_t below = 0;
    while (below + bins[digit] < k) below += bins[digit++];
    k -= below;
    out.push_back(
        {static_cast<double>(bins[digit]), static_cast<double>(below), static_cast<double>(k)});
    prefix = prefix << (high - low) | digit;
    high = low;
  }
  return out;
}

/// Each kernel reads what its predecessor left, writes the results of the digit before and, where that is
/// worth it, its candidates; a kernel has nothing left to do once all candidates are results.
Traffic traffic(std::vector<Digit> const& digits, Strategy const& strategy) {
  Traffic out;
  double const input = key_bytes * static_cast<double>(n);
  double source = input;
  out.bytes.push_back(input);
  for (std::size_t d = 0; d < digits.size(); ++d) {
    Digit const& digit = digits[d];
    out.candidates.push_back(digit.candidates);
    bool const last = d + 1 == digits.size();
    bool const done = strategy.early == Early::stops && digit.candidates == digit.left;
    bool const stores = !last && !done && strategy.buffers(digit.candidates);
    double const results = digit.results + (last || done ? digit.left : 0);
    double const stored = stores ? digit.candidates : 0;
    out.bytes.push_back(source + candidate_bytes * (results + stored));
    source = stores ? candidate_bytes * digit.candidates : input;
    if (done) break;
  }
  return out;
}

Rows<std::uint32_t> ranks_of(Input const& input) {
  auto const& key = input.key;
  return make_rows<std::uint32_t>(1, n, [&](std::int64_t i) { return ordered(key(i)); });
}

void traffic_lines(Report& report) {
  report.section(
      "AIR Top-K, 3.1 and 3.2: bytes moved by kernels 1, 2, 3 and the last filter, in reads of the "
      "input; N = 2^24, K = 2048");
  std::vector<double> gains;
  for (auto const& input : inputs()) {
    auto const found = digits(ranks_of(input), 2048);
    Traffic const adaptive = traffic(found, {4}), always = traffic(found, {0}),
                  never = traffic(found, {INFINITY});
    report.line(std::string(input.name) + ": adaptive, alpha = 4", "-", row(adaptive.reads(), 3),
                text("%.2f in all", adaptive.sum() / key_bytes / n));
    report.line(std::string(input.name) + ": always buffered", "-", row(always.reads(), 3),
                text("%.2f in all", always.sum() / key_bytes / n));
    report.line(std::string(input.name) + ": never buffered", "-", row(never.reads(), 3),
                text("%.2f in all", never.sum() / key_bytes / n));
    report.claim(std::string(input.name) + ": adaptive is the least", "saves access when possible",
                 text("%.2f against %.2f and %.2f", adaptive.sum() / key_bytes / n,
                      always.sum() / key_bytes / n, never.sum() / key_bytes / n),
                 adaptive.sum() <= 1.001 * std::min(always.sum(), never.sum()));
    gains.push_back(always.sum() / adaptive.sum());
    if (input.name == std::string("uniform (0, 1]"))
      report.compare(
          "uniform: share of the kernels in %, Table 3", {49.29, 50.30, 0.29, 0.12},
          {100 * adaptive.bytes[0] / adaptive.sum(), 100 * adaptive.bytes[1] / adaptive.sum(),
           100 * adaptive.bytes[2] / adaptive.sum(), 100 * adaptive.bytes[3] / adaptive.sum()},
          1.0);
  }
  report.claim("M = 10: always over adaptive", "up to 4.62 in time",
               text("%.2f in bytes", gains[2]), false,
               "a time against bytes, which do not show that candidates go out in pieces");
  report.claim("M = 20: always over adaptive", "up to 6.53 in time",
               text("%.2f in bytes", gains[3]), false, "likewise");
  report.claim("adaptive saves more for M = 20 than for M = 10", "6.53 > 4.62",
               text("%.2f > %.2f", gains[3], gains[2]), gains[3] > gains[2] && gains[2] > 1);
}

void statements(Report& report) {
  report.section("AIR Top-K, single statements of 3.1 and 3.2");
  auto const even = make_rows<std::uint32_t>(
      1, n, [](std::int64_t i) { return random_bits(4, static_cast<std::uint64_t>(i)) >> 32; });
  report.compare("evenly spread bits: n over candidates of digit 1", {2048},
                 {static_cast<double>(n) / digits(even, n / 3)[0].candidates}, 60, 0);
  auto const equal = make_rows<std::uint32_t>(1, n, [](std::int64_t) { return 0x12345678u; });
  auto const same = digits(equal, 8, {24, 16, 8, 0});
  double const fused = traffic(same, {INFINITY}).sum() / (key_bytes * static_cast<double>(n));
  report.compare("worst case, 8-bit digits: loads of N, 2 x 4 and fused", {8, 5},
                 {2 * static_cast<double>(same.size()), fused}, 0.001, 2);
  report.compare("worst case: a buffer of all N candidates, in N keys", {2},
                 {candidate_bytes * same[0].candidates / (key_bytes * static_cast<double>(n))}, 0,
                 2);
  double const shares[] = {0.249, 0.251};
  double const with = 2 * candidate_bytes / key_bytes * shares[0],
               beyond = 2 * candidate_bytes / key_bytes * shares[1];
  report.claim("alpha >= 4: a buffer pays below n / 4", "4 C < N",
               text("%.3f < 1 < %.3f reads at n/4 -+ 0.001 n", with, beyond),
               with < 1 && beyond > 1);
}

void early_lines(Report& report) {
  report.section("AIR Top-K, 3.3: what early stopping saves, N = 2^24, all K = 2^3 .. 2^20");
  double most = 0;
  for (auto const& input : inputs()) {
    auto const ranks = ranks_of(input);
    int stopped = 0, all = 0;
    double saved = 0;
    for (int log_k = 3; log_k <= 20; log_k += 1) {
      auto const found = digits(ranks, std::int64_t{1} << log_k);
      Traffic const on = traffic(found, {4}), stop = traffic(found, {4, Early::stops});
      ++all;
      stopped += stop.bytes.size() < on.bytes.size() ? 1 : 0;
      saved = std::max(saved, 100 * (1 - stop.sum() / on.sum()));
    }
    most = std::max(most, saved);
    report.line(std::string(input.name) + ": stops early", "-",
                text("for %d of %d K, saves <= %.3f %% of the bytes", stopped, all, saved),
                "counted");
  }
  auto const few = make_rows<std::uint32_t>(
      1, n, [](std::int64_t i) { return (i % 3 == 0 ? 0x3f000000u : 0xbf000000u); });
  auto const found = digits(few, (n + 2) / 3);
  double const saved =
      100 * (1 - traffic(found, {4, Early::stops}).sum() / traffic(found, {4}).sum());
  report.line("two values, K = all of one", "-", text("saves %.1f %% of the bytes", saved),
              "the best case: two of four kernels");
  report.claim("saving", "up to 18.7 % in time", text("up to %.3f %% in bytes on its inputs", most),
               most >= 5,
               "a time against bytes: it is the last kernels, nearly empty, that are spared");
}

void implementation(Report& report) {
  report.section(
      "The implementation radix on the same inputs: reads of the input, composite keys moved in n, "
      "passes");
  for (auto const& input : inputs()) {
    auto const& key = input.key;
    auto const keys = make_rows<float>(1, n, [&](std::int64_t i) { return key(i); });
    Options options;
    options.algorithm = Algorithm::radix;
    options.order = Order::smallest;
    auto const counted = select(keys, 2048, options).counted;
    double const size = static_cast<double>(n);
    report.line(
        input.name, "2 to 4 reads",
        text("%.3f reads, %.3f composite keys, %.0f passes", counted[Count::keys_read] / size,
             (counted[Count::composites_read] + counted[Count::composites_written]) / size,
             counted[Count::passes]),
        counted[Count::keys_read] <= 4.001 * size ? "within" : "more");
  }
}

}  // namespace

void air(Report& report) {
  traffic_lines(report);
  statements(report);
  early_lines(report);
  implementation(report);
}

}  // namespace ktopk::papers
