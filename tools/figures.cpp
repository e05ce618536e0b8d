// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "figures.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ktopk/core/testing.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/explain.hpp>
#include <ktopk/plan.hpp>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "files/fault.hpp"
#include "fit.hpp"

namespace ktopk::tools {
namespace {

constexpr std::int64_t most_keys = std::int64_t{1} << 24;
/// No figure is less, so that each has a number in the file.
constexpr double least_us = 1e-3;

/// The time of a call in microseconds, from an idle instance until the work is done: the shortest of several, because
/// what disturbs a call makes it longer.
template <class Exec, class Call>
double shortest_us(Exec const& exec, Call const& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int least = 7;
  auto const enough = Clock::now() + std::chrono::milliseconds(25);
  double shortest = std::numeric_limits<double>::infinity();
  for (int calls = 0; calls < least || Clock::now() < enough; ++calls) {
    exec.fence();
    auto const begin = Clock::now();
    call();
    exec.fence();
    std::chrono::duration<double, std::micro> const time = Clock::now() - begin;
    shortest = std::min(shortest, time.count());
  }
  return shortest;
}

/// Reads words and combines them. A thread of a host reads a block of neighbors, into as many sums as hide the latency.
template <class Word>
struct ReadBlock {
  static constexpr std::int64_t size = 4096, sums = 32;
  Word const* words;
  KOKKOS_FUNCTION void operator()(std::int64_t block, Word& any) const {
    Word parts[sums] = {};
    Word const* const first = words + block * size;
    for (std::int64_t i = 0; i < size; i += sums)
      for (std::int64_t s = 0; s < sums; ++s) parts[s] |= first[i + s];
    for (Word const part : parts) any |= part;
  }
};

template <class Word>
struct ReadWord {
  static constexpr std::int64_t size = 1;
  Word const* words;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Word& any) const { any |= words[i]; }
};

/// The time of a read of so many bytes with all workers.
template <class Exec>
double read_us(Exec const& exec, void const* data, std::int64_t bytes) {
  using Word = std::uint64_t;
  using Read = std::conditional_t<detail::is_host_space<Exec>, ReadBlock<Word>, ReadWord<Word>>;
  std::int64_t const blocks = bytes / static_cast<std::int64_t>(sizeof(Word)) / Read::size;
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0, blocks);
  Read const read{static_cast<Word const*>(data)};
  Word volatile sink = 0;  // keeps the compiler from removing the read
  return shortest_us(exec, [&] {
    Word any = 0;
    Kokkos::parallel_reduce("ktopk::tools::read", policy, read, Kokkos::BOr<Word>(any));
    sink = any;
  });
}

struct DoNothing {
  KOKKOS_FUNCTION void operator()(std::int64_t) const {}
};

/// The time of kernels without work.
template <class Exec>
double empty_kernels_us(Exec const& exec, int count) {
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0,
                                                                          exec.concurrency());
  return shortest_us(exec, [&] {
    for (int i = 0; i < count; ++i)
      Kokkos::parallel_for("ktopk::tools::launch", policy, DoNothing{});
  });
}

/// What a kernel takes: on a host an empty one; on a device what one more adds to others, for the rest is the way to the
/// device and back, once for all calls that follow each other.
struct LaunchTimes {
  double launch_us, latency_us;

  template <class Exec>
  explicit LaunchTimes(Exec const& exec) : launch_us(empty_kernels_us(exec, 1)), latency_us(0) {
    constexpr int more = 8;
    if constexpr (!detail::is_host_space<Exec>) {
      double const one = launch_us;
      launch_us = std::min(one, std::max(0.0, empty_kernels_us(exec, 1 + more) - one) / more);
      latency_us = one - launch_us;
    }
  }
};

