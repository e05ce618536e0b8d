// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstdint>

// Switches for tests and benchmarks. They leave the portable implementations alone to serve, spoil the threshold of
// one_pass so that its proof fails and radix must serve, set the subranges of delegate and the size of radix's
// counters, and count the arrays that did not fit the workspace. They also set the calibration by which calls choose.

namespace ktopk::detail {

inline std::atomic<bool> portable_alone{false};

/// While it lives, no tuned implementation serves. Use a Plan or a workspace that was made meanwhile only meanwhile.
class ForcePortable {
 public:
  ForcePortable() { portable_alone = true; }
  ~ForcePortable() { portable_alone = false; }
  ForcePortable(ForcePortable const&) = delete;
  ForcePortable& operator=(ForcePortable const&) = delete;
};

enum class Threshold { sampled, too_high, too_low };

inline std::atomic<Threshold> forced_threshold{Threshold::sampled};

/// While it lives, every one_pass keeps nothing (`too_high`) or more than its capacity (`too_low`). Likewise radix on
/// CUDA begins with a bracket that holds nothing, or everything.
class ForceThreshold {
 public:
  explicit ForceThreshold(Threshold threshold) { forced_threshold = threshold; }
  ~ForceThreshold() { forced_threshold = Threshold::sampled; }
  ForceThreshold(ForceThreshold const&) = delete;
  ForceThreshold& operator=(ForceThreshold const&) = delete;
};

/// The most keys that are counted at a time; at least a line of 64.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 31;
inline std::atomic<std::int64_t> forced_most_counted{most_counted};

/// While it lives, radix adds up its counts after every so many keys, as if a counter held no more.
class ForceMostCounted {
 public:
  explicit ForceMostCounted(std::int64_t keys) { forced_most_counted = keys; }
  ~ForceMostCounted() { forced_most_counted = most_counted; }
  ForceMostCounted(ForceMostCounted const&) = delete;
  ForceMostCounted& operator=(ForceMostCounted const&) = delete;
};

/// How many arrays of a host's threads were allocated because the workspace had no space for them.
inline std::atomic<std::int64_t> arrays_beyond_workspace{0};

inline std::atomic<int> forced_alpha{0};

/// While it lives, the subranges of delegate have 2^alpha keys. k must be at most the number of delegates.
class ForceAlpha {
 public:
  explicit ForceAlpha(int alpha) { forced_alpha = alpha; }
  ~ForceAlpha() { forced_alpha = 0; }
  ForceAlpha(ForceAlpha const&) = delete;
  ForceAlpha& operator=(ForceAlpha const&) = delete;
};

/// The path in place of what KTOPK_CALIBRATION names; empty for none.
inline std::atomic<char const*> forced_calibration{nullptr};

/// While it lives, every choice reads this file, each time anew. The path must live as long.
class ForceCalibration {
 public:
  explicit ForceCalibration(char const* path) { forced_calibration = path; }
  ~ForceCalibration() { forced_calibration = nullptr; }
  ForceCalibration(ForceCalibration const&) = delete;
  ForceCalibration& operator=(ForceCalibration const&) = delete;
};

}  // namespace ktopk::detail
