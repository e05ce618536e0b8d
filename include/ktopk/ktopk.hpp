// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/config.hpp>
#include <ktopk/explain.hpp>
#include <ktopk/float16.hpp>
#include <ktopk/info.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>
#include <ktopk/plan.hpp>
#include <ktopk/problem.hpp>
#include <ktopk/top_k.hpp>
#include <ktopk/version.hpp>

#if defined(KTOPK_HEADER_ONLY)
#include <ktopk/impl/dispatch/header_only.hpp>
#endif
