// The words of the interface: which backend, which layout, where a matrix lives, which element type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

struct CUstream_st;  // cudaStream_t, without a CUDA header

namespace tandem {

/// Where a product is computed. `automatic` takes the CPU for host views and the GPU for device views.
enum class backend { automatic, cpu, gpu, simt, oracle, eigen, openblas, cublas };

/// `row_major`: element (i, j) at data[i * ld + j]; `col_major`: at data[i + j * ld].
enum class layout { row_major, col_major };

/// Which memory a view's data pointer belongs to.
enum class memory { host, device };

/// Element types that problems can name; `gemm` computes in f32 and f64.
enum class dtype { f32, f64, f16, bf16 };

/// What a kernel computes: C = alpha A B + beta C, or y = alpha x + y.
enum class operation { gemm, axpy };

std::string_view to_string(backend) noexcept;
std::string_view to_string(layout) noexcept;
std::string_view to_string(memory) noexcept;
std::string_view to_string(dtype) noexcept;
std::string_view to_string(operation) noexcept;

/// Bytes of one element.
constexpr std::size_t size_of(dtype type) noexcept { return type == dtype::f64 ? 8 : type == dtype::f32 ? 4 : 2; }

template <class T>
concept element = std::same_as<T, float> || std::same_as<T, double>;

template <element T>
inline constexpr dtype dtype_of = std::same_as<T, float> ? dtype::f32 : dtype::f64;

}  // namespace tandem
