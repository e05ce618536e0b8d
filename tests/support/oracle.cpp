// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/oracle.hpp"

#include <sstream>
#include <utility>

namespace ktopk::testing {

template <class T>
std::vector<std::int64_t> best_positions(T const* keys, std::int64_t n, std::int64_t k,
                                         Options const& options) {
  using Candidate = std::pair<decltype(number(*keys)), std::int64_t>;
  std::vector<Candidate> candidates;
  candidates.reserve(n);
  for (std::int64_t i = 0; i < n; ++i) candidates.emplace_back(number(keys[i]), i);
  auto const before = [&](Candidate const& a, Candidate const& b) {
    if (is_better(a.first, b.first, options)) return true;
    if (is_better(b.first, a.first, options)) return false;
    return options.ties == Ties::highest_index ? a.second > b.second : a.second < b.second;
  };
  auto const last = candidates.begin() + std::min(k, n);
  if (last != candidates.end())
    std::nth_element(candidates.begin(), last, candidates.end(), before);
  std::sort(candidates.begin(), last, before);
  std::vector<std::int64_t> positions;
  for (auto it = candidates.begin(); it != last; ++it) positions.push_back(it->second);
  return positions;
}

/// How many keys a row has, NaNs among them unless they are skipped.
template <class T>
std::int64_t keys_of_row(Question<T> const& question, std::int64_t row, Options const& options) {
  T const* const keys = question.row(row);
  if (options.nan != NaN::skip) return question.length(row);
  return std::count_if(keys, keys + question.length(row),
                       [](T key) { return !is_nan(number(key)); });
}

template <class T>
Answer<T> solve(Question<T> const& question, Options const& options) {
  Answer<T> answer;
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    auto const best =
        best_positions(question.row(row), question.length(row), question.count(row), options);
    std::int64_t const count = std::min(question.count(row), keys_of_row(question, row, options));
    answer.counts.push_back(count);
    for (std::int64_t place = 0; place < question.width; ++place) {
      bool const real = place < count;
      answer.indices.push_back(real ? best[place] : -1);
      answer.values.push_back(real ? question.row(row)[best[place]] : worst_key<T>(options));
    }
  }
  return answer;
}

namespace {

template <class T>
std::uint64_t bits_of(T const& key) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &key, sizeof key);
  return bits;
}

std::string hex(std::uint64_t bits) {
  std::ostringstream text;
  text << "0x" << std::hex << bits;
  return text.str();
}

template <class T>
std::string bits_text(T const& key) {
  std::ostringstream text;
  text << hex(bits_of(key)) << " (" << +number(key) << ")";
  return text.str();
}

/// Keys as a set of patterns.
template <class T>
std::vector<std::uint64_t> sorted_bits(T const* keys, std::int64_t n) {
  std::vector<std::uint64_t> bits(n);
  std::transform(keys, keys + n, bits.begin(), bits_of<T>);
  std::sort(bits.begin(), bits.end());
  return bits;
}

/// One row of an answer beside the row that solve() gives.
template <class T>
class RowCheck {
 public:
  RowCheck(Question<T> const& question, Answer<T> const& truth, Options const& options,
           std::int64_t row)
      : m_keys(question.row(row)),
        m_n(question.length(row)),
        m_count(truth.counts[row]),
        m_width(question.width),
        m_first(row * question.width),
        m_truth(truth),
        m_options(options),
        m_row(row) {}

  std::string run(Answer<T> const& answer) const {
    if (!answer.counts.empty() && answer.counts[m_row] != m_count)
      return fail(-1) + "count " + std::to_string(answer.counts[m_row]) + ", not " +
             std::to_string(m_count);
    std::string wrong = check_fill(answer);
    if (!wrong.empty()) return wrong;
    if (!answer.indices.empty()) return check_indices(answer);
    return answer.values.empty() ? wrong : check_values(answer);
  }

 private:
  std::string fail(std::int64_t place) const {
    std::string text = "row " + std::to_string(m_row);
    if (place >= 0) text += ", place " + std::to_string(place);
    return text + ": ";
  }

  T const& true_value(std::int64_t place) const { return m_truth.values[m_first + place]; }

  std::string check_fill(Answer<T> const& answer) const {
    for (std::int64_t place = m_count; place < m_width; ++place) {
      if (!answer.indices.empty() && answer.indices[m_first + place] != -1)
        return fail(place) + "index " + std::to_string(answer.indices[m_first + place]) +
               " where the row has ended";
      if (!answer.values.empty() && !same_bits(answer.values[m_first + place], true_value(place)))
        return fail(place) + "value " + bits_text(answer.values[m_first + place]) +
               " where the row has ended";
    }
    return {};
  }

