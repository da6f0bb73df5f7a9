// The CPU backend's rows, of this plugin's own objects, as on one machine everywhere: else a witness would hold on some
// machines only.
#include <cstdlib>
#include <utility>

#include "cpu/descriptor.hpp"
#include "tests/mutants/plugin.hpp"

void tandem_plugin(std::vector<tandem::kernel>& rows) {
  // The blocks follow the caches.
  setenv("TANDEM_CACHES", "32K,513K,8M", 1);  // an L2 that is just not a small one, which has few ways of its own
  for (auto row : tandem::cpu::descriptor().kernels) {
    if (!row.run) continue;
    // Where a call does not say how many threads it wants, the cores would.
    row.run = [run = row.run](tandem::problem const& p, tandem::execution e) {
      if (e.threads == 0) e.threads = 4;
      run(p, e);
    };
    rows.push_back(std::move(row));
  }
}
