// One kernel for each feature of the kernels' language: the file is compiled by nvcc and by the host's compiler as it
// stands, and both must give the same.
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "tests/kernels/feature.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

using tests::feature_data;
using tests::feature_elements;

constexpr unsigned all_lanes = 0xffffffffu;

__device__ __forceinline__ int thread_in_block() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane() { return thread_in_block() % 32; }
__device__ __forceinline__ int thread_in_grid() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// Shared memory.

// out = in, reversed, by way of an array that is larger than a launch gets without asking.
__global__ void reverse_in_dynamic_shared(float const* in, float* out) {
  float* const copy = dynamic_shared<float>();  // (2 feature_elements)
  for (int i = thread_in_block(); i < feature_elements; i += static_cast<int>(blockDim.x)) copy[2 * i + 1] = in[i];
  __syncthreads();
  for (int i = thread_in_block(); i < feature_elements; i += static_cast<int>(blockDim.x))
    out[i] = copy[2 * (feature_elements - 1 - i) + 1];
}

template <class T, int edge>
__global__ void __launch_bounds__(edge* edge)
    transpose_in_static_shared(T const* __restrict__ in, T* __restrict__ out) {
  __shared__ T tile[edge][edge + 1];  // (edge, edge), padded
  int const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const first = static_cast<int>(blockIdx.x) * edge * edge;
  tile[y][x] = in[first + y * edge + x];
  __syncthreads();
  out[first + y * edge + x] = tile[x][y];
}

__global__ void use_both_shared(float const* f, double const* d, double* out) {
  __shared__ float left[128];
  double* const right = dynamic_shared<double>();  // (128)
  int const t = thread_in_block();
  left[t] = f[t];
  right[t] = d[t];
  __syncthreads();
  out[t] = left[127 - t] + right[(t + 1) % 128];
}

// The two kernels of one program: their arrays have one name and nothing else in common.
__global__ void sum_of_first(int const* in, int* out) {
  __shared__ int kept[64];
  kept[thread_in_block()] = in[thread_in_block()];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += kept[i];
  out[thread_in_block()] = sum;
}
__global__ void neighbour_in_second(double const* in, double* out) {
  __shared__ double kept[96];
  kept[thread_in_block()] = in[thread_in_block()];
  __syncthreads();
  out[thread_in_block()] = kept[(thread_in_block() + 1) % 96];
}

// Vectors: from global to shared memory, within it, and back.
template <class Vector>
__global__ void copy_vectors(Vector const* in, Vector* out) {
  __shared__ Vector first[64], second[64];
  int const t = thread_in_block();
  first[t] = __ldg(in + thread_in_grid());
  __syncthreads();
  second[63 - t] = first[t];
  __syncthreads();
  Vector v = second[t];
  auto const x = v.x;
  v.x = v.y;
  v.y = x;
  out[thread_in_grid()] = v;
}

// Warps.

// out[kind][thread]
template <class T, int width>
__global__ void shuffle_all_kinds(T const* in, T* out) {
  int const t = thread_in_block(), threads = static_cast<int>(blockDim.x);
  T const mine = in[t];
  out[t] = __shfl_sync(all_lanes, mine, t * 5 + 3, width);
  out[threads + t] = __shfl_up_sync(all_lanes, mine, 3, width);
  out[2 * threads + t] = __shfl_down_sync(all_lanes, mine, 3, width);
  out[3 * threads + t] = __shfl_xor_sync(all_lanes, mine, 5, width);
}

template <class T>
__global__ void sum_of_warp(T const* in, T* out) {
  T sum = in[thread_in_grid()];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
  out[thread_in_grid()] = sum;
}

// Each lane hands a value on to the next, with nothing but the warp's own barrier.
__global__ void pass_round_warp(int const* in, int* out) {
  __shared__ int values[64];
  int const t = thread_in_block(), warp = t / 32 * 32;
  values[t] = in[t];
  __syncwarp();
  for (int round = 0; round < 5; ++round) {
    int const next = values[warp + (lane() + 1) % 32];
    __syncwarp();
    values[t] = next * 3 + round;
    __syncwarp();
  }
  out[t] = values[t];
}

// The two parts of a warp are on their own ways.
__global__ void split_warp(int const* in, int* out) {
  constexpr unsigned low = 0xfffu;
  int value = in[thread_in_block()];
  if (lane() < 12) {
    for (int step = 1; step <= 4; ++step) value += __shfl_sync(low, value, (lane() + step) % 12);
    __syncwarp(low);
  } else {
    value = static_cast<int>(__ballot_sync(~low, value % 2 == 0));
    value += __shfl_sync(~low, lane(), 31);
  }
  out[thread_in_block()] = value;
}