  /// Valid, unique, and belonging to their values, if there are any; then the selected keys in place, as a set, or only
  /// as ranks.
  std::string check_indices(Answer<T> const& answer) const {
    std::vector<std::int64_t> got(answer.indices.begin() + m_first,
                                  answer.indices.begin() + m_first + m_count);
    for (std::int64_t place = 0; place < m_count; ++place) {
      if (got[place] < 0 || got[place] >= m_n)
        return fail(place) + "index " + std::to_string(got[place]) + " of a row of " +
               std::to_string(m_n);
      if (!answer.values.empty() && !same_bits(answer.values[m_first + place], m_keys[got[place]]))
        return fail(place) + "value " + bits_text(answer.values[m_first + place]) +
               " but the key at index " + std::to_string(got[place]) + " is " +
               bits_text(m_keys[got[place]]);
    }
    auto unique = got;
    std::sort(unique.begin(), unique.end());
    auto const twice = std::adjacent_find(unique.begin(), unique.end());
    if (twice != unique.end()) return fail(-1) + "index " + std::to_string(*twice) + " twice";
    if (m_options.ties == Ties::any) {
      std::vector<T> values;
      for (auto index : got) values.push_back(m_keys[index]);
      return check_ranks(std::move(values));
    }
    std::vector<std::int64_t> want(m_truth.indices.begin() + m_first,
                                   m_truth.indices.begin() + m_first + m_count);
    if (m_options.sorted == Sorted::no) {
      got = unique;
      std::sort(want.begin(), want.end());
    }
    for (std::int64_t place = 0; place < m_count; ++place)
      if (got[place] != want[place])
        return fail(place) + "index " + std::to_string(got[place]) + ", not " +
               std::to_string(want[place]);
    return {};
  }

  /// Values alone: with a tie rule the very bits are known; without one, ranks are, and the bits must be among
  /// the keys.
  std::string check_values(Answer<T> const& answer) const {
    T const* const got = answer.values.data() + m_first;
    if (m_options.ties == Ties::any) {
      std::string wrong = check_ranks({got, got + m_count});
      return wrong.empty() ? check_taken_from_keys(got) : wrong;
    }
    T const* const want = m_truth.values.data() + m_first;
    if (m_options.sorted == Sorted::no) {
      auto const found = sorted_bits(got, m_count), right = sorted_bits(want, m_count);
      auto const [wrong, other] = std::mismatch(found.begin(), found.end(), right.begin());
      return wrong == found.end() ? std::string()
                                  : fail(-1) + "value " + hex(*wrong) + ", not " + hex(*other);
    }
    for (std::int64_t place = 0; place < m_count; ++place)
      if (!same_bits(got[place], want[place]))
        return fail(place) + "value " + bits_text(got[place]) + ", not " + bits_text(want[place]);
    return {};
  }

  std::string check_ranks(std::vector<T> got) const {
    auto const better = [&](T const& a, T const& b) {
      return is_better(number(a), number(b), m_options);
    };
    if (m_options.sorted == Sorted::no) std::sort(got.begin(), got.end(), better);
    for (std::int64_t place = 0; place < m_count; ++place)
      if (better(got[place], true_value(place)) || better(true_value(place), got[place]))
        return fail(place) + "key " + bits_text(got[place]) + " has not the rank of " +
               bits_text(true_value(place));
    return {};
  }

  std::string check_taken_from_keys(T const* got) const {
    auto const keys = sorted_bits(m_keys, m_n), taken = sorted_bits(got, m_count);
    return std::includes(keys.begin(), keys.end(), taken.begin(), taken.end())
               ? std::string()
               : fail(-1) + "a value that is no key of the row, or more often than in the row";
  }

  T const* m_keys;
  std::int64_t m_n, m_count, m_width, m_first;
  Answer<T> const& m_truth;
  Options const& m_options;
  std::int64_t m_row;
};

}  // namespace

template <class T>
std::string check(Question<T> const& question, Answer<T> const& truth, Answer<T> const& answer,
                  Options const& options) {
  auto const places = static_cast<std::size_t>(question.rows() * question.width);
  if (!answer.values.empty() && answer.values.size() != places) return "wrong number of values";
  if (!answer.indices.empty() && answer.indices.size() != places) return "wrong number of indices";
  if (!answer.counts.empty() && answer.counts.size() != static_cast<std::size_t>(question.rows()))
    return "wrong number of counts";
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    std::string wrong = RowCheck<T>(question, truth, options, row).run(answer);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

#define KTOPK_TESTS_ORACLE(T)                                                             \
  template std::vector<std::int64_t> best_positions(T const*, std::int64_t, std::int64_t, \
                                                    Options const&);                      \
  template Answer<T> solve(Question<T> const&, Options const&);                           \
  template std::string check(Question<T> const&, Answer<T> const&, Answer<T> const&,      \
                             Options const&);

KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TESTS_ORACLE)

}  // namespace ktopk::testing
