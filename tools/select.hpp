// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/rank_request.hpp>
#include <ktopk/options.hpp>
#include <string>
#include <vector>

#include "amount.hpp"
#include "files/input.hpp"
#include "sink.hpp"

namespace ktopk::tools {

struct SelectRequest {
  std::vector<std::string> files;  ///< several are one row
  InputDescription input;
  Question question = Question::top_k;
  Amount k = Amount::number(0);   ///< of Question::top_k and kth
  std::vector<double> quantiles;  ///< of Question::quantiles
  Interpolation interpolation = Interpolation::linear;
  Options options;
  std::string backend;  ///< empty: the default one
  OutputDescription output;
};

/// Does what `ktopk select` promises. Throws Fault, or what the library throws, before anything is left behind.
void select(SelectRequest const& request);

}  // namespace ktopk::tools
