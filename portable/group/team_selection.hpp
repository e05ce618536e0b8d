// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/selected.hpp>
#include <ktopk/team.hpp>

#include "../ranks/sort.hpp"
#include "best_of_maxima.hpp"
#include "group.hpp"
#include "key_batches.hpp"
#include "kth_largest.hpp"

// Selection by a team of a caller's kernel.

namespace ktopk::detail {

/// Composite keys of a team's selection.
template <class T>
using TeamCompositeKey = std::conditional_t<sizeof(T) == 8, CompositeKey128, CompositeKey64>;

/// The map of composite keys with positions 0 .. n - 1. The one that calls have is made by the host, whose count of bits
/// devices do not know.
template <class CompositeKey, class T>
KOKKOS_FUNCTION CompositeKeyMap<bits_of<T>, CompositeKey> team_map(KeyOrder<T> const& order,
                                                                   std::int64_t n) {
  int width = 0;
  while (std::int64_t{1} << width < n) ++width;
  std::uint64_t const mask = (std::uint64_t{1} << width) - 1;
  return {order.map(), width, mask, order.highest_wins() ? 0 : mask};
}

/// Lists the composite keys of the k best, in no order. All threads call it together.
/// \param shared  of kth_largest_bytes
template <class T, class Group, class Source, class CompositeKey>
KOKKOS_FUNCTION void list_best(Group const& group, Source const& source, KeyOrder<T> const& order,
                               CompositeKeyMap<bits_of<T>, CompositeKey> const& map, std::int64_t k,
                               std::byte* shared, CompositeKey* list) {
  auto const read = [&](std::int64_t i) {
    return map.join(order.rank(source[i]), static_cast<std::uint64_t>(i));
  };
  CompositeKey const threshold =
      KthLargest<Group, CompositeKey>(group, shared, map.position_bits)(source.size(), k, read);
  int* const next = reinterpret_cast<int*>(shared);
  group.barrier();
  if (group.rank() == 0) *next = 0;
  group.barrier();
  each_composites<CompositeKey>(group, source.size(), read,
                                [&](auto const& composites, std::uint32_t present) {
                                  unrolled<composites_at_once>([&](auto j) {
                                    if ((present >> j & 1u) != 0 && composites[j] >= threshold)
                                      list[group.fetch_add(next, 1)] = composites[j];
                                  });
                                });
  group.barrier();
}

/// Lists the composite keys of the k best, the worst first, behind zeros up to a power of two. All threads call it together.
template <class T, class Group, class Source, class CompositeKey>
KOKKOS_FUNCTION void sort_best(Group const& group, Source const& source, KeyOrder<T> const& order,
                               CompositeKeyMap<bits_of<T>, CompositeKey> const& map, std::int64_t k,
                               std::byte* shared, CompositeKey* list) {
  int const places = power_of_two_from(k);
  using OfMaxima = BestOfMaxima<T, Group, Source, CompositeKey>;
  if (k <= OfMaxima::most_k && source.size() <= OfMaxima::most_n &&
      OfMaxima(group, source, order, map, shared)(static_cast<int>(k), list, places))
    return;
  list_best(group, source, order, map, k, shared, list);
  each(group, k, places, [&](std::int64_t i) { list[i] = CompositeKey{0}; });
  sort_numbers(group, list, places);
}

/// A lone thread lists no more by insertion.
inline constexpr std::int64_t most_inserted = 128;

/// The same by a thread without others, which reads the keys once.
/// \param end  of the list
template <class T, class Source, class CompositeKey>
KOKKOS_FUNCTION void insert_best(Source const& source, KeyOrder<T> const& order,
                                 CompositeKeyMap<bits_of<T>, CompositeKey> const& map,
                                 std::int64_t k, CompositeKey* end) {
  CompositeKey* const worst = end - k;
  for (std::int64_t i = 0; i < k; ++i) worst[i] = CompositeKey{0};
  bits_of<T> least = 0;
  for_each_reaching(source, order, least, [&](T, bits_of<T> rank, std::int64_t i) {
    CompositeKey const composite = map.join(rank, static_cast<std::uint64_t>(i));
    if (composite <= *worst) return;
    CompositeKey* slot = worst;
    for (; slot + 1 < end && slot[1] < composite; ++slot) slot[0] = slot[1];
    *slot = composite;
    if (*worst != CompositeKey{0}) least = order.least_after(map.ordered_bits_of(*worst));
  });
}

}  // namespace ktopk::detail

namespace ktopk {

/// The scratch memory that team_top_k takes, however many keys of type T there are: for
/// set_scratch_size(level, Kokkos::PerTeam(...)).
template <class T>
KOKKOS_FUNCTION std::size_t team_scratch_bytes(std::int64_t k) {
  return detail::kth_largest_bytes + 32 +
         static_cast<std::size_t>(detail::power_of_two_from(k)) *
             sizeof(detail::TeamCompositeKey<T>);
}

/// The k best keys, by all threads of a team together, of any size. It reads the keys twice if k is at most 64, and five times
/// or so for more, or if most of the best have the same place modulo a power of two. A team of one thread, as on hosts, selects
/// as thread_top_k does there, or reads them once if k is at most 128.
/// \param scratch  member.team_scratch(level), of at least team_scratch_bytes<T>(k)
/// \param keys     at most 2^32 - 1
/// \return how many keys were selected, in every thread; further slots are filled as a short row's are. The outputs are
///         written when the call returns.
template <class Member, class Scratch, class Keys, class Values, class Indices>
KOKKOS_FUNCTION std::int64_t team_top_k(Member const& member, Scratch const& scratch,
                                        Keys const& keys, std::int64_t k, Values const& values,
                                        Indices const& indices, Options const& options = {}) {
  static_assert(!(detail::IsNothing<Values> && detail::IsNothing<Indices>),
                "ktopk::team_top_k: neither values nor indices");
  using Source = detail::KernelKeys<Keys>;
  using T = typename Source::Key;
  using CompositeKey = detail::TeamCompositeKey<T>;
  Source const source{keys};
  detail::KeyOrder<T> const order(options);
  std::int64_t count = 0;
  if (member.team_size() == 1 && detail::select_alone(source, order, k, values, indices, count))
    return count;
  auto const map = detail::team_map<CompositeKey>(order, source.size());
  std::int64_t const most = k < source.size() ? k : source.size();
  int const places = detail::power_of_two_from(most);
  std::int64_t const own = detail::kth_largest_bytes;  // passed by reference
  auto* const shared = static_cast<std::byte*>(scratch.get_shmem_aligned(own, 16));
  auto* const list = static_cast<CompositeKey*>(
      scratch.get_shmem_aligned(places * static_cast<std::int64_t>(sizeof(CompositeKey)), 16));
  detail::TeamGroup<Member> const group(member, 0, shared);
  count = most;
  if (most > 0) {
    if (member.team_size() == 1 && most <= detail::most_inserted)
      detail::insert_best(source, order, map, most, list + places);
    else
      detail::sort_best(group, source, order, map, most, shared, list);
    // NaNs that are no keys are the worst.
    while (count > 0 && !order.is_key(map.ordered_bits_of(list[places - count]))) --count;
  }
  detail::each(group, 0, k, [&](std::int64_t slot) {
    bool const exists = slot < count;
    std::int64_t position = -1;
    if (exists) position = static_cast<std::int64_t>(map.position(list[places - 1 - slot]));
    detail::store_value(values, slot, exists ? source[position] : order.worst());
    detail::store_index(indices, slot, position);
  });
  member.team_barrier();
  return count;
}

}  // namespace ktopk
