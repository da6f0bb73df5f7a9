// Staging of host operands: packed copies of exactly the elements that the problem names.
#include "gpu/runtime/staging.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"

namespace tandem::gpu {
namespace {

// A row-major matrix in host memory, in bytes.
struct host_matrix {
  void* data;
  std::int64_t rows;
  std::size_t row_bytes;
  std::size_t pitch;
};

host_matrix matrix(void const* data, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::size_t element) {
  return {const_cast<void*>(data), rows, static_cast<std::size_t>(cols) * element,
          static_cast<std::size_t>(ld) * element};
}

// cudaMemcpy2D takes pitches up to 2 GiB only; wider rows are copied one by one.
void copy(host_matrix const& host, void* packed, cudaMemcpyKind kind, CUstream_st* stream) {
  constexpr std::size_t max_pitch = (std::size_t{1} << 31) - 1;
  bool const in = kind == cudaMemcpyHostToDevice;
  auto const copy_rows = [&](void* at, void* packed_at, std::int64_t rows, std::size_t pitch) {
    check(cudaMemcpy2DAsync(in ? packed_at : at, in ? host.row_bytes : pitch, in ? at : packed_at,
                            in ? pitch : host.row_bytes, host.row_bytes, static_cast<std::size_t>(rows), kind, stream),
          [&] {
            return fmt::format("cudaMemcpy2DAsync of {} rows of {} bytes, pitch {}, {}", rows, host.row_bytes, pitch,
                               in ? "to the device" : "to the host");
          });
  };
  auto const copy_row = [&](void* at, void* packed_at) {
    check(cudaMemcpyAsync(in ? packed_at : at, in ? at : packed_at, host.row_bytes, kind, stream), [&] {
      return fmt::format("cudaMemcpyAsync of {} bytes {}", host.row_bytes, in ? "to the device" : "to the host");
    });
  };
  if (host.rows > 1 && host.pitch <= max_pitch) return copy_rows(host.data, packed, host.rows, host.pitch);
  for (std::int64_t i = 0; i < host.rows; ++i) {
    auto const row = static_cast<std::size_t>(i);
    copy_row(static_cast<std::byte*>(host.data) + row * host.pitch,
             static_cast<std::byte*>(packed) + row * host.row_bytes);
  }
}

device_buffer buffer_for(host_matrix const& host) {
  return device_buffer(static_cast<std::size_t>(host.rows) * host.row_bytes);
}

// Waits for the stream before the buffers that its work uses are freed, also when an exception passes.
class drained {
 public:
  explicit drained(CUstream_st* stream) : stream_(stream) {}
  drained(drained const&) = delete;
  drained& operator=(drained const&) = delete;
  ~drained() { cudaStreamSynchronize(stream_); }

 private:
  CUstream_st* stream_;
};

}  // namespace

void run_staged(problem const& p, CUstream_st* stream,
                std::function<void(problem const&, CUstream_st*)> const& enqueue) {
  auto const element = size_of(p.dtype);
  auto const cols_a = p.trans_a ? p.m : p.k, cols_b = p.trans_b ? p.k : p.n;
  auto const a = matrix(p.a, p.trans_a ? p.k : p.m, cols_a, p.lda, element);
  auto const b = matrix(p.b, p.trans_b ? p.n : p.k, cols_b, p.ldb, element);
  auto const c = matrix(p.c, p.m, p.n, p.ldc, element);
  auto const device_a = buffer_for(a), device_b = buffer_for(b), device_c = buffer_for(c);
  drained const before_freeing(stream);

  copy(a, device_a.data(), cudaMemcpyHostToDevice, stream);
  copy(b, device_b.data(), cudaMemcpyHostToDevice, stream);
  if (p.beta != 0) copy(c, device_c.data(), cudaMemcpyHostToDevice, stream);
  auto staged = p;
  staged.memory = memory::device;
  staged.a = device_a.data(), staged.lda = cols_a;
  staged.b = device_b.data(), staged.ldb = cols_b;
  staged.c = device_c.data(), staged.ldc = p.n;
  enqueue(staged, stream);
  synchronize(stream);  // a kernel that failed must not be taken for a result
  copy(c, device_c.data(), cudaMemcpyDeviceToHost, stream);
  synchronize(stream);
}

void run_staged(axpy_problem const& p, CUstream_st* stream,
                std::function<void(axpy_problem const&, CUstream_st*)> const& enqueue) {
  // Strided vectors are packed on the host: a 2-D copy of single elements takes longer than the loop.
  auto const element = size_of(p.dtype);
  auto const n = static_cast<std::size_t>(p.n);
  auto const count_x = p.stride_x == 0 ? 1 : n;
  auto const at = [&](void const* data, std::int64_t stride, std::size_t i) {
    return static_cast<std::byte const*>(data) +
           static_cast<std::int64_t>(i) * stride * static_cast<std::int64_t>(element);
  };
  std::vector<std::byte> x(count_x * element), y(n * element);
  for (std::size_t i = 0; i < count_x; ++i) std::memcpy(&x[i * element], at(p.x, p.stride_x, i), element);
  for (std::size_t i = 0; i < n; ++i) std::memcpy(&y[i * element], at(p.y, p.stride_y, i), element);

  device_buffer const device_x(x.size()), device_y(y.size());
  drained const before_freeing(stream);
  copy_to_device(device_x.data(), x.data(), x.size(), stream);
  copy_to_device(device_y.data(), y.data(), y.size(), stream);
  auto staged = p;
  staged.memory = memory::device;
  staged.x = device_x.data(), staged.stride_x = p.stride_x == 0 ? 0 : 1;
  staged.y = device_y.data(), staged.stride_y = 1;
  enqueue(staged, stream);
  copy_to_host(y.data(), device_y.data(), y.size(), stream);
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(const_cast<std::byte*>(at(p.y, p.stride_y, i)), &y[i * element], element);
}

}  // namespace tandem::gpu
