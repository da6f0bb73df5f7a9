// Products that the lanes of a warp hold together: gpu/runtime/mma.cuh for the host.
#pragma once

#include <bit>
#include <cstdint>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int compiled_for = 1000;  ///< the executor has what the code of any device has

/// A lane's part of a product, for as long as the warp multiplies.
struct product_of_warp {
  double* c;  ///< (tm, tn)
  double const *a, *b;
};

TANDEM_SIMT_OPERATION inline void post_to_warp(product_of_warp const* part) {
  simt::warp_pointers()[simt::lane_index()] = part;
}

/// What one lane does for all of them. Lanes that take no part leave zeros.
template <int k, int tm, int tn>
TANDEM_SIMT_OPERATION inline void add_products_of_lanes(std::uint32_t lanes) {
  double a[8 * tm][k] = {}, b[k][4 * tn] = {};
  product_of_warp of[32] = {};
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    of[lane] = *static_cast<product_of_warp const*>(simt::warp_pointers()[lane]);
    for (int i = 0; i < 2 * tm; ++i) a[i / 4 * 16 + i % 2 * 8 + lane / 4][i % 4 / 2 * 4 + lane % 4] = of[lane].a[i];
    for (int j = 0; j < tn; ++j) b[j % 2 * 4 + lane % 4][j / 2 * 8 + lane / 4] = of[lane].b[j];
  }
  for (int i = 0; i < 8 * tm; ++i) {
    auto const* const row = of + i % 8 * 4;  // of lanes
    double sums[4 * tn] = {};
    for (int j = 0; j < 4 * tn; ++j)
      if (double const* const c = row[j % 8 / 2].c) sums[j] = c[i / 8 * tn + j / 8 * 2 + j % 2];
    for (int p = 0; p < k; ++p)
      for (int j = 0; j < 4 * tn; ++j) sums[j] = __builtin_fma(a[i][p], b[p][j], sums[j]);
    for (int j = 0; j < 4 * tn; ++j)
      if (double* const c = row[j % 8 / 2].c) c[i / 8 * tn + j / 8 * 2 + j % 2] = sums[j];
  }
}

template <int k, int tm, int tn>
__forceinline__ void add_product_of_warp(double (&c)[tm][tn], double const (&a)[tm * 2], double const (&b)[tn]) {
  static_assert(k == 8 && tm % 2 == 0 && tn % 2 == 0);
  constexpr std::uint32_t warp = 0xffffffffu;
  product_of_warp const mine{&c[0][0], a, b};
  post_to_warp(&mine);
  auto const lanes = simt::ballot(warp, true);
  if (static_cast<int>(simt::lane_index()) == std::countr_zero(lanes)) add_products_of_lanes<k, tm, tn>(lanes);
  simt::sync_warp(warp);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
