// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/ordered_bits.hpp>

// Letters between blocks through global memory: no barrier, no fence. A word is zero until it is written, and has its
// highest bit then; the reader looks at it until it has come. What the words say fits in the other bits.

namespace ktopk::detail::cuda {

__device__ inline ulonglong2 load_relaxed(void const* address) {
  ulonglong2 words;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.x), "=l"(words.y)
               : "l"(address)
               : "memory");
  return words;
}
__device__ inline void store_relaxed(std::uint64_t* address, std::uint64_t word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(word) : "memory");
}
__device__ inline unsigned load_acquire(unsigned const* address) {
  unsigned word;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
  return word;
}
/// What another block may have written, be it before a barrier.
__device__ inline CompositeKey64 load_written(CompositeKey64 const* address) {
  return __ldcg(reinterpret_cast<unsigned long long const*>(address));
}
__device__ inline CompositeKey128 load_written(CompositeKey128 const* address) {
  ulonglong2 const words = __ldcg(reinterpret_cast<ulonglong2 const*>(address));
  return static_cast<CompositeKey128>(words.y) << 64 | words.x;
}

/// What a block tells the owner of a range.
struct LetterHead {
  static constexpr unsigned most = 0xfff;  // of each number; of certain ones, four times as many
  unsigned own;                            // composite keys for it
  unsigned above;                          // composite keys for owners of higher ranges
  unsigned all;                            // composite keys kept
  unsigned spilled;                        // composite keys of all owners that did not fit a
                                           // letter
  unsigned certain;                        // composite keys above all ranges
  bool overflow;                           // whether they did not fit the memory for these either
};

/// What letters of all composite keys have in common: the head is the first word, and a unit has two.
struct MailWords {
  static constexpr std::uint64_t written = std::uint64_t{1} << 63;
  static constexpr unsigned certain_mask = 4 * LetterHead::most + 3;

  __device__ static bool has_come(std::uint64_t word) { return word >> 63 != 0; }
  __device__ static ulonglong2 read(uint4 const* unit) { return load_relaxed(unit); }
  __device__ static void write_head(uint4* letter, LetterHead const& head) {
    auto const number = [](unsigned value, int shift) {
      return std::uint64_t{min(value, LetterHead::most)} << shift;
    };
    std::uint64_t const word = written | std::uint64_t{head.overflow} << 62 |
                               std::uint64_t{head.certain & certain_mask} << 48 |
                               number(head.spilled, 36) | number(head.all, 24) |
                               number(head.above, 12) | number(head.own, 0);
    store_relaxed(reinterpret_cast<std::uint64_t*>(letter), word);
  }
  __device__ static LetterHead head(std::uint64_t word) {
    auto const number = [&](int shift) {
      return static_cast<unsigned>(word >> shift) & LetterHead::most;
    };
    return {number(0),
            number(12),
            number(24),
            number(36),
            static_cast<unsigned>(word >> 48) & certain_mask,
            (word >> 62 & 1) != 0};
  }
};

template <class CompositeKey>
struct Mail;

/// Of composite keys of at most 63 bits: a word each, behind the head.
template <>
struct Mail<CompositeKey64> : MailWords {
  __device__ static unsigned capacity(unsigned units) { return 2 * units - 1; }
  __device__ static void write(uint4* letter, unsigned slot, CompositeKey64 composite) {
    store_relaxed(reinterpret_cast<std::uint64_t*>(letter) + slot + 1, written | composite);
  }
  /// How many of a letter's `all` composite keys are in a unit: in the first one the second word has one.
  __device__ static unsigned composites_in(unsigned unit, unsigned all) {
    if (unit == 0) return all > 0 ? 1 : 0;
    unsigned const before = 2 * unit - 1;
    return all > before ? min(all - before, 2u) : 0;
  }
  __device__ static bool have_come(ulonglong2 const& words, unsigned unit, unsigned composites) {
    if (unit == 0) return composites == 0 || has_come(words.y);
    return (composites < 1 || has_come(words.x)) && (composites < 2 || has_come(words.y));
  }
  template <class Visit>
  __device__ static void composites(ulonglong2 const& words, unsigned unit, unsigned composites,
                                    Visit const& visit) {
    if (unit != 0) visit(words.x & ~written);
    if (unit == 0 || composites > 1) visit(words.y & ~written);
  }
};

/// Of composite keys of at most 126 bits: a unit each, behind that of the head.
template <>
struct Mail<CompositeKey128> : MailWords {
  __device__ static unsigned capacity(unsigned units) { return units - 1; }
  __device__ static void write(uint4* letter, unsigned slot, CompositeKey128 composite) {
    auto* const words = reinterpret_cast<std::uint64_t*>(letter + slot + 1);
    store_relaxed(words, written | static_cast<std::uint64_t>(composite));
    store_relaxed(words + 1, written | static_cast<std::uint64_t>(composite >> 63));
  }
  __device__ static unsigned composites_in(unsigned unit, unsigned all) {
    return unit > 0 && unit <= all ? 1 : 0;
  }
  __device__ static bool have_come(ulonglong2 const& words, unsigned, unsigned composites) {
    return composites == 0 || (has_come(words.x) && has_come(words.y));
  }
  template <class Visit>
  __device__ static void composites(ulonglong2 const& words, unsigned, unsigned,
                                    Visit const& visit) {
    visit(static_cast<CompositeKey128>(words.y & ~written) << 63 | (words.x & ~written));
  }
};

}  // namespace ktopk::detail::cuda