// out[kind][thread]
__global__ void vote(int const* in, int* out) {
  int const t = thread_in_block(), threads = static_cast<int>(blockDim.x), value = in[t];
  out[t] = static_cast<int>(__ballot_sync(all_lanes, value > 0));
  out[threads + t] = __any_sync(all_lanes, value == in[5] && t < 32);
  out[2 * threads + t] = __all_sync(all_lanes, value < 100 || t >= 32);
}

// Odd threads leave before the others meet, and the last warp is not full.
__global__ void exit_early(int const* in, int* out) {
  constexpr unsigned even = 0x55555555u;
  int const t = thread_in_block(), threads = static_cast<int>(blockDim.x);
  unsigned const started = threads - t / 32 * 32 < 32 ? (1u << threads % 32) - 1 : all_lanes;
  if (t % 2 != 0) return;
  int value = in[t];
  value += __shfl_xor_sync(even & started, value, 2);
  out[t] = value + static_cast<int>(__ballot_sync(even & started, in[t] > 0));
}

// Atomic operations, whose results do not depend on the order: out[0, 16) counts in[] by value, [16, 32) the same of
// the grid, then further results.
__global__ void atomics(int const* in, int* out) {
  __shared__ int count[16];
  __shared__ float sum;
  int const t = thread_in_block(), value = in[thread_in_grid()];
  if (t < 16) count[t] = 0;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&count[value & 15], 1);
  atomicAdd(&sum, static_cast<float>(value));
  atomicAdd(&out[16 + (value & 15)], 1);
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], count[t]);
  if (t == 0) atomicAdd(reinterpret_cast<float*>(out + 32), sum);
  atomicMax(&out[33], value);
  atomicMin(&out[34], value);
  atomicSub(&out[35], value);
  atomicInc(reinterpret_cast<unsigned*>(out + 36), 6);
  for (int old = atomicAdd(&out[37], 0), seen;; old = seen)  // a sum by compare-and-swap
    if ((seen = atomicCAS(&out[37], old, old + value)) == old) break;
  if (thread_in_grid() == 0) out[75] = atomicCAS(&out[74], 1, value);  // out[74] is 0 and stays so
  if (thread_in_grid() < 32) atomicAdd(&out[38], atomicExch(&out[39 + t], value) + 1);
  atomicAdd(reinterpret_cast<double*>(out + 80), static_cast<double>(value) / 4);
}

// cp.async: each thread copies its own elements of `bytes`, three tiles ahead, and its neighbour's after the wait. Of
// element e only the first e % (words + 1) words come from the source, and zeros follow.
template <int bytes>
__global__ void copy_ahead(float const* in, float* out, int tile_count) {
  constexpr int words = bytes / 4, stages = 4, threads = 64;
  __shared__ __align__(16) float smem[stages][threads * words];  // (stages, threads * words)
  int const t = thread_in_block();
  auto const start = [&](int tile) {
    int const element = tile * threads + t;
    if (tile < tile_count)
      copy_async<bytes>(&smem[tile % stages][t * words], in + element * words, 4 * (element % (words + 1)));
    commit_async();
  };
  for (int tile = 0; tile < stages - 1; ++tile) start(tile);
  for (int tile = 0; tile < tile_count; ++tile) {
    wait_async<stages - 2>();
    __syncthreads();
    start(tile + stages - 1);
    for (int w = 0; w < words; ++w)
      out[(tile * threads + t) * words + w] = smem[tile % stages][(t + 1) % threads * words + w];
  }
  wait_async<0>();
}

// Textures: out[t] is element t - 40 of 100, so that both sides outside are asked for.
template <class T>
__global__ void fetch(cudaTextureObject_t texture, T* out) {
  out[thread_in_block()] = fetch_element<T>(texture, thread_in_block() - 40);
}

template <class T>
void start_fetch(T const* in, void* out, CUstream_st* stream) {
  linear_texture<T> const texture(in, 100, stream);
  launch(fetch<T>, 1, 160, 0, stream, texture.object(), static_cast<T*>(out));
}

// Arithmetic.

__constant__ float weights[4] = {0.5f, -2, 3, 0.125f};

template <int count, class T>
__global__ void polynomial(T const* in, T* out) {
  static_assert(count <= 4, "there are 4 weights");
  T const x = in[thread_in_grid()];
  T sum = 0;
  for (int i = 0; i < count; ++i) sum = fma(sum, x, static_cast<T>(weights[i]));
  out[thread_in_grid()] = sum;
}

