// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/mpi/pattern.hpp>
#include <ktopk/mpi/summary.hpp>

namespace ktopk::mpi {

/// Who gets the result: all ranks, one, or each rank the selected keys that it holds, in order of position.
enum class Result { all, root, owner };

/// How ranks find the result together. `candidates`: each rank's best keys travel and are merged. `counts`: some of these
/// travel, each with a count of those that are as good, until each rank knows which of its own may be selected. `automatic`
/// takes what choose_way() says.
enum class Way { automatic, candidates, counts };

/// How rows lie on the ranks, and who gets the result.
struct Distribution {
  Result result = Result::all;
  int root = 0;  ///< for Result::root
  /// The global position of this rank's first key of each row; -1: behind the keys of the ranks before it. Ranks' positions
  /// must not overlap, which nobody checks.
  std::int64_t first = -1;
  /// The same of ragged rows, firsts(row), in place of `first`, if it has entries.
  Kokkos::View<std::int64_t const*, Kokkos::HostSpace> firsts = {};
  Way way = Way::automatic;
  /// Ranks that are one node: between nodes, one rank of each sends. 0: those that share memory.
  int node_size = 0;
};

/// What the model takes for granted: a message between nodes of a cluster, and a host's core (docs/scaling.md).
struct Network {
  double latency = 2e-6;            ///< seconds
  double bytes_per_second = 5e9;    ///< of one rank
  double seconds_per_entry = 3e-8;  ///< to list a key, sorted, or to merge one
  double device_seconds_per_entry =
      1e-9;  ///< the same of candidates on a GPU, with copies to and from the host
  double device_seconds_per_round = 4e-5;  ///< until a GPU's list is on the host, and back
};

/// The sizes of a question to all ranks.
struct WayShape {
  int ranks = 1;
  std::int64_t rows = 1, k = 0;
  int key_bytes = 4;
  Result result = Result::all;
  bool on_device = false;  ///< a GPU merges candidates, but for Result::owner
};

/// The model's seconds for a way, without the selection on each rank. See docs/scaling.md.
inline double modeled_seconds(Way way, WayShape const& shape, Network const& network = {}) {
  auto const rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(shape.ranks - 1)));
  double const entries = static_cast<double>(shape.rows) * static_cast<double>(shape.k);
  auto const seconds = [&](double messages, double bytes) {
    return messages * network.latency + bytes / network.bytes_per_second;
  };
  double const list_bytes = entries * (8 + shape.key_bytes);
  bool const by_device = shape.on_device && shape.result != Result::owner;
  if (way == Way::candidates && by_device) {
    bool const at_once =
        detail::mpi::is_gathered(shape.ranks, static_cast<std::int64_t>(list_bytes));
    double const lists = at_once ? shape.ranks - 1 : rounds;
    return (at_once ? 1 : rounds) * network.device_seconds_per_round +
           entries * (1 + lists) * network.device_seconds_per_entry +
           seconds(rounds, lists * list_bytes);
  }
  if (way == Way::candidates)
    return entries * (1 + rounds) * network.seconds_per_entry +
           seconds(rounds, rounds * list_bytes);
  // Summaries are merged, of 24 bytes an entry. Then an owner merges what they leave open, which is less; otherwise the
  // selected keys travel once.
  double const summary =
      static_cast<double>(shape.rows) * static_cast<double>(detail::mpi::summary_size(shape.k));
  double const searches = (shape.result == Result::owner ? 2 : 1) * rounds;
  double const search =
      searches * summary * network.seconds_per_entry + seconds(searches, searches * summary * 24);
  double const listing = entries / shape.ranks * network.seconds_per_entry;
  double const result = shape.result == Result::owner
                            ? 0
                            : entries * network.seconds_per_entry + seconds(rounds, list_bytes);
  double const copies = shape.on_device ? network.device_seconds_per_round : 0;
  return copies + listing + search + result;
}

/// The way that the model finds faster. Counts must promise a third more: they begin anew where a rank has far more of the
/// best than its share.
inline Way choose_way(WayShape const& shape, Network const& network = {}) {
  return modeled_seconds(Way::candidates, shape, network) <=
                 1.3 * modeled_seconds(Way::counts, shape, network)
             ? Way::candidates
             : Way::counts;
}

}  // namespace ktopk::mpi
