// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backend.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ktopk/explain.hpp>
#include <ktopk/float16.hpp>
#include <ktopk/top_k.hpp>
#include <thread>
#include <type_traits>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

template <class T>
struct Tag {
  using type = T;
};

template <class... Execs>
struct Spaces {};

// void stands first so that every further line can begin with a comma.
using EnabledSpaces = Spaces<void
#ifdef KOKKOS_ENABLE_SERIAL
                             ,
                             Kokkos::Serial
#endif
#ifdef KOKKOS_ENABLE_OPENMP
                             ,
                             Kokkos::OpenMP
#endif
#ifdef KOKKOS_ENABLE_THREADS
                             ,
                             Kokkos::Threads
#endif
#ifdef KOKKOS_ENABLE_CUDA
                             ,
                             Kokkos::Cuda
#endif
#ifdef KOKKOS_ENABLE_HIP
                             ,
                             Kokkos::HIP
#endif
#ifdef KOKKOS_ENABLE_SYCL
                             ,
                             Kokkos::SYCL
#endif
                             >;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <class Visitor, class... Execs>
void for_each_space(Visitor const& visit, Spaces<void, Execs...>) {
  (visit(Tag<Execs>()), ...);
}

/// Calls visit with the tag of the execution space of that name.
template <class Visitor>
void on_backend(std::string const& backend, Visitor const& visit) {
  for_each_space(
      [&](auto space) {
        if (lower_case(decltype(space)::type::name()) == backend) visit(space);
      },
      EnabledSpaces());
}

template <class Visitor>
auto on_key_type(KeyType type, Visitor const& visit) {
  switch (type) {
    case KeyType::f16: return visit(Tag<float16>());
    case KeyType::bf16: return visit(Tag<bfloat16>());
    case KeyType::f32: return visit(Tag<float>());
    case KeyType::f64: return visit(Tag<double>());
    case KeyType::i8: return visit(Tag<std::int8_t>());
    case KeyType::i16: return visit(Tag<std::int16_t>());
    case KeyType::i32: return visit(Tag<std::int32_t>());
    case KeyType::i64: return visit(Tag<std::int64_t>());
    case KeyType::u8: return visit(Tag<std::uint8_t>());
    case KeyType::u16: return visit(Tag<std::uint16_t>());
    case KeyType::u32: return visit(Tag<std::uint32_t>());
    default: return visit(Tag<std::uint64_t>());
  }
}

template <class Exec>
constexpr bool on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;

template <class T, class Space>
Kokkos::View<T*, Space, Unmanaged> array_at(T* data, std::size_t size) {
  return Kokkos::View<T*, Space, Unmanaged>(data, size);
}

template <class T, class Space>
auto rows_at(void* data, std::int64_t rows, std::int64_t k) {
  return Kokkos::View<T**, Kokkos::LayoutRight, Space, Unmanaged>(static_cast<T*>(data), rows, k);
}

template <class T, class Space>
auto keys_at(Matrix const& keys, std::byte const* data) {
  auto const size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Kokkos::LayoutStride const layout(size(keys.rows), size(keys.row_stride), size(keys.n),
                                    size(keys.key_stride));
  return Kokkos::View<T const**, Kokkos::LayoutStride, Space, Unmanaged>(
      reinterpret_cast<T const*>(data), layout);
}

/// The same keys row after row without gaps, in a buffer.
Matrix packed(Matrix const& keys, std::vector<std::byte>& buffer, Reading const& reading) {
  buffer.resize(static_cast<std::size_t>(keys.rows * keys.n * width(keys.type)));
  gather(keys, buffer.data(), reading);
  Matrix result = keys;
  result.data = buffer.data();
  result.row_stride = keys.n;
  result.key_stride = 1;
  return result;
}

template <class Exec, class T>
class HostSelector : public BlockSelector {
 public:
  explicit HostSelector(Options const& options) : m_options(options) {}

  void select(Matrix const& block, std::int64_t k, Selected& selected,
              Reading const& reading) override {
    using Host = Kokkos::HostSpace;
    Matrix const keys = in_place_or_packed(block, reading);
    top_k(m_exec, keys_at<T, Host>(keys, keys.data),
          rows_at<T, Host>(selected.values.data(), keys.rows, k),
          rows_at<std::int64_t, Host>(selected.indices.data(), keys.rows, k), m_options);
    m_exec.fence("ktopk::tools::select");
  }

 private:
  Matrix in_place_or_packed(Matrix const& block, Reading const& reading) {
    if (!is_aligned(block)) return packed(block, m_buffer, reading);
    read_ahead(block, reading);
    return block;
  }

  Exec m_exec;
  Options m_options;
  std::vector<std::byte> m_buffer;
};

template <class Exec, class T>
class DeviceSelector : public BlockSelector {
 public:
  explicit DeviceSelector(Options const& options) : m_options(options) {}

