// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <ktopk/detail/checks.hpp>
#include <ktopk/mpi/communicator.hpp>

namespace ktopk::detail::mpi {

/// What all ranks must pass alike.
struct Term {
  char const* name;
  std::int64_t value;
};

/// Checks a call on all ranks, before any selects. If one rank's arguments are wrong, all throw, with what that rank says.
/// \param count  how many terms body() returns
/// \param body   checks this rank's arguments, and throws std::invalid_argument; returns the terms
/// \throws std::invalid_argument on all ranks
template <class Body>
std::vector<Term> agree(Communicator const& comm, char const* function, std::size_t count,
                        Body const& body) {
  std::string error;
  std::vector<Term> terms(count);
  try {
    terms = body();
  } catch (std::invalid_argument const& wrong) { error = wrong.what(); }
  int const rank = comm.rank(), size = comm.size();
  // The first rank with an error, and the extremes of each term.
  std::vector<std::int64_t> all{error.empty() ? 0 : size - rank};
  for (Term const& term : terms) {
    all.push_back(term.value);
    all.push_back(-term.value);
  }
  comm.reduce(all, MPI_MAX);
  if (all[0] > 0) {
    int const wrong = size - static_cast<int>(all[0]);
    throw std::invalid_argument("rank " + std::to_string(wrong) + ": " +
                                comm.text_of(wrong, error));
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::int64_t const most = all[1 + 2 * i], least = -all[2 + 2 * i];
    if (most != least)
      reject(function, std::string("the ranks differ in ") + terms[i].name + ", from " +
                           std::to_string(least) + " to " + std::to_string(most));
  }
  return terms;
}

}  // namespace ktopk::detail::mpi
