// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

#include <ktopk/core/testing.hpp>

#include "busy.hpp"
#include "call.hpp"
#include "instance.hpp"
#include "random.hpp"
#include "worker.hpp"

namespace ktopk::fuzz {
namespace {

constexpr char const* wrong_names[] = {"nothing",
                                       "an index is out of its row",
                                       "an index occurs twice",
                                       "a value is not the key at its index",
                                       "two slots are out of order",
                                       "a better key was left out",
                                       "the index of a slot without a key",
                                       "the value of a slot without a key",
                                       "a count",
                                       "something was written beside the values",
                                       "something was written beside the indices",
                                       "something was written beside the counts",
                                       "something was written beside the workspace",
                                       "a key was changed",
                                       "a value, in a call without indices",
                                       "a key that is skipped or masked was selected",
                                       "the value of a rank",
                                       "a count by a bound",
                                       "a key that does not reach the threshold",
                                       "a key that reaches the threshold was left out",
                                       "a slot behind the last was changed"};

std::string describe(Report const& report) {
  char text[256];
  std::snprintf(text, sizeof text,
                "%s: row %lld, at %lld: found %#llx, expected %#llx; %lld such places in all",
                wrong_names[static_cast<int>(report.wrong)], static_cast<long long>(report.row),
                static_cast<long long>(report.at), static_cast<unsigned long long>(report.found),
                static_cast<unsigned long long>(report.expected),
                static_cast<long long>(report.failures));
  return text;
}

/// The cases of a run, dealt to its threads, and what came of them.
class Run {
 public:
  Run(Settings const& settings, std::string repeat)
      : m_settings(settings), m_repeat(std::move(repeat)), m_began(Clock::now()) {}

  /// The next case that the filter admits; none if the run is over.
  std::optional<Case> next() {
    for (int refused = 0; !is_over() && refused < most_refused; ++refused) {
      std::uint64_t const number = m_numbers++;
      Case const c =
          draw_case(m_settings.one_case.value_or(mix(m_settings.seed, number)), m_settings.limits);
      if (!m_settings.one_case && !m_settings.filter.admits(c)) continue;
      if (take_call()) return c;
    }
    return std::nullopt;
  }

  void fail(Case const& c, std::string const& what, std::string const& labels) {
    ++m_failures;
    std::printf("FAILS: case %llu: %s\n  %s\n  last kernels: %s\n  repeat: %s %llu\n",
                static_cast<unsigned long long>(c.seed), what.c_str(), fuzz::describe(c).c_str(),
                labels.c_str(), m_repeat.c_str(), static_cast<unsigned long long>(c.seed));
    std::fflush(stdout);
  }

  int close() const {
    if (m_calls == 0) {
      std::printf("no case has what --only asks for\n");
      return 2;
    }
    double const seconds = elapsed();
    auto const calls = static_cast<long long>(m_calls);
    std::printf("%lld cases, %lld failures, %.1f s, %.0f cases a second\n", calls,
                static_cast<long long>(m_failures), seconds, static_cast<double>(calls) / seconds);
    return m_failures == 0 ? 0 : 1;
  }

 private:
  static constexpr int most_refused = 5'000'000;

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - m_began).count(); }

  bool is_over() const {
    if (m_failures >= m_settings.most_failures) return true;
    return most_calls() == 0 && elapsed() >= m_settings.seconds;
  }
  std::int64_t most_calls() const {
    return m_settings.calls == 0 && m_settings.one_case ? 1 : m_settings.calls;
  }
  bool take_call() {
    std::int64_t const most = most_calls();
    if (most == 0) return ++m_calls > 0;
    std::int64_t seen = m_calls;
    while (seen < most)
      if (m_calls.compare_exchange_weak(seen, seen + 1)) return true;
    return false;
  }

  Settings const& m_settings;
  std::string m_repeat;
  Clock::time_point m_began;
  std::atomic<std::uint64_t> m_numbers{0};
  std::atomic<std::int64_t> m_calls{0}, m_failures{0};
};

