// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Who sends what to whom, so that all ranks' lists are merged. Neither MPI nor Kokkos is needed: a program may run the
// pattern on threads, and count messages.
//
//     transport.rank(), transport.size()
//     transport.send(message, to)
//     transport.receive(from)            the next message of that rank
//     transport.exchange(message, with)  sends to and receives from one rank
//
//     lists.message()                    a Message, or Words that stay until the next one
//     lists.merge(message)               takes in the lists of another rank
//     lists.assign(message)              becomes those of another rank

namespace ktopk::detail::mpi {

using Message = std::vector<std::uint64_t>;
using Words = std::span<std::uint64_t const>;

/// Where lists of the host receive a message.
class ReceiveBuffer {
 public:
  std::uint64_t* receive_buffer(std::size_t words) {
    m_received.resize(words);
    return m_received.data();
  }

 private:
  Message m_received;
};

/// Whether each of some ranks sends its lists to all others at once, for a GPU that merges them with one kernel. A round less
/// saves copies and launches, some 40 us on an H200; 200 kB pass between processes of a host in less (docs/scaling.md).
constexpr bool is_gathered(int ranks, std::int64_t message_bytes) {
  if (ranks < 3 || ranks > 16) return false;
  auto const rounds = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  return (ranks - 1 - rounds) * message_bytes <= (rounds - 1) * 200'000;
}

/// Rank 0 gets all lists merged, in ceil(log2(ranks)) rounds: a binomial tree.
template <class Transport, class Lists>
void merge_at_first(Transport& transport, Lists& lists) {
  int const rank = transport.rank(), size = transport.size();
  for (int step = 1; step < size; step *= 2) {
    if ((rank & step) != 0) {
      transport.send(lists.message(), rank - step);
      return;
    }
    if (rank + step < size) lists.merge(transport.receive(rank + step));
  }
}

/// All ranks get the lists of rank 0, in ceil(log2(ranks)) rounds.
template <class Transport, class Lists>
void spread_from_first(Transport& transport, Lists& lists) {
  int const rank = transport.rank(), size = transport.size();
  auto const all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  for (int step = all / 2; step >= 1; step /= 2) {
    int const place = rank % (2 * step);
    if (place == 0 && rank + step < size) transport.send(lists.message(), rank + step);
    if (place == step) lists.assign(transport.receive(rank - step));
  }
}

/// All ranks get all lists merged: recursive doubling, in log2(ranks) rounds. Of a number that is no power of two the ranks
/// beyond one give their lists to others first, and get the result at the end.
template <class Transport, class Lists>
void merge_at_all(Transport& transport, Lists& lists) {
  int const rank = transport.rank(), size = transport.size();
  auto const even = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  if (rank >= even) {
    transport.send(lists.message(), rank - even);
    lists.assign(transport.receive(rank - even));
    return;
  }
  bool const has_guest = rank + even < size;
  if (has_guest) lists.merge(transport.receive(rank + even));
  for (int step = 1; step < even; step *= 2)
    lists.merge(transport.exchange(lists.message(), rank ^ step));
  if (has_guest) transport.send(lists.message(), rank + even);
}

}  // namespace ktopk::detail::mpi
