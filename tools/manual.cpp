// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "manual.hpp"

#include <vector>

#include "parser.hpp"

namespace ktopk::tools {
namespace {

// REUSE-IgnoreStart
constexpr char const* license = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception";
// REUSE-IgnoreEnd

std::vector<CLI::App const*> subcommands(CLI::App const& app) {
  return app.get_subcommands(nullptr);
}

std::vector<CLI::Option const*> options(CLI::App const& app, bool positional) {
  return app.get_options(
      [positional](CLI::Option const* option) { return option->get_positional() == positional; });
}

/// "-h --help": all names of an option.
std::vector<std::string> names(CLI::Option const& option) {
  std::vector<std::string> all;
  for (auto const& name : option.get_snames()) all.push_back("-" + name);
  for (auto const& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

bool takes_value(CLI::Option const& option) { return option.get_items_expected_max() > 0; }

std::string joined(std::vector<std::string> const& words, std::string const& between) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string replaced(std::string text, std::string const& what, std::string const& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string subcommand_names(CLI::App const& app) {
  std::vector<std::string> all;
  for (auto const* command : subcommands(app)) all.push_back(command->get_name());
  return joined(all, " ");
}

// ---------------------------------------------------------------- bash

std::string option_names(CLI::App const& command) {
  std::vector<std::string> all;
  for (auto const* option : options(command, false))
    for (auto const& name : names(*option)) all.push_back(name);
  return joined(all, " ");
}

std::string bash_pattern(CLI::App const& command, CLI::Option const& option) {
  std::vector<std::string> patterns;
  for (auto const& name : names(option)) patterns.push_back(command.get_name() + ":" + name);
  return joined(patterns, " | ");
}

/// How a value, or an argument, is completed.
std::string bash_action(CLI::Option const& option) {
  if (names_file(option)) return "files=yes";
  auto const words = words_of(option);
  return words.empty() ? ":" : "words='" + joined(words, " ") + "'";
}

std::string bash_values(CLI::App const& command) {
  std::string text;
  for (auto const* option : options(command, false))
    if (takes_value(*option))
      text += "    " + bash_pattern(command, *option) + ") " + bash_action(*option) + " ;;\n";
  return text;
}

std::string bash_arguments(CLI::App const& command) {
  auto const arguments = options(command, true);
  auto const& name = command.get_name();
  return "        " + name + ":-*) words='" + option_names(command) + "' ;;\n" +
         (arguments.empty()
              ? ""
              : "        " + name + ":*) " + bash_action(*arguments.front()) + " ;;\n");
}

std::string bash_completion(CLI::App const& app) {
  std::string values, arguments;
  for (auto const* command : subcommands(app)) {
    values += bash_values(*command);
    arguments += bash_arguments(*command);
  }
  return std::string("# ") + license + "\n# Printed by `ktopk completion bash`.\n" +
         R"(_ktopk() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words='' files=no
  ((COMP_CWORD > 1)) || command='' previous=''
  case $command:$previous in
    :) words=')" +
         subcommand_names(app) + " " + option_names(app) + "' ;;\n" + values +
         "    *)\n      case $command:$current in\n" + arguments + R"(      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ $files == yes ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _ktopk ktopk
)";
}

// ---------------------------------------------------------------- zsh

std::string zsh_quoted(std::string const& text) {
  return "'" + replaced(text, "'", R"('\'')") + "'";
}

std::string zsh_description(CLI::Option const& option) {
  auto const text = replaced(option.get_description(), "[", R"(\[)");
  return "[" + replaced(text, "]", R"(\])") + "]";
}

/// ":name:action" of a value.
std::string zsh_value(CLI::Option const& option, std::string const& name) {
  if (names_file(option)) return ":" + name + ":_files";
  auto const words = words_of(option);
  return ":" + name + ":" + (words.empty() ? "" : "(" + joined(words, " ") + ")");
}

/// The names that may not follow an option: its own, and those that it excludes.
std::string zsh_excluded(CLI::Option const& option) {
  auto all = names(option);
  for (auto const* other : option.get_excludes())
    for (auto const& name : names(*other)) all.push_back(name);
  return "(" + joined(all, " ") + ")";
}

std::string zsh_option(CLI::Option const& option) {
  std::string text;
  for (auto const& name : names(option)) {
    auto const value = takes_value(option) ? zsh_value(option, name) : "";
    text +=
        " \\\n        " + zsh_quoted(zsh_excluded(option) + name + zsh_description(option) + value);
  }
  return text;
}

std::string zsh_argument(CLI::Option const& option) {
  bool const repeats = option.get_items_expected_max() > 1;
  return " \\\n        " + zsh_quoted((repeats ? "*" : "1") + zsh_value(option, option.get_name()));
}

std::string zsh_arguments(CLI::App const& command) {
  std::string text = "      " + command.get_name() + ")\n      _arguments";
  for (auto const* option : options(command, false)) text += zsh_option(*option);
  for (auto const* option : options(command, true)) text += zsh_argument(*option);
  return text + "\n        ;;\n";
}

std::string zsh_completion(CLI::App const& app) {
  std::string commands, arguments, common;
  for (auto const* command : subcommands(app)) {
    commands += "    " + zsh_quoted(command->get_name() + ":" + command->get_description()) + "\n";
    arguments += zsh_arguments(*command);
  }
  for (auto const* option : options(app, false)) common += zsh_option(*option);
  return std::string("#compdef ktopk\n# ") + license + "\n# Printed by `ktopk completion zsh`.\n" +
         "_ktopk() {\n  local state line\n  local -a commands=(\n" + commands + "  )\n" +
         "  _arguments -C" + common + R"( \
        '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
    case $words[1] in
)" + arguments +
         R"(    esac
    ;;
  esac
}
if [[ ${funcstack[1]} == _ktopk ]]; then
  _ktopk "$@"
else
  compdef _ktopk ktopk
fi
)";
}

