// Problems for the GPU's and the SIMT executor's rows: padded operands with NaN in every gap, allocated to the last
// element, so that AddressSanitizer sees an access beyond them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <tandem/kernel.hpp>

namespace gpu_problems {

struct shape {
  std::int64_t m = 1, n = 1, k = 1;
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 0;
  std::int64_t padding = 3;  // ld beyond the row's length
};

inline std::string describe(shape const& s) {
  return fmt::format("m {} n {} k {} trans_a {} trans_b {} alpha {} beta {} padding {}", s.m, s.n, s.k, s.trans_a,
                     s.trans_b, s.alpha, s.beta, s.padding);
}

template <class T>
struct host_problem {
  shape s;
  std::int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;

  explicit host_problem(shape const& of) : s(of) {
    lda = (s.trans_a ? s.m : s.k) + s.padding;
    ldb = (s.trans_b ? s.k : s.n) + s.padding;
    ldc = s.n + s.padding;
    std::mt19937 random(static_cast<unsigned>(s.m * 1009 + s.n * 31 + s.k));
    a = matrix(s.trans_a ? s.k : s.m, s.trans_a ? s.m : s.k, lda, random);
    b = matrix(s.trans_b ? s.n : s.k, s.trans_b ? s.k : s.n, ldb, random);
    c = matrix(s.m, s.n, ldc, random);
    // With beta = 0 C must not be read.
    if (s.beta == 0) std::fill(c.begin(), c.end(), std::numeric_limits<T>::quiet_NaN());
  }

  tandem::problem canonical() {
    tandem::problem p;
    p.dtype = tandem::dtype_of<T>;
    p.m = s.m, p.n = s.n, p.k = s.k;
    p.alpha = s.alpha, p.beta = s.beta;
    p.a = a.data(), p.lda = lda, p.trans_a = s.trans_a;
    p.b = b.data(), p.ldb = ldb, p.trans_b = s.trans_b;
    p.c = c.data(), p.ldc = ldc;
    return p;
  }

  T at_a(std::int64_t i, std::int64_t p) const { return a[s.trans_a ? p * lda + i : i * lda + p]; }
  T at_b(std::int64_t p, std::int64_t j) const { return b[s.trans_b ? j * ldb + p : p * ldb + j]; }

 private:
  static std::vector<T> matrix(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::mt19937& random) {
    std::vector<T> v((rows - 1) * ld + cols, std::numeric_limits<T>::quiet_NaN());
    std::uniform_real_distribution<T> value(-1, 1);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) v[i * ld + j] = value(random);
    return v;
  }
};

/// Equal bits, or two NaNs.
template <class T>
bool same(T x, T y) {
  return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
}

/// Whether the row makes an element of C in one chain of fused multiply-adds over k: so do all but those whose plan has
/// slices of k, or warps with a part of the block's steps.
inline bool is_one_chain(tandem::kernel const& row, tandem::problem const& p) {
  auto const levels = row.plan(p).levels;
  return levels[0].keeps_c && levels[0].k == levels[1].k;
}

/// acc[j] = fma(x, y[j], acc[j]): most of what these tests take is here.
template <class T>
[[gnu::always_inline]] inline void add_multiples(T x, T const* y, T* acc, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) acc[j] = std::fma(x, y[j], acc[j]);
}

#ifdef __x86_64__
/// The same as one instruction, where x86-64's baseline calls the C library for each.
template <class T>
[[gnu::target("fma")]] void add_multiples_by_hardware(T x, T const* y, T* acc, std::int64_t n) {
  add_multiples(x, y, acc, n);
}
#endif

/// The faster of them that this processor has.
template <class T>
auto adding_multiples() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("fma")) return add_multiples_by_hardware<T>;
#endif
  return add_multiples<T>;
}

