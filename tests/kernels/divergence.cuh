// One kernel for each way in which the lanes of a warp part and meet again. What their accesses cost was counted on a
// GPU (tests/data/h200_requests.csv); the SIMT executor must find the same.
#pragma once

#include "tests/kernels/feature.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

using tests::feature_data;
using tests::feature_elements;

constexpr int divergence_blocks = 4, divergence_threads = 128;

__device__ __forceinline__ int element() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % 32; }

__global__ void if_else(float const* f, int const* in, float* out) {
  int const t = element();
  if (in[t] % 2 == 0)
    out[t] = f[t];
  else
    out[4096 + 8 * t] = f[2 * t];
}

__global__ void if_within_if(float const* f, int const* in, float* out) {
  int const t = element();
  float x = f[t];
  if (in[t] > 0) {
    x += f[t + 1024];
    if (in[t] > 50) x += f[4 * t];
    x += f[t + 2048];
  } else if (in[t] < -50) {
    x += f[8 * t];
  }
  out[t] = x;
}

__global__ void both_must_hold(float const* f, int const* in, float* out) {
  int const t = element();
  if (in[t] > -20 && f[2 * t] > 0 && f[4 * t] > -0.5f) out[t] = f[t];
}

__global__ void choice(float const* f, int const* in, float* out) {
  int const t = element();
  switch (in[t] & 3) {
    case 0: out[t] = f[t]; break;
    case 1: out[t + 512] = f[2 * t]; [[fallthrough]];
    case 2: out[t + 1024] = f[4 * t]; break;
    default: out[8 * t] = f[8 * t];
  }
}

__global__ void loop_as_long_as_the_lane(float const* f, int const*, float* out) {
  int const t = element();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < lane_of_warp(); ++i) sum += f[i * 128 + t];
  out[t] = sum;
}

__global__ void loop_within_loop(float const* f, int const* in, float* out) {
  int const t = element();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 3 + (in[t] & 1); ++i) {
    sum += f[i * 512 + t];
#pragma unroll 1
    for (int j = 0; j < (lane_of_warp() * 7 + i) % 5; ++j) sum += f[j * 256 + 2 * t];
  }
  out[t] = sum;
}

__global__ void if_at_the_end_of_a_loop(float const* f, int const* in, float* out) {
  int const t = element();
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    float const x = f[i * 512 + t];
    if (((in[t] + i) & 1) != 0) out[i * 512 + t] = x;
  }
}

__global__ void only_an_if_in_a_loop(float const* f, int const* in, float* out) {
  int const t = element();
  float const x = f[t];
  int const bits = in[t];
#pragma unroll 1
  for (int i = 0; i < 7; ++i)
    if ((bits >> i & 1) != 0) out[i * 1024 + 2 * t] = x;
}

__global__ void next_round(float const* f, int const* in, float* out) {
  int const t = element();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 6; ++i) {
    sum += f[i * 512 + t];
    if ((in[t] + lane_of_warp() * i) % 3 == 0) continue;
    sum *= f[i * 256 + 4 * t];
  }
  out[t] = sum;
}

__global__ void way_out(float const* f, int const* in, float* out) {
  int const t = element();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 12; ++i) {
    sum += f[i * 256 + t];
    if ((in[t] & 15) == i) break;
    sum += f[i * 128 + 2 * t];
  }
  out[t] = sum;
}

__global__ void way_out_within_if(float const* f, int const* in, float* out) {
  int const t = element();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 12; ++i) {
    sum += f[i * 256 + t];
    if (((in[t] >> 1) & 1) == (i & 1)) {
      sum += f[4 * t + i];
      if ((in[t] & 15) == i) break;
      sum += f[8 * t];
    }
  }
  out[t] = sum;
}

__global__ void as_long_as_the_data_say(float const* f, int const* in, float* out) {
  int const t = element();
  int i = t;
  float sum = 0;
#pragma unroll 1
  while (f[i] > -0.6f) {
    sum += f[i];
    i += 128 + (in[i] & 7);
    if (i >= feature_elements) break;
  }
  out[t] = sum;
}

__global__ void early_return(float const* f, int const* in, float* out) {
  int const t = element();
  if (in[t] > 40) return;
  float const x = f[t];
  if (x > 0.5f) return;
  out[2 * t] = x;
}

__attribute__((noinline)) __device__ float two_loads(float const* f, int at) { return f[at] + f[2 * at]; }

__global__ void call_by_some_lanes(float const* f, int const* in, float* out) {
  int const t = element();
  float x = f[t];
  if ((in[t] & 3) == 0) x += two_loads(f, t + 512);
  if ((in[t] & 3) != 1) x += two_loads(f, t + 1024);
  out[t] = x;
}

__global__ void shared_by_some_lanes(float const* f, int const* in, float* out) {
  __shared__ float copy[2][divergence_threads];
  int const t = element(), x = static_cast<int>(threadIdx.x);
  copy[0][x] = f[t];
  copy[1][x] = f[t + 512];
  __syncthreads();
  float sum = 0;
  if (in[t] > 0) sum += copy[0][x * 2 % divergence_threads];
#pragma unroll 1
  for (int i = 0; i < (in[t] & 3); ++i) sum += copy[1][(x + i * 8) * 4 % divergence_threads];
  out[t] = sum;
}

template <void (*kernel)(float const*, int const*, float*)>
void start_divergence(feature_data const& x, CUstream_st* stream) {
  launch(kernel, dim3(divergence_blocks), dim3(divergence_threads), 0, stream, x.f, x.i, static_cast<float*>(x.out));
}

inline constexpr tests::feature divergences[] = {
    {"if_else", start_divergence<if_else>},
    {"if_within_if", start_divergence<if_within_if>},
    {"both_must_hold", start_divergence<both_must_hold>},
    {"choice", start_divergence<choice>},
    {"loop_as_long_as_the_lane", start_divergence<loop_as_long_as_the_lane>},
    {"loop_within_loop", start_divergence<loop_within_loop>},
    {"if_at_the_end_of_a_loop", start_divergence<if_at_the_end_of_a_loop>},
    {"only_an_if_in_a_loop", start_divergence<only_an_if_in_a_loop>},
    {"next_round", start_divergence<next_round>},
    {"way_out", start_divergence<way_out>},
    {"way_out_within_if", start_divergence<way_out_within_if>},
    {"as_long_as_the_data_say", start_divergence<as_long_as_the_data_say>},
    {"early_return", start_divergence<early_return>},
    {"call_by_some_lanes", start_divergence<call_by_some_lanes>},
    {"shared_by_some_lanes", start_divergence<shared_by_some_lanes>},
};

inline constexpr tests::feature_table divergence_table = {divergences, sizeof divergences / sizeof *divergences};

}  // namespace TANDEM_KERNEL_NAMESPACE
