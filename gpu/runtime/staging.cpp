// Products of host operands: by way of one chunk where they are small, else tile by tile, copies beside computation.
#include "gpu/runtime/staging.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/captures.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/host_copy.hpp"
#include "gpu/runtime/host_tiles.hpp"
#include "gpu/runtime/operands.hpp"
#include "gpu/runtime/staging_area.hpp"
#include "gpu/runtime/workspace.hpp"

namespace tandem::gpu {
namespace {

using launcher = std::function<void(problem const&, CUstream_st*)>;

std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count); }

// A matrix as it is stored: A and B by rows or, transposed, by columns.
struct stored_matrix {
  std::byte* data;
  std::int64_t ld;
  bool is_transposed;
  bool is_pinned;
  dtype type;

  std::int64_t element() const { return static_cast<std::int64_t>(size_of(type)); }
  index_range lines(index_range rows, index_range cols) const { return is_transposed ? cols : rows; }
  index_range along(index_range rows, index_range cols) const { return is_transposed ? rows : cols; }

  host_rows part(index_range rows, index_range cols) const {
    auto const line = lines(rows, cols), in_line = along(rows, cols);
    return {data + (line.begin * ld + in_line.begin) * element(), bytes(line.size), bytes(in_line.size * element()),
            bytes(ld * element()), is_pinned};
  }
  // Of a part's copy on the device.
  std::int64_t device_ld(index_range rows, index_range cols) const {
    return panel_ld(lines(rows, cols).size, along(rows, cols).size, type);
  }
  std::size_t device_pitch(index_range rows, index_range cols) const {
    return bytes(device_ld(rows, cols) * element());
  }
};

struct stored_operands {
  explicit stored_operands(problem const& p, bool may_be_pinned)
      : a(stored(p, p.a, p.m, p.k, p.lda, p.trans_a, may_be_pinned)),
        b(stored(p, p.b, p.k, p.n, p.ldb, p.trans_b, may_be_pinned)),
        c(stored(p, p.c, p.m, p.n, p.ldc, false, may_be_pinned)) {}

  stored_matrix a, b, c;

 private:
  static stored_matrix stored(problem const& p, void const* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                              bool is_transposed, bool may_be_pinned) {
    stored_matrix matrix{static_cast<std::byte*>(const_cast<void*>(data)), ld, is_transposed, false, p.dtype};
    auto const all = matrix.part({0, rows}, {0, cols});
    matrix.is_pinned = may_be_pinned && is_pinned(all.data, all.data + (all.rows - 1) * all.pitch + all.row_bytes - 1);
    return matrix;
  }
};

// The problem of one step, on the device.
problem step_problem(problem const& p, host_tiles const& tiles, host_step const& step, stored_operands const& host,
                     std::byte* device) {
  auto one = p;
  one.memory = memory::device;
  one.m = step.m.size, one.n = step.n.size, one.k = step.k.size;
  one.a = device + step.slot_a * tiles.a.slot_bytes, one.lda = host.a.device_ld(step.m, step.k);
  one.b = device + tiles.begin_b() + step.slot_b * tiles.b.slot_bytes, one.ldb = host.b.device_ld(step.k, step.n);
  one.c = device + tiles.begin_c() + step.slot_c * tiles.c.slot_bytes, one.ldc = host.c.device_ld(step.m, step.n);
  if (!step.first_of_k) one.beta = 1;
  return one;
}

// Everything in one chunk each way, on one stream.
void run_in_a_chunk(problem const& p, host_tiles const& tiles, staging_area& area, std::byte* device,
                    launcher const& enqueue) {
  stored_operands const host(p, false);
  auto const step = *host_walk(tiles, p).next();
  auto const one = step_problem(p, tiles, step, host, device);
  auto& chunk = area.chunks_in.next();
  auto* const memory = chunk.memory.get();
  auto const pack = [&](stored_matrix const& x, index_range rows, index_range cols, std::int64_t at) {
    auto const from = x.part(rows, cols);
    copy_rows(memory + at, x.device_pitch(rows, cols), from.data, from.pitch, from.rows, from.row_bytes);
  };
  pack(host.a, step.m, step.k, 0);
  pack(host.b, step.k, step.n, tiles.begin_b());
  if (p.beta != 0) pack(host.c, step.m, step.n, tiles.begin_c());
  auto const copy = [&](std::int64_t begin, std::int64_t end, cudaMemcpyKind kind) {
    bool const in = kind == cudaMemcpyHostToDevice;
    check(cudaMemcpyAsync((in ? device : memory) + begin, (in ? memory : device) + begin, bytes(end - begin), kind,
                          area.compute.get()),
          [&] { return fmt::format("cudaMemcpyAsync of {} bytes {}", end - begin, in ? "in" : "out"); });
  };
  copy(0, p.beta != 0 ? tiles.bytes() : tiles.begin_c(), cudaMemcpyHostToDevice);
  enqueue(one, area.compute.get());
  copy(tiles.begin_c(), tiles.bytes(), cudaMemcpyDeviceToHost);
  area.compute.wait();
  auto const to = host.c.part(step.m, step.n);
  copy_rows(to.data, to.pitch, memory + tiles.begin_c(), host.c.device_pitch(step.m, step.n), to.rows, to.row_bytes);
}

