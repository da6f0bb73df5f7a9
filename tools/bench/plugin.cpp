// Finds plug-ins beside the running program.
#include "tools/bench/plugin.hpp"

#include <filesystem>

namespace tandem::bench {

shared_object load_plugin(std::string const& name) {
  namespace fs = std::filesystem;
  auto const file = "tandem_peer_" + name + ".so";
  auto const program = fs::read_symlink("/proc/self/exe").parent_path();
  for (auto const& folder : {program / "peers", program / "../peers", program / ".." / TANDEM_PLUGIN_DIRECTORY})
    if (fs::exists(folder / file)) return shared_object({(folder / file).string()});
  return shared_object({file});
}

}  // namespace tandem::bench
