// The ladder as options of `tandem check`.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/candidates.hpp"

namespace tandem::tools {

struct ladder_arguments {
  candidate_arguments kernel;
  std::string level, rungs, junit;
  double time_limit = 20;
};

/// --level, --rungs, --junit, --time-limit, and those of a kernel of one's own.
void add_ladder_options(CLI::App& app, ladder_arguments& o);

/// Whether the command line asks for the ladder.
bool asks_for_ladder(ladder_arguments const& o);

/// Judges each kernel, prints, writes the files asked for; returns an exit code. A flop budget of 0 leaves each kernel
/// its own.
int climb_ladder(ladder_arguments const& o, std::string const& globs, std::uint64_t seed, double flop_budget,
                 std::string const& json);

}  // namespace tandem::tools
