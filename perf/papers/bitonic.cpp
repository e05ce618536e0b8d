// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <queue>

#include "papers.hpp"

// Bitonic top-k: the comparisons of local sort, merge and rebuild, and how the work of each implementation grows on
// the worst cases of section 6.4.

namespace ktopk::papers {
namespace {

/// The three operators as printed, counting.
class Network {
 public:
  explicit Network(std::vector<float> list) : m_list(std::move(list)) {}

  /// The k best, and how many comparisons that took.
  double select(std::int64_t k) {
    for (std::int64_t length = 1; length < k; length *= 2) steps(length, 2 * length);
    while (static_cast<std::int64_t>(m_list.size()) > k) {
      merge(k);
      steps(k / 2, k);
    }
    return m_comparisons;
  }
  std::vector<float> const& list() const { return m_list; }

 private:
  void steps(std::int64_t length, std::int64_t direction) {
    for (std::int64_t stride = length; stride > 0; stride /= 2)
      for (std::int64_t pair = 0; pair < static_cast<std::int64_t>(m_list.size()) / 2; ++pair) {
        std::int64_t const i = 2 * pair - (pair & (stride - 1));
        float& a = m_list[static_cast<std::size_t>(i)];
        float& b = m_list[static_cast<std::size_t>(i + stride)];
        ++m_comparisons;
        if ((a < b) == ((direction & i) == 0)) std::swap(a, b);
      }
  }
  void merge(std::int64_t k) {
    std::vector<float> best(m_list.size() / 2);
    for (std::size_t pair = 0; pair < best.size(); ++pair) {
      std::size_t const i = 2 * pair - (pair & static_cast<std::size_t>(k - 1));
      best[pair] = std::max(m_list[i], m_list[i + static_cast<std::size_t>(k)]);
    }
    m_comparisons += static_cast<double>(best.size());
    m_list = std::move(best);
  }

