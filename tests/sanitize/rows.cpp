// What runs under compute-sanitizer (tests/gpu_sanitize.sh): a few products by each GPU row, on exactly as much device
// memory as the operands need, of which only the operands' elements have been written. The products are checked too.
//
//   gpu_sanitize I/N       every N-th row, from the I-th on (I from 0)
//   gpu_sanitize ROW ...   these rows
//   gpu_sanitize planted TOOL   a kernel that the tool has to report
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <tandem/error.hpp>
#include <tandem/kernel.hpp>

#include "gpu/descriptor.hpp"
#include "tests/sanitize/planted.hpp"

namespace {

namespace gpu = tandem::gpu;

void ok(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// `lines` of `length` elements, `ld` apart, tight, and on the device; what lies between lines is never written there.
template <class T>
class stored {
 public:
  stored(std::int64_t lines, std::int64_t length, std::int64_t ld) : lines_(lines), length_(length), ld_(ld) {
    if (lines * length == 0) return;
    ok(cudaMalloc(&data_, static_cast<std::size_t>((lines - 1) * ld + length) * sizeof(T)));
  }
  ~stored() { cudaFree(data_); }
  stored(stored const&) = delete;
  stored& operator=(stored const&) = delete;

  void write(std::vector<T> const& from) const { copy(data_, ld_, from.data(), length_); }
  std::vector<T> read() const {
    std::vector<T> to(static_cast<std::size_t>(lines_ * length_));
    copy(to.data(), length_, data_, ld_);
    return to;
  }
  T* data() const { return static_cast<T*>(data_); }
  std::int64_t lines() const { return lines_; }
  std::int64_t length() const { return length_; }
  std::int64_t ld() const { return ld_; }

 private:
  void copy(void* to, std::int64_t to_ld, void const* from, std::int64_t from_ld) const {
    if (data_ == nullptr) return;
    auto const bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(T); };
    ok(cudaMemcpy2D(to, bytes(to_ld), from, bytes(from_ld), bytes(length_), static_cast<std::size_t>(lines_),
                    cudaMemcpyDefault));
  }

  std::int64_t lines_, length_, ld_;
  void* data_ = nullptr;
};

/// Small integers, so that every sum is exact in any order.
template <class T>
std::vector<T> integers(std::int64_t count, unsigned seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (auto& x : values) {
    seed = seed * 1664525U + 1013904223U;
    x = T(static_cast<int>(seed >> 24U) % 7 - 3);
  }
  return values;
}

struct problem {
  std::int64_t m, n, k;
  bool trans_a, trans_b;
  std::int64_t padding;  // of leading dimensions
  double alpha = 1, beta = 0;
};

/// Every form of a row's kernel, over and short of a tile; k in several slices and shares; operands that are copied
/// first: both, and one; one row or column; a few steps of k; nothing to add up.
std::vector<problem> sample(tandem::kernel const& row) {
  auto const block = row.plan({}).levels.front();
  auto const bk = block.k != 0 ? block.k : 16;
  std::vector<problem> all;
  for (bool const trans_a : {false, true})
    for (bool const trans_b : {false, true}) {
      all.push_back({block.m + 1, std::max<std::int64_t>(block.n - 1, 1), 2 * bk + 1, trans_a, trans_b, 3, -2, 3});
      all.push_back({block.m, block.n, 8 * bk, trans_a, trans_b, 0});  // whole vectors, more chunks than stages
      all.push_back({17, 33, 3000, trans_a, trans_b, 1, 1, -1});
    }
  all.push_back({5, 900, 1100, false, true, 0});
  all.push_back({900, 5, 1100, true, false, 2});
  all.push_back({1003, 1001, 40, true, true, 4, 1, 1});
  if (row.technique() == "persistent") {
    all.push_back({2503, 2501, 400, false, false, 2});
    all.push_back({2304, 2304, 1000, false, false, 0, 1, 1});
  }
  if (row.technique() == "tensor_core") {
    all.push_back({3003, 3001, 51, false, true, 2});
    all.push_back({2304, 2304, 1000, false, false, 0, 1, 1});
  }
  if (row.technique() == "peeled") {  // both strips, of a few lines, too, and a wide one
    all.push_back({1409, 3077, 161, false, true, 1});
    all.push_back({1411, 3074, 161, true, false, 2, 1, 1});
    all.push_back({1408 + 50, 3072, 161, true, false, 0, 1, 2});
  }
  if (row.technique() == "gemv") {  // slices, without a copy of the vector and with one
    all.push_back({37, 1, 16001, true, false, 1, 1, 2});
    all.push_back({200, 1, 20001, false, false, 39});
    all.push_back({1, 200, 20001, true, true, 39, 1, -1});
  }
  for (bool const trans : {false, true}) {
    all.push_back({1, 1030, 700, trans, trans, 1});
    all.push_back({1030, 1, 700, trans, !trans, 0, 1, 2});
    all.push_back({130, 141, 3, trans, trans, 2, 2, 1});
    all.push_back({140, 128, 8, trans, !trans, 0});
  }
  all.push_back({33, 35, 0, false, false, 1, 1, -2});
  all.push_back({33, 35, 9, false, false, 1, 0, 0});
  return all;
}

template <class T>
std::vector<T> expected(problem const& p, std::vector<T> const& a, std::vector<T> const& b, std::vector<T> c) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    std::vector<T> sums(static_cast<std::size_t>(p.n));
    for (std::int64_t q = 0; q < p.k; ++q) {
      T const x = a[static_cast<std::size_t>(p.trans_a ? q * p.m + i : i * p.k + q)];
      for (std::int64_t j = 0; j < p.n; ++j)
        sums[static_cast<std::size_t>(j)] += x * b[static_cast<std::size_t>(p.trans_b ? j * p.k + q : q * p.n + j)];
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      T& out = c[static_cast<std::size_t>(i * p.n + j)];
      out = T(p.alpha) * sums[static_cast<std::size_t>(j)] + (p.beta == 0 ? T(0) : T(p.beta) * out);
    }
  }
  return c;
}

