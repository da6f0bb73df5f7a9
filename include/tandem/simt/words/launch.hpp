// How a kernel starts.
#pragma once

#include <cstddef>
#include <type_traits>

#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

#ifdef TANDEM_SIMT_INSTRUMENTED
// Where the linker put this program's `__shared__` arrays, and the list of them (cmake/instrument.awk makes it).
extern "C" {
extern char const __start_tandem_shared[] __attribute__((weak, visibility("hidden")));
extern char const __stop_tandem_shared[] __attribute__((weak, visibility("hidden")));
extern simt::shared_array const __start_tandem_arrays[] __attribute__((weak, visibility("hidden")));
extern simt::shared_array const __stop_tandem_arrays[] __attribute__((weak, visibility("hidden")));
}
__attribute__((no_sanitize("thread"))) inline simt::shared_image const* image() {
  static simt::shared_image const all{__start_tandem_shared, __stop_tandem_shared, __start_tandem_arrays,
                                      __stop_tandem_arrays};
  return &all;
}
#else
inline simt::shared_image const* image() { return nullptr; }
#endif

/// Runs a kernel; finished on return. The stream orders nothing here.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st*,
            typename std::type_identity<P>::type... arguments) {
  // By value: a session knows the arguments by where this object lies.
  auto const thread = [=]() TANDEM_SIMT_OPERATION { kernel(arguments...); };
  simt::kernel_launch const all{.kernel = reinterpret_cast<void const*>(kernel),
                                .body = [](void const* body) { (*static_cast<decltype(thread)*>(body))(); },
                                .arguments = &thread,
                                .argument_bytes = sizeof thread,
                                .grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .dynamic_bytes = dynamic_bytes,
                                .image = image()};
  simt::run_grid(all);
}

/// On a device kernels so launched may begin while the one before them ends, or go on beside it. Here kernels run one
/// after the other.
template <class... P>
void launch_after(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
                  typename std::type_identity<P>::type... arguments) {
  launch(kernel, grid, block, dynamic_bytes, stream, arguments...);
}
template <class... P>
void launch_beside(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
                   typename std::type_identity<P>::type... arguments) {
  launch(kernel, grid, block, dynamic_bytes, stream, arguments...);
}
inline void wait_for_kernel_before() {}
inline void let_next_kernel_start() {}

}  // namespace TANDEM_KERNEL_NAMESPACE
