// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dispatch/calibration.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <sstream>
#include <thread>

#include "dispatch/choose.hpp"
#include "support/recorder.hpp"
#include "support/run.hpp"
#include "tools/scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Catch::Matchers::WithinRel;
using ktopk::detail::CalibratedSpace;
using ktopk::detail::Device;
using ktopk::detail::Figures;
using ktopk::detail::ForceCalibration;
using ktopk::detail::TunedAlgorithms;

constexpr Device gpu{false, 132 * 2048};
constexpr Device host{true, 8};
constexpr TunedAlgorithms tuned_on_hosts{.one_pass = true, .radix = true, .heap = true};
constexpr TunedAlgorithms tuned_on_cuda{.one_pass = true, .bisection = true, .radix = true};

/// Each figure another, all of a likely size.
Figures some_figures(bool tuned_for_hosts) {
  Figures figures;
  double value = 0.5;
  for (auto const& [name, figure] : ktopk::detail::named_figures(figures, tuned_for_hosts))
    *figure = value += 0.125;
  return figures;
}

/// By these an algorithm is always the fastest.
Figures figures_for(Algorithm fastest, bool tuned_for_hosts) {
  Figures figures = some_figures(tuned_for_hosts);
  for (auto const& [name, figure] : ktopk::detail::named_figures(figures, tuned_for_hosts))
    if (name.find('.') != std::string::npos)
      *figure = name.starts_with(ktopk::name(fastest)) ? 1e-9 : 1e6;
  return figures;
}

std::string text_of(std::vector<CalibratedSpace> const& spaces) {
  std::ostringstream out;
  ktopk::detail::write_calibration(out, "device: a test\n", spaces);
  return out.str();
}

/// Whether the figures of the tuned implementations count.
template <class Exec>
bool has_tuned_figures(Exec const& exec) {
  return serves_tuned(exec, Algorithm::radix);
}

template <class Exec>
bool is_tuned_for_hosts(Exec const& exec) {
  return ktopk::detail::is_tuned_for_hosts(exec.name(), has_tuned_figures(exec));
}

