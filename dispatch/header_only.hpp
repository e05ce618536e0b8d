// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All of the library for ktopk::header_only, which includes it as <ktopk/impl/dispatch/header_only.hpp>.

#include <ktopk/config.hpp>

#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/heap/heap.cpp"
#include "../backends/host/loops.cpp"
#include "../backends/host/one_pass/one_pass.cpp"
#include "../backends/host/radix/radix.cpp"
#include "../backends/host/ranks/ranks.cpp"
#endif
#include "../portable/bisection/bisection.cpp"
#include "../portable/bitonic/bitonic.cpp"
#include "../portable/bucket/bucket.cpp"
#include "../portable/delegate/delegate.cpp"
#include "../portable/delegate/two_stage.cpp"
#include "../portable/finish/arrange.cpp"
#include "../portable/heap/heap.cpp"
#include "../portable/one_pass/one_pass.cpp"
#include "../portable/queue/queue.cpp"
#include "../portable/quick/quick.cpp"
#include "../portable/radix/radix.cpp"
#include "../portable/ranks/held.cpp"
#include "../portable/ranks/ranks.cpp"
#include "../portable/sample/sample.cpp"
#include "../portable/sort/sort.cpp"
#include "calibration.cpp"
#include "checks.cpp"
#include "choose.cpp"
#include "cost_model.cpp"
#include "explain.cpp"
#include "find_ranks.cpp"
#include "find_reaching.cpp"
#include "info.cpp"
#include "magnitudes.cpp"
#include "select.cpp"
