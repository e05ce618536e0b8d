// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/mpi/distribution.hpp>
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/pattern.hpp>
#include <ktopk/mpi/threshold.hpp>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// How many messages and bytes ktopk::mpi takes: simulate_pattern [ranks on threads] [k] [ranks played].
//
// The pattern's own code runs twice. For up to 512 ranks it merges lists on threads, and finds the threshold of the second
// way; the answers are checked. For up to 10^5 ranks it is recorded on each, and the records are played: a message arrives
// after its sender has sent it, and takes one latency. No MPI is needed. Exits with 1 where an answer is wrong or too many
// latencies follow each other: more than 2 ceil(log2(ranks)), or 2 more of counts if ranks are no power of two.

namespace {

using namespace ktopk::detail;
using namespace ktopk::detail::mpi;

struct Cost {
  std::int64_t latencies = 0;  // that follow each other
  std::int64_t messages = 0;   // that a rank sends, at most
  std::int64_t bytes = 0;      // that a rank receives, at most
};

// ---- recorded

enum class Step { send, merge, assign, exchange };

/// What one rank does, in order.
using Program = std::vector<std::pair<Step, int>>;

/// Takes the place of the transport and of the lists.
class Recorder {
 public:
  Recorder(int rank, int size) : m_rank(rank), m_size(size) {}

  int rank() const { return m_rank; }
  int size() const { return m_size; }
  void send(Message const&, int to) { m_program.emplace_back(Step::send, to); }
  Message receive(int from) {
    m_program.emplace_back(Step::merge, from);
    return {};
  }
  Message exchange(Message const&, int with) {
    m_program.emplace_back(Step::exchange, with);
    return {};
  }

  Message message() const { return {}; }
  void merge(Message const&) {}
  void assign(Message const&) { m_program.back().first = Step::assign; }

  Program const& program() const { return m_program; }

 private:
  int m_rank, m_size;
  Program m_program;
};

/// Of the end of the row, of positions and of values, as Lists<float>::message() has them.
std::int64_t message_bytes(std::int64_t entries) {
  std::size_t const positions = static_cast<std::size_t>(entries);
  return static_cast<std::int64_t>(sizeof(std::uint64_t) *
                                   (1 + positions + Lists<float>::words_of_values(positions)));
}

/// Plays the programs of all ranks.
class Player {
  struct Sent {
    std::int64_t time, entries;
  };
  struct Rank {
    std::size_t next = 0;
    bool has_sent = false;  // of an exchange, its own half
    std::int64_t time = 0, entries = 0, messages = 0, bytes = 0;
  };

 public:
  /// \param entries  entries(rank): that it has at the beginning
  template <class Entries>
  Player(std::vector<Program> const& programs, Entries const& entries, std::int64_t k)
      : m_programs(programs), m_ranks(programs.size()), m_k(k) {
    for (std::size_t r = 0; r < m_ranks.size(); ++r)
      m_ranks[r].entries = entries(static_cast<std::int64_t>(r));
    std::deque<int> ready;
    for (std::size_t r = 0; r < m_ranks.size(); ++r) ready.push_back(static_cast<int>(r));
    while (!ready.empty()) {
      int const r = ready.front();
      ready.pop_front();
      run(r, ready);
    }
  }

  bool is_done() const {
    for (std::size_t r = 0; r < m_ranks.size(); ++r)
      if (m_ranks[r].next < m_programs[r].size()) return false;
    return true;
  }
  Cost cost() const {
    Cost most;
    for (Rank const& rank : m_ranks) {
      most.latencies = std::max(most.latencies, rank.time);
      most.messages = std::max(most.messages, rank.messages);
      most.bytes = std::max(most.bytes, rank.bytes);
    }
    return most;
  }

 private:
  void run(int r, std::deque<int>& ready) {
    Rank& rank = m_ranks[r];
    while (rank.next < m_programs[r].size()) {
      auto const [step, other] = m_programs[r][rank.next];
      if (step == Step::send || (step == Step::exchange && !std::exchange(rank.has_sent, true))) {
        m_mail[{r, other}].push_back({rank.time, rank.entries});
        ++rank.messages;
        ready.push_back(other);
      }
      if (step != Step::send) {
        auto& mail = m_mail[{other, r}];
        if (mail.empty()) return;
        Sent const sent = mail.front();
        mail.pop_front();
        rank.time = std::max(rank.time, sent.time + 1);
        rank.bytes += message_bytes(sent.entries);
        rank.entries =
            step == Step::assign ? sent.entries : std::min(m_k, rank.entries + sent.entries);
      }
      rank.has_sent = false;
      ++rank.next;
    }
  }

