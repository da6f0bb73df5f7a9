// Kernels of the benchmark's own: normally distributed operands, and the passes of its check over them. Plain loops in
// double, which share nothing with the kernels that they judge. Built for the device, and by the tests for the
// executor.
#pragma once

#include <cmath>
#include <cstdint>

#include <tandem/kernel.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

constexpr int check_threads = 256;

/// A scrambled 64-bit number for each i (Steele, Lea, Flood: SplitMix64, OOPSLA 2014).
__device__ inline std::uint64_t scrambled(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Element i is normally distributed (Box and Muller), a function of seed + i: no period, no state.
template <class T>
__global__ void fill_normal(T* data, std::int64_t count, std::uint64_t seed) {
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t const bits = scrambled(seed + static_cast<std::uint64_t>(i));
    double const u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;  // in (0, 1)
    double const angle = 6.283185307179586 * static_cast<double>(bits & 0xffffffffu) * 0x1p-32;
    data[i] = static_cast<T>(sqrt(-2 * log(u)) * cos(angle));
  }
}

/// A block a line: sums[0][line] of w v, sums[1] of s |v|, sums[2] of v^2; the three arrays are `lines` apart.
template <class T>
__global__ void sums_along(T const* data, std::int64_t lines, std::int64_t length, std::int64_t ld, double const* w,
                           double const* s, double* sums) {
  __shared__ double parts[3][check_threads];  // (3, threads)
  for (std::int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    double sum = 0, size = 0, squares = 0;
    for (std::int64_t i = threadIdx.x; i < length; i += check_threads) {
      double const v = data[line * ld + i];
      sum += v * w[i];
      size += fabs(v) * s[i];
      squares += v * v;
    }
    parts[0][threadIdx.x] = sum, parts[1][threadIdx.x] = size, parts[2][threadIdx.x] = squares;
    __syncthreads();
    for (unsigned half = check_threads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        for (int what = 0; what < 3; ++what) parts[what][threadIdx.x] += parts[what][threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x < 3) sums[threadIdx.x * lines + line] = parts[threadIdx.x][0];
    __syncthreads();
  }
}

/// A thread a place in the lines, of as many lines as its block has in y; `sums`, `length` apart, are zero at first.
template <class T>
__global__ void sums_across(T const* data, std::int64_t lines, std::int64_t length, std::int64_t ld, double const* w,
                            double const* s, double* sums) {
  std::int64_t const place = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place >= length) return;
  double sum = 0, size = 0, squares = 0;
  for (std::int64_t line = blockIdx.y; line < lines; line += gridDim.y) {
    double const v = data[line * ld + place];
    sum += v * w[line];
    size += fabs(v) * s[line];
    squares += v * v;
  }
  atomicAdd(sums + place, sum);
  atomicAdd(sums + length + place, size);
  atomicAdd(sums + 2 * length + place, squares);
}

/// `check_space::first_apart` over m n elements; *found is its index, or what it was, which is larger than any.
template <class T>
__global__ void find_apart(T const* c, T const* first, T const* before, std::int64_t m, std::int64_t n, std::int64_t ld,
                           double factor, double beta, double const* rows, double const* columns,
                           unsigned long long* found) {
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < m * n; t += step) {
    std::int64_t const i = t / n, j = t % n, at = i * ld + j;
    double const old = before == nullptr ? 0 : fabs(beta * static_cast<double>(before[at]));
    double const bound = factor * (rows[i] * columns[j] + old);
    if (!(fabs(static_cast<double>(c[at]) - static_cast<double>(first[at])) <= bound))
      atomicMin(found, static_cast<unsigned long long>(at));
  }
}

/// `check_space::first_wrong`; u is the element type's unit roundoff.
template <class T>
__global__ void find_wrong(std::int64_t n, double alpha, double u, T const* x, T const* before, T const* y,
                           unsigned long long* found) {
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    double const product = alpha * static_cast<double>(x[i]), old = before[i];
    double const bound = 2 * u * (fabs(product) + fabs(old));
    if (!(fabs(static_cast<double>(y[i]) - (product + old)) <= bound))
      atomicMin(found, static_cast<unsigned long long>(i));
  }
}

/// Blocks for so many elements, a thread each, as long as a grid takes no more than these.
inline unsigned check_blocks(std::int64_t elements, std::int64_t most = 16384) {
  std::int64_t const blocks = (elements + check_threads - 1) / check_threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

template <class T>
void launch_fill(void* data, std::int64_t count, std::uint64_t seed) {
  launch(fill_normal<T>, dim3(check_blocks(count)), dim3(check_threads), 0, nullptr, static_cast<T*>(data), count,
         seed);
}

template <class T>
void launch_along(void const* data, std::int64_t lines, std::int64_t length, std::int64_t ld, double const* w,
                  double const* s, double* sums) {
  constexpr std::int64_t most = 65535;
  launch(sums_along<T>, dim3(static_cast<unsigned>(lines < most ? lines : most)), dim3(check_threads), 0, nullptr,
         static_cast<T const*>(data), lines, length, ld, w, s, sums);
}

template <class T>
void launch_across(void const* data, std::int64_t lines, std::int64_t length, std::int64_t ld, double const* w,
                   double const* s, double* sums) {
  // Enough blocks for a device, whatever the shape, of some 64 lines each.
  std::int64_t const shares = (lines + 63) / 64;
  launch(sums_across<T>, dim3(check_blocks(length, 1 << 30), static_cast<unsigned>(shares < 4096 ? shares : 4096)),
         dim3(check_threads), 0, nullptr, static_cast<T const*>(data), lines, length, ld, w, s, sums);
}

template <class T>
void launch_find_apart(void const* c, void const* first, void const* before, std::int64_t m, std::int64_t n,
                       std::int64_t ld, double factor, double beta, double const* rows, double const* columns,
                       unsigned long long* found) {
  launch(find_apart<T>, dim3(check_blocks(m * n)), dim3(check_threads), 0, nullptr, static_cast<T const*>(c),
         static_cast<T const*>(first), static_cast<T const*>(before), m, n, ld, factor, beta, rows, columns, found);
}

template <class T>
void launch_find_wrong(tandem::axpy_problem const& p, double u, void const* y, unsigned long long* found) {
  launch(find_wrong<T>, dim3(check_blocks(p.n)), dim3(check_threads), 0, nullptr, p.n, p.alpha, u,
         static_cast<T const*>(p.x), static_cast<T const*>(p.y), static_cast<T const*>(y), found);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
