// What a test of the kernels' language runs: one small program over fixed operands.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
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
/// The kernels whose lanes part.
feature_table const& device_divergences();
/// A kernel that does nothing: in a profile it stands between the features.
void start_mark();
/// The same kernels as a session watches them.
feature_table const& watched_features();
feature_table const& watched_divergences();
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

/// Where the outputs are not as equal as the feature's are to be: the first places, in words of 4 bytes or in elements.
/// Empty when they are.
inline std::string differences(feature const& f, feature_output const& x, feature_output const& y) {
  std::ostringstream out;
  int number = 0;
  auto const note = [&](std::size_t at, auto a, auto b) {
    if (++number <= 8) out << at << ": " << a << " against " << b << "; ";
  };
  if (f.tolerance == 0) {
    std::vector<std::uint32_t> a(feature_bytes / 4), b(feature_bytes / 4);
    std::memcpy(a.data(), x.data(), feature_bytes);
    std::memcpy(b.data(), y.data(), feature_bytes);
    out << std::hex;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) note(i, a[i], b[i]);
  } else {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(std::abs(x[i] - y[i]) <= f.tolerance)) note(i, x[i], y[i]);
  }
  if (number != 0) out << std::dec << number << " differ";
  return out.str();
}

}  // namespace tandem::tests
