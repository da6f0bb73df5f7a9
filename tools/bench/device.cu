// The benchmark's kernels on the device.
#define TANDEM_KERNEL_NAMESPACE tandem::bench::bench_kernels

#include "tools/bench/device.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/launch.cuh"
#include "tandem/harness/bound.hpp"
#include "tools/bench/device_kernels.cuh"

namespace tandem::bench::bench_kernels {

constexpr int threads = 256, blocks_a_multiprocessor = 4;

__global__ void rung_marker() {}
__global__ void nothing() {}

// 16 chains a thread hide an FMA's latency at any occupancy; 512 in a loop leave its counter half a percent.
template <class T>
__global__ void __launch_bounds__(threads, blocks_a_multiprocessor) fma_loop(int steps, T a, T b, T* out) {
  constexpr int chains = 16, unrolled = 32;
  T x[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = static_cast<T>(threadIdx.x + static_cast<unsigned>(i));
#pragma unroll 1
  for (; steps > 0; --steps) {
#pragma unroll
    for (int step = 0; step < unrolled; ++step)
#pragma unroll
      for (int i = 0; i < chains; ++i) x[i] = fma(x[i], a, b);
  }
  T sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i];
  if (sum == static_cast<T>(-1)) *out = sum;  // never, which the compiler does not know
}
constexpr double fma_loop_flop_a_step = 2.0 * 16 * 32;

enum class walk { read, store, update };

// Each thread walks over its own vectors again and again, `at_once` at a time; `count` is a multiple of all threads'.
constexpr int at_once = 4;
template <walk What>
__global__ void __launch_bounds__(threads, blocks_a_multiprocessor)
    walk_bytes(uint4* data, std::int64_t count, int passes, uint4* out) {
  std::int64_t const step = std::int64_t{gridDim.x} * threads, me = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t i = me; i < count; i += at_once * step) {
      uint4 v[at_once];
#pragma unroll
      for (int u = 0; u < at_once; ++u)
        v[u] = What == walk::store ? make_uint4(1, 2, 3, static_cast<unsigned>(pass)) : __ldcg(data + i + u * step);
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        if constexpr (What == walk::read) sum.x ^= v[u].x, sum.y ^= v[u].y, sum.z ^= v[u].z, sum.w ^= v[u].w;
        if constexpr (What == walk::update) v[u].x += 1;
        if constexpr (What != walk::read) __stcg(data + i + u * step, v[u]);
      }
    }
  if (What == walk::read && (sum.x & sum.y & sum.z & sum.w) == 0xdeadbeef) *out = sum;  // never
}

template <class V>
__global__ void __launch_bounds__(threads) copy_elements(V const* x, V* y, std::int64_t count) {
  std::int64_t const step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) y[i] = x[i];
}

}  // namespace tandem::bench::bench_kernels

