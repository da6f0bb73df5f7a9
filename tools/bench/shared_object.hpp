// A library loaded at run time for the benchmark, and how its number of threads is set.
#pragma once

#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace tandem::bench {

/// A shared object loaded with RTLD_NOW | RTLD_LOCAL, so that its symbols cannot mix with another's. Never unloaded:
/// thread pools outlive their last call.
class shared_object {
 public:
  /// The first of the names that loads.
  explicit shared_object(std::initializer_list<std::string> names);

  bool loaded() const noexcept { return handle_ != nullptr; }
  std::string const& name() const noexcept { return name_; }    ///< the one that was loaded
  std::string const& error() const noexcept { return error_; }  ///< why the last one did not load

  /// The function of this name in the object or in what it links, nullptr when there is none.
  template <class F>
  F* find(char const* symbol) const {
    return reinterpret_cast<F*>(address(symbol));
  }
  /// The same; throws std::invalid_argument that names object and symbol.
  template <class F>
  F* get(std::string const& symbol) const {
    auto* const f = find<F>(symbol.c_str());
    if (f == nullptr) throw std::invalid_argument(name_ + " has no symbol '" + symbol + "'");
    return f;
  }

 private:
  void* address(char const* symbol) const;

  void* handle_ = nullptr;
  std::string name_, error_;
};

/// How to set the number of threads of the library's calls: by the first it has of openblas_set_num_threads,
/// MKL_Set_Num_Threads, bli_thread_set_num_threads and OpenMP's omp_set_num_threads. Unset: by none of them.
std::function<void(int)> thread_control(shared_object const& library);

}  // namespace tandem::bench
