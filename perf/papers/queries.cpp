// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed_bitonic.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/ktopk.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>
#include <Kokkos_UnorderedMap.hpp>

#include "alternate.hpp"
#include "random.hpp"

// The four queries of section 6.8 of Shanbhag et al. (SIGMOD 2018), on tweets that are made here: queries [tweets]. Each is
// answered by a copy and top_k of it, by one call that reads the columns, and by one call of bitonic, in which the paper has
// filter and ranking function (section 5). The answers are compared; then come the least times of some rounds, and their
// ratio to the fastest way with a copy.

namespace tweets {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
template <class T>
using Column = Kokkos::View<T*, Memory>;
template <class T>
using ConstColumn = Kokkos::View<T const*, Memory>;
using ktopk::papers::Method;
using ktopk::papers::uninitialized;

constexpr std::int32_t seconds_of_may = 31 * 86400;
constexpr int english = 0, spanish = 1, languages = 30;
constexpr int limit = 50;

struct Tweets {
  Column<std::int64_t> id;
  Column<std::int32_t> time, retweets, likes;
  Column<std::int8_t> lang;
  Column<std::uint32_t> uid;

  explicit Tweets(std::int64_t n)
      : id(uninitialized("id"), n),
        time(uninitialized("time"), n),
        retweets(uninitialized("retweets"), n),
        likes(uninitialized("likes"), n),
        lang(uninitialized("lang"), n),
        uid(uninitialized("uid"), n) {}
  std::int64_t count() const { return id.extent_int(0); }
};

/// In random order. Few tweets have most retweets and likes, few users write many; 0.8 of the tweets are in English or
/// Spanish, and 57 of 250 million tweets are a user's first, as in the paper.
struct Make {
  Tweets tweets;
  std::int64_t users;

  KOKKOS_FUNCTION static double draw(int column, std::int64_t i) {
    return ktopk::papers::uniform(static_cast<std::uint64_t>(column),
                                  static_cast<std::uint64_t>(i));
  }
  KOKKOS_FUNCTION static std::int32_t heavy_tail(double u, double scale) {
    return static_cast<std::int32_t>(Kokkos::fmin(scale * (Kokkos::pow(u, -0.75) - 1), 0x1p23));
  }
  KOKKOS_FUNCTION static std::int8_t language(double u) {
    if (u <= 0.6) return english;
    if (u <= 0.8) return spanish;
    return static_cast<std::int8_t>(spanish + 1 + (1 - u) / 0.2 * (languages - 2));
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    tweets.id(i) = 859000000000000000 + 1009 * i;
    tweets.time(i) = static_cast<std::int32_t>((1 - draw(1, i)) * seconds_of_may);
    tweets.retweets(i) = heavy_tail(draw(2, i), 1);
    tweets.likes(i) = heavy_tail(draw(3, i), 3);
    tweets.lang(i) = language(draw(4, i));
    double const u = 1 - draw(5, i);
    auto const user = static_cast<std::uint32_t>(static_cast<double>(users) * u * u);
    tweets.uid(i) = user * 2654435761u;
  }
};

Tweets make_tweets(Exec const& exec, std::int64_t n) {
  Tweets const tweets(n);
  Kokkos::parallel_for("tweets", Kokkos::RangePolicy<Exec>(exec, 0, n),
                       Make{tweets, n * 243 / 1000});
  return tweets;
}

/// WHERE tweet_time < end
struct Before {
  ConstColumn<std::int32_t> time;
  std::int32_t end;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return time(i) < end; }
};

/// WHERE lang = 'en' OR lang = 'es'
struct EnglishOrSpanish {
  ConstColumn<std::int8_t> lang;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const {
    return lang(i) == english || lang(i) == spanish;
  }
};

/// retweet_count + 0.5 * likes_count
struct Popularity {
  ConstColumn<std::int32_t> retweets, likes;
  KOKKOS_FUNCTION float operator()(std::int64_t i) const {
    return static_cast<float>(retweets(i)) + 0.5f * static_cast<float>(likes(i));
  }
};

/// Rows that a filter leaves, with their keys.
struct Entries {
  Column<std::int32_t> row, key;
  explicit Entries(std::int64_t n) : row(uninitialized("row"), n), key(uninitialized("key"), n) {}
};

