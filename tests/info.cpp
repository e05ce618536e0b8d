// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "support/run.hpp"

namespace ktopk::testing {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("algorithms have names that lead back to them", "[info]") {
  for (int i = 0; i < 12; ++i)
    CHECK(algorithm_from_name(name(static_cast<Algorithm>(i))) == static_cast<Algorithm>(i));
  CHECK(std::string(name(Algorithm::one_pass)) == "one_pass");
  CHECK_FALSE(algorithm_from_name("fastest"));
  CHECK_FALSE(algorithm_from_name(""));
}

TEST_CASE("the implementations of this build", "[info]") {
  std::set<Algorithm> seen;
  for (auto const& info : algorithms()) {
    CHECK(std::string(info.name) == name(info.algorithm));
    CHECK(std::string(info.summary).size() > 10);
    CHECK(info.largest_k > 0);
    CHECK(info.algorithm != Algorithm::automatic);
    CHECK(seen.insert(info.algorithm).second);
  }
  CHECK(seen.size() == 11);
}

TEST_CASE("the backends are Kokkos's enabled spaces", "[info]") {
  std::istringstream devices(KTOPK_CONFIG_DEVICES);
  std::set<std::string> const configured{std::istream_iterator<std::string>(devices), {}};
  std::set<std::string> seen;
  for (std::string name : backends()) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    CHECK(seen.insert(name).second);
  }
  CHECK(seen == configured);
  for_each_space([&](auto const& exec) {
    auto const names = backends();
    CHECK(std::count(names.begin(), names.end(), exec.name()) == 1);
  });
}

TEST_CASE("version and configuration", "[info]") {
  std::string const number = version();
  CHECK(std::count(number.begin(), number.end(), '.') == 2);
  CHECK(number == std::to_string(KTOPK_VERSION / 10000) + "." +
                      std::to_string(KTOPK_VERSION / 100 % 100) + "." +
                      std::to_string(KTOPK_VERSION % 100));
  std::string const text = configuration();
  CHECK_THAT(text, ContainsSubstring("version: " + number));
  CHECK_THAT(text, ContainsSubstring("kokkos: "));
  CHECK((text.find("(hosts)") != std::string::npos) == (KTOPK_ENABLE_HOST_TUNED != 0));
  CHECK((text.find("(CUDA") != std::string::npos) == (KTOPK_ENABLE_CUDA_TUNED != 0));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_THAT(line, ContainsSubstring(": "));
}

TEST_CASE("a Plan never leaves the choice open", "[info]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (std::int64_t n : {1, 100, 100'000}) {
      Plan<Exec> const plan(exec, make_shape<float>(2, n, 1));
      CHECK(plan.algorithm() != Algorithm::automatic);
      CHECK(plan.workspace_bytes() >=
            workspace_bytes(exec, plan.shape(), {.algorithm = plan.algorithm()}));
      CHECK(plan.shape() == make_shape<float>(2, n, 1));
    }
    Plan<Exec> const sorting(exec, make_shape<float>(2, 100, 1), {.algorithm = Algorithm::sort});
    CHECK(sorting.algorithm() == Algorithm::sort);
    Plan<Exec> const refused(exec, make_shape<float>(2, 100, 1),
                             {.algorithm = Algorithm::one_pass});
    bool const serves = ktopk::detail::is_host_space<Exec> && serves_tuned(exec);
    CHECK(refused.algorithm() == (serves ? Algorithm::one_pass : Algorithm::radix));
  });
}

}  // namespace ktopk::testing