template <class T>
tandem::matrix_view<T const> view(stored<T> const& s, bool transposed) {
  tandem::matrix_view<T const> const v(s.data(), s.lines(), s.length(), s.ld(), tandem::layout::row_major,
                                       tandem::memory::device);
  return transposed ? v.transposed() : v;
}

/// False: the row says that it does not take the problem.
template <class T>
bool multiply(tandem::kernel const& row, problem const& p) {
  auto const matrix = [&](std::int64_t lines, std::int64_t length) {
    return stored<T>(lines, length, length + p.padding);
  };
  auto const a = matrix(p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k);
  auto const b = matrix(p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n);
  auto const c = matrix(p.m, p.n);
  auto const in_a = integers<T>(p.m * p.k, 1), in_b = integers<T>(p.k * p.n, 2), in_c = integers<T>(p.m * p.n, 3);
  if (p.alpha != 0) a.write(in_a), b.write(in_b);  // what must not be read is not written either
  if (p.beta != 0) c.write(in_c);
  try {
    gemm_with(row, view(a, p.trans_a), view(b, p.trans_b),
              tandem::matrix_view<T>(c.data(), p.m, p.n, c.ld(), tandem::layout::row_major, tandem::memory::device),
              {.alpha = p.alpha, .beta = p.beta});
  } catch (tandem::error const& e) {
    if (e.code() != tandem::errc::unsupported) throw;
    return false;
  }
  ok(cudaDeviceSynchronize());
  if (c.read() != expected<T>(p, in_a, in_b, in_c))
    throw std::runtime_error(fmt::format("{}: wrong at {}{} {}x{}x{}, ld + {}", row.name, p.trans_a ? 't' : 'n',
                                         p.trans_b ? 't' : 'n', p.m, p.n, p.k, p.padding));
  return true;
}

template <class T>
void add(tandem::kernel const& row, std::int64_t stride_x, std::int64_t stride_y) {
  constexpr std::int64_t n = 5001;
  stored<T> const x(n, 1, stride_x), y(n, 1, stride_y);
  auto const in_x = integers<T>(n, 1), in_y = integers<T>(n, 2);
  x.write(in_x), y.write(in_y);
  axpy_with(row, 2, tandem::vector_view<T const>(x.data(), n, stride_x, tandem::memory::device),
            tandem::vector_view<T>(y.data(), n, stride_y, tandem::memory::device));
  ok(cudaDeviceSynchronize());
  auto wanted = in_y;
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += 2 * in_x[i];
  if (y.read() != wanted) throw std::runtime_error(fmt::format("{}: wrong", row.name));
}

template <class T>
std::size_t run(tandem::kernel const& row) {
  if (row.operation() == tandem::operation::axpy) {
    for (std::int64_t const stride : {1, 3}) add<T>(row, stride, 4 - stride), add<T>(row, stride, stride);
    return 4;
  }
  std::size_t calls = 0;
  for (auto const& p : sample(row)) calls += multiply<T>(row, p) ? 1 : 0;
  if (calls <= 2) throw std::runtime_error(fmt::format("{}: takes nothing but what adds nothing up", row.name));
  return calls;
}

std::vector<tandem::kernel const*> wanted_rows(int argc, char** argv) {
  auto const& rows = gpu::descriptor().kernels;
  std::vector<tandem::kernel const*> wanted;
  std::size_t share = 0, shares = 0;
  if (argc == 2 && std::sscanf(argv[1], "%zu/%zu", &share, &shares) == 2 && shares != 0) {
    for (std::size_t i = share; i < rows.size(); i += shares) wanted.push_back(&rows[i]);
    return wanted;
  }
  for (int i = 1; i < argc; ++i) {
    auto const before = wanted.size();
    for (auto const& row : rows)
      if (row.name == argv[i]) wanted.push_back(&row);
    if (wanted.size() == before) throw std::runtime_error(fmt::format("there is no row {}", argv[i]));
  }
  return wanted;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: gpu_sanitize I/N | ROW ... | planted TOOL\n");
    return 2;
  }
  if (auto const why = gpu::descriptor().unavailable(); !why.empty()) {
    fmt::print(stderr, "gpu_sanitize: {}\n", why);
    return 77;
  }
  if (argc == 3 && std::string(argv[1]) == "planted") return plant(argv[2]) ? 0 : 1;
  for (auto const* row : wanted_rows(argc, argv)) {
    auto const calls = row->dtype == tandem::dtype::f64 ? run<double>(*row) : run<float>(*row);
    fmt::print("{}: {} calls\n", row->name, calls);
    std::fflush(stdout);
  }
  return 0;
} catch (std::exception const& e) {
  fmt::print(stderr, "gpu_sanitize: {}\n", e.what());
  return 1;
}
