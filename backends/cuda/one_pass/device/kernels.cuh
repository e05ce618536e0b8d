// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cooperative_groups.h>

#include <ktopk/core/testing.hpp>
#include <ktopk/options.hpp>

#include "../../common/digits.cuh"
#include "../../common/mail.cuh"
#include "../../common/warp.cuh"
#include "../block/row.cuh"
#include "../ranges.cuh"
#include "tuning.hpp"

// Few rows, each shared by all blocks of the device or by a part of them, which read it once and hold in registers what
// they read at first.
// sample:    every warp tells all blocks the best of its samples, which come from all over the row; a barrier of the grid
//            makes them visible, and that what the blocks will write to each other is cleared.
// threshold: every block finds the order-th best of the samples, and pivots, which part what lies above into a range of
//            composite keys for each owner.
// stream:    every block keeps what reaches the threshold, and sends each composite key to the block that owns its
// range.
// rank:      an owner ranks its composite keys behind those of higher ranges.
// Counts prove the result. Where they do not, the blocks of the row select by digits together: so the kernel is launched
// cooperatively.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassDeviceTuning device_tuning = one_pass_device_tuning;

/// What the blocks of a row do together where the counts do not prove it.
struct RowState {
  unsigned arrived;  // at barriers; from zero
  unsigned found;    // selected keys; from zero
  unsigned counts[3][digits];
};

/// What the samples are to tell: a threshold, where all that reaches it is put in order, or a bracket around the k-th
/// composite key, where what is above it is selected as it is.
enum class Sought { threshold, bracket };

/// Composite keys above `high` are selected, and those below `low` are not.
template <class CompositeKey>
struct Limits {
  CompositeKey low, high;
};

template <class Bits, class CompositeKey>
struct DeviceRows {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Threshold forced;
  Sorted sorted;
  int parts;         // blocks that share a row
  int letter_units;  // of mail, from each of them to each owner; a power of two
  int owners;        // blocks that put composite keys in order; a power of two
  int batches;       // of loads, in which a block reads its part
  int kept;          // keys that a block can keep
  int capacity;      // composite keys of a row that an owner can hold
  int groups;        // of samples
  unsigned stratum;  // keys, of which one is a sample
  float samples_a_key;
  RowState* states = nullptr;
  CompositeKey* bests = nullptr;    // of groups
  uint4* mail = nullptr;            // of an owner: a unit for each of its threads
  CompositeKey* spilled = nullptr;  // what does not fit a letter
  CompositeKey* selected =
      nullptr;  // beside a threshold where the counts do not prove the row, beside a bracket where
                // the output is to be sorted

  __device__ CompositeKey* row_bests(unsigned row) const {
    return bests + std::size_t{row} * static_cast<unsigned>(groups);
  }
  __device__ uint4* inbox(unsigned row, unsigned owner) const {
    return mail + (std::size_t{row} * static_cast<unsigned>(owners) + owner) *
                      static_cast<unsigned>(device_tuning.threads);
  }
  __device__ CompositeKey* spilled_of(unsigned row, unsigned part) const {
    return spilled + (std::size_t{row} * static_cast<unsigned>(parts) + part) *
                         static_cast<unsigned>(device_tuning.kept);
  }
};

struct DeviceNotes {
  unsigned kept;
  unsigned spilled;
  unsigned size;            // composite keys that came
  unsigned above;           // composite keys for owners of higher ranges
  unsigned all;             // composite keys that the blocks of the row kept
  unsigned all_here;        // that this one did
  unsigned certain;         // composite keys above the bracket, of all blocks of the row
  unsigned certain_before;  // of those before this one
  unsigned certain_here;
  unsigned taken;       // of the k-th composite key's range
  unsigned overflow;    // whether some did not fit
  unsigned incomplete;  // letters that did not hold all
  unsigned sent[device_tuning.most_owners];
  unsigned senders[device_tuning.most_blocks];  // of letters that did not hold all
};

/// A row's key vectors, dealt to the blocks that share it by lines of memory: in turns that begin at different blocks, so
/// that no block has all lines at some distance from each other.
template <class Bits, int Vectors>
struct Dealt {
  static constexpr unsigned threads = device_tuning.threads, line = 8;
  Bits const* keys;
  unsigned head, vectors;
  unsigned first;  // of a thread's vectors
  unsigned step;   // to the next

