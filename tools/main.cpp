// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "files/fault.hpp"
#include "manual.hpp"
#include "parser.hpp"

namespace ktopk::tools {
namespace {

int complain(std::string_view message) {
  std::fprintf(stderr, "ktopk: %s\n", on_one_line(message).c_str());
  return 2;
}

void print(std::string const& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw system_fault("standard output: cannot be written");
}

void carry_out(CommandLine const& line) {
  if (line.has("select"))
    select(line.select);
  else if (line.has("calibrate"))
    calibrate(line.calibrate);
  else if (line.has("completion"))
    print(completion_for(line.app, line.shell));
  else if (line.has("man"))
    print(manual_page(line.app));
  else if (!line.explain.shape.empty())
    print_explanation(line.explain);
  else
    print_info();
}

int run(int argc, char** argv) {
  CommandLine line;
  try {
    line.parse(argc, argv);
  } catch (CLI::Success const& success) {
    return line.app.exit(success);
  } catch (CLI::ParseError const& error) {
    return complain(std::string(error.what()) + " (see ktopk --help)");
  }
  carry_out(line);
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
