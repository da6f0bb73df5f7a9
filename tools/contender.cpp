// Operands, calls and clocks of the benchmark.
#include "tools/contender.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "gpu/runtime/device.hpp"

namespace tandem::tools {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// A sample's length: long beside the clock's and the events' resolution.
constexpr double sample_seconds = 2e-3;

// One operand on the host, and on the device where a device kernel is measured.
template <class T>
class operand {
 public:
  operand(std::int64_t count, std::mt19937_64& random, bool on_device) : host_(static_cast<std::size_t>(count)) {
    std::normal_distribution<T> normal;
    for (auto& x : host_) x = normal(random);
    if (!on_device) return;
    device_ = gpu::device_buffer(host_.size() * sizeof(T));
    gpu::copy_to_device(device_.data(), host_.data(), host_.size() * sizeof(T));
  }
  T* data(memory where) { return where == memory::host ? host_.data() : static_cast<T*>(device_.data()); }

 private:
  std::vector<T> host_;
  gpu::device_buffer device_;
};

memory memory_of(kernel const& row) { return row.device ? memory::device : memory::host; }

bool any_on_device(std::vector<kernel const*> const& rows) {
  return std::ranges::any_of(rows, [](auto const* row) { return row->device; });
}

template <class MakeCall>
std::vector<contender> for_each_row(std::vector<kernel const*> const& rows, std::vector<int> const& threads,
                                    MakeCall const& make_call) {
  std::vector<contender> all;
  for (auto const* row : rows)
    for (int const count : row->threaded ? threads : std::vector<int>{1})
      all.push_back({row, count, make_call(*row, count), {}});
  return all;
}

template <class T>
std::vector<contender> typed_gemm(bench_size const& s, double beta, std::vector<kernel const*> const& rows,
                                  std::vector<int> const& threads) {
  std::mt19937_64 random(1);
  bool const on_device = any_on_device(rows);
  auto a = std::make_shared<operand<T>>(s.m * s.k, random, on_device);
  auto b = std::make_shared<operand<T>>(s.k * s.n, random, on_device);
  auto c = std::make_shared<operand<T>>(s.m * s.n, random, on_device);
  return for_each_row(rows, threads, [&](kernel const& row, int count) {
    auto const where = memory_of(row);
    auto const view = [where](T const* data, std::int64_t height, std::int64_t width, bool trans) {
      return trans ? matrix_view<T const>(data, width, height, height, layout::row_major, where).transposed()
                   : matrix_view<T const>(data, height, width, width, layout::row_major, where);
    };
    auto const va = view(a->data(where), s.m, s.k, s.trans_a), vb = view(b->data(where), s.k, s.n, s.trans_b);
    matrix_view<T> const vc(c->data(where), s.m, s.n, s.n, layout::row_major, where);
    return [=, &row, owners = std::tuple(a, b, c)] { gemm_with(row, va, vb, vc, {.beta = beta}, count); };
  });
}

template <class T>
std::vector<contender> typed_axpy(bench_size const& s, std::vector<kernel const*> const& rows,
                                  std::vector<int> const& threads) {
  std::mt19937_64 random(1);
  bool const on_device = any_on_device(rows);
  auto x = std::make_shared<operand<T>>(s.n, random, on_device);
  auto y = std::make_shared<operand<T>>(s.n, random, on_device);
  return for_each_row(rows, threads, [&](kernel const& row, int count) {
    auto const where = memory_of(row);
    vector_view<T const> const vx(x->data(where), s.n, 1, where);
    vector_view<T> const vy(y->data(where), s.n, 1, where);
    // A small alpha keeps y finite over any number of calls.
    return [=, &row, owners = std::pair(x, y)] { axpy_with(row, 1e-6, vx, vy, {}, count); };
  });
}

double seconds_a_call(contender const& c, int calls) {
  if (c.row->device) {
    gpu::event start, stop;
    start.record();
    for (int i = 0; i < calls; ++i) c.call();
    stop.record();
    return stop.since(start) * 1e-3 / calls;
  }
  auto const start = clock::now();
  for (int i = 0; i < calls; ++i) c.call();
  return seconds_since(start) / calls;
}

// The workers of one library's thread pool spin for tens of milliseconds after a call, on the cores that the next
// contender needs: wait until they sleep, then wake one's own.
void settle(contender const& c) {
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  auto const start = clock::now();
  do c.call();
  while (seconds_since(start) < sample_seconds);
}

}  // namespace

std::vector<contender> gemm_contenders(bench_size const& size, double beta, std::vector<kernel const*> const& rows,
                                       std::vector<int> const& threads) {
  return size.dtype == dtype::f32 ? typed_gemm<float>(size, beta, rows, threads)
                                  : typed_gemm<double>(size, beta, rows, threads);
}

std::vector<contender> axpy_contenders(bench_size const& size, std::vector<kernel const*> const& rows,
                                       std::vector<int> const& threads) {
  return size.dtype == dtype::f32 ? typed_axpy<float>(size, rows, threads) : typed_axpy<double>(size, rows, threads);
}

void measure(std::vector<contender>& contenders, int rounds) {
  bool const pools = std::ranges::any_of(contenders, [](auto const& c) { return c.row->threaded && c.threads != 1; });
  std::vector<int> calls;
  for (auto& c : contenders) {
    if (pools) settle(c);
    c.call();
    double const once = std::max(seconds_a_call(c, 1), 1e-8);
    calls.push_back(static_cast<int>(std::clamp(sample_seconds / once, 1.0, 1e5)));
    seconds_a_call(c, calls.back());
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (pools) settle(contenders[i]);
      contenders[i].seconds.push_back(seconds_a_call(contenders[i], calls[i]));
    }
  for (auto& c : contenders) std::ranges::sort(c.seconds);
}

}  // namespace tandem::tools
