// The subcommands. Each one's add_ function declares its options on the command line and returns what runs it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace tandem::tools {

/// Exit codes of every subcommand.
enum exit_code : int { ok = 0, wrong = 1, usage = 2, backend_missing = 3, nothing_run = 77 };

/// What a subcommand does once its options are parsed; returns an exit code.
using action = std::function<int()>;

action add_list(CLI::App& app);
action add_check(CLI::App& app);
action add_tiles(CLI::App& app);
action add_bench(CLI::App& app);
action add_count(CLI::App& app);
action add_replay(CLI::App& app);
action add_reveal(CLI::App& app);
action add_selftest(CLI::App& app);
action add_tune(CLI::App& app);

/// The text of `tandem --version`.
std::string version_text();

}  // namespace tandem::tools
