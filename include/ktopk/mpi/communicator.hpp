// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include <ktopk/mpi/pattern.hpp>

namespace ktopk::detail::mpi {

/// Most communicators abort by themselves when MPI fails.
inline void check(int code, char const* function) {
  if (code != MPI_SUCCESS)
    throw std::runtime_error("ktopk::mpi: " + std::string(function) + " failed with error " +
                             std::to_string(code));
}

/// A communicator of the library's own: no message of the caller's can be taken for one of its.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm comm) { check(MPI_Comm_dup(comm, &m_comm), "MPI_Comm_dup"); }
  Communicator(Communicator&& other) noexcept
      : m_comm(std::exchange(other.m_comm, MPI_COMM_NULL)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(m_comm, other.m_comm);
    return *this;
  }
  ~Communicator() {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (m_comm != MPI_COMM_NULL && is_over == 0) MPI_Comm_free(&m_comm);
  }

  /// The ranks with the same color, in the order of `key`; none for the color MPI_UNDEFINED.
  Communicator split(int color, int key) const {
    Communicator part;
    check(MPI_Comm_split(m_comm, color, key, &part.m_comm), "MPI_Comm_split");
    return part;
  }
  /// The ranks that share memory.
  Communicator node(int key) const {
    Communicator part;
    check(MPI_Comm_split_type(m_comm, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &part.m_comm),
          "MPI_Comm_split_type");
    return part;
  }

  explicit operator bool() const { return m_comm != MPI_COMM_NULL; }
  MPI_Comm get() const { return m_comm; }
  int rank() const {
    int rank = 0;
    check(MPI_Comm_rank(m_comm, &rank), "MPI_Comm_rank");
    return rank;
  }
  int size() const {
    int size = 0;
    check(MPI_Comm_size(m_comm, &size), "MPI_Comm_size");
    return size;
  }

  void reduce(std::vector<std::int64_t>& numbers, MPI_Op op) const {
    check(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T,
                        op, m_comm),
          "MPI_Allreduce");
  }
  std::int64_t reduce(std::int64_t number, MPI_Op op) const {
    std::vector<std::int64_t> numbers{number};
    reduce(numbers, op);
    return numbers[0];
  }
  /// The sums of what the ranks before this one have.
  std::vector<std::int64_t> sums_before(std::vector<std::int64_t> const& numbers) const {
    std::vector<std::int64_t> sums(numbers.size(), 0);
    check(MPI_Exscan(numbers.data(), sums.data(), static_cast<int>(numbers.size()), MPI_INT64_T,
                     MPI_SUM, m_comm),
          "MPI_Exscan");
    if (rank() == 0) sums.assign(sums.size(), 0);
    return sums;
  }
  /// The text that one rank has.
  std::string text_of(int root, std::string text) const {
    int length = static_cast<int>(text.size());
    check(MPI_Bcast(&length, 1, MPI_INT, root, m_comm), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), length, MPI_CHAR, root, m_comm), "MPI_Bcast");
    return text;
  }

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
};

/// The length of a message, as MPI takes it.
inline int words_in(Words const& message) {
  constexpr std::size_t most = 0x7fffffff;
  if (message.size() > most)
    throw std::runtime_error("ktopk::mpi: a message of " + std::to_string(message.size()) +
                             " words is more than MPI's counts hold, 2^31 - 1");
  return static_cast<int>(message.size());
}

/// Messages between the ranks of a communicator, of up to 2^31 - 1 words, which are received in the buffer of `lists`. Ranks
/// are counted from `first` on.
template <class Lists>
class Messages {
 public:
  Messages(Communicator const& comm, Lists& lists, int first = 0)
      : m_comm(comm.get()), m_lists(lists), m_first(first), m_size(comm.size()) {
    m_rank = (comm.rank() - first + m_size) % m_size;
  }

  int rank() const { return m_rank; }
  int size() const { return m_size; }