/// Writes them in order, by a scan over all rows.
template <class Filter>
struct Scan {
  Filter filter;
  ConstColumn<std::int32_t> keys;
  Entries entries;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& before, bool is_final) const {
    if (!filter(i)) return;
    if (is_final) {
      entries.row(before) = static_cast<std::int32_t>(i);
      entries.key(before) = keys(i);
    }
    ++before;
  }
  std::int64_t run(Exec const& exec) const {
    std::int64_t count = 0;
    Kokkos::parallel_scan("filter", Kokkos::RangePolicy<Exec>(exec, 0, keys.extent_int(0)), *this,
                          count);
    return count;
  }
};

/// Writes them in any order: each team appends the rows of a tile, at the cost of one atomic operation.
template <class Filter>
struct Append {
  using Member = Kokkos::TeamPolicy<Exec>::member_type;
  static constexpr std::int64_t tile = 4096;
  Filter filter;
  ConstColumn<std::int32_t> keys;
  Entries entries;
  Kokkos::View<std::int64_t, Memory> count{"count"};

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const first = team.league_rank() * tile;
    auto const rest = static_cast<std::int64_t>(keys.extent(0)) - first;
    auto const length = static_cast<int>(rest < tile ? rest : tile);
    int kept = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, length),
        [&](int i, int& sum) { sum += filter(first + i) ? 1 : 0; }, kept);
    std::int64_t begin = 0;
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](std::int64_t& to) { to = Kokkos::atomic_fetch_add(&count(), std::int64_t{kept}); },
        begin);
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, length),
                          [&](int i, int& before, bool is_final) {
                            if (!filter(first + i)) return;
                            if (is_final) {
                              entries.row(begin + before) = static_cast<std::int32_t>(first + i);
                              entries.key(begin + before) = keys(first + i);
                            }
                            ++before;
                          });
  }
  std::int64_t run(Exec const& exec) const {
    Kokkos::deep_copy(exec, count, 0);
    int const teams = static_cast<int>((keys.extent(0) + tile - 1) / tile);
    Kokkos::parallel_for("filter", Kokkos::TeamPolicy<Exec>(exec, teams, Kokkos::AUTO), *this);
    std::int64_t found = 0;
    Kokkos::deep_copy(exec, found, count);
    exec.fence();
    return found;
  }
};

ktopk::Options const fill{.short_rows = ktopk::ShortRows::fill};

/// The rows, keys and ids that a query selects.
template <class Key>
struct Answer {
  Column<Key> key;
  Column<std::int32_t> row;
  Column<std::int64_t> id;
  explicit Answer(int k) : key("key", k), row("row", k), id("id", k) {}
};

/// A copy of what a filter leaves, and top_k of the copy; for one filter, so that the Plan is made once.
template <class Way>
class FilterThenTopK {
 public:
  FilterThenTopK(Exec const& exec, Tweets const& tweets, Way const& way, int k)
      : m_tweets(tweets),
        m_way(way),
        m_exec(exec),
        m_count(way.run(exec)),
        m_plan(exec, ktopk::make_shape<std::int32_t, std::int32_t>(1, m_count, k), fill),
        m_place("place", k),
        answer(k) {}

  void operator()() {
    m_way.run(m_exec);
    m_plan(Kokkos::subview(m_way.entries.key, Kokkos::pair(std::int64_t{0}, m_count)), answer.key,
           m_place);
    Kokkos::deep_copy(m_exec, answer.row, -1);
    ktopk::gather(m_exec, m_place, ktopk::payload(m_way.entries.row, answer.row));
    ktopk::gather(m_exec, answer.row, ktopk::payload(m_tweets.id, answer.id));
  }

 private:
  Tweets m_tweets;
  Way m_way;
  Exec m_exec;
  std::int64_t m_count;
  ktopk::Plan<Exec> m_plan;
  Column<std::int32_t> m_place;

 public:
  Answer<std::int32_t> answer;
};

/// One call that reads the columns.
template <class Key, class Source>
class Fused {
 public:
  Fused(Exec const& exec, Tweets const& tweets, Source const& source, int k,
        ktopk::Algorithm algorithm = ktopk::Algorithm::automatic)
      : m_tweets(tweets),
        m_source(source),
        m_exec(exec),
        m_plan(exec, ktopk::shape_of<std::int32_t>(source, k),
               {.short_rows = ktopk::ShortRows::fill, .algorithm = algorithm}),
        answer(k) {}

  void operator()() {
    m_plan(m_source, answer.key, answer.row);
    ktopk::gather(m_exec, answer.row, ktopk::payload(m_tweets.id, answer.id));
  }

 private:
  Tweets m_tweets;
  Source m_source;
  Exec m_exec;
  ktopk::Plan<Exec> m_plan;