  __device__ Dealt(Bits const* row_keys, std::int64_t n, unsigned part, unsigned parts) {
    AlignedRow<Bits> const row(row_keys, n);
    keys = row.keys;
    head = static_cast<unsigned>(row.head);
    vectors = static_cast<unsigned>(row.vectors);
    unsigned const turn = threadIdx.x / line;
    unsigned in_turn = part + turn;
    while (in_turn >= parts) in_turn -= parts;
    first = (turn * parts + in_turn) * line + threadIdx.x % line;
    step = parts * threads;
  }
  __device__ unsigned place(int batch, int v) const {
    return first + static_cast<unsigned>(batch * Vectors + v) * step;
  }
};

/// The numbers below parts * threads in an order of their own, so that neighbors are far from each other.
/// \param number  one of them
__device__ inline unsigned shuffled(unsigned number, unsigned parts) {
  constexpr unsigned threads = device_tuning.threads;
  unsigned low = number % threads, high = number / threads;
#pragma unroll
  for (unsigned const salt : {0x9e3779b9u, 0x85ebca6bu}) {
    low ^= (high + 1) * salt >> 20 & (threads - 1);
    high += __umulhi((low + 1) * (salt * 0x2545f491u), parts);
    high -= high >= parts ? parts : 0;
  }
  return high * threads + low;
}

/// A thread's samples, each from a scattered place of a stratum. Strata go to groups as if by chance, so that wherever the
/// k best keys stand it is known how many groups have one of them.
template <class Bits, int Rounds>
struct Samples {
  unsigned group;
  unsigned places[Rounds];
  Bits keys[Rounds];

  template <class CompositeKey>
  __device__ Samples(DeviceRows<Bits, CompositeKey> const& rows, Bits const* row_keys)
      : group(blockIdx.x * (device_tuning.threads / 32) + threadIdx.x / 32) {
    auto const strata = static_cast<unsigned>(rows.groups) * 32;  // of a round
    unsigned const stratum =
        shuffled(group * 32 + threadIdx.x % 32, static_cast<unsigned>(rows.parts));
#pragma unroll
    for (int i = 0; i < Rounds; ++i) {
      unsigned const s = static_cast<unsigned>(i) * strata + stratum;
      places[i] = s * rows.stratum +
                  __umulhi(static_cast<unsigned>(scatter(s + 0x9e3779b97f4a7c15ull)), rows.stratum);
      keys[i] = __ldg(row_keys + places[i]);
    }
  }
  template <class CompositeKey>
  __device__ CompositeKey best(DeviceRows<Bits, CompositeKey> const& rows) const {
    CompositeKey best = 0;
#pragma unroll
    for (int i = 0; i < Rounds; ++i) {
      CompositeKey const composite = rows.map(keys[i], std::uint64_t{places[i]});
      best = composite > best ? composite : best;
    }
    return best;
  }
};

/// \tparam Vectors  that a thread loads before it looks at any
/// \tparam Rounds  samples that it takes
template <class Bits, class CompositeKey, int Vectors, int Rounds, Sought Seeks = Sought::threshold>
class DeviceSelection {
 public:
  __device__ explicit DeviceSelection(DeviceRows<Bits, CompositeKey> const& rows) : m_rows(rows) {}

  __device__ void run() const {
    touch_parameters();
    StoredProblem<Bits> const& problem = m_rows.problem;
    Bits const* const keys = problem.rows.pointer(row());
    Samples const samples(m_rows, keys);
    Shares const deal(keys, problem.shape.n, part(), parts());
    Held tile, next;
    load_batch(deal, 0, tile);
    if (m_rows.batches > 1) load_batch(deal, 1, next);
    clear();
    CompositeKey const best = warp_max(samples.best(m_rows));
    if (lane() == 0) m_rows.row_bests(row())[samples.group] = best;
    cooperative_groups::grid_group const grid = cooperative_groups::this_grid();
    auto come = grid.barrier_arrive();
    auto const k = static_cast<unsigned>(problem.selected_count(row()));
    Output<Bits> const to(problem, row());
    grid.barrier_wait(std::move(come));
    if (k > 0) select(deal, tile, next, k, to);
    if (part() == 0) fill_row(problem, row(), static_cast<int>(k));
  }

