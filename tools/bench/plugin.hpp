// Shared objects of our own that the benchmark brings: peers that Debian has as headers or as a static library.
#pragma once

#include <string>

#include "tools/bench/shared_object.hpp"

namespace tandem::bench {

/// tandem_peer_<name>.so from where the build or the installation puts it, seen from the running program.
shared_object load_plugin(std::string const& name);

}  // namespace tandem::bench