template <class Exec>
void run_case(Run& run, Worker<Exec>& worker, Progress& progress, Case const& c) {
  auto const& beyond = ktopk::detail::arrays_beyond_workspace;
  std::int64_t const beyond_before = beyond;
  try {
    Report const report = worker.run(c);
    if (beyond != beyond_before)
      run.fail(c, "an array of threads did not fit the workspace", progress.last_labels());
    if (report.failures != 0) run.fail(c, describe(report), progress.last_labels());
  } catch (std::exception const& thrown) {
    progress.end();
    run.fail(c, std::string("throws ") + thrown.what(), progress.last_labels());
  }
}

template <class Exec>
void run_on(Exec const& exec, Run& run, Progress& progress) {
  progress_of_thread = &progress;
  Worker<Exec> worker(exec, progress);
  while (auto const c = run.next()) run_case(run, worker, progress, *c);
}

template <class Exec>
void run_threads(int count, Run& run, Progress* all) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&run, &progress = all[i]] {
      OwnInstance<Exec> const instance;
      run_on(instance.exec(), run, progress);
    });
  for (std::thread& thread : threads) thread.join();
}

void print_labels(Progress const* all, int count) {
  std::map<std::string, std::int64_t> sums;
  for (int i = 0; i < count; ++i)
    for (auto const& [label, times] : all[i].label_counts()) sums[label] += times;
  for (auto const& [label, times] : sums)
    std::printf("%10lld  %s\n", static_cast<long long>(times), label.c_str());
}

}  // namespace

template <class Exec>
int run_cases(Settings const& settings) {
  if (settings.limits.threads > 0 && !has_instances<Exec>)
    throw std::invalid_argument(std::string(Exec::name()) + " has one instance alone");
  std::string const repeat = repeat_command(settings, Exec::name());
  int const count = std::max(1, settings.limits.threads);
  auto const progress = std::make_unique<Progress[]>(static_cast<std::size_t>(count));
  Run run(settings, repeat);
  {
    Watchdog const watchdog(progress.get(), count, settings.limit, repeat);
    std::optional<Busy> busy;
    if (settings.busy) busy.emplace();
    if (settings.limits.threads > 0)
      run_threads<Exec>(count, run, progress.get());
    else
      run_on(Exec(), run, progress[0]);
  }
  if (settings.one_case)
    std::printf("%s\n", fuzz::describe(draw_case(*settings.one_case, settings.limits)).c_str());
  print_labels(progress.get(), count);
  return run.close();
}

template <class Exec>
int run_spoiled(Settings const& settings) {
  Progress progress;
  Worker<Exec> worker(Exec(), progress);
  bool all_noticed = true;
  for (int kind = 1; kind < spoils; ++kind) {
    int spoiled = 0, noticed = 0;
    for (std::uint64_t number = 0; number < 5000 && spoiled < 50; ++number) {
      Case const c =
          draw_case(mix(settings.seed + static_cast<std::uint64_t>(kind), number), settings.limits);
      if (!settings.filter.admits(c)) continue;
      Report const report = worker.run(c, static_cast<Spoil>(kind));
      spoiled += report.spoiled != 0;
      noticed += report.spoiled != 0 && report.failures != 0;
      if (report.spoiled == 0 && report.failures != 0) all_noticed = false;
      if ((report.spoiled != 0) != (report.failures != 0))
        std::printf("case %llu: %s\n", static_cast<unsigned long long>(c.seed),
                    describe(c).c_str());
    }
    std::printf("%s: %d of %d noticed\n", spoil_names[kind], noticed, spoiled);
    all_noticed = all_noticed && spoiled > 0 && noticed == spoiled;
  }
  return all_noticed ? 0 : 1;
}

#define KTOPK_FUZZ_RUN(Space)                     \
  template int run_cases<Space>(Settings const&); \
  template int run_spoiled<Space>(Settings const&);
KTOPK_FUZZ_FOR_EACH_SPACE(KTOPK_FUZZ_RUN)

}  // namespace ktopk::fuzz
