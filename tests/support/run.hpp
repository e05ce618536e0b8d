// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// From host vectors through the API and back.

#include <ktopk/config.hpp>
#include <ktopk/core/backend.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {

using KeyTypes =
    std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, float16, bfloat16,
               std::int32_t, std::uint32_t, float, std::int64_t, std::uint64_t, double>;

template <class T>
std::string key_name() {
  if constexpr (std::is_same_v<T, float16>) return "float16";
  if constexpr (std::is_same_v<T, bfloat16>) return "bfloat16";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  return std::string(std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

/// Whether KTOPK_TEST_IMPLEMENTATIONS, "tuned" or "portable", leaves these to be tested. Without it both are.
inline bool are_tested(std::string_view implementations) {
  char const* const wanted = std::getenv("KTOPK_TEST_IMPLEMENTATIONS");
  if (wanted == nullptr) return true;
  std::string_view const name = wanted;
  if (name != "tuned" && name != "portable")
    throw std::invalid_argument("KTOPK_TEST_IMPLEMENTATIONS is " + std::string(name) +
                                ", not tuned or portable");
  return implementations == name;
}

#ifdef KTOPK_CUDA_WITHOUT_4_BYTES
inline constexpr bool has_tuned_cuda = false;
#else
inline constexpr bool has_tuned_cuda = KTOPK_ENABLE_CUDA_TUNED;
#endif

/// Whether this build has tuned implementations for an execution space, and for floats, by which tests see what runs.
template <class Exec>
inline constexpr bool has_tuned =
    ktopk::detail::is_host_space<Exec> ? KTOPK_ENABLE_HOST_TUNED : has_tuned_cuda;

/// Whether tuned implementations serve where they support the shape: not while the portable ones are forced.
template <class Exec>
bool serves_tuned(Exec const&) {
  return has_tuned<Exec> && !ktopk::detail::portable_alone;
}

/// Whether one of this algorithm does: a build may leave out kernels for CUDA.
template <class Exec>
bool serves_tuned(Exec const& exec, Algorithm algorithm) {
  for (auto const& info : algorithms())
    if (info.algorithm == algorithm)
      return serves_tuned(exec) &&
             (ktopk::detail::is_host_space<Exec> ? info.tuned_host : info.tuned_cuda);
  return false;
}

/// Calls `body` for the implementations that serve an execution space, unless these are tuned and not to be tested.
template <class Exec, class Body>
void for_tuned(Exec const& exec, Body const& body) {
  if (!has_tuned<Exec> || are_tested("tuned")) body(exec);
}

/// The same, and where there are tuned implementations once more for the portable ones alone.
template <class Exec, class Body>
void for_tuned_and_portable(Exec const& exec, Body const& body) {
  for_tuned(exec, body);
  if (!has_tuned<Exec> || !are_tested("portable")) return;
  ktopk::detail::ForcePortable const portable;
  INFO("portable implementations alone");
  body(exec);
}

/// Calls `body` with the default instance of every enabled execution space. Where there is a device, of
/// its space alone: host spaces are tested by builds of their own, which compile in a fraction of the time.
/// Of several host spaces one runs the portable implementations, which take most of the time.
template <class Body>
void for_each_space(Body const& body) {
#if defined(KOKKOS_ENABLE_CUDA)
  for_tuned_and_portable(Kokkos::Cuda(), body);
#elif defined(KOKKOS_ENABLE_HIP)
  for_tuned_and_portable(Kokkos::HIP(), body);
#elif defined(KOKKOS_ENABLE_OPENMP) || defined(KOKKOS_ENABLE_THREADS)
#ifdef KOKKOS_ENABLE_SERIAL
  for_tuned(Kokkos::Serial(), body);
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  for_tuned_and_portable(Kokkos::OpenMP(), body);
#endif
#ifdef KOKKOS_ENABLE_THREADS
  for_tuned_and_portable(Kokkos::Threads(), body);
#endif
#else
  for_tuned_and_portable(Kokkos::Serial(), body);
#endif
}

inline std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> all{Algorithm::automatic};
  for (auto const& info : algorithms()) all.push_back(info.algorithm);
  return all;
}

/// All, but while the portable implementations are forced only those that otherwise have a tuned one: of the others the
/// same text has been tested.
template <class Exec>
std::vector<Algorithm> algorithms_on(Exec const&) {
  bool const again = ktopk::detail::portable_alone && are_tested("tuned");
  std::vector<Algorithm> differing{Algorithm::automatic};
  for (auto const& info : algorithms()) {
    bool const tuned = ktopk::detail::is_host_space<Exec> ? info.tuned_host : info.tuned_cuda;
    if (tuned || !again) differing.push_back(info.algorithm);
  }
  return differing;
}

/// Every order, tie rule, NaN rule (where the key type has NaNs) and sortedness.
template <class T>
std::vector<Options> all_options() {
  std::vector<Options> all;
  for (Order order : {Order::largest, Order::smallest})
    for (Ties ties : {Ties::lowest_index, Ties::highest_index, Ties::any})
      for (NaN nan : {NaN::greatest, NaN::least})
        for (Sorted sorted : {Sorted::yes, Sorted::no})
          if (is_float_key<T> || nan == NaN::greatest)
            all.push_back({.order = order, .sorted = sorted, .ties = ties, .nan = nan});
  return all;
}

/// By magnitude, and without NaN, where the key type makes a difference.
template <class T>
std::vector<Options> more_options() {
  std::vector<Options> all;
  for (Order order : {Order::largest, Order::smallest})
    for (By by : {By::magnitude, By::value})
      for (NaN nan : {NaN::greatest, NaN::least, NaN::skip}) {
        bool const differs = nan == NaN::skip || by == By::magnitude;
        bool const is_once = is_float_key<T> || (nan == NaN::greatest && std::is_signed_v<T>);
        if (!differs || !is_once) continue;
        all.push_back({.order = order, .nan = nan, .by = by});
        all.push_back({.order = order,
                       .sorted = Sorted::no,
                       .ties = Ties::highest_index,
                       .nan = nan,
                       .by = by});
      }
  return all;
}

template <class T>
std::vector<Options> every_option() {
  auto all = all_options<T>();
  auto const more = more_options<T>();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::string describe(Options const& o) {
  std::string text = name(o.algorithm);
  text += o.order == Order::largest ? ", largest" : ", smallest";
  text += o.sorted == Sorted::yes ? ", sorted" : ", unsorted";
  text += o.ties == Ties::any            ? ", any tie"
          : o.ties == Ties::lowest_index ? ", lowest index"
                                         : ", highest index";
  text += o.nan == NaN::greatest ? ", NaN greatest"
          : o.nan == NaN::least  ? ", NaN least"
                                 : ", NaN skipped";
  return text + (o.by == By::magnitude ? ", by magnitude" : "");
}

/// Memory of an execution space as words, so that few types of View are compiled. Some bytes past the end are watched.
template <class Exec>
class Buffer {
 public:
  using Memory = typename Exec::memory_space;

  explicit Buffer(std::size_t bytes)
      : m_device(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test::buffer"),
                 (bytes + guard) / sizeof(std::uint64_t) + 1),
        m_host(Kokkos::create_mirror_view(m_device)) {
    clear();
  }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(m_device.data());
  }

  template <class T>
  auto matrix(std::int64_t rows, std::int64_t columns) const {
    using Matrix =
        Kokkos::View<T**, Kokkos::LayoutRight, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    return Matrix(as<T>(), rows, columns);
  }

  /// Marks every byte, to detect what a call leaves unwritten.
  void clear() { Kokkos::deep_copy(m_device, mark); }

  template <class T>
  void upload(std::vector<T> const& elements) {
    if (elements.empty()) return;
    std::memcpy(m_host.data(), elements.data(), elements.size() * sizeof(T));
    Kokkos::deep_copy(m_device, m_host);
  }

  template <class T>
  std::vector<T> download(std::size_t count) {
    Kokkos::deep_copy(m_host, m_device);
    std::vector<T> elements(count);
    if (count != 0)
      std::memcpy(static_cast<void*>(elements.data()), m_host.data(), count * sizeof(T));
    return elements;
  }

  /// Whether bytes from `used` on are still marked; of the last download.
  bool untouched_from(std::size_t used) const {
    auto const* const first = reinterpret_cast<unsigned char const*>(m_host.data());
    return std::all_of(first + used, first + m_host.span() * sizeof(std::uint64_t),
                       [](unsigned char byte) { return byte == (mark & 0xff); });
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr std::uint64_t mark = 0xa5a5'a5a5'a5a5'a5a5;
  using View = Kokkos::View<std::uint64_t*, Memory>;

  View m_device;
  decltype(Kokkos::create_mirror_view(std::declval<View>())) m_host;
};

enum class Outputs { both, values, indices };

inline char const* name(Outputs outputs) {
  return outputs == Outputs::both ? "both" : outputs == Outputs::values ? "values" : "indices";
}

template <class I>
std::vector<std::int64_t> signed_indices(std::vector<I> const& indices) {
  std::vector<std::int64_t> all;
  all.reserve(indices.size());
  for (I index : indices)
    all.push_back(index == static_cast<I>(-1) ? -1 : static_cast<std::int64_t>(index));
  return all;
}

/// The same rows asked again and again, for any k up to `most`, by top_k or by a Plan. Compiled once for all tests.
template <class Exec, class T>
class UniformCall {
 public:
  UniformCall(Exec const& exec, std::vector<T> const& keys, std::int64_t rows, std::int64_t n,
              std::int64_t most);

  Answer<T> operator()(std::int64_t k, Options const& options, Outputs outputs = Outputs::both);
  /// By a Plan, with another layout of keys and outputs in each call.
  Answer<T> by_plan(std::int64_t k, Options const& options);
  /// By a Plan, with gaps between the keys of a row.
  Answer<T> with_gaps(std::int64_t k, Options const& options);
  /// By a Plan, with the keys of neighboring rows side by side.
  Answer<T> with_neighbors(std::int64_t k, Options const& options);

 private:
  Answer<T> by_plan_in(int way, std::int64_t k, Options const& options);
  Answer<T> fetch(std::size_t places, Outputs outputs);
  Buffer<Exec> const& keys_laid_out(int way);

  Exec m_exec;
  std::vector<T> m_host_keys;
  std::int64_t m_rows, m_n;
  Buffer<Exec> m_keys, m_values, m_indices;
  std::map<int, Buffer<Exec>> m_laid_out;
  std::uint64_t m_turn = 0;
};

/// Checks answers without the cost of a Catch2 message for each that is right, and gives up after the tenth wrong one.
/// (Catch2's macros stay out of the class: in an inline member they make the front end of nvcc 13.0 loop forever.)
class Validation {
 public:
  template <class T, class Describe>
  void expect(Question<T> const& question, Answer<T> const& truth, Answer<T> const& answer,
              Options const& options, Describe const& what) {
    std::string const wrong = check(question, truth, answer, options);
    ++m_checked;
    if (!wrong.empty())
      report(key_name<T>() + ", " + what() + ", " + describe(options) + ": " + wrong);
  }

  /// Fails if nothing was checked.
  void close() const;

 private:
  void report(std::string const& wrong);

  int m_checked = 0, m_wrong = 0;
};

}  // namespace ktopk::testing