  void select(Matrix const& block, std::int64_t k, Selected& selected,
              Reading const& reading) override {
    Matrix const keys = bring(block, reading);
    std::byte* const values = space_for(m_values, selected.values.size());
    std::byte* const indices = space_for(m_indices, selected.indices.size() * sizeof(std::int64_t));
    top_k(m_exec, keys_at<T, Space>(keys, m_keys.data()), rows_at<T, Space>(values, keys.rows, k),
          rows_at<std::int64_t, Space>(indices, keys.rows, k), m_options);
    fetch(selected.values.data(), values, selected.values.size());
    fetch(reinterpret_cast<std::byte*>(selected.indices.data()), indices,
          selected.indices.size() * sizeof(std::int64_t));
    m_exec.fence("ktopk::tools::select");
  }

 private:
  using Space = typename Exec::memory_space;
  using Buffer = Kokkos::View<std::byte*, Space>;

  static std::byte* space_for(Buffer& buffer, std::size_t bytes) {
    if (buffer.size() < bytes) {
      buffer = Buffer();
      buffer =
          Buffer(Kokkos::view_alloc(Kokkos::WithoutInitializing, "ktopk::tools::buffer"), bytes);
    }
    return buffer.data();
  }

  /// Copies the keys over, in pieces so that the progress can be seen.
  Matrix bring(Matrix const& block, Reading const& reading) {
    constexpr std::int64_t piece = std::int64_t{1} << 24;
    Matrix const keys =
        block.key_stride == 1 ? block : packed(block, m_packed, [](std::int64_t) {});
    auto const bytes = span_bytes(keys);
    std::byte* const target = space_for(m_keys, static_cast<std::size_t>(bytes));
    for (std::int64_t begin = 0; begin < bytes; begin += piece) {
      auto const size = static_cast<std::size_t>(std::min(piece, bytes - begin));
      Kokkos::deep_copy(m_exec, array_at<std::byte, Space>(target + begin, size),
                        array_at<std::byte const, Kokkos::HostSpace>(keys.data + begin, size));
      m_exec.fence("ktopk::tools::bring");
      reading(static_cast<std::int64_t>(size));
    }
    return keys;
  }

  void fetch(std::byte* target, std::byte* source, std::size_t bytes) {
    Kokkos::deep_copy(m_exec, array_at<std::byte, Kokkos::HostSpace>(target, bytes),
                      array_at<std::byte, Space>(source, bytes));
  }

  Exec m_exec;
  Options m_options;
  std::vector<std::byte> m_packed;
  Buffer m_keys, m_values, m_indices;
};

template <class Exec>
std::string describe() {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    auto const& device = Exec().cuda_device_prop();
    return std::string(device.name) + ", " + std::to_string(device.totalGlobalMem >> 30) +
           " GiB, compute capability " + std::to_string(device.major) + "." +
           std::to_string(device.minor);
  }
#endif
  auto const concurrency = Exec().concurrency();
  if constexpr (on_host<Exec>)
    return std::to_string(concurrency) + (concurrency == 1 ? " thread" : " threads");
  return "device " + std::to_string(Kokkos::device_id()) + " of " +
         std::to_string(Kokkos::num_devices());
}

void require_gpu() {
#ifdef KOKKOS_ENABLE_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw Fault("this build uses CUDA, but no GPU can be reached");
#endif
}

}  // namespace

KokkosSession::KokkosSession() {
  require_gpu();
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
#ifdef KOKKOS_ENABLE_THREADS
  // Where Kokkos has no hwloc, its Threads would be one.
  if (std::getenv("KOKKOS_NUM_THREADS") == nullptr)
    settings.set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
#endif
  Kokkos::initialize(settings);
}

KokkosSession::~KokkosSession() { Kokkos::finalize(); }

std::vector<std::string> backend_names() {
  std::vector<std::string> names{lower_case(Kokkos::DefaultExecutionSpace::name())};
  for_each_space(
      [&](auto space) {
        auto const name = lower_case(decltype(space)::type::name());
        if (name != names.front()) names.push_back(name);
      },
      EnabledSpaces());
  return names;
}

std::string known_backend(std::string const& name) {
  std::string names;
  for (std::string const& known : backend_names()) {
    if (known == name) return name;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw Fault("--backend: " + in_quotes(name) + " is not in this build, which has " + names);
}

std::string device_of(std::string const& backend) {
  std::string text;
  on_backend(backend, [&](auto space) { text = describe<typename decltype(space)::type>(); });
  return text;
}

std::string explain_on(std::string const& backend, Shape const& shape, Options const& options) {
  std::string text;
  on_backend(backend, [&](auto space) {
    text = to_string(explain(typename decltype(space)::type(), shape, options));
  });
  return text;
}

bool reads_host_memory(std::string const& backend) {
  bool result = false;
  on_backend(backend, [&](auto space) { result = on_host<typename decltype(space)::type>; });
  return result;
}

std::unique_ptr<BlockSelector> make_block_selector(std::string const& backend, KeyType type,
                                                   Options const& options) {
  std::unique_ptr<BlockSelector> selector;
  on_backend(backend, [&](auto space) {
    using Exec = typename decltype(space)::type;
    selector = on_key_type(type, [&](auto key) -> std::unique_ptr<BlockSelector> {
      using T = typename decltype(key)::type;
      using Selector =
          std::conditional_t<on_host<Exec>, HostSelector<Exec, T>, DeviceSelector<Exec, T>>;
      return std::make_unique<Selector>(options);
    });
  });
  return selector;
}

}  // namespace ktopk::tools