// out[kind][thread]
__global__ void bits_and_bounds(int const* i, float const* f, double const* d, int* out) {
  int const t = thread_in_grid(), n = static_cast<int>(gridDim.x * blockDim.x);
  assert(t < n);
  auto const bits = static_cast<unsigned>(i[t]) * 2654435761u >> t % 32;
  out[t] = __popc(bits);
  out[n + t] = __clz(static_cast<int>(bits));
  out[2 * n + t] = __ffs(static_cast<int>(bits));
  out[3 * n + t] = min(max(i[t], -3), 5);
  out[4 * n + t] = __float_as_int(fminf(max(f[t], -0.5f), min(0.5f, f[t + n])));
  out[5 * n + t] = __float_as_int(__int_as_float(__float_as_int(f[t]) ^ 1));
  out[6 * n + t] = __double2hiint(d[t]) ^ __double2loint(d[t]);
  out[7 * n + t] = __float_as_int(static_cast<float>(max(__hiloint2double(__double2hiint(d[t]), 0), abs(d[t + n]))));
}

// Of floats, halfway between two values of a shorter fraction, and beside that.
__constant__ unsigned fractions[8] = {0, 0x1000, 0x1001, 0x3000, 0x8000, 0x18000, 0x400fff, 0x7fffff};

// Floats of all exponents, as half, as bfloat16, back, and as tf32. out[kind][thread]
__global__ void convert(int* out) {
  int const t = thread_in_grid(), n = static_cast<int>(gridDim.x * blockDim.x);
  unsigned const exponent = t % 256, sign = t / 5 % 2;
  float const x = __uint_as_float(sign << 31 | exponent << 23 | fractions[t / 256]);
  half const h = __float2half(x);
  __nv_bfloat16 const b = __float2bfloat16(x);
  float const back = __half2float(h), back_b = __bfloat162float(b), tf = wmma::__float_to_tf32(x);
  out[t] = __half_as_ushort(h);
  out[n + t] = __bfloat16_as_ushort(b);
  out[2 * n + t] = back != back ? -1 : __float_as_int(back);
  out[3 * n + t] = back_b != back_b ? -1 : __float_as_int(back_b);
  out[4 * n + t] = tf != tf ? -1 : __float_as_int(tf);
  out[5 * n + t] = __half_as_ushort(h * h);
  out[6 * n + t] = __half_as_ushort(h + __float2half(1.0f));
}

// wmma: D = A B + 2 C of m x n, two steps of k deep; one warp.