 private:
  static constexpr int threads = device_tuning.threads;
  static constexpr int warps = threads / 32;
  static constexpr int width = Vector<Bits>::size;
  static constexpr unsigned most_spilled = device_tuning.kept;
  static constexpr unsigned few_owners = 4;  // which may have unequal shares
  static constexpr bool brackets = Seeks == Sought::bracket;
  static_assert(!brackets || Rounds == 1);
  static_assert(device_tuning.kept <= LetterHead::most);
  using Steps = Ranges<CompositeKey, threads, device_tuning.most_owners>;
  using Samples = cuda::Samples<Bits, Rounds>;
  using Shares = Dealt<Bits, Vectors>;
  using Held = Tile<Bits, threads, Vectors>;
  using Letters = Mail<CompositeKey>;
  /// Of the warps' best samples.
  using Share =
      SampleShare<Bits, CompositeKey, threads, device_tuning.most_blocks * warps / threads>;

  __device__ static DeviceNotes& notes() {
    __shared__ DeviceNotes shared;
    return shared;
  }
  __device__ static unsigned part() { return blockIdx.x; }
  __device__ unsigned parts() const { return static_cast<unsigned>(m_rows.parts); }
  __device__ static unsigned row() { return blockIdx.y; }
  __device__ unsigned owners() const { return static_cast<unsigned>(m_rows.owners); }
  __device__ bool owns() const { return part() < owners(); }
  __device__ unsigned capacity() const { return static_cast<unsigned>(m_rows.capacity); }
  __device__ unsigned units() const { return static_cast<unsigned>(m_rows.letter_units); }
  /// Of the composite keys that came.
  __device__ static CompositeKey* list() { return reinterpret_cast<CompositeKey*>(dynamic_shared); }
  __device__ CompositeKey* spare() const { return list() + m_rows.capacity; }
  /// Of the keys that a block keeps.
  __device__ unsigned* positions() const {
    return reinterpret_cast<unsigned*>(spare() + (brackets ? threads : m_rows.capacity));
  }
  __device__ unsigned most_kept() const { return static_cast<unsigned>(m_rows.kept); }
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }

  /// Brings all parameters to the cache that holds constants, which takes long and would stop each of the steps.
  __device__ void touch_parameters() const {
    constexpr unsigned words = sizeof(DeviceRows<Bits, CompositeKey>) / sizeof(unsigned);
    unsigned const word = reinterpret_cast<unsigned const*>(&m_rows)[threadIdx.x % 32 * 16 % words];
    if (warp() == warps - 1) asm volatile("" ::"r"(word));
  }

  __device__ void clear() const {
    Steps::clear();
    for (unsigned i = part() * threads + threadIdx.x; i < owners() * threads;
         i += parts() * threads)
      m_rows.inbox(row(), 0)[i] = uint4{};
    if (part() == 0 && threadIdx.x == 0)
      m_rows.states[row()].arrived = m_rows.states[row()].found = 0;
    auto* const words = reinterpret_cast<unsigned*>(&notes());
    if (threadIdx.x < sizeof(DeviceNotes) / sizeof(unsigned)) words[threadIdx.x] = 0;
  }

  // ---- threshold and pivots

  /// Of the groups.
  __device__ int order_of(unsigned k) const {
    float const groups = static_cast<float>(m_rows.groups);
    float const expected = static_cast<float>(k) * m_rows.samples_a_key;
    float const selected = groups * (1 - __expf(-expected / groups));
    float const order = selected + 4 * sqrtf(selected) + 4;
    return static_cast<int>(fminf(order, groups));
  }

  /// Of the groups: one that surely has the k-th composite key's better ones alone, or nearly so, and one that has not.
  __device__ Orders orders_of(unsigned k) const {
    float const groups = static_cast<float>(m_rows.groups);
    float const share = static_cast<float>(k) / static_cast<float>(m_rows.problem.shape.n);
    float const others = expf(32 * log1pf(-share));  // share of groups without any of the k best
    float const margin = 4 * sqrtf(groups * others * (1 - others)) + 4;
    return {static_cast<int>(groups * (1 - others) - margin),
            static_cast<int>(fminf(groups * (1 - others) + margin, groups))};
  }

  /// Finds the limits and the pivots.
  __device__ Limits<CompositeKey> find_limits(unsigned k) const {
    if constexpr (brackets)
      return find_bracket(orders_of(k));
    else
      return {find_threshold(order_of(k)), static_cast<CompositeKey>(~CompositeKey{0})};
  }

  __device__ Limits<CompositeKey> find_bracket(Orders const& orders) const {
    constexpr CompositeKey greatest = static_cast<CompositeKey>(~CompositeKey{0});
    Share const share(m_rows.map, m_rows.row_bests(row()), m_rows.groups);
    auto const each_sample = [&](auto const& visit) { share.visit(visit); };
    auto const range = Steps::range_of(share, orders.low);
    auto const found = Steps::search_bracket(each_sample, orders, range.low, range.high);
    if (!Steps::note_pivots(each_sample, found, m_rows.owners)) sort_samples_of(m_rows, found);
    if (m_rows.forced == Threshold::too_high) return {greatest, greatest};
    if (m_rows.forced == Threshold::too_low) return {found.low, found.low};
    return {found.low, orders.high > 0 ? found.high : greatest};
  }

  __device__ CompositeKey find_threshold(int order) const {
    Share const share(m_rows.map, m_rows.row_bests(row()), m_rows.groups);
    auto const each_sample = [&](auto const& visit) { share.visit(visit); };
    auto const range = Steps::range_of(share, order);
    auto const found = Steps::search(each_sample, order, range, m_rows.owners,
                                     [](CompositeKey pivot) { return pivot; });
    CompositeKey threshold = found.low;
    if (found.coarse && owners() > few_owners)
      find_pivots_of(m_rows, {threshold, range.high, found.reaching});
    if (m_rows.forced == Threshold::too_high)
      threshold = static_cast<CompositeKey>(~CompositeKey{0});
    if (m_rows.forced == Threshold::too_low) threshold = 0;
    return threshold;
  }

  /// Takes the pivots from the samples in a range, if need be in order.
  __device__ static __noinline__ void find_pivots_of(DeviceRows<Bits, CompositeKey> const& rows,
                                                     Bracket<CompositeKey> range) {
    Share const share(rows.map, rows.row_bests(row()), rows.groups);
    auto const each_sample = [&](auto const& visit) { share.visit(visit); };
    if (!Steps::note_pivots(each_sample, range, rows.owners)) sort_samples_of(rows, range);
  }
  __device__ static __noinline__ void sort_samples_of(DeviceRows<Bits, CompositeKey> const& rows,
                                                      Bracket<CompositeKey> range) {
    DeviceSelection(rows).sort_samples(range);
  }
  __device__ void sort_samples(Bracket<CompositeKey> range) const {
    Share const share(m_rows.map, m_rows.row_bests(row()), m_rows.groups);
    share.visit([&](CompositeKey composite) {
      if (range.low <= composite && composite <= range.high)
        list()[atomicAdd(&notes().size, 1u)] = composite;
    });
    __syncthreads();
    unsigned const size = notes().size;
    CompositeKey const* const in_order =
        brackets ? Steps::rank_few(list(), spare(), size)
                 : Steps::in_order(list(), spare(), size, device_tuning.crowded_bin);
    if (threadIdx.x + 1 < owners())
      Steps::notes().limits[threadIdx.x] = in_order[(threadIdx.x + 1) * size / owners()];
    Steps::clear();
    if (threadIdx.x == 0) notes().size = 0;
    __syncthreads();
  }

  // ---- stream

  __device__ void select(Shares const& deal, Held& tile, Held& next, unsigned k,
                         Output<Bits> const& to) const {
    Limits<CompositeKey> const limits = find_limits(k);
    OrderedBitsMap<Bits> const& rank = m_rows.map.rank;
    if (rank.magnitude != 0 && rank.ordered_nan != 0)
      stream<true>(deal, tile, next, limits.low);
    else
      stream<false>(deal, tile, next, limits.low);
    unsigned const slot = send_kept(deal, limits);
    read_letters();
    __syncthreads();
    if (!is_proven(k)) return select_exactly_of(m_rows, k);
    if constexpr (brackets) put_certain(deal, to, slot);
    if (owns() && certain() + notes().above < k) put_own(deal, to, k);
  }

  template <bool NanWins>
  __device__ void stream(Shares const& deal, Held& tile, Held& next, CompositeKey threshold) const {
    Filter const filter(m_rows.map, threshold, deal.head);
    each_batch(deal, m_rows.batches, tile, next,
               [&](Held const& held, int batch) { keep<NanWins>(deal, held, batch, filter); });
    if (part() == 0) keep_ends(deal);
  }

  using Filter = VectorFilter<Bits, CompositeKey, sizeof(Bits) == 1>;

  /// Notes where the keys are that pass.
  template <bool NanWins>
  __device__ void keep(Shares const& deal, Held const& tile, int batch,
                       Filter const& filter) const {
    unsigned passed = passing_of<NanWins>(deal, batch, tile, filter);
    if (!brackets && passed == 0) return;
    auto const mine = static_cast<unsigned>(__popc(passed));
    unsigned slot = claim_kept(mine);
    if (slot + mine > most_kept()) return;
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      int const bit = __ffs(static_cast<int>(passed)) - 1;
      positions()[slot++] =
          deal.head + deal.place(batch, bit / width) * width + static_cast<unsigned>(bit % width);
    }
  }

  /// Claims places for what a thread keeps. Beside a bracket nearly all threads keep some, so a warp claims together.
  __device__ unsigned claim_kept(unsigned mine) const {
    if (!brackets) return atomicAdd(&notes().kept, mine);
    unsigned const up_to = warp_sum_to(mine);
    unsigned slot = 0;
    if (lane() == 31 && up_to > 0) slot = atomicAdd(&notes().kept, up_to);
    return __shfl_sync(full_warp, slot, 31) + up_to - mine;
  }

  /// Notes where the keys before and behind the vectors are.
  __device__ void keep_ends(Shares const& deal) const {
    auto const n = static_cast<unsigned>(m_rows.problem.shape.n);
    unsigned const tail = deal.head + deal.vectors * width;
    unsigned const ends = deal.head + n - tail;
    if (threadIdx.x >= ends) return;
    unsigned const slot = atomicAdd(&notes().kept, 1u);
    if (slot < most_kept())
      positions()[slot] = threadIdx.x < deal.head ? threadIdx.x : tail + threadIdx.x - deal.head;
  }

  // ---- exchange

  static constexpr unsigned none = ~0u;

  /// Sends what is in the limits, and what is above leaves in the list.
  /// \return how many the threads before this one left
  __device__ unsigned send_kept(Shares const& deal, Limits<CompositeKey> const& limits) const {
    __syncthreads();
    unsigned const kept = notes().kept;
    Bits const* const keys = deal.keys - deal.head;
    unsigned certain = 0;
    // Where some did not fit, not all of those that should have are there.
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < kept && kept <= most_kept(); i += threads) {
      unsigned const position = positions()[i];
      CompositeKey const composite = m_rows.map(__ldg(keys + position), std::uint64_t{position});
      bool const is_certain = brackets && composite > limits.high;
      certain += is_certain;
      if (brackets && !is_certain) positions()[i] = none;
      if (!is_certain && composite >= limits.low) send(composite);
    }
    __syncthreads();
    unsigned const own = threadIdx.x < owners() ? notes().sent[threadIdx.x] : 0;
    // Both sums are below 2^16 and are found together.
    unsigned const before = Steps::sum_before(certain << 16 | own), spilled = notes().spilled;
    unsigned const above = brackets ? before & 0xffff : before, certain_before = before >> 16;
    if (spilled != 0) __threadfence();  // what was spilled is there before the letters
    // Whoever has the last owner's knows how many there are.
    if (threadIdx.x + 1 == owners()) notes().all_here = above + own;
    if (brackets && threadIdx.x + 1 == threads) notes().certain_here = certain_before + certain;
    __syncthreads();
    bool const overflow = kept > most_kept() || spilled > most_spilled;
    if (threadIdx.x < owners())
      Letters::write_head(letter(threadIdx.x), {own, above, notes().all_here, spilled,
                                                brackets ? notes().certain_here : 0, overflow});
    return certain_before;
  }

  /// From this block to an owner.
  __device__ uint4* letter(unsigned owner) const {
    return m_rows.inbox(row(), owner) + part() * units();
  }

  /// To the owner of its range.
  __device__ void send(CompositeKey composite) const {
    auto const owner = static_cast<unsigned>(Steps::owner_of(composite, m_rows.owners));
    unsigned const slot = atomicAdd(&notes().sent[owner], 1u);
    if (slot < Letters::capacity(units())) return Letters::write(letter(owner), slot, composite);
    unsigned const behind = atomicAdd(&notes().spilled, 1u);
    if (behind < most_spilled) m_rows.spilled_of(row(), part())[behind] = composite;
  }

  // ---- rank

  /// Whether the counts show that all blocks together hold the k best.
  __device__ bool is_proven(unsigned k) const {
    unsigned const certain = this->certain();
    return notes().overflow == 0 && certain <= k && k <= certain + notes().all &&
           notes().all <= capacity();
  }

  /// A unit a thread. Blocks that own nothing read the heads alone.
  __device__ void read_letters() const {
    unsigned const unit = threadIdx.x % units(), from = threadIdx.x / units();
    uint4 const* const mine = m_rows.inbox(row(), part() % owners()) + threadIdx.x;
    bool const there = from < parts();
    bool const reads = there && (owns() || unit == 0);
    ulonglong2 words{};
    LetterHead head{};
    unsigned here = 0;
    while (true) {
      if (reads) words = Letters::read(mine);
      std::uint64_t const first = shuffle_from(static_cast<CompositeKey64>(words.x),
                                               lane() & ~static_cast<int>(units() - 1));
      bool come = !reads;
      if (reads && Letters::has_come(first)) {
        head = Letters::head(first);
        here = owns() ? Letters::composites_in(unit, head.own) : 0;
        come = Letters::have_come(words, unit, here);
      }
      if (__all_sync(full_warp, come)) break;
    }
    bool const first = reads && unit == 0;
    unsigned const above = warp_total(first ? head.above : 0);
    unsigned const all = warp_total(first ? head.all : 0);
    unsigned const certain = brackets ? warp_total(first ? head.certain : 0) : 0;
    unsigned const certain_before =
        brackets ? warp_total(first && from < part() ? head.certain : 0) : 0;
    bool const overflow = first && head.overflow;
    bool const incomplete = first && head.own > Letters::capacity(units());
    unsigned const up_to = warp_sum_to(here);
    unsigned slot = 0;
    if (lane() == 31) {
      slot = atomicAdd(&notes().size, up_to);
      atomicAdd(&notes().above, above);
      atomicAdd(&notes().all, all);
      if (brackets) atomicAdd(&notes().certain, certain);
      if (brackets) atomicAdd(&notes().certain_before, certain_before);
    }
    if (overflow) notes().overflow = 1;
    if (incomplete) notes().senders[atomicAdd(&notes().incomplete, 1u)] = from << 16 | head.spilled;
    slot = __shfl_sync(full_warp, slot, 31) + up_to - here;
    if (here == 0 || slot + here > capacity()) return;
    Letters::composites(words, unit, here,
                        [&](CompositeKey composite) { list()[slot++] = composite; });
  }

  __device__ static __noinline__ void read_spilled_of(DeviceRows<Bits, CompositeKey> const& rows) {
    DeviceSelection(rows).read_spilled();
  }
  __device__ void read_spilled() const {
    __threadfence();
#pragma unroll 1
    for (unsigned s = static_cast<unsigned>(warp()); s < notes().incomplete; s += warps) {
      unsigned const from = notes().senders[s] >> 16, spilled = notes().senders[s] & 0xffff;
      CompositeKey const* const composites = m_rows.spilled_of(row(), from);
#pragma unroll 1
      for (unsigned i = static_cast<unsigned>(lane()); i < spilled; i += 32) {
        CompositeKey const composite = load_written(composites + i);
        if (static_cast<unsigned>(Steps::owner_of(composite, m_rows.owners)) == part())
          list()[atomicAdd(&notes().size, 1u)] = composite;
      }
    }
    __syncthreads();
  }

  /// What is above the bracket, behind that of the blocks before.
  /// \param slot  of the thread's first, among the block's
  __device__ void put_certain(Shares const& deal, Output<Bits> const& to, unsigned slot) const {
    Bits const* const keys = deal.keys - deal.head;
    unsigned const kept = notes().kept;
    slot += notes().certain_before;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < kept; i += threads) {
      unsigned const position = positions()[i];
      if (position == none) continue;
      Bits const key = __ldg(keys + position);
      if (m_rows.selected == nullptr)
        to.store(slot, key, position, true);
      else
        row_selected()[slot] = m_rows.map(key, std::uint64_t{position});
      ++slot;
    }
  }

  /// Composite keys of the row that are above the bracket.
  __device__ static unsigned certain() { return brackets ? notes().certain : 0; }

  __device__ CompositeKey* row_selected() const {
    return m_rows.selected + std::size_t{row()} * m_rows.problem.shape.k;
  }

  __device__ void put(Bits const* keys, Output<Bits> const& to, unsigned slot,
                      CompositeKey composite) const {
    if (brackets && m_rows.selected != nullptr)
      row_selected()[slot] = composite;
    else
      to.store(m_rows.map, keys, slot, composite, true);
  }

  __device__ void put_own(Shares const& deal, Output<Bits> const& to, unsigned k) const {
    if (notes().incomplete != 0) read_spilled_of(m_rows);
    Bits const* const keys = deal.keys - deal.head;
    unsigned const size = notes().size, above = certain() + notes().above;
    unsigned const wanted = min(size, k - above);
    bool const as_they_are = (brackets || m_rows.sorted == Sorted::no) && wanted == size;
    if (brackets && !as_they_are && size > threads) return put_best_of(m_rows, above, wanted);
    CompositeKey const* const in_order =
        as_they_are ? list()
        : brackets  ? Steps::rank_few(list(), spare(), size)
                    : Steps::in_order(list(), spare(), size, device_tuning.crowded_bin);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < wanted; i += threads) put(keys, to, above + i, in_order[i]);
  }

  static __device__ __noinline__ void put_best_of(DeviceRows<Bits, CompositeKey> const& rows,
                                                  unsigned first_slot, unsigned wanted) {
    DeviceSelection(rows).put_best(first_slot, wanted);
  }
  /// The best of the list, which is long, by digits.
  __device__ void put_best(unsigned first_slot, unsigned wanted) const {
    auto* const histogram = reinterpret_cast<unsigned*>(spare());
    unsigned const size = notes().size;
    CompositeKey least, greatest;
    Steps::range_of_list(list(), size, least, greatest);
    int const unlike = highest_bit(static_cast<CompositeKey>(least ^ greatest)) + 1;
    Digit<CompositeKey> digit(greatest >> unlike, unlike);
    auto need = static_cast<unsigned long long>(wanted);
#pragma unroll 1
    while (digit.high > 0) {
      digit.count(histogram, [&](auto const& visit) {
        for (unsigned i = threadIdx.x; i < size; i += threads) visit(list()[i]);
      });
      Place const place =
          block_find<digits, threads>(need, [&](int bin) { return histogram[bin]; });
      need -= place.above;
      digit = digit.next(place.bin);
      if (need == place.here) break;
    }
    CompositeKey const threshold = digit.least();
    Output<Bits> const to(m_rows.problem, row());
    for (unsigned i = threadIdx.x; i < size; i += threads)
      if (list()[i] >= threshold)
        put(m_rows.problem.rows.pointer(row()), to, first_slot + claim(&notes().taken), list()[i]);
  }

  // ---- exactly

  __device__ static __noinline__ void select_exactly_of(DeviceRows<Bits, CompositeKey> const& rows,
                                                        unsigned k) {
    DeviceSelection(rows).select_exactly(k);
  }

  /// Radix selection by all blocks of the row together.
  __device__ void select_exactly(unsigned k) const {
    RowState& state = m_rows.states[row()];
    unsigned barriers = 0;
    clear_counts(state.counts[0]);
    wait_for_all(state, barriers);
    CompositeKey const threshold = find_by_digits(state, k, barriers);
    if constexpr (brackets) {
      Output<Bits> const to(m_rows.problem, row());
      each_composite([&](CompositeKey composite) {
        if (composite >= threshold)
          put(m_rows.problem.rows.pointer(row()), to, claim(&state.found), composite);
      });
    } else {
      each_composite([&](CompositeKey composite) {
        if (composite >= threshold) row_selected()[claim(&state.found)] = composite;
      });
      wait_for_all(state, barriers);
      rank_selected(row_selected(), k);
    }
  }

  __device__ CompositeKey find_by_digits(RowState& state, unsigned k, unsigned& barriers) const {
    unsigned* const histogram = reinterpret_cast<unsigned*>(dynamic_shared);
    Digit<CompositeKey> digit(0, m_rows.map.width());
    auto need = static_cast<unsigned long long>(k);
#pragma unroll 1
    for (int pass = 0; digit.high > 0; ++pass) {
      clear_counts(state.counts[(pass + 1) % 3]);
      digit.count(histogram, [&](auto const& visit) { each_composite(visit); });
      unsigned* const merged = state.counts[pass % 3];
      for (int i = threadIdx.x; i < digits; i += threads)
        if (histogram[i] != 0) atomicAdd(&merged[i], histogram[i]);
      wait_for_all(state, barriers);
      Place const place =
          block_find<digits, threads>(need, [&](int bin) { return __ldcg(&merged[bin]); });
      need -= place.above;
      digit = digit.next(place.bin);
      if (need == place.here) break;
    }
    return digit.least();
  }

  /// Each block puts its share of the selected keys.
  __device__ void rank_selected(CompositeKey const* selected, unsigned k) const {
    for (unsigned i = threadIdx.x; i < k; i += threads) list()[i] = load_written(selected + i);
    __syncthreads();
    Output<Bits> const to(m_rows.problem, row());
    Bits const* const keys = m_rows.problem.rows.pointer(row());
    for (unsigned i = part() + static_cast<unsigned>(warp()) * parts(); i < k;
         i += parts() * warps) {
      CompositeKey const composite = list()[i];
      unsigned better = 0;
      for (unsigned j = static_cast<unsigned>(lane()); j < k; j += 32)
        better += list()[j] > composite;
      better = warp_total(better);
      to.store(m_rows.map, keys, better, composite, lane() == 0);
    }
  }

  /// Calls visit(composite) for this block's share of the row.
  template <class Visit>
  __device__ void each_composite(Visit const& visit) const {
    constexpr int ahead = 16;
    Bits const* const keys = m_rows.problem.rows.pointer(row());
    auto const n = static_cast<unsigned>(m_rows.problem.shape.n);
    unsigned const step = parts() * threads;
#pragma unroll 1
    for (unsigned first = part() * threads + threadIdx.x; first < n; first += ahead * step) {
      Bits loaded[ahead];
#pragma unroll
      for (unsigned a = 0; a < ahead; ++a)
        loaded[a] = first + a * step < n ? __ldg(keys + first + a * step) : Bits{0};
#pragma unroll
      for (unsigned a = 0; a < ahead; ++a)
        if (first + a * step < n) visit(m_rows.map(loaded[a], std::uint64_t{first + a * step}));
    }
  }

  __device__ void clear_counts(unsigned* counts) const {
    for (unsigned i = part() * threads + threadIdx.x; i < digits; i += parts() * threads)
      counts[i] = 0;
  }

  /// Returns when all blocks of the row are here and what they wrote is visible.
  __device__ void wait_for_all(RowState& state, unsigned& barriers) const {
    ++barriers;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&state.arrived, 1u);
      while (load_acquire(&state.arrived) < barriers * parts()) {}
    }
    __syncthreads();
  }

  DeviceRows<Bits, CompositeKey> const& m_rows;
};

}  // namespace

}  // namespace ktopk::detail::cuda