  std::vector<Program> const& m_programs;
  std::vector<Rank> m_ranks;
  std::map<std::pair<int, int>, std::deque<Sent>> m_mail;
  std::int64_t m_k;
};

template <class Entries>
Cost played(int ranks, Entries const& entries, std::int64_t k) {
  std::vector<Program> programs;
  for (int rank = 0; rank < ranks; ++rank) {
    Recorder recorder(rank, ranks);
    merge_at_all(recorder, recorder);
    programs.push_back(recorder.program());
  }
  Player const player(programs, entries, k);
  if (!player.is_done()) {
    std::printf("%d ranks wait for each other\n", ranks);
    std::exit(EXIT_FAILURE);
  }
  return player.cost();
}

// ---- on threads

class Mailboxes {
 public:
  void put(int from, int to, Message message) {
    std::lock_guard const lock(m_mutex);
    m_mail[{from, to}].push_back(std::move(message));
    m_arrived.notify_all();
  }
  Message take(int from, int to) {
    std::unique_lock lock(m_mutex);
    auto& mail = m_mail[{from, to}];
    m_arrived.wait(lock, [&] { return !mail.empty(); });
    Message message = std::move(mail.front());
    mail.pop_front();
    return message;
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_arrived;
  std::map<std::pair<int, int>, std::deque<Message>> m_mail;
};

/// Carries the number of latencies that came before in the last word of a message.
class OnThreads {
 public:
  OnThreads(Mailboxes& mail, int rank, int size) : m_mail(mail), m_rank(rank), m_size(size) {}

  int rank() const { return m_rank; }
  int size() const { return m_size; }
  void send(Message message, int to) {
    message.push_back(static_cast<std::uint64_t>(cost.latencies));
    ++cost.messages;
    m_mail.put(m_rank, to, std::move(message));
  }
  Message receive(int from) {
    Message message = m_mail.take(from, m_rank);
    cost.latencies = std::max(cost.latencies, static_cast<std::int64_t>(message.back()) + 1);
    message.pop_back();
    cost.bytes += static_cast<std::int64_t>(message.size() * sizeof(std::uint64_t));
    return message;
  }
  Message exchange(Message message, int with) {
    send(std::move(message), with);
    return receive(with);
  }

  Cost cost;

