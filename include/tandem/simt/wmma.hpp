// nvcuda::wmma for the host: matrix products of a warp. Included after tandem/simt/words.hpp, where the device includes
// gpu/runtime/wmma.cuh; kernels of both say `wmma::fragment`.
//
// An element lies in the lane and place that the PTX manual gives for mma.m16n8k16, mma.m16n8k8.tf32 and
// mma.m8n8k4.f64, continued to wmma's larger shapes; for wmma itself it promises nothing. Loads and stores are each
// lane's own, one access for elements that are neighbours in the fragment and in memory, and wait for nobody, so that a
// barrier that is missing before or after them shows. That addresses are multiples of 32 bytes, as wmma wants them, is
// not checked.
//
// Bits of a product: f64 is the chain of fused multiply-adds in the order of k. The other types' products are exact,
// are summed in double together with C, and are rounded once; hardware sums with fewer bits in an order of its own, so
// that it differs in the last bits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/half.hpp>
#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {
namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

/// To the nearest of 10 bits of fraction, of two the one away from zero; of a NaN the bits beyond are cut off, so that
/// one without any before them becomes infinity, as on an H200. A product ignores those bits in any case.
__forceinline__ float __float_to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + (x == x ? 0x1000u : 0u)) & ~0x1fffu);
}

/// What a fragment of T stores, and the type of its products.
template <class T>
struct element {
  using type = T;
};
template <>
struct element<precision::tf32> {
  using type = float;
};

template <int m, int n, int k>
inline constexpr bool half_shape = k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));

template <class Use, int m, int n, int k, class T>
inline constexpr bool exists = false;
template <class Use, int m, int n, int k>
inline constexpr bool exists<Use, m, n, k, __half> = half_shape<m, n, k>;
template <class Use, int m, int n, int k>
inline constexpr bool exists<Use, m, n, k, __nv_bfloat16> = half_shape<m, n, k> && !std::is_same_v<Use, accumulator>;
template <int m, int n, int k>
inline constexpr bool exists<accumulator, m, n, k, float> = half_shape<m, n, k> || (m == 16 && n == 16 && k == 8);
template <class Use, int m, int n, int k>
inline constexpr bool exists<Use, m, n, k, precision::tf32> =
    m == 16 && n == 16 && k == 8 && !std::is_same_v<Use, accumulator>;
template <class Use, int m, int n, int k>
inline constexpr bool exists<Use, m, n, k, double> = m == 8 && n == 8 && k == 4;

/// Where the lanes of a warp have the elements of a matrix: pieces of 8 rows, in each of which a lane has `side`
/// neighbours; 4 lanes share a row. Of B, read "columns" for "rows".
struct position {
  int row, col;
};
template <class Use, int m, int n, int k, class T>
struct mapping {
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? k : m, cols = std::is_same_v<Use, matrix_a> ? k : n;
  static constexpr int count = rows * cols / 32;  // of elements in a lane
  static constexpr int side = sizeof(T) == 2 || std::is_same_v<Use, accumulator> ? 2 : 1;
  static constexpr bool along_columns = std::is_same_v<Use, matrix_b>;  // a lane's neighbours lie in one column

  static constexpr position of(int lane, int i) {
    int const piece = i / side, across = lane / 4, along = lane % 4 * side + i % side;
    constexpr int pieces = rows / (along_columns ? 4 * side : 8);
    int const first = piece % pieces, second = piece / pieces;
    if (along_columns) return {first * 4 * side + along, second * 8 + across};
    return {first * 8 + across, second * 4 * side + along};
  }
};

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  static_assert(exists<Use, m, n, k, T>, "wmma has no fragment of this shape and type");
  static_assert(std::is_void_v<Layout> == std::is_same_v<Use, accumulator>,
                "A and B have a layout, the accumulator none");

 public:
  using element_type = T;
  using storage_element_type = typename element<T>::type;
  using place = mapping<Use, m, n, k, storage_element_type>;
  /// A fragment of half has 16 elements as on the device, and where there are fewer places the same ones again.
  static constexpr int num_elements =
      std::is_same_v<T, __half> && !std::is_same_v<Use, accumulator> ? 16 : place::count;
  static constexpr int num_storage_elements = num_elements;

  storage_element_type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, m, n, k, T, Layout>& f,
                                   typename std::type_identity<typename element<T>::type>::type const& value) {
  for (auto& x : f.x) x = value;
}

/// Neighbours in memory as one access: volatile, or an instrumented file might see several.
template <class T>
struct pair_access {
  typedef std::uint16_t type __attribute__((vector_size(2 * sizeof(T)), may_alias));
};

template <class Use, int m, int n, int k, class T, class Layout, class Element>
__forceinline__ void load(fragment<Use, m, n, k, T, Layout>& f, Element const* p, unsigned ld, bool rows_contiguous) {
  using place = typename fragment<Use, m, n, k, T, Layout>::place;
  using pair = typename pair_access<Element>::type;
  int const lane = static_cast<int>(simt::lane_index());
  for (int i = 0; i < place::count; i += place::side) {
    auto const [row, col] = place::of(lane, i);
    Element const* const from = p + (rows_contiguous ? row * std::int64_t{ld} + col : col * std::int64_t{ld} + row);
    if (place::side == 2 && rows_contiguous != place::along_columns) {
      pair const both = *reinterpret_cast<pair const volatile*>(from);
      std::memcpy(static_cast<void*>(&f.x[i]), &both, sizeof both);
    } else {
      for (int s = 0; s < place::side; ++s) f.x[i + s] = from[s * std::int64_t{ld}];
    }
  }
  for (int i = place::count; i < f.num_elements; ++i) f.x[i] = f.x[i % place::count];
}

