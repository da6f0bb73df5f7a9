// Watches a CUDA kernel on a machine without a GPU: what is wrong with it, and what its memory accesses cost.
#include <cstdio>
#include <vector>

#include <tandem/simt/session.hpp>

namespace my {
void launch_multiply(int n, float const* a, float const* b, float* c);
}

int main() {
  namespace simt = tandem::simt;
  constexpr int n = 50;
  std::vector<float> const a(n * n, 1), b(n * n, 2);
  std::vector<float> c(n * n);
  simt::session watched({.count = true,
                         .operands = {{.name = "A", .data = a.data(), .length = n * n},
                                      {.name = "B", .data = b.data(), .length = n * n},
                                      {.name = "C", .data = c.data(), .length = n * n, .writable = true}}});
  my::launch_multiply(n, a.data(), b.data(), c.data());

  auto const findings = watched.findings();
  for (auto const& f : findings) std::puts(to_string(f).c_str());
  std::printf("%zu findings, c[0] = %g\n\n%-24s%10s%10s%12s\n", findings.size(), c[0], "line", "requests", "sectors",
              "wavefronts");
  for (auto const& site : watched.counts().sites)
    std::printf("%s:%-3d %-13s%7ju%10ju%12ju\n", site.where.file.c_str(), site.where.line,
                std::string(to_string(site.kind)).c_str(), site.counts.requests, site.counts.sectors,
                site.counts.wavefronts);
  return findings.empty() ? 0 : 1;
}
