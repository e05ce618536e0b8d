// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include <ktopk/detail/select.hpp>

#include "algorithms/bisection.hpp"
#include "algorithms/bitonic.hpp"
#include "algorithms/bucket.hpp"
#include "algorithms/delegate.hpp"
#include "algorithms/heap.hpp"
#include "algorithms/one_pass.hpp"
#include "algorithms/queue.hpp"
#include "algorithms/quick.hpp"
#include "algorithms/radix.hpp"
#include "algorithms/sample.hpp"
#include "algorithms/sort.hpp"
#include "choose.hpp"
#include "instantiate.hpp"
#include "tuned.hpp"

// The hall: the only file that knows all rooms.

namespace ktopk::detail {

template <template <class> class Algorithm, class Exec>
using tuned_room = Algorithm<typename backend_for<Algorithm, Exec>::type>;

template <template <class> class Algorithm, class Exec>
inline constexpr bool is_tuned =
    !std::is_same_v<typename backend_for<Algorithm, Exec>::type, Generic>;

/// Calls visit(room) with the room that serves the shape: tuned if it can, else generic, else radix.
template <template <class> class Algorithm, class Exec, class Visit>
void with_room(Exec const&, Shape const& shape, Options const& options, Visit const& visit) {
  if constexpr (is_tuned<Algorithm, Exec>)
    if (tuned_room<Algorithm, Exec>::supports(shape, options))
      return visit(tuned_room<Algorithm, Exec>{});
  if (Algorithm<Generic>::supports(shape, options)) return visit(Algorithm<Generic>{});
  visit(Radix<Generic>{});
}

template <class Exec>
Algorithm wanted_algorithm(Exec const& exec, Shape const& shape, Options const& options) {
  return options.algorithm == Algorithm::automatic ? choose(device_of(exec), shape, options)
                                                   : options.algorithm;
}

template <class Exec, class Visit>
void with_chosen_room(Exec const& exec, Shape const& shape, Options const& options,
                      Visit const& visit) {
  switch (wanted_algorithm(exec, shape, options)) {
    case Algorithm::one_pass: return with_room<OnePass>(exec, shape, options, visit);
    case Algorithm::bitonic: return with_room<Bitonic>(exec, shape, options, visit);
    case Algorithm::queue: return with_room<Queue>(exec, shape, options, visit);
    case Algorithm::heap: return with_room<Heap>(exec, shape, options, visit);
    case Algorithm::sort: return with_room<Sort>(exec, shape, options, visit);
    case Algorithm::bisection: return with_room<Bisection>(exec, shape, options, visit);
    case Algorithm::bucket: return with_room<Bucket>(exec, shape, options, visit);
    case Algorithm::delegate: return with_room<Delegate>(exec, shape, options, visit);
    case Algorithm::quick: return with_room<Quick>(exec, shape, options, visit);
    case Algorithm::sample: return with_room<Sample>(exec, shape, options, visit);
    default: return with_room<Radix>(exec, shape, options, visit);
  }
}

template <class Exec>
Algorithm select_algorithm(Exec const& exec, Shape const& shape, Options const& options) {
  Algorithm served = wanted_algorithm(exec, shape, options);
  with_chosen_room(exec, shape, options, [&](auto room) {
    if constexpr (std::is_same_v<decltype(room), Radix<Generic>>) served = Algorithm::radix;
  });
  return served;
}

template <class Exec>
std::size_t select_bytes(Exec const& exec, Shape const& shape, Options const& options) {
  if (shape.rows == 0 || shape.k == 0) return 0;
  std::size_t bytes = 0;
  with_chosen_room(exec, shape, options, [&](auto room) {
    bytes = decltype(room)::workspace_bytes(device_of(exec), shape, options);
  });
  return bytes;
}

struct StoreNoCounts {
  IntegerArray counts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { counts.store(row, 0); }
};

template <class Exec, class Bits>
void select(Exec const& exec, Problem<Bits> const& problem, Options const& options,
            void* workspace) {
  Shape const& shape = problem.shape;
  if (shape.rows == 0) return;
  if (shape.k == 0) {
    if (problem.counts)
      Kokkos::parallel_for("ktopk::select::no_counts",
                           Kokkos::RangePolicy<Exec>(exec, 0, shape.rows),
                           StoreNoCounts{problem.counts});
    return;
  }
  with_chosen_room(exec, shape, options,
                   [&](auto room) { decltype(room)::run(exec, problem, options, workspace); });
}

#define KTOPK_SELECT(Space)                                                                 \
  template Algorithm select_algorithm(Space const&, Shape const&, Options const&);          \
  template std::size_t select_bytes(Space const&, Shape const&, Options const&);            \
  template void select(Space const&, Problem<std::uint8_t> const&, Options const&, void*);  \
  template void select(Space const&, Problem<std::uint16_t> const&, Options const&, void*); \
  template void select(Space const&, Problem<std::uint32_t> const&, Options const&, void*); \
  template void select(Space const&, Problem<std::uint64_t> const&, Options const&, void*);
KTOPK_INSTANTIATE(KTOPK_SELECT)
#undef KTOPK_SELECT

}  // namespace ktopk::detail
