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
  double* c[2][2];  ///< 2 rows of two neighbours
  double const *a, *b;
};

TANDEM_SIMT_OPERATION inline void post_to_warp(product_of_warp const* part) {
  simt::warp_pointers()[simt::lane_index()] = part;
}

/// What one lane does for all of them.
TANDEM_SIMT_OPERATION inline void add_products_of_lanes(std::uint32_t lanes) {
  constexpr int k = 8;
  double a[16][k] = {}, b[k][8] = {};  // (m, k), (k, n); lanes that take no part leave zeros
  product_of_warp const* of[32] = {};
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    of[lane] = static_cast<product_of_warp const*>(simt::warp_pointers()[lane]);
    for (int i = 0; i < 4; ++i) a[lane / 4 + i % 2 * 8][lane % 4 + i / 2 * 4] = of[lane]->a[i];
    for (int i = 0; i < 2; ++i) b[lane % 4 + i * 4][lane / 4] = of[lane]->b[i];
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (of[lane] == nullptr) continue;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        double sum = *of[lane]->c[i][j];
        for (int p = 0; p < k; ++p) sum = __builtin_fma(a[lane / 4 + i * 8][p], b[p][lane % 4 * 2 + j], sum);
        *of[lane]->c[i][j] = sum;
      }
  }
}

template <int k>
__forceinline__ void add_product_of_warp(double& c00, double& c01, double& c10, double& c11, double const* a,
                                         double const* b) {
  static_assert(k == 8);
  constexpr std::uint32_t warp = 0xffffffffu;
  product_of_warp const mine{{{&c00, &c01}, {&c10, &c11}}, a, b};
  post_to_warp(&mine);
  auto const lanes = simt::ballot(warp, true);
  if (static_cast<int>(simt::lane_index()) == std::countr_zero(lanes)) add_products_of_lanes(lanes);
  simt::sync_warp(warp);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