/// alpha * A * B + beta * C as one chain of fused multiply-adds over k for each element.
template <class T>
std::vector<T> chains(host_problem<T> const& before) {
  auto const& s = before.s;
  auto const add = adding_multiples<T>();
  std::vector<T> rows_of_b(s.k * s.n);  // (k, n)
  for (std::int64_t p = 0; p < s.k; ++p)
    for (std::int64_t j = 0; j < s.n; ++j) rows_of_b[p * s.n + j] = before.at_b(p, j);
  auto const alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
  std::vector<T> out(s.m * s.n);  // (m, n)
  for (std::int64_t i = 0; i < s.m; ++i) {
    T* const row = out.data() + i * s.n;
    for (std::int64_t p = 0; p < s.k; ++p) add(before.at_a(i, p), rows_of_b.data() + p * s.n, row, s.n);
    for (std::int64_t j = 0; j < s.n; ++j)
      row[j] = s.beta == 0 ? alpha * row[j] : std::fma(alpha, row[j], beta * before.c[i * before.ldc + j]);
  }
  return out;
}

/// Elements of `got` that are not within the bound of a sum in wider arithmetic, which NaN never is.
template <class T>
std::int64_t elements_out_of_bound(host_problem<T> const& before, std::vector<T> const& got) {
  using wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  auto const& s = before.s;
  auto const alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
  wide const unit = wide(std::numeric_limits<T>::epsilon()) / 2, gamma = (s.k + 2) * unit / (1 - (s.k + 2) * unit);
  std::vector<T> row_of_a(s.k), columns_of_b(s.n * s.k);  // (n, k)
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t p = 0; p < s.k; ++p) columns_of_b[j * s.k + p] = before.at_b(p, j);
  std::int64_t out = 0;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t p = 0; p < s.k; ++p) row_of_a[p] = before.at_a(i, p);
    for (std::int64_t j = 0; j < s.n; ++j) {
      T const* const column_of_b = columns_of_b.data() + j * s.k;
      wide sum = 0, magnitude = 0;
      for (std::int64_t p = 0; p < s.k; ++p) {
        wide const product = wide(row_of_a[p]) * wide(column_of_b[p]);
        sum += product;
        magnitude += std::abs(product);
      }
      T const c = s.beta == 0 ? T{0} : before.c[i * before.ldc + j];
      wide const bound = gamma * (std::abs(wide(alpha)) * magnitude + std::abs(wide(beta) * wide(c)));
      out += !(std::abs(wide(got[i * before.ldc + j]) - (wide(alpha) * sum + wide(beta) * wide(c))) <= bound);
    }
  }
  return out;
}

/// Gaps of C that were written.
template <class T>
std::int64_t wrong_gaps(host_problem<T> const& before, std::vector<T> const& got) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < before.s.m; ++i)
    for (std::int64_t j = before.s.n; j < before.ldc && i * before.ldc + j < std::int64_t(got.size()); ++j)
      wrong += !same(got[i * before.ldc + j], before.c[i * before.ldc + j]);
  return wrong;
}

/// Elements of `got` that are not the bits of the one chain of fused multiply-adds over k, where the row makes one, or
/// not within the bound of a sum in wider arithmetic, or a gap that was written. Where a number is the chain's, and not
/// NaN, it is within the bound; the sum is made nevertheless where it is cheap, against a chain that is wrong itself.
template <class T>
std::int64_t wrong_elements(host_problem<T> const& before, std::vector<T> const& got, bool one_chain = true) {
  auto const& s = before.s;
  std::int64_t wrong = wrong_gaps(before, got);
  if (one_chain) {
    auto const expected = chains(before);
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        T const value = got[i * before.ldc + j];
        wrong += std::isnan(value) || !same(value, expected[i * s.n + j]);
      }
  }
  constexpr std::int64_t cheap = 1 << 24;
  if (!one_chain || s.m * s.n * s.k <= cheap) wrong += elements_out_of_bound(before, got);
  return wrong;
}

/// The shape, or where the row does not take it one beside it that it does: of fewer steps of k, one row or one column.
inline shape taken_by(tandem::kernel const& row, shape const& s) {
  auto const takes = [&](shape const& t) {
    tandem::problem p;
    p.dtype = row.dtype;
    p.m = t.m, p.n = t.n, p.k = t.k, p.trans_a = t.trans_a, p.trans_b = t.trans_b;
    p.lda = t.trans_a ? t.m : t.k, p.ldb = t.trans_b ? t.k : t.n, p.ldc = t.n;
    return row.refuses(p).empty();
  };
  if (takes(s)) return s;
  for (int const most : {16, 8}) {
    shape few = s;
    few.k = s.k % most + 1;
    if (takes(few)) return few;
  }
  shape line = s;
  (s.m > s.n ? line.n : line.m) = 1;
  if (takes(line)) return line;
  throw std::logic_error(row.name + " takes no shape beside " + describe(s));
}