 public:
  Answer<Key> answer;
};

/// One call of bitonic.
template <class Key, class Source>
auto fused_in_bitonic(Exec const& exec, Tweets const& tweets, Source const& source, int k) {
  auto const marked = ktopk::for_bitonic(source);
  return Fused<Key, std::remove_cv_t<decltype(marked)>>(exec, tweets, marked, k,
                                                        ktopk::Algorithm::bitonic);
}

/// Prints a line for each method; the last two are no copies.
void report(Exec const& exec, std::string const& query, std::vector<Method> const& methods) {
  constexpr int rounds = 9;
  auto const ms = ktopk::papers::alternate(exec, methods, rounds);
  double const by_copy = *std::min_element(ms.begin(), ms.end() - 2);
  for (std::size_t m = 0; m < methods.size(); ++m)
    std::printf("%s,%s,%.4f,%.3f\n", query.c_str(), methods[m].name.c_str(), ms[m],
                ms[m] / by_copy);
  std::fflush(stdout);
}

/// Queries 1 and 3.
template <class Filter>
bool filtered(Exec const& exec, Tweets const& tweets, Entries const& entries, Filter const& filter,
              std::string const& query, int k) {
  FilterThenTopK scan(exec, tweets, Scan<Filter>{filter, tweets.retweets, entries}, k);
  FilterThenTopK append(exec, tweets, Append<Filter>{filter, tweets.retweets, entries}, k);
  auto const source = ktopk::where(tweets.retweets, filter);
  Fused<std::int32_t, std::remove_cv_t<decltype(source)>> fused(exec, tweets, source, k);
  auto bitonic = fused_in_bitonic<std::int32_t>(exec, tweets, source, k);
  report(exec, query,
         {{"filter by scan + top_k", [&] { scan(); }},
          {"filter by tiles + top_k", [&] { append(); }},
          {"fused", [&] { fused(); }},
          {"fused in bitonic", [&] { bitonic(); }}});
  using ktopk::papers::same;
  return same(query + " keys", scan.answer.key, fused.answer.key) &&
         same(query + " rows", scan.answer.row, fused.answer.row) &&
         same(query + " ids", scan.answer.id, fused.answer.id) &&
         same(query + " keys by tiles", append.answer.key, fused.answer.key) &&
         same(query + " rows by bitonic", bitonic.answer.row, fused.answer.row);
}

bool query_1(Exec const& exec, Tweets const& tweets, Entries const& entries) {
  bool right = true;
  for (int tenths = 0; tenths <= 10; ++tenths)
    right = filtered(exec, tweets, entries, Before{tweets.time, seconds_of_may / 10 * tenths},
                     "1 selectivity " + std::to_string(tenths) + "/10", limit) &&
            right;
  return right;
}

struct Project {
  Popularity popularity;
  Column<float> to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to(i) = popularity(i); }
};

bool query_2(Exec const& exec, Tweets const& tweets, int k) {
  std::string const query = "2 k " + std::to_string(k);
  std::int64_t const n = tweets.count();
  Popularity const popularity{tweets.retweets, tweets.likes};
  Column<float> const projected(uninitialized("projected"), n);
  ktopk::Plan<Exec> plan(exec, ktopk::make_shape<float, std::int32_t>(1, n, k));
  Answer<float> answer(k);
  auto const project_then_top_k = [&] {
    Kokkos::parallel_for("project", Kokkos::RangePolicy<Exec>(exec, 0, n),
                         Project{popularity, projected});
    plan(projected, answer.key, answer.row);
    ktopk::gather(exec, answer.row, ktopk::payload(tweets.id, answer.id));
  };
  auto const source = ktopk::generate<float>(n, popularity);
  Fused<float, std::remove_cv_t<decltype(source)>> fused(exec, tweets, source, k);
  auto bitonic = fused_in_bitonic<float>(exec, tweets, source, k);
  report(exec, query,
         {{"project + top_k", project_then_top_k},
          {"fused", [&] { fused(); }},
          {"fused in bitonic", [&] { bitonic(); }}});
  using ktopk::papers::same;
  return same(query + " keys", answer.key, fused.answer.key) &&
         same(query + " rows", answer.row, fused.answer.row) &&
         same(query + " rows by bitonic", bitonic.answer.row, fused.answer.row);
}

/// Tweets by user.
using Groups = Kokkos::UnorderedMap<std::uint32_t, std::int32_t, Exec>;

