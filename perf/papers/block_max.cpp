// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <functional>

#include "papers.hpp"
#include "portable/delegate/delegate.hpp"

// Block-max WAND beside Dr. Top-k, Figure 24: how many keys it evaluates, over the delegates and candidates of Dr. Top-k.
// The blocks of the one are the subranges of the other. Normal keys are a step function of uniform ones, so that one pass
// over the keys and one list of the best serve for all distributions.

namespace ktopk::papers {
namespace {

constexpr int log_n = 30, most_log_k = 20;
constexpr std::int64_t n = std::int64_t{1} << log_n;

std::uint32_t key_at(std::int64_t i) {
  return static_cast<std::uint32_t>(random_bits(7, static_cast<std::uint64_t>(i)) >> 32);
}

/// The least uniform key of each step; none where each is a step of its own.
class Steps {
 public:
  Steps() = default;
  /// Normal keys with the paper's deviation of 10, rounded to multiples of `spacing`.
  explicit Steps(double spacing) : m_least{0} {
    for (double middle = -20 * spacing; middle < 100; middle += spacing) {
      double const above = std::erfc(-(middle - spacing / 2) / 10 / std::sqrt(2.0)) / 2;
      double const least = std::ceil(above * 0x1p32);
      if (least > m_least.back() && least < 0x1p32)
        m_least.push_back(static_cast<std::uint32_t>(least));
    }
  }
  std::uint64_t least_equal(std::uint32_t key) const {
    return m_least.empty() ? key : *(next(key) - 1);
  }
  std::uint64_t least_better(std::uint32_t key) const {
    if (m_least.empty()) return std::uint64_t{key} + 1;
    return next(key) == m_least.end() ? std::uint64_t{1} << 32 : *next(key);
  }

 private:
  std::vector<std::uint32_t>::const_iterator next(std::uint32_t key) const {
    return std::upper_bound(m_least.begin(), m_least.end(), key);
  }
  std::vector<std::uint32_t> m_least;
};

/// The two best keys of each subrange.
struct Blocks {
  int alpha;
  std::vector<std::uint32_t> first, second;
  std::int64_t count() const { return static_cast<std::int64_t>(first.size()); }
  std::int64_t length() const { return std::int64_t{1} << alpha; }
};

Blocks make_blocks(int alpha) {
  Blocks blocks{alpha, {}, {}};
  auto const count = static_cast<std::size_t>(n >> alpha);
  blocks.first.resize(count);
  blocks.second.resize(count);
  std::uint32_t *const firsts = blocks.first.data(), *const seconds = blocks.second.data();
  std::int64_t const length = blocks.length();
  Kokkos::parallel_for("ktopk::papers::blocks",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, n >> alpha),
                       [=](std::int64_t block) {
                         std::uint32_t first = 0, second = 0;
                         for (std::int64_t i = block * length; i < (block + 1) * length; ++i) {
                           std::uint32_t const key = key_at(i);
                           second = std::max(second, std::min(first, key));
                           first = std::max(first, key);
                         }
                         firsts[block] = first;
                         seconds[block] = second;
                       });
  Exec().fence();
  return blocks;
}

/// Subranges of twice the length.
Blocks joined(Blocks const& blocks) {
  Blocks pairs{blocks.alpha + 1, {}, {}};
  for (std::size_t b = 0; b < blocks.first.size(); b += 2) {
    auto const [low, high] = std::minmax(blocks.first[b], blocks.first[b + 1]);
    pairs.first.push_back(high);
    pairs.second.push_back(std::max({low, blocks.second[b], blocks.second[b + 1]}));
  }
  return pairs;
}

/// The k-th best key of those that were offered.
class Threshold {
 public:
  explicit Threshold(std::int64_t k) : m_k(static_cast<std::size_t>(k)) {}
  bool is_full() const { return m_heap.size() == m_k; }
  std::uint32_t key() const { return m_heap.front(); }
  bool is_better(std::uint32_t key) const { return !is_full() || key > m_heap.front(); }
  void offer(std::uint32_t key) {
    if (!is_better(key)) return;
    if (is_full()) {
      std::pop_heap(m_heap.begin(), m_heap.end(), std::greater<>());
      m_heap.pop_back();
    }
    m_heap.push_back(key);
    std::push_heap(m_heap.begin(), m_heap.end(), std::greater<>());
  }

 private:
  std::size_t m_k;
  std::vector<std::uint32_t> m_heap;
};

/// What block-max WAND asks of the maximum of a block.
enum class Eligible { exceeds, reaches };

/// A distribution of keys and a rule; counts the keys that block-max WAND evaluates.
class Evaluation {
 public:
  Evaluation(Steps steps, Eligible eligible) : m_steps(std::move(steps)), m_eligible(eligible) {}
  void begin() { m_least = m_running = m_final = 0; }
  void set_threshold(std::uint32_t key) {
    m_least =
        m_eligible == Eligible::exceeds ? m_steps.least_better(key) : m_steps.least_equal(key);
  }
  bool admits(std::uint32_t maximum) const { return maximum >= m_least; }
  void add_running(std::int64_t keys) { m_running += static_cast<double>(keys); }
  void add_final(std::int64_t keys) { m_final += static_cast<double>(keys); }
  Steps const& steps() const { return m_steps; }
  double running() const { return m_running; }  ///< against the k-th best of the keys before
  double final() const { return m_final; }      ///< against the k-th best of all keys

