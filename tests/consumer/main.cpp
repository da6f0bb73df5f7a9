// Multiplies through the installed library and has a kernel of its own judged by the installed harness.
#include <cstdio>
#include <vector>

#include <tandem/harness/harness.hpp>
#include <tandem/tandem.hpp>

int main() {
  float const a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {};
  tandem::gemm(tandem::matrix_view<float const>(a, 2, 2, 2), tandem::matrix_view<float const>(b, 2, 2, 2),
               tandem::matrix_view<float>(c, 2, 2, 2));
  bool const product = c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50;

  tandem::kernel mine;
  mine.name = "consumer.loops.f32";
  mine.run = [](tandem::problem const& p, tandem::execution const&) {
    auto const* x = static_cast<float const*>(p.a);
    auto const* y = static_cast<float const*>(p.b);
    auto* z = static_cast<float*>(p.c);
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < p.k; ++q)
          sum += double(p.trans_a ? x[q * p.lda + i] : x[i * p.lda + q]) *
                 (p.trans_b ? y[j * p.ldb + q] : y[q * p.ldb + j]);
        z[i * p.ldc + j] = static_cast<float>(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * z[i * p.ldc + j]));
      }
  };
  std::vector<tandem::kernel> const rows = {mine};
  auto const results = tandem::harness::check(tandem::harness::make_cases({}, rows), rows);
  auto const summary = tandem::harness::summarize(results);
  std::printf("product %s\n%s", product ? "right" : "wrong", tandem::harness::summary_table(summary).c_str());
  return product && summary.size() == 1 && summary[0].verdict == tandem::harness::verdict::pass ? 0 : 1;
}
