#include <tandem/simt/operations.hpp>
#include <cstring>
std::uint64_t tandem::simt::tandem_simt_ffma, tandem::simt::tandem_simt_dfma;
namespace tandem::simt {
void note_atomic(void const*, unsigned, void const*) {}
void note_fence() {}
void copy_async(void* to, void const* from, unsigned bytes, unsigned from_source) {
  std::memset(to, 0, bytes);
  std::memcpy(to, from, from_source);
}
void commit_async() {}
void wait_async(unsigned) {}
void fetch_texture(linear_texture_data const& t, std::int64_t i, unsigned bytes, void* to) {
  if (i >= 0 && static_cast<std::size_t>(i) < t.count) std::memcpy(to, static_cast<char const*>(t.data) + i * bytes, bytes);
  else std::memset(to, 0, bytes);
}
}