/// GROUP BY uid
struct Count {
  using Counts = Kokkos::View<std::int32_t*, Groups::device_type>;
  using Add = Kokkos::UnorderedMapInsertOpTypes<Counts, std::uint32_t>::AtomicAdd;
  ConstColumn<std::uint32_t> uid;
  Groups groups;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { groups.insert(uid(i), 1, Add()); }
};

/// The number of tweets in a place of the map, 0 in an empty one.
struct NumberOfTweets {
  Groups groups;
  KOKKOS_FUNCTION std::int32_t operator()(std::int64_t place) const {
    auto const p = static_cast<Groups::size_type>(place);
    return groups.valid_at(p) ? groups.value_at(p) : 0;
  }
};

struct CopyCounts {
  NumberOfTweets number;
  Column<std::int32_t> to;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const { to(place) = number(place); }
};

void group(Exec const& exec, Tweets const& tweets, Groups& groups) {
  groups.clear();
  Kokkos::parallel_for("group", Kokkos::RangePolicy<Exec>(exec, 0, tweets.count()),
                       Count{tweets.uid, groups});
  exec.fence();
  if (groups.failed_insert())
    throw std::runtime_error("queries: a map of " + std::to_string(groups.capacity()) +
                             " places is too small for the users of " +
                             std::to_string(tweets.count()) + " tweets");
}

/// The ratios are those of the whole query, over the one that sorts.
void report_groups(std::vector<Method> const& methods, std::vector<double> const& ms) {
  std::printf("4,%s,%.4f,\n", methods[0].name.c_str(), ms[0]);
  for (std::size_t m = 1; m < methods.size(); ++m)
    std::printf("4,%s,%.4f,%.3f\n", methods[m].name.c_str(), ms[m],
                (ms[0] + ms[m]) / (ms[0] + ms[1]));
}

/// The grouping is Kokkos's, with no selection in it. All select from the same map, whose places are in no order.
bool query_4(Exec const& exec, Tweets const& tweets) {
  Groups groups(static_cast<Groups::size_type>(tweets.count() * 25 / 100));
  group(exec, tweets, groups);
  std::int64_t const places = groups.capacity();
  Column<std::int32_t> const copy("copy", places);
  auto const copy_counts = [&] {
    Kokkos::parallel_for("copy", Kokkos::RangePolicy<Exec>(exec, 0, places),
                         CopyCounts{{groups}, copy});
  };
  ktopk::Plan<Exec> plan(exec, ktopk::make_shape<std::int32_t, std::int32_t>(1, places, limit));
  auto const source = ktopk::generate<std::int32_t>(places, NumberOfTweets{groups});
  ktopk::Plan<Exec> fused(exec, ktopk::shape_of<std::int32_t>(source, limit));
  Answer<std::int32_t> by_copy(limit), answer(limit);
  std::vector<Method> const methods{{"group", [&] { group(exec, tweets, groups); }},
                                    {"copy + sort of the counts alone",
                                     [&] {
                                       copy_counts();
                                       Kokkos::sort(exec, copy);
                                     }},
                                    {"copy + top_k",
                                     [&] {
                                       copy_counts();
                                       plan(copy, by_copy.key, by_copy.row);
                                     }},
                                    {"fused", [&] { fused(source, answer.key, answer.row); }}};
  report_groups(methods, ktopk::papers::alternate(exec, methods, 5));
  std::printf("# query 4: %lld users, %lld places\n", static_cast<long long>(groups.size()),
              static_cast<long long>(places));
  using ktopk::papers::same;
  return same("4 keys", by_copy.key, answer.key) && same("4 places", by_copy.row, answer.row);
}

bool run(Exec const& exec, std::int64_t n) {
  std::printf(
      "# %lld tweets on %s; ratios are over the fastest way with a copy\n"
      "query,method,ms,ratio\n",
      static_cast<long long>(n), exec.name());
  Tweets const tweets = make_tweets(exec, n);
  bool right = true;
  {
    Entries const entries(n);
    right = query_1(exec, tweets, entries) &&
            filtered(exec, tweets, entries, EnglishOrSpanish{tweets.lang},
                     "3 k " + std::to_string(limit), limit);
  }
  for (int k : {16, 64, 256}) right = query_2(exec, tweets, k) && right;
  return query_4(exec, tweets) && right;
}

}  // namespace tweets

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  try {
    std::int64_t const n = ktopk::papers::size_argument(argc, argv, 1 << 24, 1000);
    return tweets::run(tweets::Exec(), n) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
