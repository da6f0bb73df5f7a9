// dlopen, and the words by which libraries set their threads.
#include "tools/bench/shared_object.hpp"

#include <dlfcn.h>

#include <cstdint>

namespace tandem::bench {

shared_object::shared_object(std::initializer_list<std::string> names) {
  for (auto const& name : names) {
    name_ = name;
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    error_ = dlerror();
  }
}

void* shared_object::address(char const* symbol) const { return dlsym(handle_, symbol); }

std::function<void(int)> thread_control(shared_object const& library) {
  // BLIS's takes its own integer, 64 bits wide in Debian's build; a wider argument than asked for does no harm.
  for (auto const* symbol :
       {"openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads", "omp_set_num_threads"})
    if (auto* const set = library.find<void(std::int64_t)>(symbol); set != nullptr)
      return [set](int threads) { set(threads); };
  return {};
}

}  // namespace tandem::bench
