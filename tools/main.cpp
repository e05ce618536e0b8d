// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <ktopk/info.hpp>
#include <map>
#include <new>
#include <string>

#include "calibrate.hpp"
#include "files/fault.hpp"
#include "files/key_type.hpp"
#include "info.hpp"
#include "select.hpp"

namespace ktopk::tools {
namespace {

constexpr char const* select_footer = R"(FILE
  .npy                     an array of 1 or 2 dimensions, C or Fortran order, little-endian, of any key type
  .fvecs .bvecs .ivecs     rows of a dimension (int32) and that many float, uint8 or int32 keys
  any other name           raw little-endian keys, row after row: give --type and --shape
  The file is mapped into memory; a backend on the host reads it in place.

OUTPUT
  Without --output a table with the columns row, rank, index and value goes to standard output; rank 0 is the best.
  --output O writes a NumPy array of the shape (k) or (rows, k). Its fields are index (int64) and value (the key's
  type; bfloat16 as the float of the same value): a = numpy.load(O); a["index"]; a["value"]. With --columns it is a plain
  array of one of them. O appears complete or not at all; "-", a device or a pipe is written to at once.

Bad input ends with one line on standard error and exit status 2. OMP_NUM_THREADS or KOKKOS_NUM_THREADS sets the
number of threads of a host backend, KOKKOS_DEVICE_ID selects the GPU.)";

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

void read_k(std::string const& text, std::int64_t& k) {
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, k);
  if (error != std::errc() || stop != end || k < 0)
    throw CLI::ValidationError("-k", in_quotes(text) + " is not a number of keys");
}

void add_input(CLI::App& app, SelectRequest& request) {
  app.add_option("FILE", request.input.path, "the keys")->required()->type_name("");
  app.add_option_function<std::string>(
         "-k", [&](std::string const& text) { read_k(text, request.k); },
         "how many keys to select of every row")
      ->required()
      ->type_name("K");
  app.add_option("--type", request.input.type, "type of raw keys: " + key_type_names())
      ->type_name("TYPE");
  app.add_option("--shape", request.input.shape,
                 "shape of raw keys: n or rowsxn, like 1000 or 20x1000")
      ->type_name("SHAPE");
}

void add_order(CLI::App& app, Options& options) {
  app.add_flag_callback(
      "--smallest", [&] { options.order = Order::smallest; },
      "select the smallest keys, not the largest");
  app.add_flag_callback(
      "--unsorted", [&] { options.sorted = Sorted::no; }, "in any order, not the best first");
  add_choice<Ties>(
      app, "--ties", options.ties,
      {{"any", Ties::any}, {"lowest", Ties::lowest_index}, {"highest", Ties::highest_index}},
      "which of equal keys is taken: the one at the lowest index (default), the highest, or any");
  add_choice<NaN>(app, "--nan", options.nan, {{"greatest", NaN::greatest}, {"least", NaN::least}},
                  "whether NaN counts as the greatest (default) or the least key");
}

void add_machinery(CLI::App& app, SelectRequest& request) {
  add_choice<Algorithm>(app, "--algorithm", request.options.algorithm, algorithm_names(),
                        "how to select; `ktopk info` lists what this build has")
      ->type_name("NAME");
  app.add_option("--backend", request.backend,
                 "where to select; `ktopk info` lists what this build has")
      ->type_name("NAME");
}

void add_output(CLI::App& app, SelectRequest& request) {
  auto* const output =
      app.add_option("--output", request.output,
                     "write a .npy file, or - for standard output, instead of printing a table")
          ->type_name("O");
  add_choice<Columns>(
      app, "--columns", request.columns,
      {{"both", Columns::both}, {"indices", Columns::indices}, {"values", Columns::values}},
      "what to write to the .npy file")
      ->needs(output);
}

CLI::App* add_select(CLI::App& app, SelectRequest& request) {
  auto* const command =
      app.add_subcommand("select", "print or write the best k keys of every row of a file");
  add_input(*command, request);
  add_order(*command, request.options);
  add_machinery(*command, request);
  add_output(*command, request);
  command->footer(select_footer);
  return command;
}

CLI::App* add_calibrate(CLI::App& app, CalibrateRequest& request) {
  auto* const command = app.add_subcommand(
      "calibrate", "measure what `automatic` chooses by where KTOPK_CALIBRATION names the result");
  command->add_option("--output", request.output, "write a file instead of standard output")
      ->type_name("O");
  command->add_option("--backend", request.backend, "measure this one alone, not all of this build")
      ->type_name("NAME");
  return command;
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
  auto const read = [&](std::string const& text) { read_k(text, request.k); };
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
  command->add_option("--backend", request.backend, "on this one")->type_name("NAME")->needs(shape);
}

int complain(std::string_view message) {
  std::fprintf(stderr, "ktopk: %s\n", on_one_line(message).c_str());
  return 2;
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

int run(int argc, char** argv) {
  CLI::App app("ktopk selects the k largest or smallest keys of every row of a file.", "ktopk");
  app.set_version_flag("--version", "ktopk " + version());
  app.require_subcommand(1);
  SelectRequest request;
  auto* const select_command = add_select(app, request);
  CalibrateRequest calibration;
  auto* const calibrate_command = add_calibrate(app, calibration);
  ExplainRequest explanation;
  add_info(app, explanation);
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (CLI::Success const& success) {
    return app.exit(success);
  } catch (CLI::ParseError const& error) {
    return complain(std::string(error.what()) + " (see ktopk --help)");
  }
  if (*select_command)
    select(request);
  else if (*calibrate_command)
    calibrate(calibration);
  else if (!explanation.shape.empty())
    print_explanation(explanation);
  else
    print_info();
  return 0;
}

}  // namespace
}  // namespace ktopk::tools

int main(int argc, char** argv) {
  try {
    return ktopk::tools::run(argc, argv);
  } catch (std::bad_alloc const&) {
    return ktopk::tools::complain("not enough memory");
  } catch (std::exception const& error) { return ktopk::tools::complain(error.what()); }
}