template <class Exec>
CalibratedSpace space_of(Exec const& exec, Figures const& figures) {
  return {exec.name(), has_tuned_figures(exec), figures};
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Checks that the message has all parts.
void rejects(std::function<void()> const& call, std::vector<std::string> const& parts) {
  std::string message;
  try {
    call();
    FAIL_CHECK("accepted");
  } catch (std::invalid_argument const& error) { message = error.what(); }
  for (std::string const& part : parts) CHECK_THAT(message, ContainsSubstring(part));
}

/// What is written to stderr while it lives.
class CapturedErrors {
 public:
  CapturedErrors() : m_stderr(::dup(STDERR_FILENO)) {
    int const fd = ::open(m_folder.path("errors").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(fd, STDERR_FILENO);
    ::close(fd);
  }
  ~CapturedErrors() {
    ::dup2(m_stderr, STDERR_FILENO);
    ::close(m_stderr);
  }
  CapturedErrors(CapturedErrors const&) = delete;
  CapturedErrors& operator=(CapturedErrors const&) = delete;

  std::string text() const { return content(m_folder.path("errors")); }

 private:
  ScratchFolder m_folder;
  int m_stderr;
};

}  // namespace

TEST_CASE("the predicted time is the sum of call, launches, reads and work", "[calibration]") {
  Figures figures = some_figures(true);
  figures.read_GB_per_s = {4, 4, 4, 4};
  // One row of 2^17 keys is shared by four of eight threads.
  Shape const shape = make_shape<float>(1, 1 << 17, 1024);
  double const read = 1e6 * 1e-9 * (4 << 17) * 2 / 4;
  double const keys = 1e-3 * (1 << 15), bits = 1e-3 * 1024 * 8 / 4;
  auto const& shared = figures.radix.shared;
  CHECK_THAT(predicted_us(Algorithm::radix, host, shape, figures),
             WithinRel(figures.call_us + 4 * figures.launch_us + 3 * read + shared.row_us +
                           keys * shared.key_ns + bits * shared.selected_ns,
                       1e-9));
  // Of 64 short rows each thread has eight to itself.
  Shape const rows = make_shape<float>(64, 1024, 1);
  auto const& whole = figures.one_pass.whole;
  CHECK_THAT(predicted_us(Algorithm::one_pass, host, rows, figures),
             WithinRel(figures.call_us + figures.launch_us + 1e6 * 1e-9 * (4 << 16) / 4 +
                           8 * whole.row_us + 1e-3 * 8192 * whole.key_ns +
                           1e-3 * 8 * 11 * whole.selected_ns,
                       1e-9));
}

TEST_CASE("a row that one thread of a host selects from wakes no other", "[calibration]") {
  Figures figures = some_figures(true);
  Shape const shape = make_shape<float>(1, 1000, 10);
  double const before = predicted_us(Algorithm::heap, host, shape, figures);
  figures.launch_us *= 100;
  CHECK(predicted_us(Algorithm::heap, host, shape, figures) == before);
  CHECK(predicted_us(Algorithm::heap, gpu, shape, figures) > before);
}

TEST_CASE("on a device all workers read, one ends one_pass for a row, and launches follow closely",
          "[calibration]") {
  using ktopk::detail::effort_of;
  Shape const one = make_shape<float>(1, 1 << 20, 1000), four = make_shape<float>(4, 1 << 20, 1000);
  auto const effort = effort_of(Algorithm::one_pass, gpu, one);
  CHECK(effort.is_shared);
  CHECK(effort.launches == 1);
  CHECK_THAT(effort.read_GB, WithinRel(1e-9 * (4 << 20)));
  CHECK(effort.selected > 1000);
  CHECK(effort_of(Algorithm::one_pass, gpu, four).selected == effort.selected);
  CHECK(effort_of(Algorithm::one_pass, host, four).selected >
        effort_of(Algorithm::one_pass, host, one).selected);
}

TEST_CASE("the rate of reading is that of the next measured sizes", "[calibration]") {
  Figures figures;
  figures.read_GB_per_s = {100, 50, 25, 10};
  auto const rate = [&](double bytes) {
    ktopk::detail::Effort effort{};
    effort.bytes = bytes;
    effort.read_GB = 1;
    return 1e6 / machine_us(figures, effort);
  };
  CHECK_THAT(rate(1), WithinRel(100.0));
  CHECK_THAT(rate(1 << 18), WithinRel(100.0));
  CHECK_THAT(rate(1 << 24), WithinRel(25.0));
  CHECK_THAT(rate(1 << 27), WithinRel(10.0));
  CHECK_THAT(rate(1LL << 40), WithinRel(10.0));
  CHECK((rate(1 << 20) < 100 && rate(1 << 20) > 50));
}

TEST_CASE("every figure counts for some shape", "[calibration]") {
  for (bool const hosts : {true, false}) {
    Figures figures = some_figures(hosts);
    auto const all_times = [&] {
      std::vector<double> times;
      for (Algorithm const algorithm : ktopk::detail::calibrated_algorithms(hosts))
        for (std::int64_t rows : {1, 1 << 14})
          for (std::int64_t n : {1 << 10, 1 << 16, 1 << 19, 1 << 22, 1 << 26})
            times.push_back(predicted_us(algorithm, hosts ? host : gpu,
                                         make_shape<float>(rows, n, 10), figures));
      return times;
    };
    auto const before = all_times();
    for (auto const& [name, figure] : ktopk::detail::named_figures(figures, hosts)) {
      CAPTURE(name);
      double const value = std::exchange(*figure, *figure * 2);
      CHECK(all_times() != before);
      *figure = value;
    }
  }
}

TEST_CASE("longer rows, more rows and more selected keys take longer", "[calibration]") {
  for (bool const on_host : {true, false}) {
    Figures const figures = some_figures(on_host);
    Device const& device = on_host ? host : gpu;
    for (Algorithm const algorithm : ktopk::detail::calibrated_algorithms(on_host))
      for (std::int64_t rows : {1, 64})
        for (std::int64_t n : {1000, 8000, 100'000, 10'000'000}) {
          if (algorithm == Algorithm::bisection && n > 8192) continue;
          CAPTURE(name(algorithm), on_host, rows, n);
          auto const us = [&](std::int64_t r, std::int64_t length, std::int64_t k) {
            return predicted_us(algorithm, device, make_shape<float>(r, length, k), figures);
          };
          CHECK(us(rows, n, 10) > 0);
          CHECK(us(1000 * rows, n, 10) > us(rows, n, 10));
          CHECK(us(rows, 100 * n, 10) > us(rows, n, 10));
          CHECK(us(rows, n, 500) > us(rows, n, 1));
        }
  }
}

TEST_CASE("shapes without keys have a prediction", "[calibration]") {
  Figures const figures = some_figures(true);
  for (Algorithm const algorithm : ktopk::detail::calibrated_algorithms(true))
    for (Shape const& shape : {make_shape<float>(0, 10, 1), make_shape<float>(3, 0, 0),
                               make_shape<float>(3, 10, 0), make_shape<float>(1, 1, 1)})
      CHECK(std::isfinite(predicted_us(algorithm, host, shape, figures)));
}

TEST_CASE("the choice by figures is the algorithm of least predicted time", "[calibration]") {
  Shape const shape = make_shape<float>(16, 1 << 12, 32);
  for (Algorithm const fastest : {Algorithm::one_pass, Algorithm::heap, Algorithm::radix})
    CHECK(choose(host, shape, tuned_on_hosts, figures_for(fastest, true)) == fastest);
  for (Algorithm const fastest : {Algorithm::one_pass, Algorithm::bisection, Algorithm::radix}) {
    Figures const figures = figures_for(fastest, false);
    CHECK(choose(gpu, shape, tuned_on_cuda, figures) == fastest);
    CHECK(choose(gpu, shape, {}, figures) == fastest);
    CHECK(choose(host, shape, {}, figures) == fastest);
    CHECK(choose(gpu, shape, {.one_pass = true}, figures) == fastest);
  }
}

TEST_CASE("the choice by figures never takes what does not serve", "[calibration]") {
  Shape const shape = make_shape<float>(16, 1 << 12, 32);
  CHECK(choose(host, shape, {.radix = true, .heap = true},
               figures_for(Algorithm::one_pass, true)) != Algorithm::one_pass);
  Figures const bisection = figures_for(Algorithm::bisection, false);
  CHECK(choose(gpu, shape, {.one_pass = true, .radix = true}, bisection) != Algorithm::bisection);
  CHECK(choose(gpu, make_shape<float>(16, 8193, 32), {}, bisection) != Algorithm::bisection);
  Shape ragged = shape;
  ragged.ragged = true;
  for (Algorithm const fastest : {Algorithm::one_pass, Algorithm::bisection})
    CHECK(choose(gpu, ragged, {}, figures_for(fastest, false)) == fastest);
  ragged.n = 1 << 20;
  CHECK(choose(gpu, ragged, {}, bisection) != Algorithm::bisection);
  ragged.k = 1 << 15;
  CHECK(choose(gpu, ragged, {}, figures_for(Algorithm::one_pass, false)) == Algorithm::radix);
  CHECK(choose(gpu, make_shape<float>(16, 1 << 12, 1 << 11), {},
               figures_for(Algorithm::one_pass, false)) != Algorithm::one_pass);
}

TEST_CASE("a calibration is read as it was written", "[calibration]") {
  ScratchFolder const folder;
  std::vector<CalibratedSpace> written{{"OpenMP", true, some_figures(true)},
                                       {"OpenMP", false, some_figures(false)},
                                       {"Cuda", true, some_figures(false)}};
  written[1].figures.call_us = 1.25e-7;
  auto const path = folder.write("figures", text_of(written) + "\n# the end\r\n");
  auto read = ktopk::detail::read_calibration(path);
  CHECK(read.path == path);
  REQUIRE(read.spaces.size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    bool const hosts = i == 0;
    CHECK(read.spaces[i].name == written[i].name);
    CHECK(read.spaces[i].tuned == written[i].tuned);
    auto const is = ktopk::detail::named_figures(read.spaces[i].figures, hosts);
    auto const was = ktopk::detail::named_figures(written[i].figures, hosts);
    for (std::size_t f = 0; f < was.size(); ++f) {
      CAPTURE(was[f].first);
      CHECK_THAT(*is[f].second, WithinRel(*was[f].second, 1e-4));
    }
  }
  CHECK(ktopk::detail::figures_of_space(read, "Cuda", true).call_us == written[2].figures.call_us);
}

TEST_CASE("bad calibrations are refused with file, line and text", "[calibration]") {
  ScratchFolder const folder;
  std::string const good = text_of({{"OpenMP", true, some_figures(true)}});
  auto const refused = [&](std::string const& text, std::vector<std::string> parts) {
    auto const path = folder.write("figures", text);
    parts.insert(parts.end(), {"calibration ", path});
    rejects([&] { ktopk::detail::read_calibration(path); }, parts);
  };
  std::string const known = "version: " + version();
  refused("", {"is empty"});
  refused("call_us: 1\n", {"line 1: \"call_us: 1\" is not \"ktopk calibration 1\""});
  refused(replaced(good, "calibration 1", "calibration 2"), {"line 1: \"ktopk calibration 2\""});
  refused(replaced(good, known, "version: 0.0.9"),
          {"line 2: \"version: 0.0.9\" is not the version of this library, " + version()});
  refused(replaced(good, known + "\n", ""), {"states no version"});
  refused("ktopk calibration 1\n" + known + "\n", {"has no figures"});
  refused(replaced(good, "[OpenMP tuned]", "[OpenMP]"), {"line 5: \"[OpenMP]\" is neither"});
  refused(replaced(good, "[OpenMP tuned]", "[ tuned]"), {"line 5: \"[ tuned]\" is neither"});
  refused(good + "[OpenMP tuned]\n", {"\"[OpenMP tuned]\" is there twice"});
  refused(good + "call_us: 1\n", {"\"call_us: 1\" is there twice"});
  refused(good + "speed: 1\n", {"\"speed: 1\" is no figure of OpenMP tuned"});
  refused(good + "bisection.whole.row_us: 1\n", {"is no figure of OpenMP tuned"});
  refused(good + "speed\n", {"\"speed\" is neither \"name: value\" nor \"[space]\""});
  auto const with_launch = [&](std::string const& value) {
    return replaced(good, "launch_us: 0.75", "launch_us: " + value);
  };
  for (std::string const value : {"", "fast", "1,5", "1 us", " 1", "nan", "inf", "1e999", "0x1"})
    refused(with_launch(value), {"line 7: \"launch_us: " + value + "\" has no number"});
  for (std::string const value : {"0", "-1", "-0.0", "1e-999"})
    refused(with_launch(value), {"line 7: \"launch_us: " + value});
  refused(replaced(good, "heap.shared.key_ns", "# heap.shared.key_ns"),
          {"states no heap.shared.key_ns of OpenMP tuned"});
  refused(good + "[Serial portable]\n", {"states no call_us of Serial portable"});
  rejects([&] { ktopk::detail::read_calibration(folder.path("missing")); },
          {"calibration ", "missing", "cannot be read"});
  for (auto const& path : {folder.path("."), std::string("/dev/zero")})
    rejects([&] { ktopk::detail::read_calibration(path); }, {path + " is not a regular file"});
  refused(good + std::string(1 << 16, '\n'), {"is larger than 64 KB"});
  refused(good + std::string("a\0b\x1b[31m\n", 9), {"\"a?b?[31m\" is neither \"name: value\""});
}

TEST_CASE("calls take the algorithm that the calibration predicts, with the same answers",
          "[calibration]") {
  std::int64_t const rows = 5, n = 4000,
                     k = 40;  // every implementation of these algorithms serves it
  ScratchFolder const folder;
  Validation validation;
  for (Input input : {Input::normal, Input::few_values, Input::nans}) {
    auto const question = uniform_question(make_keys<float>(input, rows * n, 3), rows, n, k);
    for_each_space([&](auto const& exec) {
      using Exec = std::decay_t<decltype(exec)>;
      bool const hosts = is_tuned_for_hosts(exec);
      UniformCall<Exec, float> call(exec, question.keys, rows, n, k);
      for (Algorithm const fastest : ktopk::detail::calibrated_algorithms(hosts)) {
        if (has_tuned_figures(exec) && !serves_tuned(exec, fastest)) continue;
        auto const path =
            folder.write(name(fastest), text_of({space_of(exec, figures_for(fastest, hosts))}));
        ForceCalibration const force(path.c_str());
        CAPTURE(exec.name(), name(fastest));
        CHECK(Plan<Exec>(exec, make_shape<float>(rows, n, k)).algorithm() == fastest);
        for (Options const& options : all_options<float>()) {
          auto const truth = solve(question, options);
          auto const what = [&] { return std::string(exec.name()) + ", " + name(fastest); };
          validation.expect(question, truth, call(k, options), options, what);
          validation.expect(question, truth, call.by_plan(k, options), options, what);
        }
      }
    });
  }
  validation.close();
}

TEST_CASE("bisection that may stop early is not chosen by a calibration", "[calibration]") {
  ScratchFolder const folder;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    Shape const shape = make_shape<float>(100, 512, 8);
    for (Options const& options : {Options{.max_iterations = 2}, Options{.epsilon = 0.1}}) {
      auto const chosen = Plan<Exec>(exec, shape, options).algorithm();
      for (Algorithm const fastest :
           ktopk::detail::calibrated_algorithms(is_tuned_for_hosts(exec))) {
        auto const figures = figures_for(fastest, is_tuned_for_hosts(exec));
        auto const path = folder.write(name(fastest), text_of({space_of(exec, figures)}));
        ForceCalibration const force(path.c_str());
        CHECK(Plan<Exec>(exec, shape, options).algorithm() == chosen);
      }
    }
  });
}

