// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/accumulator.hpp>
#include <ktopk/detail/host_copy.hpp>
#include <ktopk/detail/pinned_memory.hpp>

/// \file
/// Rows in the memory of the host, or that are read there, which may be longer than a device's memory.

namespace ktopk {

namespace detail {

/// Tells the host that the instance has come so far.
struct TellHost {
  std::int64_t* told;
  std::int64_t number;
  KOKKOS_FUNCTION void operator()(std::int64_t) const { Kokkos::atomic_store(told, number); }
};

}  // namespace detail

/// Adds keys of the host to an Accumulator of a device, piece after piece through pinned buffers: while some are on their
/// way, the host fills others (the reload of Dr. Top-k, Gaihre et al., SC '21, 5.4). So a row may be longer than the
/// device's memory, and than the host's if it is read. An instance that reads the host's memory gets the keys where they lie.
///
/// The result is that of top_k of the whole rows, bit for bit. `add` returns when the host's keys have been read, which may
/// be overwritten then; the last pieces are on their way, on the Accumulator's instance.
///
/// Cost: 64 MiB of pinned memory, a chunk of the device's, and up to 12 threads of the host, which end with the call. Of
/// rows that are long beside 64 MiB the time is that of the bus, if the host copies as fast as it does.
/// \tparam copies  whether keys are copied to the instance's memory
template <class T, class I = std::int64_t, class Exec = Kokkos::DefaultExecutionSpace,
          bool copies = !Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible>
class HostStream {
 public:
  /// \param best   what the keys are added to
  /// \param chunk  keys of a chunk, of all rows together; 256 MiB of them if it is 0
  /// \throws std::invalid_argument for a negative chunk
  explicit HostStream(Accumulator<T, I, Exec> const& best, std::int64_t chunk = 0) : m_best(best) {
    if (chunk < 0) detail::reject(name, "a chunk of " + std::to_string(chunk) + " keys");
    constexpr auto usual = static_cast<std::int64_t>((std::size_t{1} << 28) / sizeof(T));
    m_columns = std::max<std::int64_t>(
        1, (chunk > 0 ? chunk : usual) / std::max<std::int64_t>(1, best.rows()));
  }
  HostStream(HostStream const&) = delete;
  HostStream& operator=(HostStream const&) = delete;
  ~HostStream() {
    if (m_arrived.size() > 0) m_best.exec().fence("ktopk::HostStream: the buffers are still read");
  }

  /// Adds keys of the host's memory.
  /// \param keys            a View of rank 2 with as many rows as the Accumulator, or of rank 1 if that has one
  /// \param first_position  in the stream, of the first key of each row
  /// \throws std::invalid_argument for another number of rows, and as Accumulator::add
  template <class Keys>
    requires(Kokkos::is_view_v<Keys>)
  void add(Keys const& keys, std::int64_t first_position = 0) {
    static_assert(
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Keys::memory_space>::accessible,
        "ktopk::HostStream: keys lie in memory of the host");
    static_assert(std::is_same_v<typename Keys::non_const_value_type, T>,
                  "ktopk::HostStream: keys have the type of the Accumulator's");
    Shape const shape = detail::Source<Keys>::shape(name, keys);
    detail::require_equal(name, "the number of rows", shape.rows, m_best.rows());
    if constexpr (copies) {
      auto const in = detail::matrix_of(keys);
      detail::HostRows<T> const rows{keys.data(), in.row_stride, in.column_stride};
      bring(shape.n, first_position, detail::copying_threads(), [&](Piece const& piece, T* to) {
        rows.copy(piece.begin, piece.columns, piece.first, piece.count, to);
      });
    } else {
      m_best.add(keys, first_position);
    }
  }

  /// Adds n keys of one row that the caller reads, from a file for instance.
  /// \param read  read(T* to, begin, count) writes keys begin .. begin + count - 1 to memory of the host. It is called for
  ///              one part of 0 .. n - 1 after the other, by this thread, and may throw: whole chunks before are added then.
  /// \throws std::invalid_argument for a negative n, and for an Accumulator of other than one row
  template <class Read>
  void add(std::int64_t n, std::int64_t first_position, Read const& read) {
    detail::require_equal(name, "the number of rows of the Accumulator", m_best.rows(), 1);
    if (n < 0) detail::reject(name, "n = " + std::to_string(n));
    bring(n, first_position, 0,
          [&](Piece const& piece, T* to) { read(to, piece.begin + piece.first, piece.count); });
  }

 private:
  static constexpr char const* name = "ktopk::HostStream";
  // A slot is long, because an instance pauses between copies; threads fill parts of it.
  static constexpr int slots = 4, parts = 16;
  static constexpr std::int64_t part_keys = (std::int64_t{1} << 20) / sizeof(T);
  static constexpr std::int64_t slot_keys = parts * part_keys;
  using Pinned = detail::PinnedMemory<Exec>;
  using Memory = typename Exec::memory_space;
  using Chunk =
      Kokkos::View<T const**, Kokkos::LayoutRight, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// Keys first .. first + count - 1 of a chunk, which has columns begin .. begin + columns - 1 of all rows.
  struct Piece {
    std::int64_t begin, columns, first, count;
    bool is_last;  // of the chunk
  };