 private:
  Mailboxes& m_mail;
  int m_rank, m_size;
};

float key_at(std::int64_t position) {
  return static_cast<float>(static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15ull >> 44);
}

/// The best of positions begin .. end - 1.
Lists<float> best(std::int64_t begin, std::int64_t end, std::int64_t k) {
  KeyOrder<float> const order{ktopk::Options{}};
  std::vector<std::int64_t> positions;
  for (std::int64_t i = begin; i < end; ++i) positions.push_back(i);
  std::sort(positions.begin(), positions.end(), [&](std::int64_t a, std::int64_t b) {
    return order.is_before(order.rank(key_at(a)), a, order.rank(key_at(b)), b);
  });
  Lists<float> lists(order, {k});
  for (std::int64_t i = 0; i < std::min(k, end - begin); ++i)
    lists.append(key_at(positions[i]), positions[i]);
  lists.end_row(0);
  return lists;
}

bool are_equal(Lists<float> const& a, Lists<float> const& b) { return a.message() == b.message(); }

/// \param run  run(transport): whether a rank's answer is right
template <class Run>
Cost on_threads(int ranks, Run const& run, bool& is_right) {
  Mailboxes mail;
  std::vector<Cost> costs(static_cast<std::size_t>(ranks));
  std::vector<char> right(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      OnThreads transport(mail, rank, ranks);
      right[rank] = run(transport);
      costs[rank] = transport.cost;
    });
  for (auto& thread : threads) thread.join();
  Cost most;
  for (int rank = 0; rank < ranks; ++rank) {
    most.latencies = std::max(most.latencies, costs[rank].latencies);
    most.messages = std::max(most.messages, costs[rank].messages);
    most.bytes = std::max(most.bytes, costs[rank].bytes);
    is_right = is_right && right[rank] != 0;
  }
  return most;
}

/// \param lists_of  lists_of(rank): what it begins with
template <class ListsOf>
Cost merged_on_threads(int ranks, Lists<float> const& wanted, ListsOf const& lists_of,
                       bool& is_right) {
  return on_threads(
      ranks,
      [&](OnThreads& transport) {
        Lists<float> lists = lists_of(transport.rank());
        merge_at_all(transport, lists);
        return are_equal(lists, wanted);
      },
      is_right);
}

/// The second way, where each rank has `each` keys and lists about its share of the best.
Cost searched_on_threads(int ranks, std::int64_t each, Lists<float> const& wanted, bool& is_right) {
  std::int64_t const k = wanted.limit(0), all = each * ranks;
  std::vector<RowCut> const cuts{{k, all}};
  EntryOrder<float> const number(wanted.order(), all);
  return on_threads(
      ranks,
      [&](OnThreads& transport) {
        std::int64_t const begin = each * transport.rank();
        auto const listed = best(begin, begin + each, listed_share(k, each, all, 1));
        std::vector<RowPart> const parts{{each, listed.count(0) < each}};
        ThresholdSearch<float> const search(number, listed, parts, cuts, 1, [&](auto& summaries) {
          merge_at_all(transport, summaries);
        });
        Lists<float> lists(wanted.order(), {k});
        for (std::int64_t i = 0; i < search.selected(0); ++i)
          lists.append(listed.value(i), listed.position(i));
        lists.end_row(0);
        merge_at_all(transport, lists);
        return search.is_found() && are_equal(lists, wanted);
      },
      is_right);
}

bool same(Cost const& a, Cost const& b) {
  return a.latencies == b.latencies && a.messages == b.messages && a.bytes == b.bytes;
}

void print(int ranks, std::initializer_list<Cost> costs) {
  std::printf("%8d", ranks);
  for (Cost const& cost : costs)
    std::printf("  %9lld %8lld %10lld ", static_cast<long long>(cost.latencies),
                static_cast<long long>(cost.messages), static_cast<long long>(cost.bytes));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  int const most_threads = argc > 1 ? std::atoi(argv[1]) : 512;
  std::int64_t const k = argc > 2 ? std::atoll(argv[2]) : 2048;
  int const most_ranks = argc > 3 ? std::atoi(argv[3]) : 100000;
  bool is_right = true;
  std::printf(
      "One row of floats, k = %lld. Latencies that follow each other, most messages sent and most "
      "bytes received\nof a rank; those of counts are known of ranks on threads alone:\n\n"
      "%8s  %9s %8s %10s   %9s %8s %10s\n%8s  %9s %8s %10s   %9s %8s %10s\n",
      static_cast<long long>(k), "", "", "", "candidates", "", "", "counts", "ranks", "latencies",
      "messages", "bytes", "latencies", "messages", "bytes");
  for (int const ranks :
       {2, 3, 5, 8, 16, 48, 64, 100, 128, 384, 512, 1000, 4096, 10000, 65536, 100000}) {
    if (ranks > most_ranks) break;
    Cost const candidates = played(ranks, [&](std::int64_t) { return k; }, k);
    Cost counts{2 * candidates.latencies, 2 * candidates.messages, 0};
    if (ranks <= most_threads) {
      Lists<float> const wanted = best(0, k * ranks, k);
      Cost const merged = merged_on_threads(
          ranks, wanted, [&](int r) { return best(k * r, k * (r + 1), k); }, is_right);
      Cost const searched = searched_on_threads(ranks, k, wanted, is_right);
      counts.bytes = searched.bytes;
      is_right = is_right && same(merged, candidates) && same(searched, counts);
    }
    auto const rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    bool const is_even = std::has_single_bit(static_cast<unsigned>(ranks));
    is_right = is_right && candidates.latencies <= 2 * rounds &&
               counts.latencies <= 2 * (rounds + (is_even ? 0 : 1));
    print(ranks, {candidates, counts});
  }
  if (!is_right) std::printf("an answer is wrong, or a model\n");
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
