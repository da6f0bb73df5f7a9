// What the benchmark measures: Tandem's calls and kernels, and its peers, each bound to a problem before it is timed.
#pragma once

#include <functional>
#include <string>

#include <tandem/kernel.hpp>

namespace tandem::bench {

/// A product with sizes, storage and scalars settled, called on operands: a, b, c.
using gemm_call = std::function<void(void const*, void const*, void*)>;
/// An axpy with its size and alpha settled, called on x and y.
using axpy_call = std::function<void(void const*, void*)>;

/// One thing that is measured. Its calls carry no more than its own interface asks for: what is bound beforehand is
/// what a program would know beforehand.
struct subject {
  std::string name = {};
  bool ours = false;         ///< Tandem's; what is not is a peer
  bool handle = false;       ///< the problem is resolved before the call, so that plain calls are not held against it
  bool device = false;       ///< takes operands in device memory
  bool copies = false;       ///< its axpy only copies x to y: no result to check, two thirds of the bytes
  bool threaded = true;      ///< obeys the number of threads
  std::string about = {};    ///< version, and the core type or instruction set that it chose
  std::string missing = {};  ///< why it is not there, with the package that brings it; empty when it is
  int only_threads = 0;      ///< the one number of threads that it can run on, where it cannot be told; 0: any

  /// Why it does not take this problem; unset or empty: it does.
  std::function<std::string(problem const&)> refuses = {};
  /// Sets the number of threads of calls from the calling thread. Unset: `bind` is told, or there is none.
  std::function<void(int)> set_threads = {};
  /// The problem's call on so many threads; unset: it has no product. Only the problem's sizes, storage and scalars
  /// are read.
  std::function<gemm_call(problem const&, int threads)> bind = {};
  /// The same for axpy.
  std::function<axpy_call(axpy_problem const&, int threads)> bind_axpy = {};

  memory where() const noexcept { return device ? memory::device : memory::host; }
};

}  // namespace tandem::bench
