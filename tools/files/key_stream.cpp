// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/key_stream.hpp"

#include <string>
#include <utility>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

class BinaryKeys : public KeyStream {
 public:
  BinaryKeys(std::unique_ptr<ByteSource> bytes, KeyType type, std::int64_t expected)
      : m_bytes(std::move(bytes)), m_type(type), m_expected(expected) {}

  std::int64_t read(std::byte* target, std::int64_t count) override {
    auto const wanted = count * width(m_type);
    auto const came =
        static_cast<std::int64_t>(m_bytes->read({target, static_cast<std::size_t>(wanted)}));
    m_read += came;
    if (m_expected >= 0)
      check_expected(came < wanted);
    else if (came % width(m_type) != 0)
      throw Fault("gave " + std::to_string(m_read) +
                  " bytes, which are no whole number of keys of " + name(m_type));
    return came / width(m_type);
  }

 private:
  void check_expected(bool ended) {
    auto const promised = m_expected * width(m_type);
    if (ended && m_read < promised)
      throw Fault("should give " + std::to_string(promised) + " bytes of keys, but ended after " +
                  std::to_string(m_read));
    if (m_read == promised && !m_bytes->peek(1).empty())
      throw Fault("gives more than the " + std::to_string(promised) + " bytes of keys it should");
  }

  std::unique_ptr<ByteSource> m_bytes;
  KeyType m_type;
  std::int64_t m_expected;
  std::int64_t m_read = 0;
};

}  // namespace

std::unique_ptr<KeyStream> binary_keys(std::unique_ptr<ByteSource> bytes, KeyType type,
                                       std::int64_t expected) {
  return std::make_unique<BinaryKeys>(std::move(bytes), type, expected);
}

}  // namespace ktopk::tools