/// Evenly distributed keys, and what was selected from them; all in the memory of an execution space.
template <class Exec>
class Keys {
 public:
  explicit Keys(Exec const& exec) : m_exec(exec), m_launch(exec), m_host(most_keys) {
    std::uint64_t state = 1;
    for (float& key : m_host) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      key = static_cast<float>(state >> 40);
    }
    Kokkos::View<float const*, Kokkos::HostSpace, Unmanaged> const host(m_host.data(),
                                                                        m_host.size());
    Kokkos::deep_copy(m_keys, host);
  }

  void const* data() const { return m_keys.data(); }
  LaunchTimes const& launch() const { return m_launch; }

  /// The time of an algorithm; nothing if another one serves the shape.
  std::optional<double> time(Algorithm algorithm, Shape const& shape) {
    Plan<Exec> plan(m_exec, shape, {.sorted = Sorted::no, .algorithm = algorithm});
    if (algorithm != Algorithm::automatic && plan.algorithm() != algorithm) return std::nullopt;
    Matrix<float const> const keys(m_keys.data(), shape.rows, shape.n);
    Matrix<float> const values(m_values.data(), shape.rows, shape.k);
    Matrix<std::int32_t> const indices(m_indices.data(), shape.rows, shape.k);
    plan(keys, values, indices);
    check_row(plan.algorithm(), shape, 0);
    check_row(plan.algorithm(), shape, shape.rows - 1);
    return std::max(
        least_us, shortest_us(m_exec, [&] { plan(keys, values, indices); }) - m_launch.latency_us);
  }

 private:
  using Memory = typename Exec::memory_space;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  template <class T>
  using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Memory, Unmanaged>;

  template <class T>
  std::vector<T> fetch_row(Kokkos::View<T*, Memory> const& from, Shape const& shape,
                           std::int64_t row) {
    std::vector<T> fetched(static_cast<std::size_t>(shape.k));
    m_exec.fence("ktopk::tools::fetch");
    auto const part = Kokkos::subview(from, std::pair(row * shape.k, (row + 1) * shape.k));
    Kokkos::deep_copy(
        Kokkos::View<T*, Kokkos::HostSpace, Unmanaged>(fetched.data(), fetched.size()), part);
    return fetched;
  }

  /// The positions of the best keys of a row in ascending order; of equal keys the first are better.
  std::vector<std::int32_t> best_of_row(Shape const& shape, std::int64_t row) const {
    float const* const keys = m_host.data() + row * shape.n;
    std::vector<std::int32_t> positions(static_cast<std::size_t>(shape.n));
    std::iota(positions.begin(), positions.end(), 0);
    auto const better = [&](std::int32_t a, std::int32_t b) {
      return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
    };
    if (shape.k < shape.n)
      std::nth_element(positions.begin(), positions.begin() + shape.k, positions.end(), better);
    positions.resize(static_cast<std::size_t>(shape.k));
    std::sort(positions.begin(), positions.end());
    return positions;
  }

  void check_row(Algorithm algorithm, Shape const& shape, std::int64_t row) {
    auto positions = fetch_row(m_indices, shape, row);
    auto const values = fetch_row(m_values, shape, row);
    float const* const keys = m_host.data() + row * shape.n;
    bool is_right = true;
    for (std::size_t i = 0; i < values.size(); ++i)
      is_right = is_right && positions[i] >= 0 && positions[i] < shape.n &&
                 keys[positions[i]] == values[i];
    std::sort(positions.begin(), positions.end());
    if (!is_right || positions != best_of_row(shape, row))
      throw Fault(std::string("calibrate: wrong answer of ") + name(algorithm) + " on " +
                  m_exec.name() + ": " + std::to_string(shape.rows) + " x " +
                  std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  }

  Exec m_exec;
  LaunchTimes m_launch;
  std::vector<float> m_host;
  Kokkos::View<float*, Memory> m_keys{"ktopk::tools::keys", most_keys};
  Kokkos::View<float*, Memory> m_values{"ktopk::tools::values", most_keys};
  Kokkos::View<std::int32_t*, Memory> m_indices{"ktopk::tools::indices", most_keys};
};

/// Few shapes that differ in all that the model knows: rows for a worker each, and rows that several share.
std::vector<Shape> shapes_for(detail::Device const& device) {
  std::vector<Shape> shapes;
  auto const add = [&](std::int64_t rows, std::int64_t n, std::initializer_list<std::int64_t> ks) {
    for (std::int64_t const k : ks)
      shapes.push_back(make_shape<float, std::int32_t>(std::min(rows, most_keys / n), n, k));
  };
  auto const workers = static_cast<std::int64_t>(shares_of(device, {}).workers);
  add(1, 1024, {8, 32});
  add(1, 8192, {8, 256});
  add(128 * workers, 256, {8, 32});
  add(16 * workers, 1024, {8, 32, 256});
  add(16 * workers, 8192, {1, 32, 512, 4096});
  add(16 * workers, 32768, {32, 512, 8192});
  add(1, 1 << 17, {8, 32, 512, 1 << 12});
  add(1, 1 << 20, {1, 32, 512, 1 << 12, 1 << 15, 1 << 19});
  add(1, 1 << 22, {32, 512, 1 << 15});
  return shapes;
}

