// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/mpi/distribution.hpp>
#include <ktopk/mpi/lists.hpp>
#include <ktopk/mpi/pattern.hpp>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// How many messages and bytes the merges of ktopk::mpi take: simulate_pattern [ranks on threads] [k] [ranks played].
//
// The pattern's own code runs twice. For up to 512 ranks it merges lists on threads, and the answer is checked. For up to
// 10^5 ranks it is recorded on each, and the records are played: a message arrives after its sender has sent it, and takes
// one latency. No MPI is needed. Exits with 1 where an answer is wrong or more than 2 ceil(log2(ranks)) latencies follow each
// other.

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
  Player(std::vector<Program> const& programs, Entries const& entries, std::int64_t k,
         std::int64_t entry_bytes)
      : m_programs(programs), m_ranks(programs.size()), m_k(k), m_entry_bytes(entry_bytes) {
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
        rank.bytes += sent.entries * m_entry_bytes;
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
  std::int64_t m_k, m_entry_bytes;
};

template <class Entries>
Cost played(int ranks, Entries const& entries, std::int64_t k) {
  std::vector<Program> programs;
  for (int rank = 0; rank < ranks; ++rank) {
    Recorder recorder(rank, ranks);
    merge_at_all(recorder, recorder);
    programs.push_back(recorder.program());
  }
  Player const player(programs, entries, k, sizeof(float) + sizeof(std::int64_t));
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
    // The word before the entries is the end of the row, and stands for none.
    cost.bytes +=
        static_cast<std::int64_t>(message.front()) * (sizeof(float) + sizeof(std::int64_t));
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

/// \param lists_of  lists_of(rank): what it begins with
template <class ListsOf>
Cost on_threads(int ranks, Lists<float> const& wanted, ListsOf const& lists_of, bool& is_right) {
  Mailboxes mail;
  std::vector<Cost> costs(static_cast<std::size_t>(ranks));
  std::vector<char> right(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      OnThreads transport(mail, rank, ranks);
      Lists<float> lists = lists_of(rank);
      merge_at_all(transport, lists);
      costs[rank] = transport.cost;
      right[rank] = are_equal(lists, wanted);
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

/// Of the best of all, those that a rank holds.
Lists<float> share_of(Lists<float> const& wanted, std::int64_t begin, std::int64_t end) {
  Lists<float> lists(wanted.order(), {wanted.limit(0)});
  for (std::int64_t i = begin; i < end; ++i) lists.append(wanted.value(i), wanted.position(i));
  lists.end_row(0);
  return lists;
}

bool same(Cost const& a, Cost const& b) {
  return a.latencies == b.latencies && a.messages == b.messages && a.bytes == b.bytes;
}

}  // namespace

int main(int argc, char** argv) {
  int const most_threads = argc > 1 ? std::atoi(argv[1]) : 512;
  std::int64_t const k = argc > 2 ? std::atoll(argv[2]) : 2048;
  int const most_ranks = argc > 3 ? std::atoi(argv[3]) : 100000;
  bool is_right = true;
  std::printf(
      "One row of floats, k = %lld. candidates: each rank's list has k entries; counts: its share "
      "of them.\n"
      "latencies that follow each other, most messages sent and most bytes received of a rank:\n\n"
      "%8s  %9s %8s %10s   %9s %8s %10s  %s\n",
      static_cast<long long>(k), "ranks", "latencies", "messages", "bytes", "latencies", "messages",
      "bytes", "on threads");
  for (int const ranks :
       {2, 3, 5, 8, 16, 48, 64, 100, 128, 384, 512, 1000, 4096, 10000, 65536, 100000}) {
    if (ranks > most_ranks) break;
    auto const all = [&](std::int64_t) { return k; };
    auto const end_of = [&](std::int64_t rank) { return k * rank / ranks; };
    auto const share = [&](std::int64_t rank) { return end_of(rank + 1) - end_of(rank); };
    Cost const candidates = played(ranks, all, k), counts = played(ranks, share, k);
    char const* note = "";
    if (ranks <= most_threads) {
      Lists<float> const wanted = best(0, k * ranks, k);
      bool const agrees =
          same(on_threads(
                   ranks, wanted, [&](int r) { return best(k * r, k * (r + 1), k); }, is_right),
               candidates) &&
          same(on_threads(
                   ranks, wanted, [&](int r) { return share_of(wanted, end_of(r), end_of(r + 1)); },
                   is_right),
               counts);
      note = agrees ? "the same" : "DIFFER";
      is_right = is_right && agrees;
    }
    auto const rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    is_right = is_right && candidates.latencies <= 2 * rounds;
    std::printf(
        "%8d  %9lld %8lld %10lld   %9lld %8lld %10lld  %s\n", ranks,
        static_cast<long long>(candidates.latencies), static_cast<long long>(candidates.messages),
        static_cast<long long>(candidates.bytes), static_cast<long long>(counts.latencies),
        static_cast<long long>(counts.messages), static_cast<long long>(counts.bytes), note);
  }
  if (!is_right) std::printf("an answer is wrong, or a model\n");
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