// ---------------------------------------------------------------- man

std::string roff(std::string const& text) {
  return replaced(replaced(text, "\\", "\\e"), "-", "\\-");
}

/// Lines that are not filled. The zero-width \& keeps a line that begins with a point from being a request.
std::string roff_lines(std::string const& text) {
  return ".nf\n\\&" + replaced(roff(text), "\n", "\n\\&") + "\n.fi\n";
}

std::string man_option(CLI::Option const& option) {
  auto const& type = option.get_type_name();
  bool const has_type = takes_value(option) && !option.get_positional() && !type.empty();
  auto const title = option.get_positional() ? option.get_name() : joined(names(option), ", ");
  return ".TP\n\\fB" + roff(title) + "\\fR" + (has_type ? " \\fI" + roff(type) + "\\fR" : "") +
         "\n" + roff(option.get_description()) + "\n";
}

std::string man_command(CLI::App const& command) {
  std::string text =
      ".SH \"ktopk " + command.get_name() + "\"\n" + roff(command.get_description()) + "\n";
  for (auto const* option : options(command, true)) text += man_option(*option);
  for (auto const* option : options(command, false)) text += man_option(*option);
  auto const footer = command.get_footer();
  return text + (footer.empty() ? "" : ".PP\n" + roff_lines(footer));
}

std::string man_synopsis(CLI::App const& app) {
  std::string text;
  for (auto const* command : subcommands(app)) {
    auto const arguments = options(*command, true);
    auto const argument = arguments.empty() ? "" : " \\fI" + arguments.front()->get_name() + "\\fR";
    text += "\\fBktopk " + command->get_name() + "\\fR" + argument + " [\\fIoption\\fR...]\n.br\n";
  }
  return text;
}

}  // namespace

std::string completion_for(CLI::App const& app, std::string const& shell) {
  return shell == "bash" ? bash_completion(app) : zsh_completion(app);
}

std::string manual_page(CLI::App const& app) {
  std::string text = std::string(".\\\" ") + license + "\n.\\\" Printed by `ktopk man`.\n" +
                     ".TH KTOPK 1 \"\" ktopk \"User commands\"\n.SH NAME\n" +
                     "ktopk \\- select the largest or smallest keys of every row of a file\n" +
                     ".SH SYNOPSIS\n" + man_synopsis(app);
  for (auto const* option : options(app, false))
    text += "\\fBktopk " + roff("--" + option->get_lnames().front()) + "\\fR\n.br\n";
  for (auto const* command : subcommands(app)) text += man_command(*command);
  return text +
         ".SH \"EXIT STATUS\"\n0: done. 2: the input, an option or the output is invalid, or "
         "memory ran out; one line on\nstandard error says why.\n";
}

}  // namespace ktopk::tools