/// Bisection is measured on the rows that the choice gives it.
bool is_measured(Algorithm algorithm, Shape const& shape, bool tuned) {
  return algorithm != Algorithm::bisection || shape.n <= (tuned ? 1024 : 8192);
}

void take(detail::WorkFigures& work, std::vector<TimedEffort> const& all,
          std::vector<double>& ratios) {
  if (all.empty()) return;
  Fitted const figures = fit(all);
  work = {figures[0], 1e3 * figures[1], 1e3 * figures[2]};
  for (TimedEffort const& timed : all) ratios.push_back(predicted(timed, figures) / timed.measured);
}

template <class Exec>
void measure_machine(Exec const& exec, Keys<Exec>& keys, detail::Figures& figures) {
  constexpr bool is_host = detail::is_host_space<Exec>;
  figures.launch_us = std::max(least_us, keys.launch().launch_us);
  double const call = *keys.time(Algorithm::automatic, make_shape<float, std::int32_t>(1, 64, 1));
  figures.call_us = std::max(least_us, call - (is_host ? 0 : figures.launch_us));
  Kokkos::View<std::byte*, typename Exec::memory_space> const bytes(
      "ktopk::tools::bytes", static_cast<std::size_t>(detail::measured_bytes.back()));
  double const idle = is_host ? figures.launch_us : read_us(exec, bytes.data(), 8);
  for (std::size_t i = 0; i < detail::measured_bytes.size(); ++i) {
    double const size = detail::measured_bytes[i];
    double const us = read_us(exec, bytes.data(), static_cast<std::int64_t>(size));
    figures.read_GB_per_s[i] = 1e-3 * size / std::max(us - idle, us / 10);
  }
}

template <class Exec>
void measure_algorithm(Exec const& exec, Keys<Exec>& keys, Algorithm algorithm,
                       MeasuredFigures& measured) {
  detail::Device const device = detail::device_of(exec);
  detail::Figures& figures = measured.space.figures;
  std::array<std::vector<TimedEffort>, 2> timed;
  for (Shape const& shape : shapes_for(device)) {
    if (!is_measured(algorithm, shape, measured.space.tuned)) continue;
    auto const us = keys.time(algorithm, shape);
    if (!us) continue;
    detail::Effort const effort = effort_of(algorithm, device, shape);
    timed[effort.is_shared ? 1 : 0].push_back(
        {machine_us(figures, effort), {effort.rows, effort.keys, effort.selected}, *us});
  }
  detail::AlgorithmFigures& of = figures.*detail::figures_of(algorithm);
  take(of.whole, timed[0], measured.predicted_over_measured);
  take(of.shared, timed[1], measured.predicted_over_measured);
}

template <class Exec>
MeasuredFigures measure_implementations(Exec const& exec, Keys<Exec>& keys, bool tuned) {
  MeasuredFigures measured{{exec.name(), tuned, {}}, {}};
  measure_machine(exec, keys, measured.space.figures);
  for (Algorithm const algorithm :
       detail::calibrated_algorithms(detail::is_tuned_for_hosts(exec.name(), tuned)))
    measure_algorithm(exec, keys, algorithm, measured);
  return measured;
}

/// Whether the choice by figures takes those of tuned implementations. \see choose
template <class Exec>
bool has_tuned(Exec const& exec) {
  return explain(exec, make_shape<float>(1, 1024, 8), {.algorithm = Algorithm::radix}).tuned;
}

template <class Exec>
std::vector<MeasuredFigures> measure_space(Exec const& exec) {
  detail::ForceCalibration const none("");
  Keys<Exec> keys(exec);
  std::vector<MeasuredFigures> all;
  if (has_tuned(exec)) all.push_back(measure_implementations(exec, keys, true));
  detail::ForcePortable const portable;
  all.push_back(measure_implementations(exec, keys, false));
  return all;
}

bool is_called(std::string const& backend, char const* space) {
  std::string lower = space;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower == backend;
}

}  // namespace

std::vector<MeasuredFigures> measure_figures(std::string const& backend) {
#define KTOPK_MEASURE(Space) \
  if (is_called(backend, Space::name())) return measure_space(Space());
  KTOPK_FOR_EACH_SPACE(KTOPK_MEASURE)
#undef KTOPK_MEASURE
  return {};
}

}  // namespace ktopk::tools