 private:
  Steps m_steps;
  Eligible m_eligible;
  std::uint64_t m_least = 0;
  double m_running = 0, m_final = 0;
};

/// One document after the other, as in Figure 11: each is checked before it is evaluated.
void evaluate_block(Blocks const& blocks, std::int64_t block, Threshold& threshold,
                    std::vector<Evaluation>& all) {
  std::uint32_t const maximum = blocks.first[static_cast<std::size_t>(block)];
  if (!threshold.is_better(maximum)) {
    for (Evaluation& one : all)
      if (one.admits(maximum)) one.add_running(blocks.length());
    return;
  }
  for (std::int64_t i = block * blocks.length(); i < (block + 1) * blocks.length(); ++i) {
    for (Evaluation& one : all)
      if (one.admits(maximum)) one.add_running(1);
    std::uint32_t const key = key_at(i);
    if (!threshold.is_better(key)) continue;
    threshold.offer(key);
    if (threshold.is_full())
      for (Evaluation& one : all) one.set_threshold(threshold.key());
  }
}

void evaluate(Blocks const& blocks, std::int64_t k, std::vector<Evaluation>& all) {
  Threshold threshold(k);
  for (Evaluation& one : all) one.begin();
  for (std::int64_t block = 0; block < blocks.count(); ++block)
    evaluate_block(blocks, block, threshold, all);
  for (std::uint32_t const maximum : blocks.first)
    for (Evaluation& one : all)
      if (one.admits(maximum)) one.add_final(blocks.length());
}

std::int64_t count_reaching(Blocks const& blocks, std::int64_t block, std::uint64_t threshold) {
  std::int64_t count = 0;
  for (std::int64_t i = block * blocks.length(); i < (block + 1) * blocks.length(); ++i)
    count += key_at(i) >= threshold ? 1 : 0;
  return count;
}

/// The keys of the first and of the second top-k, for one and for two delegates of a subrange. Of equal delegates the first
/// are selected.
double delegate_workload(Blocks const& blocks, std::int64_t k, int beta, Steps const& steps) {
  std::vector<std::uint32_t> delegates = blocks.first;
  if (beta == 2) delegates.insert(delegates.end(), blocks.second.begin(), blocks.second.end());
  std::nth_element(delegates.begin(), delegates.begin() + (k - 1), delegates.end(),
                   std::greater<>());
  std::uint32_t const kth = delegates[static_cast<std::size_t>(k - 1)];
  std::uint64_t const equal = steps.least_equal(kth), better = steps.least_better(kth);
  std::int64_t ties = k - std::count_if(delegates.begin(), delegates.end(),
                                        [&](std::uint32_t key) { return key >= better; });
  auto const takes = [&](std::uint32_t key) {
    return key >= better || (key >= equal && ties-- > 0);
  };
  std::int64_t concatenated = 0;
  bool any_whole = false;  // else all that is wanted is among the delegates
  for (std::int64_t block = 0; block < blocks.count(); ++block) {
    auto const b = static_cast<std::size_t>(block);
    if (blocks.first[b] < equal || !takes(blocks.first[b])) continue;
    bool const whole = beta == 1 || (blocks.second[b] >= equal && takes(blocks.second[b]));
    concatenated += whole ? count_reaching(blocks, block, equal) : 1;
    any_whole = any_whole || whole;
  }
  return static_cast<double>(beta * blocks.count() + (any_whole ? concatenated : 0));
}

/// The mean ratio over all k, by delegates and by the threshold of block-max WAND.
struct Means {
  double running[2] = {}, final[2] = {};
};

void add_ratios(Blocks const& blocks, std::int64_t k, Evaluation const& one, Means& means) {
  for (int beta : {1, 2}) {
    double const workload = delegate_workload(blocks, k, beta, one.steps()) * (most_log_k + 1);
    means.running[beta - 1] += one.running() / workload;
    means.final[beta - 1] += one.final() / workload;
  }
}

/// From the largest k on, whose subranges are the shortest.
std::vector<Means> count_ratios(std::vector<Evaluation> all) {
  std::vector<Means> means(all.size());
  Blocks blocks = make_blocks(detail::rule_4(n, std::int64_t{1} << most_log_k));
  for (int log_k = most_log_k; log_k >= 0; --log_k) {
    std::int64_t const k = std::int64_t{1} << log_k;
    while (blocks.alpha < detail::rule_4(n, k)) blocks = joined(blocks);
    evaluate(blocks, k, all);
    for (std::size_t one = 0; one < all.size(); ++one) add_ratios(blocks, k, all[one], means[one]);
  }
  return means;
}

void compare_ratio(Report& report, std::string const& what, double paper, double ours,
                   std::string const& why) {
  report.claim(what, row({paper}, 0), row({ours}, 1),
               std::abs(std::log(ours / paper)) < std::log(1.5), why);
}

}  // namespace

void block_max(Report& report) {
  report.section(
      text("Dr. Top-k, Figure 24: keys that block-max WAND evaluates over the keys of both top-k, "
           "mean over k = 1, 2, 4 .. 2^%d of 2^%d keys; agrees within a factor of 1.5",
           most_log_k, log_n));
  auto const means = count_ratios({{Steps(), Eligible::exceeds},
                                   {Steps(1), Eligible::exceeds},
                                   {Steps(8), Eligible::exceeds},
                                   {Steps(8), Eligible::reaches}});
  compare_ratio(report, "uniform", 6, means[0].running[1],
                "the k-th best so far is far from that of all keys");
  compare_ratio(report, "normal, whole numbers", 212, means[1].running[1], "few of them tie");
  // Rules that were found by trying are no test of the paper.
  auto const note = [&](char const* rule, double ours) {
    report.note(text("%s: %.1f", rule, ours));
  };
  note("uniform, k-th best of all keys, one delegate", means[0].final[0]);
  note("normal, single precision, multiples of 8 near 10^8", means[2].running[1]);
  note("the same, blocks that tie are evaluated", means[3].running[1]);
  report.note("no one rule for the threshold gives both of the paper's figures");
}

}  // namespace ktopk::papers