template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, typename element<T>::type const* p,
                                      unsigned ld) {
  load(f, p, ld, std::is_same_v<Layout, row_major>);
}
template <int m, int n, int k, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, T>& f,
                                      typename std::type_identity<T>::type const* p, unsigned ld, layout_t layout) {
  load(f, p, ld, layout == mem_row_major);
}

template <int m, int n, int k, class T>
__forceinline__ void store_matrix_sync(typename std::type_identity<T>::type* p,
                                       fragment<accumulator, m, n, k, T> const& f, unsigned ld, layout_t layout) {
  using place = typename fragment<accumulator, m, n, k, T>::place;
  using pair = typename pair_access<T>::type;
  int const lane = static_cast<int>(simt::lane_index());
  for (int i = 0; i < place::count; i += place::side) {
    auto const [row, col] = place::of(lane, i);
    if (layout == mem_row_major) {
      pair both;
      std::memcpy(&both, &f.x[i], sizeof both);
      *reinterpret_cast<pair volatile*>(p + row * std::int64_t{ld} + col) = both;
    } else {
      for (int s = 0; s < place::side; ++s) p[(col + s) * std::int64_t{ld} + row] = f.x[i + s];
    }
  }
}

/// An element as a product sees it.
template <class T>
double factor(typename element<T>::type x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else if constexpr (std::is_same_v<T, precision::tf32>)
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0x1fffu);
  else
    return float{x};
}

/// One lane's fragments, for as long as the warp multiplies.
template <class D, class A, class B, class C>
struct mma_operands {
  D* d;
  A const* a;
  B const* b;
  C const* c;
};

TANDEM_SIMT_OPERATION inline void post_to_warp(void const* operands) {
  simt::warp_pointers()[simt::lane_index()] = operands;
}

/// What one lane does for all of them: d = a b + c. Lanes that take no part leave zeros in A and B.
template <int m, int n, int k, class T, class D, class A, class B, class C>
TANDEM_SIMT_OPERATION void multiply_for_warp(std::uint32_t lanes) {
  double a[m][k] = {}, b[k][n] = {};  // (m, k), (k, n)
  mma_operands<D, A, B, C> const* operands[32] = {};
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    auto const* const mine = static_cast<mma_operands<D, A, B, C> const*>(simt::warp_pointers()[lane]);
    operands[lane] = mine;
    for (int i = 0; i < A::place::count; ++i) {
      auto const [row, col] = A::place::of(lane, i);
      a[row][col] = factor<T>(mine->a->x[i]);
    }
    for (int i = 0; i < B::place::count; ++i) {
      auto const [row, col] = B::place::of(lane, i);
      b[row][col] = factor<T>(mine->b->x[i]);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (operands[lane] == nullptr) continue;
    for (int i = 0; i < C::place::count; ++i) {
      auto const [row, col] = C::place::of(lane, i);
      double sum = static_cast<double>(operands[lane]->c->x[i]);
      for (int p = 0; p < k; ++p) {
        if constexpr (std::is_same_v<T, double>)
          sum = __builtin_fma(a[row][p], b[p][col], sum);
        else
          sum += a[row][p] * b[p][col];  // an exact product
      }
      operands[lane]->d->x[i] = static_cast<typename D::element_type>(sum);
    }
  }
}

template <int m, int n, int k, class T, class layout_a, class layout_b, class D, class C>
__forceinline__ void mma_sync(fragment<accumulator, m, n, k, D>& d, fragment<matrix_a, m, n, k, T, layout_a> const& a,
                              fragment<matrix_b, m, n, k, T, layout_b> const& b,
                              fragment<accumulator, m, n, k, C> const& c) {
  static_assert(std::is_same_v<D, C> || std::is_same_v<T, __half>, "only of half can C and D differ in type");
  static_assert(!std::is_same_v<D, __half> || std::is_same_v<T, __half>, "only half is summed in half");
  constexpr std::uint32_t warp = 0xffffffffu;
  using fragment_a = fragment<matrix_a, m, n, k, T, layout_a>;
  using fragment_b = fragment<matrix_b, m, n, k, T, layout_b>;
  using fragment_c = fragment<accumulator, m, n, k, C>;
  using fragment_d = fragment<accumulator, m, n, k, D>;
  mma_operands<fragment_d, fragment_a, fragment_b, fragment_c> const mine{&d, &a, &b, &c};
  post_to_warp(&mine);
  auto const lanes = simt::ballot(warp, true);
  if (static_cast<int>(simt::lane_index()) == std::countr_zero(lanes))
    multiply_for_warp<m, n, k, T, fragment_d, fragment_a, fragment_b, fragment_c>(lanes);
  simt::sync_warp(warp);
}

}  // namespace nvcuda::wmma

namespace wmma = nvcuda::wmma;

}  // namespace TANDEM_KERNEL_NAMESPACE
