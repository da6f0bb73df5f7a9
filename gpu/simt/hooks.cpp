// What instrumented kernels call: ThreadSanitizer's and the coverage sanitizer's entry points under names of our own
// (cmake/instrument.awk), so that no program that has the real ones meets these; and the operations of CUDA's words.
#include <cstring>

#include <tandem/simt/operations.hpp>

#include "gpu/simt/monitor.hpp"

namespace {

using tandem::simt::touch;
using tandem::simt::watching_here;

[[gnu::always_inline]] inline void access(void const* p, std::size_t bytes, touch how, void const* pc) {
  if (auto* const monitor = watching_here())
    monitor->access(reinterpret_cast<std::uintptr_t>(p), static_cast<unsigned>(bytes), how,
                    reinterpret_cast<std::uintptr_t>(pc));
}

// What the compiler merged or knows no alignment of: on a GPU these are several accesses.
void access_parts(void const* p, std::size_t bytes, touch how, void const* pc) {
  auto const* const first = static_cast<char const*>(p);
  for (std::size_t at = 0; at < bytes;) {
    bool const word = bytes - at >= 4 && reinterpret_cast<std::uintptr_t>(first + at) % 4 == 0;
    access(first + at, word ? 4 : 1, how, pc);
    at += word ? 4 : 1;
  }
}

}  // namespace

extern "C" {

std::uint64_t tandem_simt_ffma, tandem_simt_dfma;

void tandem_simt_init() {}
void tandem_simt_func_entry(void*) {}
void tandem_simt_func_exit() {}

void tandem_simt_block() {
  if (auto* const monitor = watching_here())
    monitor->enter_block(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

void tandem_simt_read1(void* p) { access(p, 1, touch::load, __builtin_return_address(0)); }
void tandem_simt_read2(void* p) { access(p, 2, touch::load, __builtin_return_address(0)); }
void tandem_simt_read4(void* p) { access(p, 4, touch::load, __builtin_return_address(0)); }
void tandem_simt_read8(void* p) { access(p, 8, touch::load, __builtin_return_address(0)); }
void tandem_simt_read16(void* p) { access(p, 16, touch::load, __builtin_return_address(0)); }
void tandem_simt_write1(void* p) { access(p, 1, touch::store, __builtin_return_address(0)); }
void tandem_simt_write2(void* p) { access(p, 2, touch::store, __builtin_return_address(0)); }
void tandem_simt_write4(void* p) { access(p, 4, touch::store, __builtin_return_address(0)); }
void tandem_simt_write8(void* p) { access(p, 8, touch::store, __builtin_return_address(0)); }
void tandem_simt_write16(void* p) { access(p, 16, touch::store, __builtin_return_address(0)); }
void tandem_simt_unaligned_read2(void* p) { access_parts(p, 2, touch::load, __builtin_return_address(0)); }
void tandem_simt_unaligned_read4(void* p) { access_parts(p, 4, touch::load, __builtin_return_address(0)); }
void tandem_simt_unaligned_read8(void* p) { access_parts(p, 8, touch::load, __builtin_return_address(0)); }
void tandem_simt_unaligned_read16(void* p) { access_parts(p, 16, touch::load, __builtin_return_address(0)); }
void tandem_simt_unaligned_write2(void* p) { access_parts(p, 2, touch::store, __builtin_return_address(0)); }
void tandem_simt_unaligned_write4(void* p) { access_parts(p, 4, touch::store, __builtin_return_address(0)); }
void tandem_simt_unaligned_write8(void* p) { access_parts(p, 8, touch::store, __builtin_return_address(0)); }
void tandem_simt_unaligned_write16(void* p) { access_parts(p, 16, touch::store, __builtin_return_address(0)); }
// Of an object with virtual functions.
void tandem_simt_vptr_read(void** p) { access(p, sizeof *p, touch::load, __builtin_return_address(0)); }
void tandem_simt_vptr_update(void** p, void*) { access(p, sizeof *p, touch::store, __builtin_return_address(0)); }

// A copy or fill that the compiler made one call of.
void* tandem_simt_memmove(void* to, void const* from, std::size_t bytes) {
  access_parts(from, bytes, touch::load, __builtin_return_address(0));
  access_parts(to, bytes, touch::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* tandem_simt_memcpy(void* to, void const* from, std::size_t bytes) {
  access_parts(from, bytes, touch::load, __builtin_return_address(0));
  access_parts(to, bytes, touch::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* tandem_simt_memset(void* to, int value, std::size_t bytes) {
  access_parts(to, bytes, touch::store, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

}  // extern "C"

namespace tandem::simt {

void note_atomic(void const* p, unsigned bytes, void const* pc) { access(p, bytes, touch::atomic, pc); }

void note_fence() {
  if (auto* const monitor = watching_here()) monitor->fence();
}

void copy_async(void* to, void const* from, unsigned bytes, unsigned from_source) {
  if (auto* const monitor = watching_here()) {
    monitor->copy_async(to, from, bytes, from_source, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
    return;
  }
  std::memset(to, 0, bytes);
  if (from_source != 0) std::memcpy(to, from, from_source);
}

void commit_async() {
  if (auto* const monitor = watching_here()) monitor->commit_async();
}

void wait_async(unsigned groups) {
  if (auto* const monitor = watching_here()) monitor->wait_async(groups);
}

void fetch_texture(linear_texture_data const& texture, std::int64_t i, unsigned bytes, void* to) {
  std::memset(to, 0, bytes);
  if (i < 0 || static_cast<std::size_t>(i) >= texture.count) return;
  auto const* const from = static_cast<char const*>(texture.data) + i * bytes;
  if (auto* const monitor = watching_here())
    monitor->fetch(from, bytes, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  std::memcpy(to, from, bytes);
}

}  // namespace tandem::simt
