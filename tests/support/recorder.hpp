// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Records Kokkos's actions during a Recorder's lifetime, as a profiling tool sees them.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ktopk::testing {

struct Event {
  enum class Kind { kernel, region, allocation, fence, copy } kind;
  std::string label;
  std::uint32_t
      device;  ///< of kernels and fences: Kokkos::Tools::Experimental::device_id of their instance
};

/// One at a time: the callbacks of Kokkos::Tools are global.
class Recorder {
 public:
  Recorder() {
    s_current = this;
    set(on_kernel, on_region, on_fence, on_allocation, on_copy);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(on_deallocation);
  }
  ~Recorder() {
    set(nullptr, nullptr, nullptr, nullptr, nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
    s_current = nullptr;
  }
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;

  std::vector<Event> all(Event::Kind kind) const {
    std::vector<Event> some;
    std::copy_if(m_events.begin(), m_events.end(), std::back_inserter(some),
                 [kind](Event const& event) { return event.kind == kind; });
    return some;
  }

  /// Whether a kernel, or a region of kernels that Kokkos does not see, has this in its label.
  bool ran(std::string_view part_of_label) const {
    return std::any_of(m_events.begin(), m_events.end(), [&](Event const& event) {
      bool const runs = event.kind == Event::Kind::kernel || event.kind == Event::Kind::region;
      return runs && event.label.find(part_of_label) != std::string::npos;
    });
  }

  /// Whether all memory that was allocated has been freed, too.
  bool frees_what_it_allocates() const { return m_allocated.empty(); }

 private:
  using Space = Kokkos::Tools::SpaceHandle;

  static void set(void (*kernel)(char const*, std::uint32_t, std::uint64_t*),
                  void (*region)(char const*),
                  void (*fence)(char const*, std::uint32_t, std::uint64_t*),
                  void (*allocation)(Space, char const*, void const*, std::uint64_t),
                  void (*copy)(Space, char const*, void const*, Space, char const*, void const*,
                               std::uint64_t)) {
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_begin_parallel_for_callback(kernel);
    tools::set_begin_parallel_reduce_callback(kernel);
    tools::set_begin_parallel_scan_callback(kernel);
    tools::set_push_region_callback(region);
    tools::set_begin_fence_callback(fence);
    tools::set_allocate_data_callback(allocation);
    tools::set_begin_deep_copy_callback(copy);
  }

  static void add(Event::Kind kind, char const* label, std::uint32_t device) {
    std::lock_guard const lock(s_current->m_mutex);
    s_current->m_events.push_back({kind, label, device});
  }
  static void on_kernel(char const* label, std::uint32_t device, std::uint64_t*) {
    add(Event::Kind::kernel, label, device);
  }
  static void on_region(char const* label) { add(Event::Kind::region, label, 0); }
  /// Kokkos fences around the callbacks themselves; these fences are not the call's.
  static void on_fence(char const* label, std::uint32_t device, std::uint64_t*) {
    if (std::string_view(label).find("invoke_kokkosp_callback") == std::string_view::npos)
      add(Event::Kind::fence, label, device);
  }
  /// Teams on CUDA request zero bytes at every launch.
  static void on_allocation(Space, char const* label, void const* data, std::uint64_t bytes) {
    if (bytes == 0) return;
    add(Event::Kind::allocation, label, 0);
    std::lock_guard const lock(s_current->m_mutex);
    s_current->m_allocated.push_back(data);
  }
  static void on_deallocation(Space, char const*, void const* data, std::uint64_t) {
    std::lock_guard const lock(s_current->m_mutex);
    std::erase(s_current->m_allocated, data);
  }
  static void on_copy(Space, char const* to, void const*, Space, char const* from, void const*,
                      std::uint64_t) {
    add(Event::Kind::copy, (std::string(from) + " -> " + to).c_str(), 0);
  }

  inline static Recorder* s_current = nullptr;
  std::mutex m_mutex;
  std::vector<Event> m_events;
  std::vector<void const*> m_allocated;
};

}  // namespace ktopk::testing
