// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>
#include <stdexcept>

#include "case.hpp"

namespace ktopk::fuzz {
namespace {

constexpr char const* type_names[] = {"int8",  "uint8",  "int16", "uint16", "float16", "bfloat16",
                                      "int32", "uint32", "float", "int64",  "uint64",  "double"};
constexpr char const* ask_names[] = {"top_k",       "masked",    "gathered", "stream",
                                     "host_stream", "merged",    "team",     "kth",
                                     "ranks",       "quantiles", "count",    "reaching"};
constexpr char const* index_names[] = {"int32", "uint32", "int64", "uint64"};
constexpr char const* output_names[] = {"both", "values", "indices"};
constexpr char const* per_row_names[] = {"none", "wanted", "wanted_on_host", "counts"};
constexpr char const* way_names[] = {"allocating", "default_instance", "workspace", "plan"};
constexpr char const* key_names[] = {"random",     "sparse",   "few",       "equal", "ascending",
                                     "descending", "blocks",   "exponents", "small", "outliers",
                                     "special",    "one_huge", "prefix",    "suffix"};
constexpr char const* rows_names[] = {"uniform",      "even",     "jittered",  "skewed",
                                      "mostly_empty", "one_full", "all_empty", "beyond",
                                      "descending",   "wild",     "in_matrix"};
constexpr char const* threshold_names[] = {"sampled", "too_high", "too_low"};
constexpr char const* nan_names[] = {"greatest", "least", "skip"};
constexpr char const* ties_names[] = {"any", "lowest_index", "highest_index"};

template <std::size_t Count, class Enum>
std::string name_in(char const* const (&names)[Count], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

std::string layout(Placement const& where) {
  std::string const name = where.step == 1 ? "right" : where.row == 1 ? "left" : "apart";
  return name;
}

std::string strides(Placement const& where) {
  return std::to_string(where.row) + "," + std::to_string(where.step) + "+" +
         std::to_string(where.shift - guard);
}

Field const all_fields[] = {
    {"type", [](Case const& c) { return name_in(type_names, c.type); }},
    {"ask", [](Case const& c) { return name_in(ask_names, c.ask); }},
    {"asked", [](Case const& c) { return std::to_string(c.asked); }},
    {"on_device", [](Case const& c) { return yes_or_no(c.on_device); }},
    {"shared", [](Case const& c) { return yes_or_no(c.is_shared); }},
    {"rows", [](Case const& c) { return std::to_string(c.rows); }},
    {"n", [](Case const& c) { return std::to_string(c.n); }},
    {"k", [](Case const& c) { return std::to_string(c.k); }},
    {"lengths", [](Case const& c) { return name_in(rows_names, c.kind_of_rows); }},
    {"ragged", [](Case const& c) { return yes_or_no(c.is_ragged()); }},
    {"ends", [](Case const& c) { return yes_or_no(c.is_in_matrix() || c.has_ends); }},
    {"keys", [](Case const& c) { return name_in(key_names, c.keys); }},
    {"portable", [](Case const& c) { return yes_or_no(c.portable); }},
    {"threshold", [](Case const& c) { return name_in(threshold_names, c.threshold); }},
    {"algorithm", [](Case const& c) -> std::string { return name(c.options.algorithm); }},
    {"inner", [](Case const& c) -> std::string { return name(c.options.inner); }},
    {"order",
     [](Case const& c) -> std::string {
       return c.options.order == Order::largest ? "largest" : "smallest";
     }},
    {"sorted", [](Case const& c) { return yes_or_no(c.options.sorted == Sorted::yes); }},
    {"ties", [](Case const& c) { return name_in(ties_names, c.options.ties); }},
    {"nan", [](Case const& c) { return name_in(nan_names, c.options.nan); }},
    {"by",
     [](Case const& c) -> std::string {
       return c.options.by == By::magnitude ? "magnitude" : "value";
     }},
    {"way", [](Case const& c) { return name_in(way_names, c.way); }},
    {"repeats", [](Case const& c) { return std::to_string(c.repeats); }},
    {"replaced", [](Case const& c) { return yes_or_no(c.is_replaced); }},
    {"outputs", [](Case const& c) { return name_in(output_names, c.outputs); }},
    {"index", [](Case const& c) { return name_in(index_names, c.index); }},
    {"per_row", [](Case const& c) { return name_in(per_row_names, c.per_row); }},
    {"layout", [](Case const& c) { return layout(c.key_place); }},
    {"key_strides", [](Case const& c) { return strides(c.key_place); }},
    {"value_strides", [](Case const& c) { return strides(c.value_place); }},
    {"index_strides", [](Case const& c) { return strides(c.index_place); }},
    {"row_step", [](Case const& c) { return std::to_string(c.row_step); }},
    {"workspace_shift", [](Case const& c) { return std::to_string(c.workspace_shift); }},
};

struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

Range range_of(std::string const& text, std::size_t dots) {
  Range range;
  std::string const low = text.substr(0, dots), high = text.substr(dots + 2);
  if (!low.empty()) range.low = std::stoll(low);
  if (!high.empty()) range.high = std::stoll(high);
  return range;
}

bool fits(std::string const& value, std::string const& wanted) {
  auto const dots = wanted.find("..");
  if (dots == std::string::npos) return value == wanted;
  Range const range = range_of(wanted, dots);
  std::int64_t const number = std::stoll(value);
  return range.low <= number && number <= range.high;
}

}  // namespace

std::vector<Field> const& fields() {
  static std::vector<Field> const all(std::begin(all_fields), std::end(all_fields));
  return all;
}

std::string describe(Case const& c) {
  std::string text;
  for (Field const& field : fields()) {
    if (!text.empty()) text += ' ';
    text.append(field.name).append("=").append(field.value(c));
  }
  return text;
}

void Filter::add(std::string_view condition) {
  auto const sign = condition.find('=');
  for (Field const& field : fields())
    if (condition.substr(0, sign) == field.name && sign != std::string_view::npos)
      return m_conditions.push_back({field, std::string(condition.substr(sign + 1))});
  throw std::invalid_argument("no condition on a field: " + std::string(condition));
}

bool Filter::admits(Case const& c) const {
  for (Condition const& condition : m_conditions)
    if (!fits(condition.field.value(c), condition.value)) return false;
  return true;
}

}  // namespace ktopk::fuzz
