// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/computed.hpp>
#include <ktopk/merge.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>
#include <ktopk/team.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/results.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"
#include "support/stored_digests.hpp"

// The answers to other questions than top_k's are the same bits on every backend, too.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

struct Size {
  std::int64_t rows, n;
};
constexpr Size sizes[] = {{1, 70'001}, {5, 3'000}, {40, 130}};
constexpr std::int64_t k = 40;

template <class View>
void add_all(Digest& digest, View const& view) {
  auto const host = on_host(view);
  for (std::size_t i = 0; i < host.size(); ++i) digest.add(host.data()[i]);
}

/// The digest of what Views hold.
template <class... Views>
std::string digest_of(Views const&... views) {
  Digest digest;
  (add_all(digest, views), ...);
  return text_of(digest);
}

/// One position in three.
struct Third {
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::int64_t i) const {
    return (i * 7919 + row) % 3 == 0;
  }
};

template <class Keys, class Out>
struct ByTeam {
  Keys keys;
  Out out;
  Options options;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int64_t const row = member.league_rank();
    team_top_k(member, member.team_scratch(1), Kokkos::subview(keys, row, Kokkos::ALL), k,
               Kokkos::subview(out.values, row, Kokkos::ALL),
               Kokkos::subview(out.indices, row, Kokkos::ALL), options);
  }
};

/// Asks for some rows, and returns digests of the answers.
template <class T, class Exec>
class Asker {
  using Memory = MemoryOf<Exec>;
  using Keys = Kokkos::View<T**, Kokkos::LayoutRight, Memory>;
  template <class E>
  using Rows = Kokkos::View<E**, Kokkos::LayoutRight, Memory>;
  using Out = Results<T, std::int64_t, Memory>;

 public:
  Asker(Exec const& exec, std::vector<T> const& keys, Size const& size, Options const& options)
      : m_exec(exec),
        m_size(size),
        m_keys(copied_to<Memory, Kokkos::LayoutRight>(keys, size.rows, size.n)),
        m_options(options) {}

  Digests ask() const {
    Digests all{{"kth", kth()},     {"ranks", ranks()},       {"quantiles", quantiles()},
                {"count", count()}, {"reaching", reaching()}, {"stream", stream()},
                {"merge", merge()}, {"team", team()}};
    if constexpr (std::is_same_v<T, float>) all["masked"] = masked();
    return all;
  }

 private:
  Kokkos::View<T*, Memory> kth_of(std::int64_t nth) const {
    Kokkos::View<T*, Memory> const value("value", m_size.rows);
    ktopk::kth(m_exec, m_keys, nth, value, m_options);
    return value;
  }
  std::string kth() const { return digest_of(kth_of(m_size.n / 3 + 1)); }

  std::string ranks() const {
    Rows<T> const values("values", m_size.rows, 4);
    ktopk::ranks(m_exec, m_keys, {7, 0, m_size.n - 1, m_size.n / 2}, values, m_options);
    return digest_of(values);
  }

  std::string quantiles() const {
    Rows<double> const values("values", m_size.rows, 4);
    ktopk::quantiles(m_exec, m_keys, {0.1, 0.5, 0.75, 0.999}, values, Interpolation::linear,
                     m_options);
    return digest_of(values);
  }

  std::string count() const {
    Rows<std::int64_t> const better("better", m_size.rows, 4), equal("equal", m_size.rows, 4);
    auto const bounds =
        Kokkos::subview(m_keys, 0, Kokkos::pair<std::int64_t, std::int64_t>(50, 54));
    ktopk::count(m_exec, m_keys, bounds, better, equal, m_options);
    return digest_of(better, equal);
  }

  std::string reaching() const {
    Out const out(m_size.rows, 2 * k);
    ktopk::reaching(m_exec, m_keys, kth_of(k), out.values, out.indices, out.counts, m_options);
    return digest_of(out.values, out.indices, out.counts);
  }

  std::int64_t begin_of(int part) const { return m_size.n * part / 3; }
  auto part_of_keys(int part) const {
    return Kokkos::subview(
        m_keys, Kokkos::ALL,
        Kokkos::pair<std::int64_t, std::int64_t>(begin_of(part), begin_of(part + 1)));
  }

  std::string stream() const {
    Accumulator<T, std::int64_t, Exec> best(m_exec, m_size.rows, k, m_options);
    for (int const part : {2, 0, 1}) best.add(part_of_keys(part), begin_of(part));
    Out const out(m_size.rows, k);
    best.result(out.values, out.indices, out.counts);
    return digest_of(out.values, out.indices, out.counts);
  }

  std::string merge() const {
    Kokkos::View<T***, Kokkos::LayoutRight, Memory> const values("values", 3, m_size.rows, k);
    Kokkos::View<std::int64_t***, Kokkos::LayoutRight, Memory> const positions("positions", 3,
                                                                               m_size.rows, k);
    for (int part = 0; part < 3; ++part) {
      Accumulator<T, std::int64_t, Exec> best(m_exec, m_size.rows, k, m_options);
      best.add(part_of_keys(part), begin_of(part));
      best.result(Kokkos::subview(values, part, Kokkos::ALL, Kokkos::ALL),
                  Kokkos::subview(positions, part, Kokkos::ALL, Kokkos::ALL));
    }
    Out const out(m_size.rows, k);
    ktopk::merge(m_exec, values, positions, out.values, out.indices, m_options);
    return digest_of(out.values, out.indices);
  }

  std::string team() const {
    Out const out(m_size.rows, k);
    Kokkos::TeamPolicy<Exec> policy(m_exec, static_cast<int>(m_size.rows),
                                    ktopk::detail::is_host_space<Exec> ? 1 : 64);
    policy.set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(team_scratch_bytes<T>(k))));
    Kokkos::parallel_for("digests::team", policy, ByTeam<Keys, Out>{m_keys, out, m_options});
    m_exec.fence();
    return digest_of(out.values, out.indices);
  }

  std::string masked() const {
    Out const out(m_size.rows, k);
    top_k(m_exec, where(m_keys, Third{}), out.values, out.indices, per_row(nothing, out.counts),
          m_options);
    return digest_of(out.values, out.indices, out.counts);
  }

  Exec m_exec;
  Size m_size;
  Keys m_keys;
  Options m_options;
};

template <class T, class Exec>
Digests compute(Exec const& exec) {
  Digests all;
  int number = 0;
  for (Size const& size : sizes)
    for (Input input : {Input::random_bits, Input::few_values}) {
      Options const options{.order = number % 2 == 0 ? Order::largest : Order::smallest,
                            .ties = number / 2 % 2 == 0 ? Ties::lowest_index : Ties::highest_index,
                            .nan = number / 4 % 2 == 0 ? NaN::greatest : NaN::least};
      auto const keys = make_keys<T>(input, size.rows * size.n, 42);
      for (auto const& [question, digest] : Asker<T, Exec>(exec, keys, size, options).ask()) {
        std::ostringstream what;
        what << question << '/' << key_name<T>() << '/' << name(input) << '/' << size.rows << 'x'
             << size.n << '/' << number;
        all[what.str()] = digest;
      }
      ++number;
    }
  CHECK(ktopk::detail::arrays_beyond_workspace == 0);
  return all;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("digests of other questions are those of every other backend", "[digests]",
                        Types) {
  if (writes_digests([] { return compute<TestType>(Kokkos::DefaultExecutionSpace()); })) return;
  for_each_space([](auto const& exec) {
    INFO(exec.name());
    compare_with_stored(compute<TestType>(exec));
  });
}

}  // namespace ktopk::testing
