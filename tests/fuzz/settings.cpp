// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace ktopk::fuzz {

char const* const usage =
    R"(ktopk_fuzz: calls top_k and Plans with random arguments and verifies every answer

  --seconds S       how long to run (10)
  --calls N         end after so many cases instead
  --seed N          of the sequence of cases (1)
  --case N          one case alone, by the number that a failure prints; several times with --calls
  --only NAME=VALUE cases with this field alone, as a failure prints it; numbers may be a range:
                    --only type=uint8 --only rows=2..16 --only n=10000.. --only portable=no
  --most-keys N     of all rows together (4194304)
  --tuned           without the portable implementations, which else serve every fourth case
  --portable        without the tuned implementations
  --space NAME      Serial, OpenMP, Threads, Cuda or HIP (the default one of Kokkos)
  --threads T       T host threads at once, each with its own instance; needs --tuned or --portable
  --busy            beside something else that keeps half of the device's processors busy
  --limit S         how long a call may take (10)
  --most-failures N end after so many (10)
  --spoil           spoil answers in every way, and see that the verification notices

The exit status is 0 without failures, 1 with failures, 2 for a wrong command line and 3 where a call hangs.
)";

namespace {

/// The arguments, one after the other.
class Arguments {
 public:
  Arguments(int argc, char** argv) : m_next(argv + 1), m_end(argv + argc) {}

  bool are_left() const { return m_next != m_end; }
  std::string next() {
    if (!are_left()) throw std::invalid_argument("an argument is missing at the end");
    return *m_next++;
  }
  /// From 0 up.
  template <class Number>
  Number next_number() {
    std::string const text = next();
    std::istringstream in(text);
    Number x;
    if (in >> x && in.peek() == EOF && x >= 0) return x;
    throw std::invalid_argument("not a number from 0 up: " + text);
  }

 private:
  char **m_next, **m_end;
};

void read_option(Settings& settings, std::string const& option, Arguments& arguments) {
  using Implementations = Limits::Implementations;
  if (option == "--seconds")
    settings.seconds = arguments.next_number<double>();
  else if (option == "--calls")
    settings.calls = arguments.next_number<std::int64_t>();
  else if (option == "--seed")
    settings.seed = arguments.next_number<std::uint64_t>();
  else if (option == "--case")
    settings.one_case = arguments.next_number<std::uint64_t>();
  else if (option == "--only")
    settings.filter.add(arguments.next());
  else if (option == "--most-keys")
    settings.limits.most_keys = arguments.next_number<std::int64_t>();
  else if (option == "--tuned")
    settings.limits.implementations = Implementations::tuned;
  else if (option == "--portable")
    settings.limits.implementations = Implementations::portable;
  else if (option == "--space")
    settings.space = arguments.next();
  else if (option == "--threads")
    settings.limits.threads = arguments.next_number<int>();
  else if (option == "--busy")
    settings.busy = true;
  else if (option == "--limit")
    settings.limit = arguments.next_number<double>();
  else if (option == "--most-failures")
    settings.most_failures = arguments.next_number<std::int64_t>();
  else if (option == "--spoil")
    settings.spoil = true;
  else if (option == "--help")
    settings.help = true;
  else
    throw std::invalid_argument("unknown option " + option);
}

void check(Settings const& settings) {
  bool const drawn = settings.limits.implementations == Limits::Implementations::drawn;
  if (settings.limits.threads > 0 && drawn)
    throw std::invalid_argument(
        "--threads needs --tuned or --portable: all threads share the switch");
  if (settings.limits.most_keys < 16) throw std::invalid_argument("--most-keys is at least 16");
}

}  // namespace

Settings parse(int argc, char** argv) {
  Settings settings;
  Arguments arguments(argc, argv);
  while (arguments.are_left()) read_option(settings, arguments.next(), arguments);
  check(settings);
  return settings;
}

std::string repeat_command(Settings const& settings, std::string const& space) {
  std::string command = "ktopk_fuzz --space " + space;
  command += " --most-keys " + std::to_string(settings.limits.most_keys);
  if (settings.limits.implementations == Limits::Implementations::tuned) command += " --tuned";
  if (settings.limits.implementations == Limits::Implementations::portable)
    command += " --portable";
  if (settings.limits.threads > 0)
    command += " --threads " + std::to_string(settings.limits.threads) + " --calls 1000";
  if (settings.busy) command += " --busy";
  return command + " --case";
}

}  // namespace ktopk::fuzz