  void send(Words const& message, int to) const {
    check(MPI_Send(message.data(), words_in(message), MPI_UINT64_T, rank_of(to), tag, m_comm),
          "MPI_Send");
  }
  Words receive(int from) const {
    MPI_Message announced;
    MPI_Status status;
    check(MPI_Mprobe(rank_of(from), tag, m_comm, &announced, &status), "MPI_Mprobe");
    int words = 0;
    check(MPI_Get_count(&status, MPI_UINT64_T, &words), "MPI_Get_count");
    auto const size = static_cast<std::size_t>(words);
    std::uint64_t* const message = m_lists.receive_buffer(size);
    check(MPI_Mrecv(message, words, MPI_UINT64_T, &announced, MPI_STATUS_IGNORE), "MPI_Mrecv");
    return {message, size};
  }
  Words exchange(Words const& message, int with) const {
    MPI_Request request;
    check(MPI_Isend(message.data(), words_in(message), MPI_UINT64_T, rank_of(with), tag, m_comm,
                    &request),
          "MPI_Isend");
    Words const received = receive(with);
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    return received;
  }

 private:
  static constexpr int tag = 0;

  int rank_of(int place) const { return (place + m_first) % m_size; }

  MPI_Comm m_comm;
  Lists& m_lists;
  int m_first, m_size, m_rank;
};

/// All ranks, and how they are divided among nodes: messages between nodes are sent by one rank of each.
class Ranks {
 public:
  /// \param root       the first of its node, and its node the first
  /// \param node_size  ranks of a node, from the root on; 0: those that share memory
  Ranks(MPI_Comm comm, int root, int node_size)
      : m_all(comm), m_root(root), m_node_size(node_size) {}

  Communicator const& all() const { return m_all; }

  /// Whether merge_gathered() is faster than merge_at_all(), for messages of so many bytes.
  bool is_gathered(std::int64_t message_bytes) {
    divide();
    return m_is_flat && mpi::is_gathered(m_all.size(), message_bytes);
  }
  /// Each rank gets the lists of all at once, and merges them.
  template <class Lists>
  void merge_gathered(Lists& lists) const {
    lists.merge_gathered(m_all.size(), [&](Words const& own, std::uint64_t* all) {
      int const words = words_in(own);
      check(MPI_Allgather(own.data(), words, MPI_UINT64_T, all, words, MPI_UINT64_T, m_all.get()),
            "MPI_Allgather");
    });
  }

  template <class Lists>
  void merge_at_all(Lists& lists) {
    divide();
    if (m_is_flat) {
      Messages messages(m_all, lists, m_root);
      mpi::merge_at_all(messages, lists);
      return;
    }
    Messages in_node(m_node, lists);
    mpi::merge_at_first(in_node, lists);
    if (m_leaders) {
      Messages between_nodes(m_leaders, lists);
      mpi::merge_at_all(between_nodes, lists);
    }
    mpi::spread_from_first(in_node, lists);
  }

  /// Only the root's lists are complete then.
  template <class Lists>
  void merge_at_root(Lists& lists) {
    divide();
    if (m_is_flat) {
      Messages messages(m_all, lists, m_root);
      mpi::merge_at_first(messages, lists);
      return;
    }
    Messages in_node(m_node, lists);
    mpi::merge_at_first(in_node, lists);
    if (m_leaders) {
      Messages between_nodes(m_leaders, lists);
      mpi::merge_at_first(between_nodes, lists);
    }
  }

 private:
  /// When lists first travel; calls that send none need no nodes.
  void divide() {
    if (std::exchange(m_is_divided, true)) return;
    int const size = m_all.size(), place = (m_all.rank() - m_root + size) % size;
    m_node = m_node_size > 0 ? m_all.split(place / m_node_size, place) : m_all.node(place);
    m_is_flat = m_all.reduce(m_node.size(), MPI_MAX) == 1 || m_node.size() == size;
    if (!m_is_flat) m_leaders = m_all.split(m_node.rank() == 0 ? 0 : MPI_UNDEFINED, place);
  }

  Communicator m_all, m_node, m_leaders;
  int m_root, m_node_size;
  bool m_is_divided = false, m_is_flat = true;
};

}  // namespace ktopk::detail::mpi
