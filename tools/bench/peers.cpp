// Which peers there are, by name and by path.
#include "tools/bench/peers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "hwy/highway.h"
#include "tools/bench/blas.hpp"
#include "tools/bench/named_peers.hpp"
#include "tools/bench/plugin.hpp"

namespace tandem::bench {
namespace {

subject missing(std::string const& why) {
  subject out;
  out.missing = why;
  return out;
}

subject installed_blas(std::string const& file, std::string const& package, dtype type) {
  shared_object const library({file});
  return library.loaded() ? blas_subject("", library, type)
                          : missing(fmt::format("{}; Debian's package {} brings it", library.error(), package));
}

// The build for the best instruction set that the processor has.
subject eigen_peer(dtype type) {
  auto const targets = hwy::SupportedTargets();
  std::string const set = (targets & HWY_AVX3) != 0   ? "eigen_avx512"
                          : (targets & HWY_AVX2) != 0 ? "eigen_avx2"
                                                      : "eigen_baseline";
  auto const library = load_plugin(set);
  return library.loaded() ? blas_subject("", library, type) : missing(library.error());
}

struct named_peer {
  std::string name;
  subject (*make)(dtype);
};

std::vector<named_peer> const& named_peers() {
  static std::vector<named_peer> const all{
      {"openblas", [](dtype t) { return installed_blas("libopenblas.so.0", "libopenblas0-pthread", t); }},
      {"blis", [](dtype t) { return installed_blas("libblis.so.4", "libblis4-pthread", t); }},
      {"eigen", eigen_peer},
      {"onednn", onednn_peer},
      {"libxsmm", [](dtype t) { return libxsmm_peer(t, libxsmm_interface::call); }},
      {"libxsmm_kernel", [](dtype t) { return libxsmm_peer(t, libxsmm_interface::kernel); }}};
  return all;
}

bool is_path(std::string const& name) { return name.find('/') != std::string::npos; }

// "/path/lib.so" or "/path/lib.so:symbol"
subject peer_of_path(std::string const& name, dtype type) {
  auto const colon = name.rfind(':');
  bool const has_symbol = colon != std::string::npos && name.find('/', colon) == std::string::npos;
  auto const path = has_symbol ? name.substr(0, colon) : name;
  auto const symbol = has_symbol ? name.substr(colon + 1) : "";
  if (!std::filesystem::exists(path)) throw std::invalid_argument(path + ": there is no such file");
  if (has_symbol) {
    bool const single = symbol.find("sgemm") != std::string::npos;
    if (!single && symbol.find("dgemm") == std::string::npos)
      throw std::invalid_argument(fmt::format("the symbol '{}' does not say sgemm or dgemm", symbol));
    if (!symbol.starts_with("cblas_") && !symbol.ends_with('_'))
      throw std::invalid_argument(
          fmt::format("the symbol '{}' is neither CBLAS's (cblas_sgemm) nor Fortran's (sgemm_)", symbol));
    if (single != (type == dtype::f32)) return missing(fmt::format("'{}' is not for {}", symbol, to_string(type)));
  }
  shared_object const library({path});
  if (!library.loaded()) throw std::invalid_argument(fmt::format("cannot load {}: {}", path, library.error()));
  return blas_subject("", library, type, symbol);
}

// What OpenBLAS chooses by itself, asked in a child so that this process may still change it; empty: not there.
std::string own_openblas_core() {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {};
  auto const child = fork();
  if (child == 0) {
    shared_object const library({"libopenblas.so.0"});
    auto* const core = library.loaded() ? library.find<char*()>("openblas_get_corename") : nullptr;
    std::string const name = core == nullptr ? "" : core();
    _exit(write(pipe_ends[1], name.data(), name.size()) < 0);
  }
  close(pipe_ends[1]);
  char buffer[64];
  auto const count = child < 0 ? 0 : read(pipe_ends[0], buffer, sizeof buffer);
  close(pipe_ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
}

}  // namespace

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (auto const& peer : named_peers()) names.push_back(peer.name);
  return names;
}

bool is_peer(std::string const& name) {
  return is_path(name) || std::ranges::find(named_peers(), name, &named_peer::name) != named_peers().end();
}

subject make_peer(std::string const& name, dtype type) {
  auto out =
      is_path(name) ? peer_of_path(name, type) : std::ranges::find(named_peers(), name, &named_peer::name)->make(type);
  out.name = name;
  return out;
}

std::string correct_openblas_core() {
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0 || std::getenv("OPENBLAS_CORETYPE") != nullptr) return {};
  auto const chosen = own_openblas_core();
  for (auto const* core : {"", "SkylakeX", "Cooperlake", "Sapphirerapids", "SapphireRapids"})
    if (chosen == core) return {};
  setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  return fmt::format("OPENBLAS_CORETYPE=SkylakeX set: by itself OpenBLAS chose {}", chosen);
}

}  // namespace tandem::bench