  /// The pieces of a call, chunk after chunk.
  struct Pieces {
    std::int64_t n, rows, columns;
    std::int64_t of_chunk() const { return (rows * columns + slot_keys - 1) / slot_keys; }
    std::int64_t count() const {
      std::int64_t const whole = n / columns, rest = n % columns;
      return whole * of_chunk() + (rows * rest + slot_keys - 1) / slot_keys;
    }
    Piece operator[](std::int64_t i) const {
      std::int64_t const begin = i / of_chunk() * columns, first = i % of_chunk() * slot_keys;
      std::int64_t const here = std::min(columns, n - begin), left = rows * here - first;
      return {begin, here, first, std::min(left, slot_keys), left <= slot_keys};
    }
  };

  /// What the threads of a call do: they fill parts of slots.
  template <class Fill>
  struct Filling {
    HostStream& stream;
    Pieces pieces;
    Fill const& fill;
    std::int64_t before = stream.m_sent;  // pieces are numbered through all calls
    std::int64_t all_parts = pieces.count() * parts;
    std::atomic<std::int64_t> next{0};

    void fill_part(std::int64_t j) const {
      std::int64_t const slot = slot_of(before + j / parts), skipped = j % parts * part_keys;
      Piece piece = pieces[j / parts];
      piece.first += skipped;
      piece.count = std::min(piece.count - skipped, part_keys);
      if (piece.count > 0) fill(piece, stream.m_slots.data() + slot * slot_keys + skipped);
      stream.m_filled[slot].fetch_add(1, std::memory_order_release);
    }
    /// By this thread alone, which waits for the slot.
    void fill_slot(std::int64_t i) const {
      stream.wait([&] { return stream.is_free(before + i); });
      for (int part = 0; part < parts; ++part) fill_part(i * parts + part);
    }
    /// By this thread beside others, until it is stopped or all is done.
    void help(std::stop_token const& stop) {
      for (std::int64_t j = next++; j < all_parts; j = next++) {
        while (!stream.is_free(before + j / parts)) {
          if (stop.stop_requested()) return;
          std::this_thread::yield();
        }
        fill_part(j);
      }
    }
  };

  /// \param threads  how many others fill slots; if none, this one does
  template <class Fill>
  void bring(std::int64_t n, std::int64_t first_position, int threads, Fill const& fill) {
    m_best.check_positions(first_position, n);
    if (n == 0 || m_best.rows() == 0) return;
    prepare();
    Filling<Fill> filling{*this, {n, m_best.rows(), m_columns}, fill};
    std::vector<std::jthread> others;
    for (std::int64_t t = 0; t < std::min<std::int64_t>(threads, filling.all_parts); ++t)
      others.emplace_back([&](std::stop_token const& stop) { filling.help(stop); });
    for (std::int64_t i = 0; i < filling.pieces.count(); ++i) {
      if (threads == 0) filling.fill_slot(i);
      std::atomic<int>& filled = m_filled[slot_of(m_sent)];
      wait([&] { return filled.load(std::memory_order_acquire) == parts; });
      filled = 0;
      send(filling.pieces[i], first_position);
    }
  }

  /// Enqueues the copy of a piece to its chunk; and what selects from the chunk, if it is the last one.
  void send(Piece const& piece, std::int64_t first_position) {
    Exec const& exec = m_best.exec();
    auto const range = [](std::int64_t first, std::int64_t count) {
      return Kokkos::pair<std::int64_t, std::int64_t>(first, first + count);
    };
    Kokkos::deep_copy(exec, Kokkos::subview(m_keys, range(piece.first, piece.count)),
                      Kokkos::subview(m_slots, range(slot_of(m_sent) * slot_keys, piece.count)));
    detail::launch_each("ktopk::HostStream::arrived", exec, 1,
                        detail::TellHost{m_arrived.data(), ++m_sent});
    if (piece.is_last)
      m_best.add(Chunk(m_keys.data(), m_best.rows(), piece.columns), first_position + piece.begin);
  }

  void prepare() {
    for (std::atomic<int>& filled : m_filled) filled = 0;
    if (m_arrived.size() > 0) return;
    auto const raw = [](std::string const& label) {
      return Kokkos::view_alloc(Kokkos::WithoutInitializing, label);
    };
    m_slots = Kokkos::View<T*, Pinned>(raw("ktopk::HostStream::slots"), slots * slot_keys);
    m_keys = Kokkos::View<T*, Memory>(raw("ktopk::HostStream::keys"), m_best.rows() * m_columns);
    m_arrived = Kokkos::View<std::int64_t*, Pinned>("ktopk::HostStream::arrived", 1);
  }

  static std::int64_t slot_of(std::int64_t number) { return number % slots; }

  /// Whether the slot of a piece is no longer read.
  bool is_free(std::int64_t number) const {
    return std::atomic_ref<std::int64_t>(m_arrived(0)).load(std::memory_order_acquire) >
           number - slots;
  }
  /// Waits for what the device or another thread does. If the device failed, it ends in Kokkos's error.
  template <class Happened>
  void wait(Happened const& happened) const {
    constexpr std::int64_t tries = 1 << 20;
    for (std::int64_t t = 1; !happened(); ++t) {
      std::this_thread::yield();
      if (t % tries == 0) m_best.exec().fence("ktopk::HostStream: waiting for a slot");
    }
  }

  Accumulator<T, I, Exec> m_best;
  std::int64_t m_columns;                         // of a chunk
  std::int64_t m_sent = 0;                        // how many pieces were sent
  Kokkos::View<std::int64_t*, Pinned> m_arrived;  // how many of them have arrived
  Kokkos::View<T*, Pinned> m_slots;               // pieces on their way
  std::atomic<int> m_filled[slots];               // how many parts of each slot are filled
  Kokkos::View<T*, Memory> m_keys;                // a chunk
};

}  // namespace ktopk