namespace tandem::bench {
namespace {

using namespace bench_kernels;

template <class Run>
double best_seconds(int samples, Run const& run) {
  double best = 1e300;
  for (int sample = 0; sample < samples; ++sample) {
    gpu::event start, stop;
    start.record();
    run();
    stop.record();
    best = std::min(best, stop.since(start) * 1e-3);
  }
  return best;
}

dim3 full_grid() { return dim3(static_cast<unsigned>(this_device().multiprocessors * blocks_a_multiprocessor)); }

template <class T>
double measure_fma_peak() {
  constexpr int steps = 512;
  gpu::device_buffer const out(sizeof(T));
  auto const blocks = full_grid();
  // Samples go on while the clock rises from where it idled.
  double const seconds = best_seconds(60, [&] {
    launch(fma_loop<T>, blocks, dim3(threads), 0, nullptr, steps, static_cast<T>(0.999), static_cast<T>(1e-3),
           static_cast<T*>(out.data()));
  });
  return fma_loop_flop_a_step * steps * blocks.x * threads / seconds;
}

template <walk What>
double walk_rate(gpu::device_buffer const& data, gpu::device_buffer const& out) {
  constexpr double bytes_a_sample = 1 << 30;
  auto const bytes = static_cast<double>(data.size());
  int const passes = static_cast<int>(std::max(1.0, bytes_a_sample / bytes));
  double const seconds = best_seconds(10, [&] {
    launch(walk_bytes<What>, full_grid(), dim3(threads), 0, nullptr, static_cast<uint4*>(data.data()),
           static_cast<std::int64_t>(data.size() / sizeof(uint4)), passes, static_cast<uint4*>(out.data()));
  });
  return bytes * passes / seconds;
}

class device_passes final : public check_space {
 public:
  line_sums along(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const override {
    return passes(x, w, s, x.lines, launch_along<float>, launch_along<double>);
  }

  line_sums across(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const override {
    return passes(x, w, s, x.length, launch_across<float>, launch_across<double>);
  }

  std::int64_t first_apart(comparison const& x) const override {
    auto const rows = on_device(x.rows), columns = on_device(x.columns);
    auto* const find = x.c.dtype == dtype::f32 ? launch_find_apart<float> : launch_find_apart<double>;
    return found([&](unsigned long long* out) {
      find(x.c.data, x.first, x.before, x.c.lines, x.c.length, x.c.ld, x.factor, x.beta,
           static_cast<double const*>(rows.data()), static_cast<double const*>(columns.data()), out);
    });
  }

  std::int64_t first_wrong(axpy_problem const& p, void const* y) const override {
    auto* const find = p.dtype == dtype::f32 ? launch_find_wrong<float> : launch_find_wrong<double>;
    return found([&](unsigned long long* out) { find(p, harness::unit_roundoff(p.dtype), y, out); });
  }

  double element(void const* data, dtype type, std::int64_t index) const override {
    auto const read = [&]<class T>(T value) {
      gpu::copy_to_host(&value, static_cast<T const*>(data) + index, sizeof value);
      return static_cast<double>(value);
    };
    return type == dtype::f32 ? read(0.0f) : read(0.0);
  }

  std::shared_ptr<void const> keep(void const* data, std::size_t bytes) const override {
    auto const copy = std::make_shared<gpu::device_buffer>(bytes);
    copy_on_device(copy->data(), data, bytes);
    return {copy, copy->data()};
  }

 private:
  static gpu::device_buffer on_device(std::vector<double> const& values) {
    gpu::device_buffer out(values.size() * sizeof(double));
    gpu::copy_to_device(out.data(), values.data(), out.size());
    return out;
  }

  template <class Launch>
  static line_sums passes(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s,
                          std::int64_t outputs, Launch* single, Launch* wide) {
    auto const weights = on_device(w), sizes = on_device(s);
    auto const count = static_cast<std::size_t>(outputs);
    gpu::device_buffer const sums(3 * count * sizeof(double));
    set_on_device(sums.data(), 0, sums.size());
    (x.dtype == dtype::f32 ? single : wide)(x.data, x.lines, x.length, x.ld, static_cast<double const*>(weights.data()),
                                            static_cast<double const*>(sizes.data()),
                                            static_cast<double*>(sums.data()));
    line_sums out;
    auto const* from = static_cast<double const*>(sums.data());
    for (auto* to : {&out.sum, &out.size, &out.squares}) {
      to->resize(count);
      gpu::copy_to_host(to->data(), from, count * sizeof(double));
      from += count;
    }
    return out;
  }

  template <class Find>
  static std::int64_t found(Find const& find) {
    gpu::device_buffer const at(sizeof(unsigned long long));
    set_on_device(at.data(), 0xff, at.size());  // larger than any index, and -1 as a signed one
    find(static_cast<unsigned long long*>(at.data()));
    std::int64_t index = 0;
    gpu::copy_to_host(&index, at.data(), sizeof index);
    return index;
  }
};

subject copying(std::string name, std::string about, axpy_call (*bind)(axpy_problem const&, int)) {
  subject s;
  s.name = std::move(name);
  s.about = std::move(about);
  s.device = true;
  s.copies = true;
  s.threaded = false;
  s.bind_axpy = bind;
  return s;
}

}  // namespace

device_facts const& this_device() {
  static device_facts const facts = [] {
    int device = 0;
    gpu::check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
    cudaDeviceProp properties;
    gpu::check(cudaGetDeviceProperties(&properties, device), [] { return "cudaGetDeviceProperties"; });
    char pci[32] = {};
    gpu::check(cudaDeviceGetPCIBusId(pci, sizeof pci, device), [] { return "cudaDeviceGetPCIBusId"; });
    return device_facts{.name = gpu::device_name(),
                        .pci_bus = pci,
                        .multiprocessors = properties.multiProcessorCount,
                        .l2_bytes = static_cast<std::size_t>(properties.l2CacheSize),
                        .memory_bytes = properties.totalGlobalMem};
  }();
  return facts;
}

std::size_t free_device_memory() {
  std::size_t available = 0, all = 0;
  gpu::check(cudaMemGetInfo(&available, &all), [] { return "cudaMemGetInfo"; });
  return available;
}

void fill_normal(void* device, dtype type, std::int64_t count, std::uint64_t seed) {
  (type == dtype::f32 ? launch_fill<float> : launch_fill<double>)(device, count, seed);
}

void copy_on_device(void* to, void const* from, std::size_t bytes) {
  gpu::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr),
             [&] { return "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes on the device"; });
}

void set_on_device(void* to, int byte, std::size_t bytes) {
  gpu::check(cudaMemsetAsync(to, byte, bytes, nullptr),
             [&] { return "cudaMemsetAsync of " + std::to_string(bytes) + " bytes"; });
}

check_space const& device_space() {
  static device_passes const passes;
  return passes;
}

double device_fma_peak(dtype type) {
  static std::map<dtype, double> known;
  if (auto const found = known.find(type); found != known.end()) return found->second;
  return known[type] = type == dtype::f32 ? measure_fma_peak<float>() : measure_fma_peak<double>();
}

byte_rates const& device_bytes(std::size_t working_set) {
  static std::map<std::size_t, byte_rates> known;
  auto const unit = std::size_t{full_grid().x} * threads * at_once * sizeof(uint4);
  auto const size = (std::min(working_set, 8 * this_device().l2_bytes) + unit - 1) / unit * unit;
  if (auto const found = known.find(size); found != known.end()) return found->second;
  gpu::device_buffer const data(size), out(sizeof(uint4));
  set_on_device(data.data(), 0, size);
  return known[size] = {.read = walk_rate<walk::read>(data, out),
                        .store = walk_rate<walk::store>(data, out),
                        .update = walk_rate<walk::update>(data, out)};
}

subject device_copy() {
  return copying("copy_device", "cudaMemcpyAsync, y = x in device memory", [](axpy_problem const& p, int) -> axpy_call {
    auto const bytes = static_cast<std::size_t>(p.n) * size_of(p.dtype);
    return [bytes](void const* x, void* y) { copy_on_device(y, x, bytes); };
  });
}

subject device_copy_kernel() {
  return copying("copy_kernel", "a kernel of 16-byte accesses, y = x", [](axpy_problem const& p, int) -> axpy_call {
    auto const bytes = static_cast<std::int64_t>(static_cast<std::size_t>(p.n) * size_of(p.dtype));
    // Operands start at multiples of 64 bytes; what is left behind the last whole vector goes by 4 bytes.
    return [vectors = bytes / 16, words = bytes / 4](void const* x, void* y) {
      auto const grid = [](std::int64_t count) { return dim3(check_blocks(count, 1 << 30)); };
      if (vectors > 0)
        launch(copy_elements<uint4>, grid(vectors), dim3(threads), 0, nullptr, static_cast<uint4 const*>(x),
               static_cast<uint4*>(y), vectors);
      if (auto const rest = words - vectors * 4; rest > 0)
        launch(copy_elements<unsigned>, grid(rest), dim3(threads), 0, nullptr,
               static_cast<unsigned const*>(x) + vectors * 4, static_cast<unsigned*>(y) + vectors * 4, rest);
    };
  });
}

void launch_nothing() {
  gpu::check(cudaLaunchKernel(nothing, dim3(1), dim3(1), nullptr, 0, nullptr), [] { return "launch_nothing"; });
}

void mark_launches(int index) { launch(rung_marker, dim3(static_cast<unsigned>(index)), dim3(1), 0, nullptr); }

}  // namespace tandem::bench
