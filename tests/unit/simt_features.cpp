// The kernels' language on the SIMT executor: each feature's kernel against plain code for the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/kernels/feature.hpp"

using namespace tandem::tests;

namespace {

template <class T>
std::vector<T> const& input(feature_inputs const& in) {
  if constexpr (std::is_same_v<T, float>)
    return in.f;
  else if constexpr (std::is_same_v<T, double>)
    return in.d;
  else
    return in.i;
}

// What a kernel is to leave in its output.
using expectation = std::function<void(feature_inputs const& in, void* out)>;

template <class T>
expectation for_each_element(int count, std::function<T(std::vector<T> const& in, int i)> const& value) {
  return [=](feature_inputs const& in, void* out) {
    for (int i = 0; i < count; ++i) static_cast<T*>(out)[i] = value(input<T>(in), i);
  };
}

template <class T>
expectation transposed(int edge) {
  return for_each_element<T>(feature_elements, [=](auto const& in, int i) {
    int const tile = i / (edge * edge), y = i / edge % edge, x = i % edge;
    return in[tile * edge * edge + x * edge + y];
  });
}

// Every 64 vectors in reverse, x and y exchanged.
template <class T, int width>
expectation reversed_vectors() {
  return for_each_element<T>(feature_elements, [](auto const& in, int i) {
    int const vector = i / width / 64 * 64 + 63 - i / width % 64, e = i % width;
    return in[vector * width + (e == 0 ? 1 : e == 1 ? 0 : e)];
  });
}

template <class T>
expectation shuffled(int width) {
  return for_each_element<T>(4 * 96, [=](auto const& in, int i) {
    int const t = i % 96, first = t / width * width, at = t % width;
    int const from[] = {(t * 5 + 3) % width, at - 3, at + 3, at ^ 5};
    int const source = from[i / 96];
    return in[source < 0 || source >= width ? t : first + source];
  });
}

// Every lane adds in the same order up to exchanges of two terms, which do not show in the bits.
template <class T>
T pairwise_sum(T const* first, int count, int stride = 1) {
  if (count == 1) return *first;
  return pairwise_sum(first, count / 2, 2 * stride) + pairwise_sum(first + stride, count / 2, 2 * stride);
}
template <class T>
expectation warp_sums() {
  return for_each_element<T>(4 * 96, [](auto const& in, int i) { return pairwise_sum(&in[i / 32 * 32], 32); });
}

void passed_round(feature_inputs const& in, void* out) {
  for (int warp = 0; warp < 64; warp += 32) {
    std::vector<int> values(in.i.begin() + warp, in.i.begin() + warp + 32);
    for (int round = 0; round < 5; ++round) {
      std::rotate(values.begin(), values.begin() + 1, values.end());
      for (int& v : values) v = v * 3 + round;
    }
    std::copy(values.begin(), values.end(), static_cast<int*>(out) + warp);
  }
}

void split_warps(feature_inputs const& in, void* out) {
  for (int t = 0; t < 64; ++t) {
    int const lane = t % 32;
    int const* const warp = &in.i[t / 32 * 32];
    if (lane < 12) {
      std::vector<int> values(warp, warp + 12);
      for (int step = 1; step <= 4; ++step) {
        auto const before = values;
        for (int l = 0; l < 12; ++l) values[l] += before[(l + step) % 12];
      }
      static_cast<int*>(out)[t] = values[lane];
    } else {
      unsigned votes = 0;
      for (int l = 12; l < 32; ++l) votes |= (warp[l] % 2 == 0 ? 1u : 0u) << l;
      static_cast<int*>(out)[t] = static_cast<int>(votes) + 31;
    }
  }
}

void voted(feature_inputs const& in, void* out) {
  auto* const result = static_cast<int*>(out);
  auto const first = in.i.begin();
  for (int t = 0; t < 64; ++t) {
    unsigned positive = 0;
    for (int l = 0; l < 32; ++l) positive |= (in.i[t / 32 * 32 + l] > 0 ? 1u : 0u) << l;
    result[t] = static_cast<int>(positive);
    result[64 + t] = t < 32;
    result[128 + t] = t >= 32 || std::all_of(first, first + 32, [](int x) { return x < 100; });
  }
}

void left_early(feature_inputs const& in, void* out) {
  for (int t = 0; t < 88; t += 2) {
    unsigned positive = 0;
    for (int l = 0; l < 32 && t / 32 * 32 + l < 88; l += 2) positive |= (in.i[t / 32 * 32 + l] > 0 ? 1u : 0u) << l;
    static_cast<int*>(out)[t] = in.i[t] + in.i[t ^ 2] + static_cast<int>(positive);
  }
}

void after_atomics(feature_inputs const& in, void* out) {
  auto* const result = static_cast<int*>(out);
  int const n = 5 * 96;
  int sum = 0;
  for (int t = 0; t < n; ++t) {
    int const value = in.i[t];
    sum += value;
    ++result[value & 15];
    ++result[16 + (value & 15)];
    result[33] = std::max(result[33], value);
    result[34] = std::min(result[34], value);
  }
  reinterpret_cast<float&>(result[32]) = static_cast<float>(sum);
  result[35] = -sum;
  result[36] = n % 7;
  result[37] = sum;
  result[38] = 32;
  std::copy_n(in.i.begin(), 32, result + 39);
  reinterpret_cast<double&>(result[80]) = sum / 4.0;
}

expectation copied_ahead(int words) {
  return for_each_element<float>(7 * 64 * words, [=](auto const& in, int i) {
    int const tile = i / words / 64, t = (i / words + 1) % 64, w = i % words, element = tile * 64 + t;
    return w < element % (words + 1) ? in[element * words + w] : 0.0f;
  });
}

template <class T>
expectation fetched(int words) {
  return for_each_element<T>(160 * words, [=](auto const& in, int i) {
    int const at = i / words - 40;
    return at < 0 || at >= 100 ? T{0} : in[at * words + i % words];
  });
}

void polynomials(feature_inputs const& in, void* out) {
  constexpr double weights[] = {0.5, -2, 3, 0.125};
  for (int i = 0; i < 256; ++i) {
    float f = 0;
    for (int w = 0; w < 4; ++w) f = std::fma(f, in.f[i], static_cast<float>(weights[w]));
    static_cast<float*>(out)[i] = f;
    double d = 0;
    for (int w = 0; w < 3; ++w) d = std::fma(d, in.d[i], weights[w]);
    static_cast<double*>(out)[256 + i] = d;
  }
}

void bits_and_bounds(feature_inputs const& in, void* out) {
  constexpr int n = 256;
  auto* const result = static_cast<int*>(out);
  for (int t = 0; t < n; ++t) {
    auto const bits = static_cast<unsigned>(in.i[t]) * 2654435761u >> t % 32;
    result[t] = std::popcount(bits);
    result[n + t] = bits == 0 ? 32 : 31 - static_cast<int>(std::log2(bits));
    result[2 * n + t] = bits == 0 ? 0 : static_cast<int>(std::log2(bits & (~bits + 1))) + 1;
    result[3 * n + t] = std::clamp(in.i[t], -3, 5);
    result[4 * n + t] = std::bit_cast<int>(std::min(std::max(in.f[t], -0.5f), std::min(0.5f, in.f[t + n])));
    result[5 * n + t] = std::bit_cast<int>(in.f[t]) ^ 1;
    auto const d = std::bit_cast<std::uint64_t>(in.d[t]);
    result[6 * n + t] = static_cast<int>(d >> 32 ^ (d & 0xffffffffu));
    double const high = std::bit_cast<double>(d >> 32 << 32);
    result[7 * n + t] = std::bit_cast<int>(static_cast<float>(std::max(high, std::abs(in.d[t + n]))));
  }
}

// Formats of 16 bits by their definition, without a bit of arithmetic: the values in a table, and the nearest by
// search.
class short_format {
 public:
  explicit short_format(int fraction_bits) : fraction_bits_(fraction_bits) {
    int const bias = (1 << (14 - fraction_bits)) - 1;
    for (int bits = 0; bits <= infinity(); ++bits) {
      int const field = bits >> fraction_bits, fraction = bits % (1 << fraction_bits);
      double const significand = field == 0 ? fraction : fraction + (1 << fraction_bits);
      values_.push_back(std::ldexp(significand, std::max(field, 1) - bias - fraction_bits));
    }
  }