template <class Stored>
__device__ __forceinline__ Stored element_of(float x) {
  return static_cast<Stored>(x);
}
template <>
__device__ __forceinline__ half element_of<half>(float x) {
  return __float2half(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 element_of<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

template <class Fragment>
__device__ __forceinline__ void round_to_tf32(Fragment& f) {
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = wmma::__float_to_tf32(f.x[i]);
}

template <class T, class Sum, int m, int n, int k, bool a_in_rows, bool b_in_rows, bool c_in_rows>
__global__ void multiply(float const* in, double* out) {
  constexpr int depth = 2 * k;
  using layout_a = std::conditional_t<a_in_rows, wmma::row_major, wmma::col_major>;
  using layout_b = std::conditional_t<b_in_rows, wmma::row_major, wmma::col_major>;
  wmma::fragment<wmma::matrix_a, m, n, k, T, layout_a> a;
  wmma::fragment<wmma::matrix_b, m, n, k, T, layout_b> b;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> c, d;
  using stored = typename decltype(a)::storage_element_type;
  constexpr int lda = a_in_rows ? depth : m, ldb = b_in_rows ? n : depth, ldc = c_in_rows ? n : m;
  constexpr auto layout_c = c_in_rows ? wmma::mem_row_major : wmma::mem_col_major;
  __shared__ __align__(32) stored smem_a[m * depth];  // (m, depth) in rows or (depth, m)
  __shared__ __align__(32) stored smem_b[depth * n];  // (depth, n) in rows or (n, depth)
  __shared__ __align__(32) Sum smem_c[m * n];         // (m, n) in rows or (n, m)
  for (int i = lane(); i < m * depth; i += 32) smem_a[i] = element_of<stored>(in[i]);
  for (int i = lane(); i < depth * n; i += 32) smem_b[i] = element_of<stored>(in[1024 + i]);
  for (int i = lane(); i < m * n; i += 32) smem_c[i] = element_of<Sum>(in[2048 + i]);
  __syncwarp();
  wmma::fill_fragment(d, element_of<Sum>(0));
  wmma::load_matrix_sync(c, smem_c, ldc, layout_c);
  for (int i = 0; i < c.num_elements; ++i) d.x[i] = d.x[i] + c.x[i] + c.x[i];
  for (int p = 0; p < depth; p += k) {
    wmma::load_matrix_sync(a, smem_a + (a_in_rows ? p : p * lda), lda);
    wmma::load_matrix_sync(b, smem_b + (b_in_rows ? p * ldb : p), ldb);
    if constexpr (std::is_same_v<T, wmma::precision::tf32>) {
      round_to_tf32(a);
      round_to_tf32(b);
    }
    wmma::mma_sync(d, a, b, d);
  }
  __syncwarp();
  wmma::store_matrix_sync(smem_c, d, ldc, layout_c);
  __syncwarp();
  for (int i = lane(); i < m * n; i += 32) out[i] = static_cast<double>(static_cast<float>(smem_c[i]));
  if constexpr (std::is_same_v<Sum, double>)
    for (int i = lane(); i < m * n; i += 32) out[i] = smem_c[i];
}

template <class T, class Sum, int m, int n, int k, bool a_in_rows, bool b_in_rows, bool c_in_rows>
void start_multiply(feature_data const& data, CUstream_st* stream) {
  launch(multiply<T, Sum, m, n, k, a_in_rows, b_in_rows, c_in_rows>, 1, 32, 0, stream, data.f,
         static_cast<double*>(data.out));
}

template <class T>
T* out_as(feature_data const& data) {
  return static_cast<T*>(data.out);
}
template <class Vector, class T>
Vector const* as(T const* in) {
  return reinterpret_cast<Vector const*>(in);
}

// The sums stay below 16, where a unit in the last place is 8 times that of 1. Of the 34 terms the hardware may cut
// each there; sums of half it rounds after each product of matrices, or half of one.
constexpr double float_tolerance = 34 * 8 * 1.2e-7, half_tolerance = 4 * 8 * 9.8e-4,
                 double_tolerance = 34 * 8 * 2.3e-16;

using precision_tf32 = wmma::precision::tf32;
using feature_stream = CUstream_st*;

// clang-format off
inline constexpr tests::feature features[] = {
    {"dynamic shared memory", [](feature_data const& x, feature_stream s) { launch(reverse_in_dynamic_shared, 1, 256, 2 * feature_elements * sizeof(float), s, x.f, out_as<float>(x)); }},
    {"static shared memory", [](feature_data const& x, feature_stream s) { launch(transpose_in_static_shared<float, 16>, 32, dim3(16, 16), 0, s, x.f, out_as<float>(x)); }},
    {"static shared memory, double", [](feature_data const& x, feature_stream s) { launch(transpose_in_static_shared<double, 8>, 128, dim3(8, 8), 0, s, x.d, out_as<double>(x)); }},
    {"static and dynamic shared memory", [](feature_data const& x, feature_stream s) { launch(use_both_shared, 1, 128, 128 * sizeof(double), s, x.f, x.d, out_as<double>(x)); }},
    {"two kernels", [](feature_data const& x, feature_stream s) {
       launch(sum_of_first, 1, 64, 0, s, x.i, out_as<int>(x));
       launch(neighbour_in_second, 1, 96, 0, s, x.d, out_as<double>(x) + 64);
     }},
    {"float2", [](feature_data const& x, feature_stream s) { launch(copy_vectors<float2>, 64, 64, 0, s, as<float2>(x.f), out_as<float2>(x)); }},
    {"float4", [](feature_data const& x, feature_stream s) { launch(copy_vectors<float4>, 32, 64, 0, s, as<float4>(x.f), out_as<float4>(x)); }},
    {"double2", [](feature_data const& x, feature_stream s) { launch(copy_vectors<double2>, 64, 64, 0, s, as<double2>(x.d), out_as<double2>(x)); }},
    {"int4", [](feature_data const& x, feature_stream s) { launch(copy_vectors<int4>, 32, 64, 0, s, as<int4>(x.i), out_as<int4>(x)); }},
    {"shuffles", [](feature_data const& x, feature_stream s) { launch(shuffle_all_kinds<int, 32>, 1, 96, 0, s, x.i, out_as<int>(x)); }},
    {"shuffles, width 16", [](feature_data const& x, feature_stream s) { launch(shuffle_all_kinds<float, 16>, 1, 96, 0, s, x.f, out_as<float>(x)); }},
    {"shuffles, width 8", [](feature_data const& x, feature_stream s) { launch(shuffle_all_kinds<double, 8>, 1, 96, 0, s, x.d, out_as<double>(x)); }},
    {"warp sum, float", [](feature_data const& x, feature_stream s) { launch(sum_of_warp<float>, 4, 96, 0, s, x.f, out_as<float>(x)); }},
    {"warp sum, double", [](feature_data const& x, feature_stream s) { launch(sum_of_warp<double>, 4, 96, 0, s, x.d, out_as<double>(x)); }},
    {"__syncwarp", [](feature_data const& x, feature_stream s) { launch(pass_round_warp, 1, 64, 0, s, x.i, out_as<int>(x)); }},
    {"partial masks", [](feature_data const& x, feature_stream s) { launch(split_warp, 1, 64, 0, s, x.i, out_as<int>(x)); }},
    {"votes", [](feature_data const& x, feature_stream s) { launch(vote, 1, 64, 0, s, x.i, out_as<int>(x)); }},
    {"early exit", [](feature_data const& x, feature_stream s) { launch(exit_early, 1, 88, 0, s, x.i, out_as<int>(x)); }},
    {"atomics", [](feature_data const& x, feature_stream s) { launch(atomics, 5, 96, 0, s, x.i, out_as<int>(x)); }},
    {"cp.async, 4 bytes", [](feature_data const& x, feature_stream s) { launch(copy_ahead<4>, 1, 64, 0, s, x.f, out_as<float>(x), 7); }},
    {"cp.async, 8 bytes", [](feature_data const& x, feature_stream s) { launch(copy_ahead<8>, 1, 64, 0, s, x.f, out_as<float>(x), 7); }},
    {"cp.async, 16 bytes", [](feature_data const& x, feature_stream s) { launch(copy_ahead<16>, 1, 64, 0, s, x.f, out_as<float>(x), 7); }},
    {"texture, float", [](feature_data const& x, feature_stream s) { start_fetch<float>(x.f, x.out, s); }},
    {"texture, float4", [](feature_data const& x, feature_stream s) { start_fetch(as<float4>(x.f), x.out, s); }},
    {"texture, int2", [](feature_data const& x, feature_stream s) { start_fetch(as<int2>(x.i), x.out, s); }},
    {"texture, double", [](feature_data const& x, feature_stream s) { start_fetch<double>(x.d, x.out, s); }},
    {"templates and constants", [](feature_data const& x, feature_stream s) {
       launch(polynomial<4, float>, 2, 128, 0, s, x.f, out_as<float>(x));
       launch(polynomial<3, double>, 2, 128, 0, s, x.d, out_as<double>(x) + 256);
     }},
    {"bits and bounds", [](feature_data const& x, feature_stream s) { launch(bits_and_bounds, 2, 128, 0, s, x.i, x.f, x.d, out_as<int>(x)); }},
    {"conversions", [](feature_data const& x, feature_stream s) { launch(convert, 16, 128, 0, s, out_as<int>(x)); }},
    {"wmma half 16x16x16", start_multiply<half, float, 16, 16, 16, true, false, true>, float_tolerance},
    {"wmma half 16x16x16, sums of half", start_multiply<half, half, 16, 16, 16, false, true, false>, half_tolerance},
    {"wmma half 32x8x16", start_multiply<half, float, 32, 8, 16, true, true, false>, float_tolerance},
    {"wmma half 8x32x16, sums of half", start_multiply<half, half, 8, 32, 16, false, false, true>, half_tolerance},
    {"wmma bfloat16 16x16x16", start_multiply<__nv_bfloat16, float, 16, 16, 16, true, true, true>, float_tolerance},
    {"wmma bfloat16 32x8x16", start_multiply<__nv_bfloat16, float, 32, 8, 16, false, true, false>, float_tolerance},
    {"wmma bfloat16 8x32x16", start_multiply<__nv_bfloat16, float, 8, 32, 16, true, false, true>, float_tolerance},
    {"wmma tf32 16x16x8", start_multiply<precision_tf32, float, 16, 16, 8, true, false, true>, float_tolerance},
    {"wmma tf32 16x16x8, the other layouts", start_multiply<precision_tf32, float, 16, 16, 8, false, true, false>, float_tolerance},
    {"wmma double 8x8x4", start_multiply<double, double, 8, 8, 4, true, false, true>, double_tolerance},
    {"wmma double 8x8x4, the other layouts", start_multiply<double, double, 8, 8, 4, false, true, false>, double_tolerance},
};
// clang-format on

inline constexpr tests::feature_table feature_table = {features, sizeof features / sizeof *features};

}  // namespace TANDEM_KERNEL_NAMESPACE
