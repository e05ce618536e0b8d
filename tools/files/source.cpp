// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/source.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

class MemorySource : public Source {
 public:
  MemorySource(std::shared_ptr<void const> owner, Matrix const& keys)
      : Source(keys), m_owner(std::move(owner)) {}

  Matrix next_rows(std::int64_t count, Reading const& reading) override {
    Matrix const rows = some_rows(m_layout, m_row, count);
    m_row += count;
    tools::read_ahead(rows, reading);
    return rows;
  }

  void leave_parts_unread() override { m_leaves_unread = true; }

  Matrix next_part(std::int64_t count, Reading const& reading) override {
    auto const size = std::min(count, m_layout.n - m_at);
    Matrix const part = some_keys(some_rows(m_layout, m_row, 1), m_at, size);
    m_at += size;
    if (size == 0) {
      ++m_row;
      m_at = 0;
    }
    if (m_leaves_unread)
      reading(span_bytes(part));
    else
      tools::read_ahead(part, reading);
    return part;
  }

 private:
  std::shared_ptr<void const> m_owner;
  bool m_leaves_unread = false;
  std::int64_t m_row = 0;
  std::int64_t m_at = 0;
};

class StreamSource : public Source {
 public:
  StreamSource(std::string name, std::unique_ptr<KeyStream> keys, Matrix const& layout)
      : Source(layout), m_name(std::move(name)), m_keys(std::move(keys)) {}

  Matrix next_rows(std::int64_t count, Reading const& reading) override {
    fill(count * m_layout.n, reading);
    return taken(count, m_layout.n);
  }

  Matrix next_part(std::int64_t count, Reading const& reading) override {
    auto const left = m_layout.n < 0 ? count : std::min(count, m_layout.n - m_at);
    fill(left, reading);
    m_at = m_ready == 0 ? 0 : m_at + m_ready;
    return taken(1, m_ready);
  }

  void read_ahead(std::int64_t count, Reading const& reading) override {
    if (m_layout.n >= 0) return;
    fill(count, reading);
    if (m_ready < count) m_layout.n = m_layout.row_stride = m_ready;
  }

 private:
  /// Reads until so many keys are ready, or no more come. What was read ahead is the first of them.
  void fill(std::int64_t count, Reading const& reading) {
    constexpr std::int64_t piece = std::int64_t{1} << 20;
    auto const w = width(m_layout.type);
    bool ended = false;
    while (m_ready < count && !ended) {
      auto const wanted = std::min(piece, count - m_ready);
      reserve((m_ready + wanted) * w, count * w);
      auto const came = read(m_buffer.data() + m_ready * w, wanted);
      m_ready += came;
      reading(came * w);
      ended = came < wanted;
    }
  }

  /// Memory grows with what comes, for a header may promise more than that.
  void reserve(std::int64_t bytes, std::int64_t most) {
    auto const size = static_cast<std::int64_t>(m_buffer.size());
    if (bytes > size)
      m_buffer.resize(static_cast<std::size_t>(std::min(std::max(bytes, 2 * size), most)));
  }

  std::int64_t read(std::byte* target, std::int64_t count) {
    try {
      return m_keys->read(target, count);
    } catch (Fault const& fault) {
      throw m_name.empty() ? fault : Fault(m_name + ": " + fault.what());
    }
  }

  Matrix taken(std::int64_t rows, std::int64_t n) {
    m_ready = 0;
    return {m_layout.type, m_buffer.data(), rows, n, n, 1, m_layout.rank};
  }

  std::string m_name;
  std::unique_ptr<KeyStream> m_keys;
  std::vector<std::byte> m_buffer;
  std::int64_t m_ready = 0;  // keys in the buffer
  std::int64_t m_at = 0;     // of the row, behind the last part
};

/// The keys of several sources as a stream.
class Chain : public KeyStream {
 public:
  explicit Chain(std::vector<std::unique_ptr<Source>> sources) : m_sources(std::move(sources)) {}

  std::int64_t read(std::byte* target, std::int64_t count) override {
    std::int64_t done = 0;
    while (done < count && m_current < m_sources.size()) {
      Matrix const part = m_sources[m_current]->next_part(count - done, [](std::int64_t) {});
      if (part.n == 0) ++m_current;
      gather(part, target + done * width(part.type));
      done += part.n;
    }
    return done;
  }

 private:
  std::vector<std::unique_ptr<Source>> m_sources;
  std::size_t m_current = 0;
};

std::int64_t total_n(std::vector<std::unique_ptr<Source>> const& sources) {
  std::int64_t total = 0;
  for (auto const& source : sources) {
    auto const n = source->layout().n;
    if (n < 0) return -1;
    if (__builtin_add_overflow(total, n, &total))
      throw Fault("the files have more keys together than can be addressed");
  }
  return total;
}

}  // namespace

std::unique_ptr<Source> memory_source(std::shared_ptr<void const> owner, Matrix const& keys) {
  return std::make_unique<MemorySource>(std::move(owner), keys);
}

std::unique_ptr<Source> stream_source(std::string name, std::unique_ptr<KeyStream> keys,
                                      Matrix const& layout) {
  return std::make_unique<StreamSource>(std::move(name), std::move(keys), layout);
}

std::unique_ptr<Source> concatenation(std::vector<std::unique_ptr<Source>> sources) {
  auto const n = total_n(sources);
  Matrix const layout{sources.front()->layout().type, nullptr, 1, n, n, 1, 1};
  return stream_source("", std::make_unique<Chain>(std::move(sources)), layout);
}

}  // namespace ktopk::tools
