// One small kernel for each instruction that cubin.cpp decodes, in each of its forms and widths: compiled to a cubin,
// their words are where the encodings come from, and the test reads them again with every nvcc.
#include <cuda_pipeline.h>

extern "C" {

// A register, a constant, an immediate as second and as third operand.
__global__ void ffma_forms(float* p, float a, float b) {
  float x = p[threadIdx.x], y = p[threadIdx.x + 32];
  float r = fmaf(x, y, x);
  r = fmaf(r, a, y);
  r = fmaf(r, 2.5f, y);
  r = fmaf(r, y, b);
  r = fmaf(r, y, 3.5f);
  p[threadIdx.x + 64] = r;
}
__global__ void dfma_forms(double* p, double a, double b) {
  double x = p[threadIdx.x], y = p[threadIdx.x + 32];
  double r = fma(x, y, x);
  r = fma(r, a, y);
  r = fma(r, 2.5, y);
  r = fma(r, y, b);
  r = fma(r, y, 3.5);
  p[threadIdx.x + 64] = r;
}

__global__ void global_8(unsigned char* p) { p[1] = p[0]; }
__global__ void global_16(short* p) { p[1] = p[0]; }
__global__ void global_32(int* p) { p[1] = p[0]; }
__global__ void global_64(int2* p) { p[1] = p[0]; }
__global__ void global_128(int4* p) { p[1] = p[0]; }
__global__ void global_constant(int4 const* __restrict__ p, int4* q) { q[threadIdx.x] = __ldg(p + threadIdx.x); }
__global__ void global_predicated(float* p, unsigned n) {
  float x = 0;
  if (threadIdx.x < n) x = p[threadIdx.x];
  p[threadIdx.x + 100] = x;
}
}

template <class T>
__device__ void through_shared(T* p) {
  __shared__ T s[256];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}

template <class T>
__device__ void through_async_copy(T* p) {
  __shared__ T s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], p + threadIdx.x, sizeof(T));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}

extern "C" {

__global__ void shared_8(char* p) { through_shared(p); }
__global__ void shared_16(short* p) { through_shared(p); }
__global__ void shared_32(int* p) { through_shared(p); }
__global__ void shared_64(int2* p) { through_shared(p); }
__global__ void shared_128(int4* p) { through_shared(p); }
__global__ void async_32(int* p) { through_async_copy(p); }
__global__ void async_64(int2* p) { through_async_copy(p); }
__global__ void async_128(int4* p) { through_async_copy(p); }

__global__ void atomic_add(int* p) { p[threadIdx.x + 32] = atomicAdd(p + threadIdx.x, 5); }
__global__ void atomic_add_f64(double* p) { p[threadIdx.x + 32] = atomicAdd(p + threadIdx.x, 5.0); }
__global__ void atomic_cas(int* p) { p[threadIdx.x + 32] = atomicCAS(p + threadIdx.x, 5, 6); }
__global__ void reduce(int* p) { atomicAdd(p + threadIdx.x, 5); }
__global__ void reduce_f32(float* p) { atomicAdd(p + threadIdx.x, 5.0f); }
__global__ void reduce_f64(double* p) { atomicAdd(p + threadIdx.x, 5.0); }
__global__ void atomic_shared(int* p) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  p[threadIdx.x] = atomicAdd(s + p[threadIdx.x], 5);
}
__global__ void atomic_shared_cas(int* p) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  p[threadIdx.x] = atomicCAS(s + p[threadIdx.x], 5, 6);
}

// Lane and mask in a register, in an immediate.
__global__ void shuffles(int* p, int lane) {
  int x = p[threadIdx.x];
  x += __shfl_sync(~0u, x, lane);
  x += __shfl_xor_sync(~0u, x, 1);
  x += __shfl_sync(~0u, x, lane, lane);
  x += __shfl_sync(~0u, x, 3, lane);
  p[threadIdx.x] = x;
}

__global__ void texture_fetch(float* p, cudaTextureObject_t t) { p[0] = tex1Dfetch<float>(t, threadIdx.x); }
__global__ void texture_2d(float* p, cudaTextureObject_t t) { p[0] = tex2D<float>(t, p[1], p[2]); }

// Indexed at run time, so that the array lies in local memory, as spilled registers do.
__global__ void local_memory(int* p, int n, int m) {
  int a[64];
  for (int i = 0; i < 64; ++i) a[i] = p[i * n];
  p[0] = a[m];
  a[n] = p[n];
  p[1] = a[m & 31];
}

// A pointer of which only the running kernel knows whether it is shared.
__global__ void generic(int* p, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = 3;
  __syncthreads();
  int* const x = n > 3 ? p : s;
  x[n] = x[n + 1];
}

// A short branch back; an inner loop that lies more than 1 KiB of code (8 bits of the encoding) before its end.
__global__ void short_loop(float* p, int n, float a) {
  float r = p[0];
#pragma unroll 1
  for (int i = 0; i < n; ++i) r = fmaf(r, a, r);
  p[1] = r;
}
__global__ void long_loops(float* p, int n, int m, float a) {
  float r = p[0];
#pragma unroll 1
  for (int j = 0; j < m; ++j) {
#pragma unroll 1
    for (int i = 0; i < n; ++i)
#pragma unroll
      for (int u = 0; u < 300; ++u) r = fmaf(r, a, r);
    p[j] = r;
  }
}
}
