// Results as bytes between two processes of one program: every bit comes back, NaN's and those of odd text included.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tandem/harness/check.hpp>

namespace tandem::harness {

/// Each `transfer` below writes with the one and reads with the other.
class byte_writer {
 public:
  void raw(void const* data, std::size_t size) { bytes_.append(static_cast<char const*>(data), size); }
  std::string const& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}
  void raw(void* data, std::size_t size) {
    std::memcpy(data, rest_.data(), size);
    rest_.remove_prefix(size);
  }

 private:
  std::string_view rest_;
};

template <class Archive, class T>
  requires std::is_trivially_copyable_v<T>
void transfer(Archive& bytes, T& value) { bytes.raw(&value, sizeof value); }

template <class Archive>
void transfer(Archive& bytes, std::string& text) {
  auto size = text.size();
  transfer(bytes, size);
  text.resize(size);
  bytes.raw(text.data(), size);
}

template <class Archive>
void transfer(Archive& bytes, tile_level& level) {
  auto& [name, m, n, k, memory, keeps_c] = level;
  transfer(bytes, name), transfer(bytes, m), transfer(bytes, n), transfer(bytes, k);
  transfer(bytes, memory), transfer(bytes, keeps_c);
}

template <class Archive, class T>
void transfer(Archive& bytes, std::vector<T>& all) {
  auto size = all.size();
  transfer(bytes, size);
  all.resize(size);
  for (auto& one : all) transfer(bytes, one);
}

/// All but the problem, which both processes have. Names each member, so that a new one is not forgotten here.
template <class Archive>
void transfer(Archive& bytes, result& r) {
  auto& [kernel, backend, memory, test, verdict, reason, method, rows_checked, wrong_elements, peers, worst, flops,
         seconds, plan] = r;
  static_cast<void>(test);
  transfer(bytes, kernel), transfer(bytes, backend), transfer(bytes, memory), transfer(bytes, verdict);
  transfer(bytes, reason), transfer(bytes, method), transfer(bytes, rows_checked), transfer(bytes, wrong_elements);
  transfer(bytes, peers), transfer(bytes, worst), transfer(bytes, flops), transfer(bytes, seconds);
  transfer(bytes, plan.levels);
}

}  // namespace tandem::harness
