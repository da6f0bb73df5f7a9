// From the command line to kernels under test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <tandem/harness/candidate.hpp>

namespace tandem::tools {

/// What a command says about the kernels that it is to judge.
struct candidate_arguments {
  std::string kernel_lib, abi = "cblas", dtype, tile, only, precision = "element", simt = "plain";
  bool concurrent = false;
};

/// --kernel-lib, --abi, --tile, --only, --concurrent, --precision.
void add_candidate_options(CLI::App& app, candidate_arguments& o);

/// A kernel as a replay line names it after "kernel=": a row's full name or LIB.so:SYMBOL, and after it, each with an
/// "@" before it, whatever differs from the usual: abi=cuda, dtype=f64, tile=128x128x8, only=nn,multiple_of=8,
/// precision=tf32, memory=device, simt=checked, concurrent=yes. Throws std::invalid_argument for what names no kernel.
harness::candidate parse_kernel_spec(std::string_view spec);

/// The function of --kernel-lib, or every row that the globs match, in each memory that it takes.
std::vector<harness::candidate> candidates(candidate_arguments const& o, std::string const& globs);

}  // namespace tandem::tools