/// Where the shares of a stream_k row hold several tiles each, and cut some of them.
inline std::vector<shape> wide_shapes(tandem::kernel const& row) {
  if (row.technique() != "stream_k") return {};
  auto const block = row.plan({}).levels.front();
  return {{11 * block.m - 5, 12 * block.n + 3, 2 * block.k + 1, false, false, 1, 0, 0},
          {21 * block.m - 5, 19 * block.n + 3, block.k + 1, true, true, -0.75, 1, 1}};
}

/// Where so many blocks have parts of a tile that several threads add them up: more than 48, of 64 steps of k.
inline std::vector<shape> deep_shapes(tandem::kernel const& row) {
  if (row.technique() != "persistent" && row.technique() != "peeled" && row.technique() != "tensor_core") return {};
  auto const block = row.plan({}).levels.front();
  return {{block.m - 3, block.n - 2, 3201, true, false, -0.75, 1, 3}};
}

/// Where the tiles left over are shared chunk by chunk: two slices each would not fit in a round. Of the smallest
/// tiles.
inline std::vector<shape> shared_shapes(tandem::kernel const& row) {
  if (row.technique() != "persistent" && row.technique() != "tensor_core") return {};
  auto const block = row.plan({}).levels.front();
  if (block.m * block.n > 1440) return {};
  return {{15 * block.m - 2, 12 * block.n - 3, 4001, false, true, -0.75, 1, 1}};
}

/// Where the tiles left over are cut into the same slices of k: a few slices, and so many that several threads add them
/// up. Of the rows with the smallest blocks. Of gemv lines cut into slices, two beside a vector that is copied first.
inline std::vector<shape> sliced_shapes(tandem::kernel const& row) {
  if (row.technique() == "gemv")
    return {{37, 1, 16001, true, false, -0.75, 1, 1},
            {200, 1, 20001, false, false, 1, 0, 39},
            {1, 200, 20001, true, true, 2, -0.5, 39}};
  auto const block = row.plan({}).levels.front();
  if (row.technique() != "tensor_core" || std::min(block.m, block.n) > 32) return {};
  std::int64_t const few = 2 * std::min(block.m, block.n) - 30, many = 12 * std::max(block.m, block.n) + 1;
  std::int64_t const deep = (std::int64_t{25} << 20) / 8, thick = std::max(block.m, block.n) + 1;
  if (block.m > block.n)
    return {{many, few, deep / many, true, false, 1, 0, 0}, {thick, few, deep / thick, false, true, -0.75, 1, 1}};
  return {{few, many, deep / many, false, true, 1, 0, 0}, {few, thick, deep / thick, true, false, -0.75, 1, 1}};
}

/// Where a row of persistent or tensor_core copies its operands first: both, as they are not aligned, and, but for the
/// widest tile, A.
inline std::vector<shape> copied_shapes(tandem::kernel const& row) {
  if (row.technique() == "tensor_core") return {{3003, 3001, 51, true, true, -0.75, 1, 1}};
  if (row.technique() != "persistent") return {};
  if (row.dtype == tandem::dtype::f64) return {{2503, 2501, 400, false, false, 1, 0, 0}};
  return {{1503, 1501, 600, false, false, 1, 0, 0},
          {1501, 1503, 600, true, true, -0.75, 1, 1},
          {1000, 1536, 1000, false, false, 2, -0.5, 0}};
}

/// The tile of a row of persistent that lies on its side where C is tall; nothing of others.
inline std::optional<tandem::tile_level> lying_tile(tandem::kernel const& row) {
  tandem::problem tall;
  tall.m = 1000, tall.n = 1, tall.k = 1;
  auto const block = row.plan({}).levels.front();
  if (row.technique() != "persistent" || row.plan(tall).levels.front().m != block.n || block.m == block.n) return {};
  return block;
}

/// Where C lies on its side: all of a tile's short edge and less of it, with one tile and with several.
inline std::vector<shape> lying_shapes(tandem::kernel const& row) {
  auto const block = lying_tile(row);
  if (!block) return {};
  std::int64_t const high = block->n, wide = block->m, bk = block->k;
  return {{2 * high + 3, wide, bk + 1, false, false, 1, 0, 0},
          {high + 1, wide - 1, bk + 5, true, true, -0.75, 1, 1},
          {high + 4, wide - 4, bk + 4, false, true, 1, 0, 4},
          {high + 4, wide - 4, bk + 4, true, false, 1, 0, 4}};
}

