// The `tandem` command and its subcommands.
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/commands.hpp"

int main(int argc, char** argv) {
  namespace tools = tandem::tools;
  CLI::App app("Tandem: GEMM on CPU and GPU, cross-validated");
  app.set_version_flag("--version", tools::version_text);
  app.require_subcommand(1);
  app.footer(
      "exit codes: 0 all passed, 1 something is wrong, 2 bad usage, 3 a required backend is missing, 77 nothing ran");

  std::vector<std::pair<CLI::App*, tools::action>> commands;
  auto const add = [&](char const* name, char const* text, tools::action (*declare)(CLI::App&)) {
    auto* const command = app.add_subcommand(name, text);
    commands.emplace_back(command, declare(*command));
  };
  add("list", "backends and kernels: there or why not, and their tiling", tools::add_list);
  add("check", "run kernels on odd and real shapes and decide which are right", tools::add_check);
  add("replay", "one problem on one kernel, as a failure names them", tools::add_replay);
  add("reveal", "in which order and arithmetic kernels add up", tools::add_reveal);
  add("selftest", "test the harness on planted bugs (its own build target)", tools::add_selftest);
  add("tiles", "how each kernel cuts one problem, CPU and GPU side by side", tools::add_tiles);
  add("bench", "measure kernels against named peers", tools::add_bench);
  add("count", "what a GPU kernel's memory accesses cost, line by line, counted on the CPU", tools::add_count);
  add("tune", "measure the GPU's kernels, by which dispatch chooses among them", tools::add_tune);

  try {
    app.parse(argc, argv);
    for (auto const& [command, run] : commands)
      if (command->parsed()) return run();
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? tools::ok : tools::usage;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "tandem: %s\n", e.what());
  }
  return tools::usage;
}
