// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ktopk/core/testing.hpp>
#include <ktopk/options.hpp>

#include "key_type.hpp"
#include "placement.hpp"

/// What a case is: one call, with all that it is given. A case is a function of its seed and the limits alone.

namespace ktopk::fuzz {

enum class IndexType { int32, uint32, int64, uint64 };
enum class Outputs { both, values, indices };
enum class PerRow { none, wanted, wanted_on_host, counts };
enum class Way { allocating, default_instance, workspace, plan };

/// What is asked.
enum class Ask {
  top_k,
  // What else has the answer of top_k; compiled for some key types. \see has_all_asks
  masked,       ///< of computed keys, of which a mask leaves some
  gathered,     ///< indices alone; values come by gather
  stream,       ///< of chunks, by an Accumulator
  host_stream,  ///< of the host's keys
  merged,       ///< of parts of a row
  team,         ///< in a kernel
  // Questions with answers of their own.
  kth,
  ranks,
  quantiles,
  count,
  reaching
};
inline constexpr int asks = 12;
inline constexpr int first_other_answer = static_cast<int>(Ask::kth);

enum class Keys {
  random,
  sparse,  ///< few bits are set
  few,     ///< some patterns
  equal,
  ascending,
  descending,
  blocks,     ///< of ascending keys
  exponents,  ///< every power of two as often as the next
  small,      ///< small whole numbers
  outliers,   ///< a narrow cluster and few keys far away
  special,    ///< NaNs, infinities, denormals, zeros of both signs; ends of the range
  one_huge,
  prefix,  ///< equal high bits
  suffix   ///< equal low bits
};
inline constexpr int key_kinds = 14;

/// How the offsets of ragged rows go, and the ends of rows in a matrix.
enum class Rows {
  uniform,   ///< there are none
  even,      ///< all rows of about the same length
  jittered,  ///< lengths from 0 to twice the mean
  skewed,    ///< the last rows are far longer
  mostly_empty,
  one_full,
  all_empty,
  beyond,      ///< the first rows begin before the keys, the last end behind them
  descending,  ///< so all rows are empty
  wild,        ///< any offset: rows overlap, and reach beyond the keys
  in_matrix    ///< rows begin and end anywhere in those of a matrix
};
inline constexpr int rows_kinds = 11;
inline constexpr int ragged_kinds = 9;  ///< behind uniform

struct Case {
  std::uint64_t seed = 0;
  KeyType type = KeyType::float32;
  Ask ask = Ask::top_k;
  int asked = 0;           ///< ranks, quantiles or bounds of a row
  bool on_device = false;  ///< whether ranks, quantiles or the k of each row are there
  bool is_shared =
      false;  ///< whether all rows have the same bounds; of quantiles: whether the lower key is asked for
  std::uint64_t cut =
      0;  ///< says how a row is cut into parts, what a mask leaves, and how a kernel selects
  IndexType index = IndexType::int32;
  Outputs outputs = Outputs::both;
  Way way = Way::plan;
  int repeats = 1;           ///< calls of a Plan
  bool is_replaced = false;  ///< whether every other call of a Plan has packed Views
  Rows kind_of_rows = Rows::uniform;
  bool has_ends = false;                ///< whether ragged rows are given by begins and ends
  std::int64_t rows = 0, n = 0, k = 0;  ///< n: keys of a row; of all rows if these are ragged
  PerRow per_row = PerRow::none;
  Placement key_place, value_place, index_place;
  std::int64_t row_step = 1;         ///< stride of offsets, wanted and counts
  std::int64_t workspace_shift = 0;  ///< bytes
  Keys keys = Keys::random;
  std::uint64_t key_seed = 0;
  Options options;
  bool portable = false;
  ktopk::detail::Threshold threshold = ktopk::detail::Threshold::sampled;
  bool keys_are_compared = false;  ///< whether keys and gaps are compared with what they were

  KTOPK_FUNCTION bool has_answer_of_top_k() const { return ask < Ask::kth; }
  KTOPK_FUNCTION bool asks_ranks() const {
    return ask == Ask::kth || ask == Ask::ranks || ask == Ask::quantiles;
  }
  KTOPK_FUNCTION bool has_bounds() const { return ask == Ask::count || ask == Ask::reaching; }
  KTOPK_FUNCTION bool is_in_matrix() const { return kind_of_rows == Rows::in_matrix; }
  /// Whether rows lie in one line of keys.
  KTOPK_FUNCTION bool is_ragged() const { return kind_of_rows != Rows::uniform && !is_in_matrix(); }
  /// Whether a key may belong to several rows.
  KTOPK_FUNCTION bool may_overlap() const {
    return kind_of_rows == Rows::descending || kind_of_rows == Rows::wild;
  }
  KTOPK_FUNCTION bool has_wanted() const {
    return per_row == PerRow::wanted || per_row == PerRow::wanted_on_host;
  }
  KTOPK_FUNCTION bool has_counts() const {
    return per_row == PerRow::wanted || per_row == PerRow::counts;
  }
  KTOPK_FUNCTION bool skips_nan() const { return options.nan == NaN::skip && is_float(type); }
  /// Whether some keys of a row may not be selected.
  KTOPK_FUNCTION bool leaves_out() const { return skips_nan() || ask == Ask::masked; }
  KTOPK_FUNCTION bool has_values() const { return outputs != Outputs::indices; }
  KTOPK_FUNCTION bool has_indices() const { return outputs != Outputs::values; }
  KTOPK_FUNCTION int index_bytes() const { return index <= IndexType::uint32 ? 4 : 8; }
};

/// What a case may be.
struct Limits {
  std::int64_t most_keys = std::int64_t{1} << 22;
  enum class Implementations { drawn, tuned, portable } implementations = Implementations::drawn;
  int threads =
      0;  ///< if some run cases at once, all share the switches of tests and none has the default instance
};

Case draw_case(std::uint64_t seed, Limits const& limits);

/// The call number i of a case: with other keys, and perhaps with other strides.
Case case_of_call(Case c, int i);

/// The index types that calls with these keys are compiled for, narrow and wide.
constexpr IndexType narrow_index(KeyType type) {
  return static_cast<int>(type) % 3 == 1 ? IndexType::uint32 : IndexType::int32;
}
constexpr IndexType wide_index(KeyType type) {
  return static_cast<int>(type) % 3 == 2 ? IndexType::uint64 : IndexType::int64;
}

/// Whether all of Ask is compiled for a type: for one of each width.
constexpr bool has_all_asks(KeyType type) {
  return type == KeyType::int8 || type == KeyType::bfloat16 || type == KeyType::float32 ||
         type == KeyType::uint64;
}

/// Something that a case is printed and filtered by.
struct Field {
  char const* name;
  std::string (*value)(Case const&);
};
std::vector<Field> const& fields();

/// "name=value" of all fields.
std::string describe(Case const& c);

/// Conditions NAME=VALUE on the fields of a case. A VALUE of numbers may be a range LOW..HIGH, with either end left out.
class Filter {
 public:
  /// \throws std::invalid_argument for a name that no field has
  void add(std::string_view condition);
  bool admits(Case const& c) const;

 private:
  struct Condition {
    Field field;
    std::string value;
  };
  std::vector<Condition> m_conditions;
};

}  // namespace ktopk::fuzz
