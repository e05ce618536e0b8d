// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>

#include <cmath>
#include <cstdio>

#include <Kokkos_Core.hpp>

// Keys that lie nowhere: the largest gradients by magnitude, and the experts that biased scores prefer. No copy of the keys
// is written. Prints what the usual copy takes.

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Array = Kokkos::View<T*, Exec::memory_space>;

struct Magnitude {
  KOKKOS_FUNCTION float operator()(float gradient) const { return Kokkos::fabs(gradient); }
};

struct CopyMagnitudes {
  Array<float> gradients, magnitudes;
  KOKKOS_FUNCTION void operator()(int i) const { magnitudes(i) = Kokkos::fabs(gradients(i)); }
};

struct Biased {
  Kokkos::View<float**, Exec::memory_space> scores;
  Array<float> bias;
  KOKKOS_FUNCTION float operator()(std::int64_t token, std::int64_t expert) const {
    return scores(token, expert) + bias(expert);
  }
};

template <class Call>
double milliseconds(Call const& call) {
  call();
  Kokkos::fence();
  Kokkos::Timer const timer;
  for (int i = 0; i < 5; ++i) call();
  Kokkos::fence();
  return timer.seconds() * 1000 / 5;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;

  int const n = 1 << 22, k = n / 1000;
  Array<float> gradients("gradients", n), magnitudes("magnitudes", n), values("values", k);
  Array<int> positions("positions", k);
  Kokkos::parallel_for(
      "fill", n, KOKKOS_LAMBDA(int i) { gradients(i) = Kokkos::sin(0.37f * (i % 100003)); });
  auto const computed = [&] {
    ktopk::top_k(exec, ktopk::transform(gradients, Magnitude{}), values, positions);
  };
  auto const copied = [&] {
    Kokkos::parallel_for("copy", Kokkos::RangePolicy<Exec>(exec, 0, n),
                         CopyMagnitudes{gradients, magnitudes});
    ktopk::top_k(exec, magnitudes, values, positions);
  };
  double const copy_ms = milliseconds(copied), computed_ms = milliseconds(computed);
  std::printf("%d of %d gradients: copy and select %.2f ms, select %.2f ms\n", k, n, copy_ms,
              computed_ms);

  auto const host_positions = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), positions);

  int const tokens = 1000, experts = 256;
  Biased const biased{Kokkos::View<float**, Exec::memory_space>("scores", tokens, experts),
                      Array<float>("bias", experts)};
  Kokkos::View<int**, Exec::memory_space> chosen("chosen", tokens, 8);
  Kokkos::deep_copy(exec, Kokkos::subview(biased.bias, 200), 1.0f);
  ktopk::top_k(exec, ktopk::generate<float>(tokens, experts, biased), ktopk::nothing, chosen);
  auto const host_chosen = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), chosen);
  std::printf("largest gradient at %d; first expert of token 7: %d\n", host_positions(0),
              host_chosen(7, 0));
  return host_positions(0) < 100003 && host_chosen(7, 0) == 200 ? 0 : 1;
}