TEST_CASE("by a bad calibration calls choose as without one, and say so once", "[calibration]") {
  ScratchFolder const folder;
  std::string const foreign = text_of({{"Abacus", true, some_figures(false)}});
  int files = 0;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = typename Exec::memory_space;
    Kokkos::View<float*, Memory> const keys("test::keys", 100), values("test::values", 10);
    Kokkos::deep_copy(keys, 7);
    exec.fence();
    Shape const shape = make_shape<float>(1, 100, 10);
    auto const without = Plan<Exec>(exec, shape).algorithm();
    auto const in_calls = [&](std::string const& text, std::string const& what) {
      // A path for each time, because a line is written once a process.
      auto const path = folder.path(std::to_string(++files));
      if (!text.empty()) folder.write(std::to_string(files), text);
      ForceCalibration const force(path.c_str());
      CapturedErrors const errors;
      Kokkos::deep_copy(values, 0);
      top_k(exec, keys, values, nothing);
      CHECK(Plan<Exec>(exec, shape).algorithm() == without);
      CHECK_NOTHROW(workspace_bytes(exec, shape));
      exec.fence();
      auto const lines = errors.text();
      CAPTURE(lines);
      CHECK_THAT(lines, StartsWith("ktopk: calibration " + path));
      CHECK_THAT(lines, ContainsSubstring(what));
      CHECK(std::count(lines.begin(), lines.end(), '\n') == 1);
      auto const after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
      for (std::size_t i = 0; i < after.size(); ++i) CHECK(after(i) == 7);
    };
    in_calls("ktopk calibration 1\nnonsense\n", "line 2: \"nonsense\" is neither");
    in_calls("", "cannot be read; automatic chooses as without it");
    in_calls(foreign, std::string("has no figures of ") + exec.name() +
                          (has_tuned_figures(exec) ? " tuned" : " portable") +
                          ", only of Abacus tuned");
  });
}

TEST_CASE("threads that choose at once say it once", "[calibration]") {
  ScratchFolder const folder;
  auto const path = folder.write("of threads", "");
  ForceCalibration const force(path.c_str());
  CapturedErrors const errors;
  std::vector<std::thread> threads;
  std::atomic<int> with_figures{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call)
        with_figures += ktopk::detail::calibrated_figures("OpenMP", true).has_value() ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(with_figures == 0);
  CHECK(errors.text() ==
        "ktopk: calibration " + path + " is empty; automatic chooses as without it\n");
}

}  // namespace ktopk::testing