  int infinity() const { return 0x7fff >> fraction_bits_ << fraction_bits_; }
  // Infinity stands here for the power of two that would follow.
  double value(int bits) const { return bits < 0x8000 ? values_[bits] : -values_[bits - 0x8000]; }

  int nearest(double x) const {
    if (std::isnan(x)) return 0x7fff;
    int const sign = std::signbit(x) ? 0x8000 : 0;
    double const magnitude = std::abs(x);
    if (magnitude >= values_.back()) return sign | infinity();
    auto const above = static_cast<int>(std::ranges::upper_bound(values_, magnitude) - values_.begin());
    double const down = magnitude - values_[above - 1], up = values_[above] - magnitude;
    return sign | (down < up || (down == up && above % 2 != 0) ? above - 1 : above);
  }

  // As the kernel writes it down: the bits of a float, -1 for a NaN.
  int widened(int bits) const {
    int const magnitude = bits & 0x7fff;
    if (magnitude > infinity()) return -1;
    float const x =
        magnitude == infinity() ? std::numeric_limits<float>::infinity() : static_cast<float>(value(magnitude));
    return std::bit_cast<int>(bits < 0x8000 ? x : -x);
  }

 private:
  int fraction_bits_;
  std::vector<double> values_;
};

float as_float(int bits) { return std::bit_cast<float>(bits == -1 ? 0x7fc00000 : bits); }

float to_tf32(float x) {
  if (std::isnan(x)) return std::bit_cast<float>(std::bit_cast<unsigned>(x) >> 13 << 13);  // may become infinity
  if (std::isinf(x)) return x;
  int exponent;
  std::frexp(x, &exponent);
  double const unit = std::ldexp(1.0, std::max(exponent, -125) - 11);
  return static_cast<float>(std::round(x / unit) * unit);  // rounds halves away from zero
}

void converted(feature_inputs const&, void* out) {
  static short_format const half(10), bfloat16(7);
  constexpr unsigned fractions[] = {0, 0x1000, 0x1001, 0x3000, 0x8000, 0x18000, 0x400fff, 0x7fffff};
  constexpr int n = 2048;
  auto* const result = static_cast<int*>(out);
  for (int t = 0; t < n; ++t) {
    unsigned const exponent = t % 256, sign = t / 5 % 2;
    auto const x = std::bit_cast<float>(sign << 31 | exponent << 23 | fractions[t / 256]);
    int const h = half.nearest(x), b = bfloat16.nearest(x);
    result[t] = h;
    result[n + t] = b;
    result[2 * n + t] = half.widened(h);
    result[3 * n + t] = bfloat16.widened(b);
    float const tf = to_tf32(x), narrow = as_float(half.widened(h));
    result[4 * n + t] = std::isnan(tf) ? -1 : std::bit_cast<int>(tf);
    result[5 * n + t] = half.nearest(double{narrow} * narrow);
    result[6 * n + t] = half.nearest(double{narrow} + 1);
  }
}

double to_half(float x) {
  static short_format const half(10);
  return half.value(half.nearest(x));
}
double to_bfloat16(float x) {
  static short_format const bfloat16(7);
  return bfloat16.value(bfloat16.nearest(x));
}
double itself(float x) { return x; }

expectation product(int m, int n, int k, double (*factor)(float), bool a_in_rows, bool b_in_rows, bool c_in_rows,
                    double (*term)(float) = itself) {
  return [=](feature_inputs const& in, void* out) {
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        int const at = c_in_rows ? i * n + j : j * m + i;
        double sum = 2 * term(in.f[2048 + at]);
        for (int p = 0; p < 2 * k; ++p)
          sum += factor(in.f[a_in_rows ? i * 2 * k + p : p * m + i]) *
                 factor(in.f[1024 + (b_in_rows ? p * n + j : j * 2 * k + p)]);
        static_cast<double*>(out)[at] = sum;
      }
  };
}

