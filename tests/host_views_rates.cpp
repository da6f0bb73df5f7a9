// What a product of host views costs on the GPU: tiles, with operands pageable and pinned, beside whole copies to fresh
// device memory with our kernel and with cuBLAS; and what looking up three operands costs.
//
//     host_views_rates [f32|f64] [m n k]...
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <tandem/kernel.hpp>
#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/operands.hpp"

using namespace tandem;

namespace {

double milliseconds(std::function<void()> const& call) {
  auto const begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

template <class T>
std::vector<T> matrix(std::int64_t rows, std::int64_t cols) {
  std::vector<T> x(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<int>(i * 7919 % 17) - 8) / 8;
  return x;
}

// Pinned while it lives.
class pinned {
 public:
  template <class T>
  explicit pinned(std::vector<T>& memory) : data_(memory.data()) {
    if (auto const status = cudaHostRegister(data_, memory.size() * sizeof(T), cudaHostRegisterDefault);
        status != cudaSuccess)
      throw std::runtime_error(std::string("cudaHostRegister: ") + cudaGetErrorName(status));
  }
  ~pinned() { cudaHostUnregister(data_); }
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;

 private:
  void* data_;
};

template <class T>
void compare(std::int64_t m, std::int64_t n, std::int64_t k) {
  auto a = matrix<T>(m, k), b = matrix<T>(k, n), c = matrix<T>(m, n);
  auto const views = [&](T* in_a, T* in_b, T* in_c, memory where, auto const& call) {
    call(matrix_view<T const>(in_a, m, k, k, layout::row_major, where),
         matrix_view<T const>(in_b, k, n, n, layout::row_major, where),
         matrix_view<T>(in_c, m, n, n, layout::row_major, where));
  };
  auto const multiply = [](tandem::backend where) {
    return [where](auto const& x, auto const& y, auto const& z) { gemm(x, y, z, {.backend = where}); };
  };
  auto const tiles = [&] { views(a.data(), b.data(), c.data(), memory::host, multiply(backend::gpu)); };
  auto const whole = [&](tandem::backend where) {
    gpu::device_buffer const in_a(a.size() * sizeof(T)), in_b(b.size() * sizeof(T)), in_c(c.size() * sizeof(T));
    gpu::copy_to_device(in_a.data(), a.data(), in_a.size());
    gpu::copy_to_device(in_b.data(), b.data(), in_b.size());
    views(static_cast<T*>(in_a.data()), static_cast<T*>(in_b.data()), static_cast<T*>(in_c.data()), memory::device,
          multiply(where));
    gpu::synchronize();
    gpu::copy_to_host(c.data(), in_c.data(), in_c.size());
  };

  struct way {
    char const* name;
    bool is_pinned;
    std::function<void()> call;
    std::vector<double> times = {};
  };
  way ways[] = {{"tiles", false, tiles, {}},
                {"whole", false, [&] { whole(backend::gpu); }, {}},
                {"cublas", false, [&] { whole(backend::cublas); }, {}},
                {"tiles, pinned", true, tiles, {}},
                {"whole, pinned", true, [&] { whole(backend::gpu); }, {}},
                {"cublas, pinned", true, [&] { whole(backend::cublas); }, {}}};
  std::string line = fmt::format("{:>6} {:>6} {:>6}", m, n, k);
  for (bool const is_pinned : {false, true}) {
    std::optional<pinned> pin_a, pin_b, pin_c;
    if (is_pinned) pin_a.emplace(a), pin_b.emplace(b), pin_c.emplace(c);
    int const rounds = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < 1e9 ? 51 : 7;
    for (int round = 0; round <= rounds; ++round)  // the first does not count
      for (auto& w : ways) {
        if (w.is_pinned != is_pinned) continue;
        auto const time = milliseconds(w.call);
        if (round > 0) w.times.push_back(time);
      }
  }
  for (auto const& w : ways) line += fmt::format(" {:>15.3f}", median(w.times));
  fmt::print("{}\n", line);
}

void time_lookup() {
  gpu::device_buffer const x(4096);
  problem p;
  p.memory = memory::device;
  p.a = p.b = p.c = x.data();
  constexpr int calls = 1'000'000;
  auto const time = milliseconds([&] {
    for (int i = 0; i < calls; ++i) gpu::check_operands(p, nullptr);
  });
  fmt::print("looking up three operands: {:.0f} ns\n", time * 1e6 / calls);
}

template <class T>
void compare_all(std::vector<std::int64_t> const& sizes) {
  fmt::print("milliseconds, medians, {}; {}\n", to_string(dtype_of<T>), gpu::device_name());
  fmt::print("{:>6} {:>6} {:>6} {:>15} {:>15} {:>15} {:>15} {:>15} {:>15}\n", "m", "n", "k", "tiles", "whole", "cublas",
             "tiles, pinned", "whole, pinned", "cublas, pinned");
  for (std::size_t i = 0; i + 2 < sizes.size(); i += 3) compare<T>(sizes[i], sizes[i + 1], sizes[i + 2]);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  bool const in_double = !arguments.empty() && arguments[0] == "f64";
  if (in_double || (!arguments.empty() && arguments[0] == "f32")) arguments.erase(arguments.begin());
  std::vector<std::int64_t> sizes;
  for (auto const& text : arguments) sizes.push_back(std::stoll(text));
  if (sizes.empty())
    sizes = {16,   16,   16,   256,  256,  256,  1024,    1024, 1024, 2048,  2048,  2048,
             4096, 4096, 4096, 8192, 8192, 8192, 1000000, 100,  100,  16384, 16384, 16384};
  if (auto const why = gpu::unavailable(); !why.empty()) throw std::runtime_error("gpu: " + why);
  time_lookup();
  in_double ? compare_all<double>(sizes) : compare_all<float>(sizes);
} catch (std::exception const& e) {
  fmt::print(stderr, "host_views_rates: {}\n", e.what());
  return 1;
}
