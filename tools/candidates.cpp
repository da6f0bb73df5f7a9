// Kernels under test by their specifications.
#include "tools/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <tandem/simt/kernels.hpp>

#include "tools/names.hpp"

namespace tandem::tools {
namespace {

/// What a specification says besides the name.
struct parts {
  std::string name, abi = "cblas", dtype, tile, only, precision, memory = "host", simt = "plain", concurrent = "no";
};

parts cut(std::string_view spec) {
  parts p;
  auto next = [&spec] {
    auto const at = spec.find('@');
    auto const part = spec.substr(0, at);
    spec = at == std::string_view::npos ? std::string_view() : spec.substr(at + 1);
    return part;
  };
  p.name = next();
  while (!spec.empty()) {
    auto const part = next();
    auto const equals = part.find('=');
    auto const name = part.substr(0, equals);
    auto* const to = name == "abi"          ? &p.abi
                     : name == "dtype"      ? &p.dtype
                     : name == "tile"       ? &p.tile
                     : name == "only"       ? &p.only
                     : name == "precision"  ? &p.precision
                     : name == "memory"     ? &p.memory
                     : name == "simt"       ? &p.simt
                     : name == "concurrent" ? &p.concurrent
                                            : nullptr;
    if (to == nullptr || equals == std::string_view::npos)
      throw std::invalid_argument(
          fmt::format("'{}' says nothing about a kernel; there are abi=, dtype=, tile=, only=, "
                      "precision=, memory=, simt= and concurrent=",
                      part));
    *to = part.substr(equals + 1);
  }
  return p;
}

void require_word(std::string const& word, std::string_view name, std::string_view one, std::string_view other) {
  if (word != one && word != other)
    throw std::invalid_argument(fmt::format("{}={}: there are {} and {}", name, word, one, other));
}

harness::candidate from_table(parts const& p) {
  auto const* row = find_kernel(p.name);
  if (row == nullptr || row->operation() != operation::gemm)
    throw std::invalid_argument(
        fmt::format("'{}' is neither a gemm kernel (`tandem list` names them) nor LIB.so:SYMBOL", p.name));
  require_word(p.memory, "memory", "host", "device");
  require_word(p.simt, "simt", "plain", "checked");
  if (p.simt == "checked") {
    auto const found = std::ranges::find(simt::checked_kernels(), p.name, &kernel::name);
    if (found == simt::checked_kernels().end())
      throw std::invalid_argument(fmt::format("{} is no kernel that the SIMT executor runs", p.name));
    row = &*found;
  }
  bool const device = p.memory == "device";
  if (device ? !row->device : !row->host)
    throw std::invalid_argument(fmt::format("{} takes no operands in {} memory", p.name, p.memory));
  auto out = harness::candidate_of(*row, device ? memory::device : memory::host);
  out.spans_far = p.simt == "plain";  // a session keeps something of every byte that operands span
  return out;
}

/// Limits of the interface stay when the author's are added.
void declare(harness::limits& to, std::string const& only) {
  auto const was = to;
  to = harness::parse_limits(only);
  to.nn = to.nn && was.nn, to.nt = to.nt && was.nt, to.tn = to.tn && was.tn, to.tt = to.tt && was.tt;
  to.row_major = to.row_major && was.row_major, to.col_major = to.col_major && was.col_major;
  if (!(to.nn || to.nt || to.tn || to.tt) || !(to.row_major || to.col_major))
    throw std::invalid_argument(fmt::format("only={} leaves nothing of what the interface takes", only));
}

}  // namespace

void add_candidate_options(CLI::App& app, candidate_arguments& o) {
  app.add_option(
      "--kernel-lib", o.kernel_lib,
      "LIB.so:SYMBOL, a function with the signature of cblas_sgemm or cblas_dgemm or, where its name ends in _, of "
      "Fortran's sgemm_ or dgemm_; integers of 32 bits");
  app.add_option("--abi", o.abi,
                 "of --kernel-lib: cblas, or cuda for int f(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stream)")
      ->check(CLI::IsMember({"cblas", "cuda"}))
      ->capture_default_str();
  app.add_option("--tile", o.tile, "the tiling of --kernel-lib, such as 128x128x8");
  app.add_option("--only", o.only, "what --kernel-lib takes, such as nn,multiple_of=8; anything else is unsupported");
  app.add_flag("--concurrent", o.concurrent,
               "--kernel-lib promises that several threads may call it at once, and fails where it does not hold");
  app.add_option("--precision", o.precision, "what --kernel-lib multiplies in: element, tf32, f16 or bf16")
      ->capture_default_str();
}

harness::candidate parse_kernel_spec(std::string_view spec) {
  auto const p = cut(spec);
  harness::candidate out;
  if (p.name.find(':') == std::string::npos) {
    out = from_table(p);
  } else {
    require_word(p.abi, "abi", "cblas", "cuda");
    auto const which = p.abi == "cuda" ? harness::abi::cuda : harness::abi::cblas;
    out = harness::library_candidate(harness::parse_library_function(p.name, which, p.dtype));
  }
  if (!p.tile.empty()) out.plan = harness::parse_tile(p.tile);
  if (!p.only.empty()) declare(out.limits, p.only);
  if (!p.precision.empty()) out.precision = harness::parse_precision(p.precision);
  if (out.precision != harness::precision::element && out.dtype != dtype::f32)
    throw std::invalid_argument(
        fmt::format("{} is a precision of f32 kernels, not of {}", p.precision, to_string(out.dtype)));
  require_word(p.concurrent, "concurrent", "no", "yes");
  if (p.concurrent == "yes") out.concurrent = true;
  out.spec = spec;
  return out;
}

std::vector<harness::candidate> candidates(candidate_arguments const& o, std::string const& globs) {
  std::vector<harness::candidate> out;
  if (!o.kernel_lib.empty()) {
    if (o.kernel_lib.find(':') == std::string::npos)
      throw std::invalid_argument(fmt::format("--kernel-lib: '{}' is not LIB.so:SYMBOL", o.kernel_lib));
    std::string spec = o.kernel_lib;
    if (o.abi != "cblas") spec += "@abi=" + o.abi;
    if (!o.dtype.empty()) spec += "@dtype=" + o.dtype;
    if (!o.tile.empty()) spec += "@tile=" + o.tile;
    if (!o.only.empty()) spec += "@only=" + o.only;
    if (o.precision != "element") spec += "@precision=" + o.precision;
    if (o.concurrent) spec += "@concurrent=yes";
    out.push_back(parse_kernel_spec(spec));
    return out;
  }
  for (auto const& [value, name] : {std::pair(o.tile, "--tile"), std::pair(o.only, "--only")})
    if (!value.empty()) throw std::invalid_argument(fmt::format("{} belongs to --kernel-lib", name));
  if (o.concurrent) throw std::invalid_argument("--concurrent belongs to --kernel-lib");
  for (auto const* row : find_kernels(globs, operation::gemm)) {
    if (!o.dtype.empty() && parse_dtype(o.dtype) != row->dtype) continue;
    bool const checked = o.simt == "checked" && row->backend == backend::simt;
    if (row->host) out.push_back(parse_kernel_spec(row->name + (checked ? "@simt=checked" : "")));
    if (row->device) out.push_back(parse_kernel_spec(row->name + "@memory=device"));
  }
  return out;
}

}  // namespace tandem::tools
