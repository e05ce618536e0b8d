// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All of the library for ktopk::header_only, which includes it as <ktopk/impl/src/header_only.hpp>.

#include <ktopk/config.hpp>

#include "../backends/host/loops.cpp"
#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/heap.cpp"
#include "../backends/host/one_pass.cpp"
#include "../backends/host/radix.cpp"
#endif
#include "algorithms/bisection.cpp"
#include "algorithms/bitonic.cpp"
#include "algorithms/bucket.cpp"
#include "algorithms/delegate.cpp"
#include "algorithms/heap.cpp"
#include "algorithms/one_pass.cpp"
#include "algorithms/queue.cpp"
#include "algorithms/quick.cpp"
#include "algorithms/radix.cpp"
#include "algorithms/sample.cpp"
#include "algorithms/sort.cpp"
#include "arrange.cpp"
#include "calibration.cpp"
#include "checks.cpp"
#include "choose.cpp"
#include "cost_model.cpp"
#include "explain.cpp"
#include "info.cpp"
#include "select.cpp"