/// The same with tiles cut into slices, the last into so many that several threads add them up.
inline std::vector<shape> lying_sliced_shapes(tandem::kernel const& row) {
  auto const block = lying_tile(row);
  if (!block) return {};
  std::int64_t const high = block->n, wide = block->m;
  return {{3 * high + 1, wide, 1203, true, false, -0.75, 1, 2},
          {5 * high - 2, wide - 3, 2001, false, true, 2, -0.5, 0},
          {high - 2, wide - 2, 3201, false, false, -0.75, 1, 3}};
}

/// The same with tiles shared chunk by chunk: two slices each would be two more than there are blocks. Of the smallest.
inline std::vector<shape> lying_shared_shapes(tandem::kernel const& row) {
  auto const block = lying_tile(row);
  if (!block || block->m > 24) return {};
  return {{67 * block->n - 5, block->m - 1, 2001, true, false, -0.75, 1, 1}};
}

/// Where a peeled row leaves rows, columns or both to kernels for strips: its tiles fill whole rounds, and one more
/// would take longer than the strips. In float strips of up to four lines are computed beside them. In double also
/// beside tiles whose steps several blocks share.
inline std::vector<shape> peeled_shapes(tandem::kernel const& row) {
  if (row.technique() != "peeled") return {};
  std::int64_t const m = 1408, n = row.dtype == tandem::dtype::f64 ? 1536 : 3072, k = 161;
  std::vector<shape> shapes = {{m + 1, n + 5, k, false, false, 1, 0, 0},
                               {m + 13, n, k, true, false, -0.75, 1, 1},
                               {m, n + 29, k, false, true, 2, -0.5, 0},
                               {m + 50, n, k, true, true, 1, 1, 3},
                               {m + 3, n + 2, k, true, true, -0.75, 1, 2}};
  if (row.dtype == tandem::dtype::f64) shapes.push_back({m + 1, 1665, 450, false, false, 1, -0.5, 0});
  return shapes;
}

/// Small shapes, and every edge of the row's block - 1, 0, + 1, with all transposes and a few alphas and betas.
inline std::vector<shape> odd_shapes(tandem::kernel const& row) {
  auto const block = row.plan({}).levels.front();
  auto const bk = block.k != 0 ? block.k : 6;
  std::vector<shape> shapes;
  constexpr double alphas[] = {1, -0.75, 2}, betas[] = {0, 1, -0.5, 0};
  for (int trans = 0; trans < 4; ++trans) {
    auto const add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      auto const i = shapes.size();
      shape const s{
          std::max<std::int64_t>(m, 1),    n, k, (trans & 1) != 0, (trans & 2) != 0, alphas[i % 3], betas[i % 4],
          static_cast<std::int64_t>(i % 5)};
      shapes.push_back(taken_by(row, s));
    };
    add(1, 1, 1);
    add(3, 5, 7);
    add(37, 1, 2 * bk + 1);
    add(1, 41, 1);
    add(block.m - 1, block.n - 1, bk - 1);
    add(block.m, block.n, bk);
    add(block.m + 1, block.n + 1, bk + 1);
    add(block.m - 1, block.n + 1, bk);
    add(block.m + 1, block.n, bk - 1);
    add(2 * block.m + 1, block.n - 1, bk + 1);
    if (trans == 0) add(9 * block.m + 1, block.n + 1, 3);  // 10 rows of tiles: a whole group of 8, and a part of one
    // Whole vectors, aligned, some of which lie in a tile but outside the operands: of a tile behind another, and of
    // the only one.
    for (int const more : {4, -4})
      shapes.push_back(
          taken_by(row, {std::max<std::int64_t>(block.m + more, 4), std::max<std::int64_t>(block.n + more, 4),
                         2 * bk + 4, (trans & 1) != 0, (trans & 2) != 0, 1, 0, 4}));
    // So deep that a row which cuts k into slices does, thin either way.
    add(3, 17, 13 * bk + 3);
    add(19, 2, 13 * bk);
  }
  return shapes;
}

}  // namespace gpu_problems
