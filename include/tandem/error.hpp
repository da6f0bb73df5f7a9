// What the library throws: one exception type with a code; its message carries the values.
#pragma once

#include <stdexcept>
#include <string>

namespace tandem {

enum class errc {
  null_data,          ///< a null pointer for a view that has elements
  negative_size,      ///< rows, cols or size below zero
  leading_dimension,  ///< ld smaller than a row (row_major) or a column (col_major)
  misaligned,         ///< data that is not at a multiple of the element size
  zero_stride,        ///< an output vector whose elements coincide
  size_mismatch,      ///< the operands' sizes do not fit each other
  overlap,            ///< the output shares an element with an input
  mixed_memory,       ///< host and device views in one call, or a backend that cannot reach the views' memory
  overflow,           ///< a view that spans more than 2^63 - 1 bytes
  unknown_kernel,     ///< no kernel has the name asked for, or it belongs to another backend
  unavailable,        ///< the backend or kernel is not there on this machine
  unsupported,        ///< the kernel declares that it does not take this problem
  out_of_memory,      ///< no workspace or device memory left
  device,             ///< a CUDA or cuBLAS call failed
};

/// Thrown at the public boundary. When an argument is wrong, nothing has been written.
class error : public std::runtime_error {
 public:
  error(errc code, std::string const& what) : std::runtime_error(what), code_(code) {}
  errc code() const noexcept { return code_; }

 private:
  errc code_;
};

}  // namespace tandem