double as_tf32(float x) { return to_tf32(x); }

std::map<std::string, expectation> expectations() {
  return {
      {"dynamic shared memory",
       for_each_element<float>(feature_elements, [](auto const& in, int i) { return in[feature_elements - 1 - i]; })},
      {"static shared memory", transposed<float>(16)},
      {"static shared memory, double", transposed<double>(8)},
      {"static and dynamic shared memory",
       [](feature_inputs const& in, void* out) {
         for (int t = 0; t < 128; ++t) static_cast<double*>(out)[t] = in.f[127 - t] + in.d[(t + 1) % 128];
       }},
      {"two kernels",
       [](feature_inputs const& in, void* out) {
         int sum = 0;
         for (int i = 0; i < 64; ++i) sum += in.i[i];
         std::fill_n(static_cast<int*>(out), 64, sum);
         for (int t = 0; t < 96; ++t) static_cast<double*>(out)[64 + t] = in.d[(t + 1) % 96];
       }},
      {"float2", reversed_vectors<float, 2>()},
      {"float4", reversed_vectors<float, 4>()},
      {"double2", reversed_vectors<double, 2>()},
      {"int4", reversed_vectors<int, 4>()},
      {"shuffles", shuffled<int>(32)},
      {"shuffles, width 16", shuffled<float>(16)},
      {"shuffles, width 8", shuffled<double>(8)},
      {"warp sum, float", warp_sums<float>()},
      {"warp sum, double", warp_sums<double>()},
      {"__syncwarp", passed_round},
      {"partial masks", split_warps},
      {"votes", voted},
      {"early exit", left_early},
      {"atomics", after_atomics},
      {"cp.async, 4 bytes", copied_ahead(1)},
      {"cp.async, 8 bytes", copied_ahead(2)},
      {"cp.async, 16 bytes", copied_ahead(4)},
      {"texture, float", fetched<float>(1)},
      {"texture, float4", fetched<float>(4)},
      {"texture, int2", fetched<int>(2)},
      {"texture, double", fetched<double>(1)},
      {"templates and constants", polynomials},
      {"bits and bounds", bits_and_bounds},
      {"conversions", converted},
      {"wmma half 16x16x16", product(16, 16, 16, to_half, true, false, true)},
      {"wmma half 16x16x16, sums of half", product(16, 16, 16, to_half, false, true, false, to_half)},
      {"wmma half 32x8x16", product(32, 8, 16, to_half, true, true, false)},
      {"wmma half 8x32x16, sums of half", product(8, 32, 16, to_half, false, false, true, to_half)},
      {"wmma bfloat16 16x16x16", product(16, 16, 16, to_bfloat16, true, true, true)},
      {"wmma bfloat16 32x8x16", product(32, 8, 16, to_bfloat16, false, true, false)},
      {"wmma bfloat16 8x32x16", product(8, 32, 16, to_bfloat16, true, false, true)},
      {"wmma tf32 16x16x8", product(16, 16, 8, as_tf32, true, false, true)},
      {"wmma tf32 16x16x8, the other layouts", product(16, 16, 8, as_tf32, false, true, false)},
      {"wmma double 8x8x4", product(8, 8, 4, itself, true, false, true)},
      {"wmma double 8x8x4, the other layouts", product(8, 8, 4, itself, false, true, false)},
  };
}

}  // namespace

TEST_SUITE_BEGIN("simt features");

TEST_CASE("each feature of the kernels' language does what plain code does") {
  auto const expected = expectations();
  feature_inputs const in;
  for (auto const& f : host_features()) {
    std::string const name = f.name;
    CAPTURE(name);
    REQUIRE(expected.contains(name));
    feature_output plain(feature_elements);
    expected.at(name)(in, plain.data());
    auto const got = run_on_host(f, in);
    CHECK(differences(f, got, plain) == "");
  }
}

TEST_SUITE_END();
