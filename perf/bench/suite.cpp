// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "suite.hpp"

#include "baseline_names.hpp"

#include "support/inputs.hpp"

#include <ktopk/info.hpp>

#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace ktopk::perf {

namespace {

using Names = std::vector<std::string>;

std::vector<std::pair<char const*, Names Suite::*>> const flags{
    {"--backend=", &Suite::backends},
    {"--method=", &Suite::methods},
    {"--type=", &Suite::types},
    {"--input=", &Suite::inputs},
    {"--rows=", &Suite::rows},
    {"--n=", &Suite::ns},
    {"--k=", &Suite::ks},
    {"--sorted=", &Suite::sorted},
    {"--ties=", &Suite::ties},
    {"--implementation=", &Suite::implementations},
    {"--layout=", &Suite::layouts},
    {"--lengths=", &Suite::lengths},
    {"--cache=", &Suite::caches},
    {"--recall=", &Suite::recalls},
    {"--key=", &Suite::keys},
    {"--mask=", &Suite::masks},
    {"--ask=", &Suite::asks}};

Names split(std::string const& list) {
  Names names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

bool take_flag(Suite& suite, std::string_view argument) {
  for (auto const& [flag, list] : flags) {
    if (argument.substr(0, std::string_view(flag).size()) != flag) continue;
    suite.*list = split(std::string(argument.substr(std::string_view(flag).size())));
    if ((suite.*list).empty()) throw std::invalid_argument(std::string(flag) + " needs a list");
    return true;
  }
  return false;
}

void require_known(std::string const& what, std::string const& name, Names const& known) {
  for (auto const& each : known)
    if (each == name) return;
  std::string message = "no " + what + " is called " + name + "; there are";
  for (auto const& each : known) message += " " + each;
  throw std::invalid_argument(message);
}

/// 1000 or 2^20.
std::int64_t number(std::string const& text) {
  std::size_t end = 0;
  try {
    std::int64_t const base = std::stoll(text, &end);
    if (end == text.size()) return base;
    if (base == 2 && text[end] == '^') return std::int64_t(1) << std::stoi(text.substr(end + 1));
  } catch (std::logic_error const&) {}
  throw std::invalid_argument(text + " is not a number like 1000 or 2^20");
}

Names all_inputs() {
  Names names;
  for (auto const& [input, text] : testing::input_table) names.push_back(text);
  return names;
}

Names all_types() {
  return {"f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"};
}

Names algorithm_names() {
  Names names;
  for (auto const& info : algorithms()) names.push_back(info.name);
  return names;
}

Names expand(std::string const& what, Names const& names, Names const& all) {
  Names expanded;
  for (auto const& name : names) {
    if (name == "all") {
      expanded.insert(expanded.end(), all.begin(), all.end());
    } else {
      require_known(what, name, all);
      expanded.push_back(name);
    }
  }
  return expanded;
}

/// "algorithms" and "baselines" stand for all of them.
Names methods_on(std::string const& backend, Names const& wanted) {
  Names const ours = algorithm_names(),
              baselines = baselines_on(backend, backend != "Cuda" && backend != "HIP");
  Names methods;
  for (auto const& name : wanted) {
    if (name == "algorithms") {
      methods.insert(methods.end(), ours.begin(), ours.end());
    } else if (name == "baselines") {
      methods.insert(methods.end(), baselines.begin(), baselines.end());
    } else {
      Names known = ours;
      known.insert(known.end(), baselines.begin(), baselines.end());
      known.insert(known.end(), {"automatic", "algorithms", "baselines", "copy"});
      require_known("method on " + backend, name, known);
      methods.push_back(name);
    }
  }
  return methods;
}

Sorted sorted_from(std::string const& name) { return name == "yes" ? Sorted::yes : Sorted::no; }

Ties ties_from(std::string const& name) {
  if (name == "any") return Ties::any;
  return name == "lowest_index" ? Ties::lowest_index : Ties::highest_index;
}

template <class Enum, std::size_t count>
Enum value_from(std::array<char const*, count> const& names, std::string const& name) {
  for (std::size_t i = 0; i < count; ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  throw std::invalid_argument("no " + name);
}

/// Whether a method answers a case's question, and is worth a line: a copy is one of keys that are not stored.
bool answers(Case const& c) {
  if (!is_question(c)) return c.method != "copy";
  if (c.type != "f32" && (c.ask == Ask::top_k || c.type != "f64")) return false;
  if (c.lengths == Lengths::ragged || c.layout == Layout::left || c.recall != "1") return false;
  if (c.ask != Ask::top_k)
    return c.method == "automatic" || (c.ask == Ask::kth && c.method == "std::nth_element");
  return c.method == "automatic" || c.method == "copy" || c.method == "std::nth_element" ||
         c.method == "cub::DeviceTopK";
}

/// One selection, by all the implementations and in all the layouts asked for. A baseline has neither.
void add_ways(std::vector<Case>& cases, Suite const& suite, Case c) {
  if (!answers(c)) return;
  if (is_baseline(c.method) || c.method == "copy") return cases.push_back(c);
  for (auto const& layout : expand("layout", suite.layouts, {"right", "left"})) {
    if (c.lengths == Lengths::ragged && layout == "left") continue;
    for (auto const& implementations :
         expand("implementation", suite.implementations, {"tuned", "portable"})) {
      c.layout = layout == "left" ? Layout::left : Layout::right;
      c.implementations =
          implementations == "portable" ? Implementations::portable : Implementations::tuned;
      for (auto const& recall : suite.recalls) {
        c.recall = recall;
        if ((recall == "1" || c.method == "delegate") && answers(c)) cases.push_back(c);
      }
    }
  }
}

/// One selection of all forms of the keys. Of other questions than the best keys, the keys are plain.
void add_questions(std::vector<Case>& cases, Suite const& suite, Case c) {
  for (auto const& key :
       expand("form of the keys", suite.keys, {key_forms.begin(), key_forms.end()}))
    for (auto const& mask : suite.masks)
      for (auto const& ask : expand("question", suite.asks, {asks.begin(), asks.end()})) {
        c.key = value_from<KeyForm>(key_forms, key);
        c.mask = mask;
        c.ask = value_from<Ask>(asks, ask);
        bool const is_masked = mask != "1";
        bool const is_computed = c.key == KeyForm::transform || c.key == KeyForm::generate;
        if (c.ask != Ask::top_k && (is_masked || c.key != KeyForm::plain)) continue;
        if (!(is_masked && is_computed)) add_ways(cases, suite, c);
      }
}

/// The cases of one buffer.
void add_selections(std::vector<Case>& cases, Suite const& suite, Case c) {
  auto const methods = methods_on(c.backend, suite.methods);
  for (auto const& k : suite.ks)
    for (auto const& sorted : expand("value of sorted", suite.sorted, {"no", "yes"}))
      for (auto const& ties :
           expand("tie rule", suite.ties, {"any", "lowest_index", "highest_index"}))
        for (auto const& method : methods)
          for (auto const& cache : expand("state of the cache", suite.caches, {"warm", "cold"})) {
            c.k = number(k);
            c.sorted = sorted_from(sorted);
            c.ties = ties_from(ties);
            c.method = method;
            c.cache = cache == "cold" ? Cache::cold : Cache::warm;
            if (c.k >= 1 && c.k <= c.n) add_questions(cases, suite, c);
          }
}

}  // namespace

void print_usage() {
  std::printf(
      "perf_top_k: times top_k and its baselines, beside the time to read the keys once\n\n"
      "Lists, separated by commas; all combinations are measured (k <= n):\n"
      "  --backend=  all, Serial, OpenMP, Threads, Cuda, HIP        (all)\n"
      "  --method=   automatic, an algorithm, a baseline; algorithms and baselines for all of them "
      "(automatic,baselines)\n"
      "  --type=     all, f16 bf16 f32 f64 i8 u8 ... i64 u64        (f32)\n"
      "  --input=    all, or as tests/support/inputs.hpp names them (uniform,normal,leading_bits)\n"
      "  --rows=     1000 or 2^10                                   (1)\n"
      "  --n=                                                       (2^20,2^23,2^26)\n"
      "  --k=                                                       (10,1000,100000)\n"
      "  --sorted=   no, yes                                        (no)\n"
      "  --ties=     any, lowest_index, highest_index               (lowest_index)\n"
      "  --implementation=  tuned, portable: where a backend has a tuned one (tuned)\n"
      "  --layout=   right, left: of the keys; ragged rows have none  (right)\n"
      "  --lengths=  even; ragged: rows of 1 to n keys              (even)\n"
      "  --cache=    warm; cold: emptied of the keys before each call  (warm)\n"
      "  --recall=   Options::recall, of delegate alone             (1)\n"
      "  --key=      plain, magnitude; transform: of |key|; generate: of 0.5 key + 1  (plain)\n"
      "  --mask=     which part of the keys a mask leaves, like 0.1; 1: no mask  (1)\n"
      "  --ask=      top_k; kth, of k; ranks: seven; count: of four bounds; reaching: what reaches "
      "the k-th key  (top_k)\n"
      "Questions are asked of f32 and f64, of computed and masked keys of f32, by automatic and "
      "copy: "
      "which writes the keys\n"
      "and calls top_k. Of the baselines std::nth_element and cub::DeviceTopK answer some.\n\n"
      "And Google Benchmark's own, among them --benchmark_filter=REGEX, "
      "--benchmark_min_time=SECONDS,\n"
      "--benchmark_out=FILE.json, --benchmark_list_tests.\n");
}

Suite parse_suite(int& argc, char** argv) {
  Suite suite;
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (!take_flag(suite, argv[i])) argv[kept++] = argv[i];
  argc = kept;
  return suite;
}

std::vector<Case> cases(Suite const& suite) {
  std::vector<Case> all;
  for (auto const& backend : expand("backend", suite.backends, backends()))
    for (auto const& type : expand("key type", suite.types, all_types()))
      for (auto const& input : expand("input", suite.inputs, all_inputs()))
        for (auto const& rows : suite.rows)
          for (auto const& n : suite.ns)
            for (auto const& lengths : expand("kind of lengths", suite.lengths, {"even", "ragged"}))
              add_selections(all, suite,
                             {.backend = backend,
                              .type = type,
                              .input = input,
                              .rows = number(rows),
                              .n = number(n),
                              .lengths = lengths == "ragged" ? Lengths::ragged : Lengths::even});
  return all;
}

}  // namespace ktopk::perf
