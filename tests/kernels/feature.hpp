// What a test of the kernels' language runs: one small program over fixed operands.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

struct CUstream_st;

namespace tandem::tests {

inline constexpr int feature_elements = 8192;                                    // of each input
inline constexpr std::size_t feature_bytes = feature_elements * sizeof(double);  // of each input and of the output

/// The inputs in the memory of whoever runs the kernels, and the output, zero before the first.
struct feature_data {
  float const* f;
  double const* d;
  int const* i;
  void* out;
};

struct feature {
  char const* name;
  void (*start)(feature_data const& data, CUstream_st* stream);
  /// 0: the same bits on every machine. Otherwise the output is of double, and may differ by this much.
  double tolerance = 0;
};

struct feature_table {
  feature const* first;
  std::size_t size;
  feature const* begin() const { return first; }
  feature const* end() const { return first + size; }
};

/// The same kernels, by the SIMT executor's compilation and by nvcc's.
feature_table const& host_features();
feature_table const& device_features();
/// Why the current device cannot run nvcc's; empty when it can.
std::string why_no_device_features();

/// The same numbers in every run.
struct feature_inputs {
  std::vector<float> f = std::vector<float>(feature_elements);
  std::vector<double> d = std::vector<double>(feature_elements);
  std::vector<int> i = std::vector<int>(feature_elements);

  feature_inputs() {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> real(-1, 1);
    std::uniform_int_distribution<int> small(-100, 100);
    for (auto& x : f) x = static_cast<float>(real(random));
    for (auto& x : d) x = real(random);
    for (auto& x : i) x = small(random);
  }
};

using feature_output = std::vector<double>;  // of feature_bytes; most kernels fill it with other types

inline feature_output run_on_host(feature const& f, feature_inputs const& in) {
  feature_output out(feature_elements);
  f.start({in.f.data(), in.d.data(), in.i.data(), out.data()}, nullptr);
  return out;
}

/// Whether the outputs are as equal as the feature's are to be.
inline bool agree(feature const& f, feature_output const& x, feature_output const& y) {
  if (f.tolerance == 0) return std::memcmp(x.data(), y.data(), feature_bytes) == 0;
  for (std::size_t e = 0; e < x.size(); ++e)
    if (!(std::abs(x[e] - y[e]) <= f.tolerance)) return false;
  return true;
}

}  // namespace tandem::tests
