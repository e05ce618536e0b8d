// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parser.hpp"

#include <charconv>
#include <cstdint>
#include <ktopk/info.hpp>
#include <map>
#include <sstream>

#include "files/fault.hpp"
#include "files/key_type.hpp"

namespace ktopk::tools {
namespace {

// Lines are short enough for a manual page on a narrow terminal.
constexpr char const* select_footer = R"(FILE
  .npy                   an array of 1 or 2 dimensions, C or Fortran
                         order, little-endian, of any key type
  .fvecs .bvecs .ivecs   rows of a dimension (int32) and that many
                         float, uint8 or int32 keys
  .csv .tsv .txt         numbers between commas, tabs or blanks: a column
                         is a vector, several columns are rows
  any other name         raw little-endian keys, row after row: give
                         --type, and --shape unless they are one row
  -                      standard input: .npy, raw keys if --type is
                         given, else text between commas
  A file is mapped into memory, and a backend on the host reads it in
  place; a pipe is read once. Rows that are longer than 64 MiB come in
  parts, so they may be longer than memory. Several files are one row.

OUTPUT
  Without --output a table goes to standard output. Its columns are row,
  if the keys are no vector, rank, which is 0 for the best key, index and
  value. --kth and --quantiles have no index.
  --output O writes the same columns if O ends in .csv or .tsv, else a
  NumPy array of the shape (K) or (rows, K). Its fields are index (int64)
  and value (the key's type; bfloat16 as the float of the same value):
  a = numpy.load(O); a["index"]; a["value"]. A file with one of them, by
  --columns, --indices or --values, is a plain array. Files appear
  complete or not at all; "-", a device or a pipe is written to at once.

Bad input ends with one line on standard error and exit status 2.
OMP_NUM_THREADS or KOKKOS_NUM_THREADS sets the number of threads of a
host backend, KOKKOS_DEVICE_ID selects the GPU.)";

std::map<std::string, Algorithm> algorithm_names() {
  std::map<std::string, Algorithm> names;
  for (char const* const text : detail::algorithm_names)
    names.emplace(text, *algorithm_from_name(text));
  return names;
}

/// An option whose value is one of a few words.
template <class T>
CLI::Option* add_choice(CLI::App& app, std::string const& flag, T& place,
                        std::map<std::string, T> const& words, std::string const& help) {
  std::string names;
  for (auto const& [word, value] : words) names += (names.empty() ? "" : "|") + word;
  auto const read = [=, &place](std::string const& word) {
    auto const found = words.find(word);
    if (found == words.end())
      throw CLI::ValidationError(flag, in_quotes(word) + " is none of " + names);
    place = found->second;
  };
  return app.add_option_function<std::string>(flag, read, help)->type_name(names);
}

std::int64_t read_count(std::string const& text) {
  std::int64_t k = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, k);
  if (error != std::errc() || stop != end || k < 0)
    throw CLI::ValidationError("-k", in_quotes(text) + " is not a number of keys");
  return k;
}

/// An option that says what is asked, with an amount.
CLI::Option* add_amount(CLI::App& app, std::string const& flag, SelectRequest& request,
                        Question question, std::string const& help) {
  auto const read = [&request, flag, question](std::string const& text) {
    auto const amount = Amount::parse(text);
    if (!amount)
      throw CLI::ValidationError(
          flag, in_quotes(text) + " is neither a number of keys nor a percentage like 1%");
    request.k = *amount;
    request.question = question;
  };
  return app.add_option_function<std::string>(flag, read, help)->type_name("K");
}

double read_quantile(std::string const& text) {
  double q = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, q);
  if (error != std::errc() || stop != end || !(q >= 0 && q <= 1))
    throw CLI::ValidationError("--quantiles", in_quotes(text) + " is not a number from 0 to 1");
  return q;
}

