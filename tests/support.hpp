// What the tests share: skipping with a reason, dealing problems out among kernels, and running a command.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tandem/kernels.hpp>

namespace tandem::tests {

/// Reports the running case as skipped.
void skip(std::string const& reason);

/// True when the backend is there. If not, the running case is reported as skipped with the reason, or fails where
/// TANDEM_REQUIRE names the backend. An executable that has only skipped cases exits with 77, which CTest shows as
/// skipped.
bool has_backend(tandem::backend id);

/// The same of anything else: true when `missing` is empty; if not, it is the reason, and `name` the word that
/// TANDEM_REQUIRE knows it by.
bool is_there(std::string const& name, std::string const& missing);

/// Whether the environment's TANDEM_THOROUGH asks for what takes minutes (`./run thorough`).
bool thorough();

/// Every `step`-th of them, from one that changes with `turn`. A step that has no factor in common with the number of
/// types and transposes keeps those changing.
template <class T>
std::vector<T> in_turn(std::vector<T> const& all, std::size_t step, std::size_t turn) {
  std::vector<T> some;
  for (std::size_t i = turn % step; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

/// What a command printed and how it exited.
struct command_result {
  std::string out;  ///< standard output
  std::string err;  ///< standard error
  int exit_code = -1;
};

/// Runs a command of the shell.
command_result run_command(std::string const& command);

/// Runs the `tandem` command of this build with these arguments.
command_result run_tandem(std::string const& arguments);

}  // namespace tandem::tests