// While a step is computed, the next one's panels are copied in, and the tile before it is copied out.
class tiled_run {
 public:
  tiled_run(problem const& p, host_tiles const& tiles, staging_area& area, std::byte* device)
      : p_(p), tiles_(tiles), area_(area), device_(device), host_(p, true) {
    area.loaded.record(area.compute);
    area.loaded.delay(area.in);  // not before the memory is there
  }
  // Nothing may use the memory when it is given back, also when an exception passes.
  ~tiled_run() {
    for (auto const* stream : {&area_.in, &area_.out}) cudaStreamSynchronize(stream->get());
  }
  tiled_run(tiled_run const&) = delete;
  tiled_run& operator=(tiled_run const&) = delete;

  void run(launcher const& enqueue) {
    host_walk walk(tiles_, p_);
    std::optional<host_step> before;
    for (std::size_t parity = 0; auto const step = walk.next(); parity = 1 - parity) {
      auto const one = step_problem(p_, tiles_, *step, host_, device_);
      copy_operands(*step, one);
      if (step->first_of_k) written_out(*step).delay(area_.compute);
      enqueue(one, area_.compute.get());
      area_.computed[parity].record(area_.compute);
      if (before) finish(*before, 1 - parity);
      before = step;
      last_parity_ = parity;
    }
    finish(*before, last_parity_);
    area_.out.wait();
  }

 private:
  own_event& written_out(host_step const& step) { return area_.written_out[static_cast<std::size_t>(step.slot_c)]; }

  // The step before may be under way; its predecessors are done.
  void copy_operands(host_step const& step, problem const& one) {
    auto const copy = [&](stored_matrix const& x, index_range rows, index_range cols, void const* to) {
      copy_in(static_cast<std::byte*>(const_cast<void*>(to)), x.device_pitch(rows, cols), x.part(rows, cols),
              area_.chunks_in, area_.in);
    };
    if (step.load_a) copy(host_.a, step.m, step.k, one.a);
    if (step.load_b) copy(host_.b, step.k, step.n, one.b);
    if (step.first_of_k && p_.beta != 0) {
      written_out(step).delay(area_.in);
      copy(host_.c, step.m, step.n, one.c);
    }
    area_.loaded.record(area_.in);
    area_.loaded.delay(area_.compute);
  }

  void finish(host_step const& step, std::size_t parity) {
    area_.computed[parity].wait();  // a kernel that failed must not be taken for a result
    if (!step.last_of_k) return;
    copy_out(host_.c.part(step.m, step.n), device_ + tiles_.begin_c() + step.slot_c * tiles_.c.slot_bytes,
             host_.c.device_pitch(step.m, step.n), area_.chunks_out, area_.out);
    written_out(step).record(area_.out);
  }

  problem const& p_;
  host_tiles const& tiles_;
  staging_area& area_;
  std::byte* device_;
  stored_operands host_;
  std::size_t last_parity_ = 0;
};

// The rest is for the kernels' workspaces and for others.
std::int64_t share_of_free_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), [] { return "cudaMemGetInfo"; });
  return static_cast<std::int64_t>(free / 8 * 7);
}

// What is enqueued on the caller's stream comes first, as for device views; an error that is under way there is not
// taken for this call's.
void wait_for(CUstream_st* stream) {
  auto capture = cudaStreamCaptureStatusNone;
  auto const status = cudaStreamIsCapturing(stream, &capture);
  if (status == cudaErrorStreamCaptureImplicit) {  // the default stream beside a capture, whose work must not be joined
    cudaGetLastError();
    return;
  }
  check(status, [] { return "cudaStreamIsCapturing, before anything was enqueued"; });
  if (capture != cudaStreamCaptureStatusNone)
    throw error(errc::unsupported,
                "the stream is being captured, and a product of host views, which is finished on "
                "return, cannot be a part of a graph");
  check(cudaStreamSynchronize(stream), [] { return "cudaStreamSynchronize, before anything was enqueued"; });
}

// Where the memory is not there after all, because others took it, with half as much.
void run_with(std::int64_t most, problem const& p, staging_area& area, launcher const& enqueue) {
  for (;;) {
    auto const tiles = cut_host_product(p, most);
    std::optional<workspace_memory> memory;
    try {
      memory.emplace(bytes(tiles.bytes()), area.compute.get());
    } catch (error const& e) {
      if (e.code() != errc::out_of_memory) throw;
      most = tiles.bytes() / 2;
      continue;
    }
    auto* const device = static_cast<std::byte*>(memory->data());
    bool const is_one_tile = tiles.m == p.m && tiles.n == p.n && tiles.k == p.k;
    if (is_one_tile && bytes(tiles.bytes()) <= chunk::bytes)
      run_in_a_chunk(p, tiles, area, device, enqueue);
    else
      tiled_run(p, tiles, area, device).run(enqueue);
    return;
  }
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

void run_staged(problem const& p, CUstream_st* stream, launcher const& enqueue) {
  check_operands(p, stream);
  auto const allowed = parse_memory_limit(std::getenv("TANDEM_GPU_MEMORY"));
  outside_captures const relaxed;
  wait_for(stream);
  leased_area const area;
  auto const element = static_cast<double>(size_of(p.dtype));
  auto const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  // Asking for the free memory takes longer than a small product.
  bool const is_small = element * (m * k + k * n + m * n) <= static_cast<double>(whole_product_bytes);
  auto const most = is_small ? whole_product_bytes * 2 : share_of_free_memory();
  run_with(allowed ? std::min(*allowed, most) : most, p, *area, enqueue);
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