void read_quantiles(std::string const& list, SelectRequest& request) {
  std::size_t begin = 0;
  while (begin <= list.size()) {
    auto const end = std::min(list.find(',', begin), list.size());
    request.quantiles.push_back(read_quantile(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  request.question = Question::quantiles;
}

struct Questions {
  CLI::Option *top_k, *kth, *quantiles;
};

Questions add_questions(CLI::App& app, SelectRequest& request) {
  Questions const all{
      add_amount(app, "-k", request, Question::top_k,
                 "how many keys to select of every row: a number, or a percentage, rounded up"),
      add_amount(app, "--kth", request, Question::kth,
                 "the K-th best key of every row instead, from 1; or a percentage"),
      app.add_option_function<std::string>(
             "--quantiles", [&](std::string const& list) { read_quantiles(list, request); },
             "quantiles of every row instead, like 0.5,0.99")
          ->type_name("Q,...")};
  all.top_k->excludes(all.kth)->excludes(all.quantiles);
  all.kth->excludes(all.quantiles);
  add_choice<Interpolation>(app, "--interpolation", request.interpolation,
                            {{"linear", Interpolation::linear},
                             {"lower", Interpolation::lower},
                             {"higher", Interpolation::higher},
                             {"nearest", Interpolation::nearest},
                             {"midpoint", Interpolation::midpoint}},
                            "what a quantile between two keys is (linear)")
      ->needs(all.quantiles);
  return all;
}

void add_input(CLI::App& app, SelectRequest& request) {
  app.add_option("FILE", request.files, "the keys; - is standard input")->required()->type_name("");
  add_choice<Content>(app, "--from", request.input.content,
                      {{"npy", Content::npy},
                       {"fvecs", Content::fvecs},
                       {"bvecs", Content::bvecs},
                       {"ivecs", Content::ivecs},
                       {"csv", Content::csv},
                       {"tsv", Content::tsv},
                       {"text", Content::text},
                       {"raw", Content::raw}},
                      "what FILE holds, whatever its name says; text is separated by blanks");
  app.add_option("--type", request.input.type,
                 "type of raw keys, or of text (f64): " + key_type_names())
      ->type_name("TYPE");
  app.add_option("--shape", request.input.shape,
                 "shape of raw keys: n or rowsxn, like 1000 or 20x1000; all in one row without it")
      ->type_name("SHAPE");
  app.add_option("--column", request.input.column,
                 "the column of a text file that has the keys: its name, or its number from 1")
      ->type_name("NAME");
  app.add_option("--sep", request.input.separator,
                 "what separates the fields of a text file: a character, tab, or space (blanks)")
      ->type_name("C");
  auto* const header = app.add_flag_callback(
      "--header", [&] { request.input.header = Header::yes; },
      "the first line of a text file has names, even if they are numbers");
  app.add_flag_callback(
         "--no-header", [&] { request.input.header = Header::no; },
         "the first line of a text file has keys")
      ->excludes(header);
}

void add_order(CLI::App& app, Options& options, Questions const& questions) {
  auto* const largest = app.add_flag_callback(
      "--largest", [&] { options.order = Order::largest; }, "select the largest keys (default)");
  auto* const smallest =
      app.add_flag_callback(
             "--smallest", [&] { options.order = Order::smallest; }, "select the smallest keys")
          ->excludes(largest);
  auto* const by =
      add_choice<By>(app, "--by", options.by, {{"value", By::value}, {"magnitude", By::magnitude}},
                     "compare values (default) or absolute values; the sign stays");
  for (auto* const option : {largest, smallest, by}) option->excludes(questions.quantiles);
  add_choice<NaN>(app, "--nan", options.nan, {{"greatest", NaN::greatest}, {"least", NaN::least}},
                  "whether NaN counts as the greatest (default) or the least key");
}

/// What matters for the best keys alone.
void add_ranking(CLI::App& app, Options& options, Questions const& questions) {
  auto* const unsorted = app.add_flag_callback(
      "--unsorted", [&] { options.sorted = Sorted::no; }, "in any order, not the best first");
  auto* const ties = add_choice<Ties>(
      app, "--ties", options.ties,
      {{"any", Ties::any}, {"lowest", Ties::lowest_index}, {"highest", Ties::highest_index}},
      "which of equal keys is taken: the one at the lowest index (default), the highest, or any");
  auto* const algorithm =
      add_choice<Algorithm>(app, "--algorithm", options.algorithm, algorithm_names(),
                            "how to select; `ktopk info` lists what this build has")
          ->type_name("NAME");
  for (auto* const option : {unsorted, ties, algorithm})
    option->excludes(questions.kth)->excludes(questions.quantiles);
}

void add_output(CLI::App& app, OutputDescription& output, Questions const& questions) {
  app.add_option("--output", output.path,
                 "write a .npy, .csv or .tsv file, or - for standard output, instead of a table")
      ->type_name("O");
  add_choice<Format>(
      app, "--to", output.format,
      {{"table", Format::table}, {"csv", Format::csv}, {"tsv", Format::tsv}, {"npy", Format::npy}},
      "what to write, whatever the name of O says");
  auto* const columns = add_choice<Columns>(
      app, "--columns", output.columns,
      {{"both", Columns::both}, {"indices", Columns::indices}, {"values", Columns::values}},
      "what to write of index and value");
  auto* const indices = app.add_option("--indices", output.indices_path,
                                       "write the indices as a plain array to this .npy file, too")
                            ->type_name("FILE");
  app.add_option("--values", output.values_path,
                 "write the values as a plain array to this .npy file, too")
      ->type_name("FILE");
  for (auto* const option : {columns, indices})
    option->excludes(questions.kth)->excludes(questions.quantiles);
}

CLI::Option* add_backend(CLI::App& app, std::string& backend, std::string const& help) {
  return app.add_option("--backend", backend, help)->type_name("NAME");
}

void require_question(Questions const& questions) {
  if (questions.top_k->count() + questions.kth->count() + questions.quantiles->count() == 0)
    throw CLI::RequiredError("one of -k, --kth and --quantiles");
}

void add_select(CLI::App& app, SelectRequest& request) {
  auto* const command =
      app.add_subcommand("select", "print or write the best k keys of every row of a file");
  auto const questions = add_questions(*command, request);
  add_input(*command, request);
  add_order(*command, request.options, questions);
  add_ranking(*command, request.options, questions);
  add_backend(*command, request.backend, "where to select; `ktopk info` lists what this build has");
  add_output(*command, request.output, questions);
  command->parse_complete_callback([questions] { require_question(questions); });
  command->footer(select_footer);
}

void add_calibrate(CLI::App& app, CalibrateRequest& request) {
  auto* const command = app.add_subcommand(
      "calibrate", "measure what `automatic` chooses by where KTOPK_CALIBRATION names the result");
  command->add_option("--output", request.output, "write a file instead of standard output")
      ->type_name("O");
  add_backend(*command, request.backend, "measure this one alone, not all of this build");
}

std::map<std::string, KeyType> key_types() {
  std::map<std::string, KeyType> types;
  for (int i = 0; i <= static_cast<int>(KeyType::u64); ++i)
    types.emplace(name(static_cast<KeyType>(i)), static_cast<KeyType>(i));
  return types;
}

void add_info(CLI::App& app, ExplainRequest& request) {
  auto* const command = app.add_subcommand(
      "info", "print configuration, backends, devices and algorithms, or what runs for a shape");
  auto* const shape =
      command->add_option("--shape", request.shape, "explain what runs for n or rowsxn keys");
  shape->type_name("SHAPE");
  auto const read = [&](std::string const& text) { request.k = read_count(text); };
  command->add_option_function<std::string>("-k", read, "how many keys of every row")
      ->type_name("K")
      ->needs(shape);
  add_choice<KeyType>(*command, "--type", request.type, key_types(), "of the keys (f32)")
      ->needs(shape);
  command
      ->add_flag_callback(
          "--unsorted", [&] { request.options.sorted = Sorted::no; },
          "in any order, not the best first")
      ->needs(shape);
  add_choice<Algorithm>(*command, "--algorithm", request.options.algorithm, algorithm_names(),
                        "by this one")
      ->type_name("NAME")
      ->needs(shape);
  add_backend(*command, request.backend, "on this one")->needs(shape);
}

void add_completion(CLI::App& app, std::string& shell) {
  auto* const command = app.add_subcommand(
      "completion", "print what completes this command's options in bash or zsh");
  add_choice<std::string>(*command, "SHELL", shell, {{"bash", "bash"}, {"zsh", "zsh"}},
                          "bash or zsh")
      ->required();
  app.add_subcommand("man", "print the manual page of this command, for man");
}

/// Without this the parser says that a command is missing, and not which word is none.
void check_command(CLI::App const& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string commands;
  for (CLI::App const* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) return;
    commands += (commands.empty() ? "" : "|") + command->get_name();
  }
  throw CLI::ValidationError("command", in_quotes(argv[1]) + " is none of " + commands);
}

std::vector<std::string> split(std::string const& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

}  // namespace

CommandLine::CommandLine()
    : app("ktopk selects the k largest or smallest keys of every row of a file.", "ktopk") {
  app.set_version_flag("--version", "ktopk " + version());
  app.require_subcommand(1);
  add_select(app, select);
  add_calibrate(app, calibrate);
  add_info(app, explain);
  add_completion(app, shell);
}

void CommandLine::parse(int argc, char** argv) {
  check_command(app, argc, argv);
  app.parse(argc, argv);
}

std::vector<std::string> words_of(CLI::Option const& option) {
  auto const& type = option.get_type_name();
  auto const name = option.get_name();
  if (type.find('|') != std::string::npos) return split(type, '|');
  if (name == "--algorithm")
    return {detail::algorithm_names.begin(), detail::algorithm_names.end()};
  if (name == "--backend") return {"serial", "openmp", "threads", "cuda", "hip", "sycl"};
  if (name != "--type") return {};
  std::vector<std::string> types;
  for (auto const& [type_name, value] : key_types()) types.push_back(type_name);
  return types;
}

bool names_file(CLI::Option const& option) {
  return option.get_name() == "FILE" || option.get_type_name() == "FILE" ||
         option.get_type_name() == "O";
}

}  // namespace ktopk::tools
