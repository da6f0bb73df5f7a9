// Functions on device pointers and a stream, as somebody's shared object has them: one that is right, and what can go
// wrong.
#include <cuda_runtime.h>

#include <cstddef>

namespace {

struct call {
  int m, n, k;
  float alpha;
  float const* a;
  int lda;
  float const* b;
  int ldb;
  float beta;
  float* c;
  int ldc;
};

enum class defect { none, past_the_end, last_rows, hang, far_write, same_memory };

constexpr int edge = 16;          // of a block
constexpr unsigned most = 65535;  // blocks along y

template <defect D>
__global__ void multiply(call x) {
  if (D == defect::hang && x.m == 13)
    for (auto* volatile spin = &x.beta; *spin == *spin;) __nanosleep(1000);
  int const j = static_cast<int>(blockIdx.x) * edge + static_cast<int>(threadIdx.x);
  int const first = static_cast<int>(blockIdx.y) * edge + static_cast<int>(threadIdx.y);
  for (long i = first; i < x.m && j < x.n; i += static_cast<long>(gridDim.y) * edge) {
    if (D == defect::last_rows && x.m > edge && i >= x.m / edge * edge) return;
    float sum = 0;
    int const terms = x.k + (D == defect::past_the_end ? 1 : 0);
    // Who is given one matrix twice is taken to want its product with its transpose.
    bool const turned = D == defect::same_memory && x.a == x.b;
    for (long p = 0; p < terms; ++p)
      sum = fmaf(x.a[i * x.lda + p], turned ? x.b[j * x.ldb + p] : x.b[p * x.ldb + j], sum);
    float& out = x.c[i * x.ldc + j];
    out = x.beta == 0 ? x.alpha * sum : fmaf(x.alpha, sum, x.beta * out);
    if (D == defect::far_write && i + 1 == x.m && j + 1 == x.n) (&out)[4096] = 1;
  }
}

bool makes_sense(call const& x) {
  return x.m >= 0 && x.n >= 0 && x.k >= 0 && x.lda >= x.k && x.ldb >= x.n && x.ldc >= x.n && x.lda > 0 && x.ldb > 0 &&
         x.ldc > 0;
}

template <defect D>
int launch(call const& x, void* stream) {
  if (!makes_sense(x)) return 1;
  if (x.m == 0 || x.n == 0) return 0;
  call y = x;
  if (x.alpha == 0) y.k = 0, y.alpha = 1;  // neither A nor B is read
  auto const tiles = [](int size) { return static_cast<unsigned>(size / edge + (size % edge != 0)); };
  dim3 const block(edge, edge), grid(tiles(x.n), tiles(x.m) < most ? tiles(x.m) : most);
  multiply<D><<<grid, block, 0, static_cast<cudaStream_t>(stream)>>>(y);
  return cudaGetLastError() == cudaSuccess ? 0 : 2;
}

/// A copied where a workspace is, a thread a row, and the product of the copy.
__global__ void pack(float* to, call x) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (long p = 0; i < x.m && p < x.k; ++p) to[static_cast<long>(i) * x.k + p] = x.a[static_cast<long>(i) * x.lda + p];
}

int launch_packed(call const& x, float* workspace, cudaStream_t stream) {
  constexpr int block = 128;
  if (x.m > 0 && x.k > 0 && x.alpha != 0) pack<<<(x.m + block - 1) / block, block, 0, stream>>>(workspace, x);
  call y = x;
  y.a = workspace, y.lda = x.k > 0 ? x.k : 1;
  return launch<defect::none>(y, stream);
}

constexpr long most_packed = 1L << 20;
__device__ float shared_workspace[most_packed];

}  // namespace

extern "C" {

/// Has one workspace for all its callers, whatever their streams.
int one_workspace_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                        float* c, int ldc, void* stream) {
  call const x{m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  if (!makes_sense(x)) return 1;
  void* workspace = nullptr;
  if (cudaGetSymbolAddress(&workspace, shared_workspace) != cudaSuccess) return 2;
  if (static_cast<long>(m) * k > most_packed) return launch<defect::none>(x, stream);
  return launch_packed(x, static_cast<float*>(workspace), static_cast<cudaStream_t>(stream));
}

/// Takes a workspace in the stream's order.
int own_workspace_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                        float* c, int ldc, void* stream) {
  call const x{m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  if (!makes_sense(x)) return 1;
  auto const in_order = static_cast<cudaStream_t>(stream);
  if (static_cast<long>(m) * k > most_packed || m == 0 || k == 0) return launch<defect::none>(x, stream);
  void* workspace = nullptr;
  if (cudaMallocAsync(&workspace, sizeof(float) * static_cast<std::size_t>(m) * static_cast<std::size_t>(k),
                      in_order) != cudaSuccess)
    return 2;
  int const code = launch_packed(x, static_cast<float*>(workspace), in_order);
  return cudaFreeAsync(workspace, in_order) == cudaSuccess ? code : 2;
}

/// Works on the default stream, whatever its caller's is.
int default_stream_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                         float* c, int ldc, void*) {
  return launch<defect::none>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, nullptr);
}

/// Is done when it returns.
int waiting_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                  float* c, int ldc, void* stream) {
  int const code = launch<defect::none>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
  return cudaStreamSynchronize(static_cast<cudaStream_t>(stream)) == cudaSuccess ? code : 2;
}

int same_memory_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                      float* c, int ldc, void* stream) {
  return launch<defect::same_memory>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

int right_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                float* c, int ldc, void* stream) {
  return launch<defect::none>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

int past_the_end_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                       float* c, int ldc, void* stream) {
  return launch<defect::past_the_end>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

int last_rows_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                    float* c, int ldc, void* stream) {
  return launch<defect::last_rows>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

int hanging_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                  float* c, int ldc, void* stream) {
  return launch<defect::hang>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

int far_write_sgemm(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb, float beta,
                    float* c, int ldc, void* stream) {
  return launch<defect::far_write>({m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, stream);
}

}  // extern "C"