  std::vector<float> m_list;
  double m_comparisons = 0;
};

/// Section 3.2's analysis, summed up: local sort of n, then merge and rebuild on n, n / 2 ... 2 k.
double expected_comparisons(double n, double k) {
  double const log_k = std::log2(k);
  return n / 2 * log_k * (log_k + 1) / 2 + (n - k) + (n - k) / 2 * log_k;
}

float uniform_key(std::int64_t i) {
  return static_cast<float>(uniform(9, static_cast<std::uint64_t>(i)));
}

/// All 1 but four keys, each of which differs from it in one digit of 8 bits.
float bucket_killer(std::int64_t i, std::int64_t n) {
  for (int digit = 0; digit < 4; ++digit)
    if (i == (2 * digit + 1) * n / 8)
      return std::bit_cast<float>(0x3f800000u ^ (1u << (8 * digit)));
  return 1;
}

struct Input {
  char const* name;
  std::function<float(std::int64_t)> key;
};

std::vector<Input> inputs(std::int64_t n) {
  return {
      {"uniform", uniform_key},
      {"increasing", [n](std::int64_t i) { return static_cast<float>(i) / static_cast<float>(n); }},
      {"bucket killer", [n](std::int64_t i) { return bucket_killer(i, n); }}};
}

/// 0 where there is no such implementation.
std::int64_t largest_k(Algorithm algorithm) {
  for (auto const& info : algorithms())
    if (info.algorithm == algorithm) return info.largest_k;
  return 0;
}

void comparisons(Report& report) {
  report.section("Bitonic top-k, section 3.2: comparisons for 2^16 keys");
  std::int64_t const n = 1 << 16;
  for (std::int64_t k : {4, 16, 64, 256, 1024}) {
    std::vector<double> counted;
    bool right = true;
    for (auto const& input : inputs(n)) {
      std::vector<float> list;
      for (std::int64_t i = 0; i < n; ++i) list.push_back(input.key(i));
      Network network(list);
      counted.push_back(network.select(k));
      std::nth_element(list.begin(), list.begin() + (k - 1), list.end(), std::greater<float>());
      right = right && *std::min_element(network.list().begin(), network.list().end()) ==
                           list[static_cast<std::size_t>(k - 1)];
    }
    double const expected = expected_comparisons(static_cast<double>(n), static_cast<double>(k));
    report.compare(text("k = %lld: network, on three inputs", static_cast<long long>(k)),
                   {expected, expected, expected}, counted, 0, 0);
    double const square = static_cast<double>(n) * std::pow(std::log2(static_cast<double>(k)), 2);
    report.claim(text("k = %lld: O(n log^2 k)", static_cast<long long>(k)), "O(n log^2 k)",
                 text("%.2f n log^2 k%s", expected / square, right ? "" : ", WRONG RESULT"),
                 right && expected < 2 * square);
    if (k > largest_k(Algorithm::bitonic)) continue;
    std::vector<double> implementation;
    for (auto const& input : inputs(n)) {
      Options options;
      options.algorithm = Algorithm::bitonic;
      implementation.push_back(
          select(make_rows<float>(1, n, input.key), k, options).counted[Count::comparisons]);
    }
    report.claim(text("k = %lld: the implementation, on three inputs", static_cast<long long>(k)),
                 text("%.0f", expected), row(implementation, 0),
                 implementation[0] == implementation[1] && implementation[1] == implementation[2] &&
                     std::abs(implementation[0] / expected - 1) < 0.01,
                 "but for the last merge and rebuild of a few k");
  }
}

/// Keys that enter a heap of the k best.
double insertions(std::int64_t n, std::int64_t k, std::function<float(std::int64_t)> const& key) {
  std::priority_queue<float, std::vector<float>, std::greater<float>> heap;
  double count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    float const next = key(i);
    if (static_cast<std::int64_t>(heap.size()) == k) {
      if (next <= heap.top()) continue;
      heap.pop();
    }
    heap.push(next);
    ++count;
  }
  return count;
}

/// Rows that the implementation does not split, so that each has one heap.
void heap_implementation(Report& report) {
  std::int64_t const rows = 64, n = 1 << 14, k = 32;
  auto const counted = [&](std::function<float(std::int64_t)> const& key) {
    Options options;
    options.algorithm = Algorithm::heap;
    return select(make_rows<float>(rows, n, key), k, options).counted[Count::insertions] / rows;
  };
  // What the threshold by 128 strided maxima, each of 64 keys of this row, leaves of it.
  double const reaching = 16384.0 / 64 * -std::log(1 - 32.0 / 128);
  report.compare(
      text(
          "the implementation heap, uniform, 64 rows of 2^14: insertions, k (1 + ln(m / k)) of the "
          "m = %.0f keys that the best of classes of places leave",
          reaching),
      {32 * (1 + std::log(reaching / 32))}, {counted(uniform_key)}, 8, 0);
  double const rising = counted([=](std::int64_t i) { return static_cast<float>(i % n); });
  report.line("the implementation heap, increasing", "each key", text("%.0f of 16384", rising),
              "a block of keys is begun at its better end");
}

void heaps(Report& report) {
  report.section("Bitonic top-k, section 6.7: insertions into a heap of k = 32 for 671000 keys");
  std::int64_t const n = 671000, k = 32;
  double const expected = 32 * (1 + std::log(671000.0 / 32));
  double counted = 0;
  for (int run = 0; run < 20; ++run)
    counted += insertions(n, k, [=](std::int64_t i) { return uniform_key(i + run * n); }) / 20;
  report.compare(
      "uniform", {500}, {counted}, 50, 0,
      text("k (1 + ln(n / k)) = %.0f are to be expected; the text states about 500", expected));
  report.compare("increasing: each key is one", {671000},
                 {insertions(n, k, [](std::int64_t i) { return static_cast<float>(i); })}, 0, 0);
  heap_implementation(report);
}

double work(Counted const& counted) {
  return counted.moved() + counted[Count::comparisons] + counted[Count::insertions];
}

/// What section 6.4 states of a method on its two worst cases.
char const* stated(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::heap: return "up to 3 x in time, no change";
    case Algorithm::radix: return "no change, as slow as sort";
    case Algorithm::bucket: return "no change, 2 x in time";
    case Algorithm::sort:
    case Algorithm::bitonic: return "no change, no change";
    default: return "-";
  }
}

void worst_cases(Report& report) {
  report.section(
      "Bitonic top-k, section 6.4: work of each implementation, 2^22 floats, k = 64: composite "
      "keys moved, "
      "comparisons and insertions in n; then its growth on increasing keys and on the bucket "
      "killer");
  std::int64_t const n = 1 << 22;
  std::vector<double> radix;
  for (auto const& info : algorithms()) {
    std::vector<double> works;
    bool counts_reads = true;
    for (auto const& input : inputs(n)) {
      Options options;
      options.algorithm = info.algorithm;
      Counted const counted = select(make_rows<float>(1, n, input.key), 64, options).counted;
      counts_reads = counts_reads && counted.moved() >= static_cast<double>(n);
      works.push_back(work(counted));
    }
    if (!counts_reads) {
      report.line(info.name, stated(info.algorithm), "not counted",
                  "this implementation does not count its reads");
      continue;
    }
    if (info.algorithm == Algorithm::radix) radix = works;
    if (info.algorithm != Algorithm::radix && works == radix) {
      report.line(info.name, stated(info.algorithm), "-", "radix serves this shape");
      continue;
    }
    bool const grows = works[1] > 1.1 * works[0] || works[2] > 1.1 * works[0];
    report.line(info.name, stated(info.algorithm),
                text("%.3f n, x %.2f, x %.2f", works[0] / static_cast<double>(n),
                     works[1] / works[0], works[2] / works[0]),
                grows ? "grows, but stays bounded" : "does not grow");
  }
}

}  // namespace

void bitonic(Report& report) {
  comparisons(report);
  heaps(report);
  worst_cases(report);
}

}  // namespace ktopk::papers
