// tandem --version: Tandem's version and those of everything it was built with or found.
#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "tools/commands.hpp"

namespace tandem::tools {

std::string version_text() {
  std::string text = fmt::format("tandem {}\n", version());
#if defined(__clang__)
  text += fmt::format("compiler  clang {}.{}.{}\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  text += fmt::format("compiler  g++ {}.{}.{}\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  text += fmt::format("cuda      {}\n", TANDEM_CUDA_VERSION);
  for (auto const& b : backends())
    text += fmt::format("{:<9} {}\n", to_string(b.backend), b.available ? b.version : "unavailable: " + b.reason);
  text.pop_back();
  return text;
}

}  // namespace tandem::tools
