// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heap.hpp"

#include "../arrange.hpp"
#include "../host_filter.hpp"
#include "../instantiate.hpp"
#include "radix.hpp"

namespace ktopk::detail {

/// A binary heap with the worst of the kept items at its root.
template <class Item>
class MinHeap {
 public:
  KOKKOS_FUNCTION MinHeap(Item* items, std::int64_t capacity)
      : m_items(items), m_capacity(capacity) {}

  KOKKOS_FUNCTION std::int64_t size() const { return m_size; }
  /// What an item must beat; 0 while there is room.
  KOKKOS_FUNCTION Item bar() const { return m_size < m_capacity ? Item{0} : m_items[0]; }

  KOKKOS_FUNCTION void offer(Item item) {
    if (m_size < m_capacity)
      rise(m_size++, item);
    else if (item > m_items[0])
      sink(item);
  }

 private:
  KOKKOS_FUNCTION void rise(std::int64_t at, Item item) {
    while (at > 0 && m_items[(at - 1) / 2] > item) {
      m_items[at] = m_items[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    m_items[at] = item;
  }
  KOKKOS_FUNCTION void sink(Item item) {
    std::int64_t at = 0;
    for (std::int64_t child = 1; child < m_size; child = 2 * at + 1) {
      if (child + 1 < m_size && m_items[child + 1] < m_items[child]) ++child;
      if (m_items[child] >= item) break;
      m_items[at] = m_items[child];
      at = child;
    }
    m_items[at] = item;
  }

  Item* m_items;
  std::int64_t m_capacity;
  std::int64_t m_size = 0;
};

template <class Bits, class Item>
struct HeapParts {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  std::int64_t parts;
  Item* heaps;  // k items for each group; the winners themselves where a row is one part
  Item* list;   // the heaps of a row side by side
  Verdict* verdicts;
  HostLoops<Bits> loops;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts;
    Range const range = part_of(problem.length(row), group.index() % parts, parts);
    std::int64_t const k = problem.winners(row);
    if (k == 0) return;
    Item* const items = heaps + group.index() * problem.shape.k;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((fill_alone(items, k, row, range);))
    } else {
      fill_together(group, items, k, row, range);
    }
  }

  void fill_alone(Item* items, std::int64_t k, std::int64_t row, Range range) const {
    MinHeap<Item> heap(items, k);
    for_each_reaching(
        loops, problem.row_keys(row), problem.key_step, map, range.begin, range.end, 64,
        [&] { return heap.bar(); }, [&](Item item) { heap.offer(item); });
    if (parts == 1) return;
    append(items, heap.size(), row);
  }

  KOKKOS_FUNCTION void append(Item const* items, std::int64_t count, std::int64_t row) const {
    Count64 const slot = Kokkos::atomic_fetch_add(&verdicts[row].kept, static_cast<Count64>(count));
    Item* const out = list + row * parts * problem.shape.k + slot;
    for (std::int64_t i = 0; i < count; ++i) out[i] = items[i];
  }

  /// A team reads side by side; its first thread alone works on the heap.
  template <class Group>
  KOKKOS_FUNCTION void fill_together(Group const& group, Item* items, std::int64_t k,
                                     std::int64_t row, Range range) const {
    Item* const queue = group.template shared<Item>();
    Item* const bar = queue + group.size();
    int* const queued = reinterpret_cast<int*>(bar + 1);
    MinHeap<Item> heap(items, k);
    if (group.rank() == 0) {
      *bar = 0;
      *queued = 0;
    }
    group.barrier();
    Bits const* const keys = problem.row_keys(row);
    for (std::int64_t first = range.begin; first < range.end; first += group.size()) {
      std::int64_t const i = first + group.rank();
      if (i < range.end) {
        Item const item = map(keys[i * problem.key_step], static_cast<std::uint64_t>(i));
        if (item >= *bar) queue[group.fetch_add(queued, 1)] = item;
      }
      group.barrier();
      if (group.rank() == 0) {
        for (int q = 0; q < *queued; ++q) heap.offer(queue[q]);
        *queued = 0;
        *bar = heap.bar();
      }
      group.barrier();
    }
    if (parts > 1 && group.rank() == 0) append(items, heap.size(), row);
  }
};

struct TrustLists {
  Verdict* verdicts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { verdicts[row] = {0, true}; }
};

template <class Item>
struct HeapPieces {
  HeapPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace), winners(pieces, shape, options), parts(parts_for(device, shape)) {
    if (parts == 1) {
      if (winners.items == nullptr) winners.items = pieces.take<Item>(shape.rows * shape.k);
      heaps = winners.items;
      return;
    }
    std::int64_t const most = shape.rows * parts * shape.k;
    heaps = pieces.take<Item>(most);
    list = pieces.take<Item>(most);
    verdicts = pieces.take<Verdict>(shape.rows);
    scratch = RadixScratch<Item>(pieces, device, shape.rows, parts * shape.k, 0, false);
  }

  /// Parts long enough that filling their heaps costs little.
  static std::int64_t parts_for(Device const& device, Shape const& shape) {
    std::int64_t const parts = parts_of_row(device, shape.rows, shape.n);
    std::int64_t const fitting = shape.n / (64 * (shape.k + 1));
    return fitting < 1 ? 1 : parts < fitting ? parts : fitting;
  }

  Pieces pieces;
  Winners<Item> winners;
  std::int64_t parts;
  Item* heaps = nullptr;
  Item* list = nullptr;
  Verdict* verdicts = nullptr;
  RadixScratch<Item> scratch;
};

KTOPK_INLINE std::size_t Heap<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  return bytes_of<HeapPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Heap<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                        void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    HeapPieces<Item> const work(workspace, device_of(exec), shape, options);
    if (work.parts > 1)
      launch_each("ktopk::heap::begin", exec, shape.rows, TrustLists{work.verdicts});
    launch("ktopk::heap::fill", exec, shape.rows * work.parts,
           static_cast<int>((team_size + 2) * sizeof(Item)),
           HeapParts<Bits, Item>{problem, map, work.parts, work.heaps, work.list, work.verdicts,
                                 pick_host_loops<Bits>()});
    if (work.parts > 1)
      radix_select(exec,
                   ListSource<Bits, Item>{problem, work.list, work.parts * shape.k, work.verdicts},
                   work.scratch, WinnerSink<Bits, Item>{problem, map, work.winners.items});
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_HEAP(Space) KTOPK_RUN_ON(Heap<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_HEAP)
#undef KTOPK_HEAP

static_assert(Room<Heap<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
