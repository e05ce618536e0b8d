// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <ktopk/detail/checks.hpp>
#include <ktopk/mpi/communicator.hpp>

namespace ktopk::detail::mpi {

/// What counts of a number that each rank has: all must have the same, or the least is taken.
enum class Among { same, least };

/// What ranks agree on.
struct Term {
  char const* name;
  std::int64_t value;
  Among among = Among::same;
};

/// What this rank threw while it began a call, if anything: a wrong argument, or anything else, such as std::bad_alloc.
struct Failure {
  std::exception_ptr thrown;
  std::string text;
  bool is_argument = false;
};

template <class Body>
Failure failure_of(Body const& body) {
  try {
    body();
    return {};
  } catch (std::invalid_argument const& error) {
    return {std::current_exception(), error.what(), true};
  } catch (std::exception const& error) {
    return {std::current_exception(), error.what()};
  } catch (...) { return {std::current_exception(), "unknown"}; }
}

/// Begins a call on all ranks, before any selects. If one rank fails, all throw, with what the first such rank says.
/// \param count  how many terms body() returns
/// \param body   checks this rank's arguments, and begins what it can without the others; returns the terms
/// \return the terms, the same on all ranks
/// \throws std::invalid_argument on all ranks for a wrong argument or terms of Among::same that differ. Else each failing rank
///         throws its own, and the others std::runtime_error
template <class Body>
std::vector<Term> agree(Communicator const& comm, char const* function, std::size_t count,
                        Body const& body) {
  std::vector<Term> terms(count);
  Failure const failure = failure_of([&] { terms = body(); });
  int const rank = comm.rank(), size = comm.size();
  // The first rank that failed and how, and the extremes of each term.
  std::vector<std::int64_t> all{failure.thrown ? 2 * (size - rank) + (failure.is_argument ? 1 : 0)
                                               : 0};
  for (Term const& term : terms) {
    all.push_back(term.value);
    all.push_back(-term.value);
  }
  comm.reduce(all, MPI_MAX);
  if (all[0] > 0) {
    int const first = size - static_cast<int>(all[0] / 2);
    std::string const text =
        "rank " + std::to_string(first) + ": " + comm.text_of(first, failure.text);
    if (all[0] % 2 == 1) throw std::invalid_argument(text);
    if (failure.thrown) std::rethrow_exception(failure.thrown);
    throw std::runtime_error(text);
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::int64_t const most = all[1 + 2 * i], least = -all[2 + 2 * i];
    if (terms[i].among == Among::least)
      terms[i].value = least;
    else if (most != least)
      reject(function, std::string("the ranks differ in ") + terms[i].name + ", from " +
                           std::to_string(least) + " to " + std::to_string(most));
  }
  return terms;
}

}  // namespace ktopk::detail::mpi
