// tandem selftest: runs the program of that name in the build tree, which is a target of its own.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace tandem::tools {
namespace {

int selftest(CLI::App const& app) {
  auto const program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "mutants" / "selftest_program";
  if (!std::filesystem::exists(program))
    throw std::runtime_error("there is no " + program.string() +
                             "; build the target 'selftest', as ./run selftest does");
  std::vector<std::string> words = app.remaining();
  words.insert(words.begin(), program.string());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Threads that spin between the calls of one kernel take the cores from the others, which are judged beside it.
  // OpenMP reads this when it is loaded.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  // The judged kernels run on the CPU; on a machine with a GPU each of their processes would start the driver.
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  execv(program.c_str(), arguments.data());
  throw std::runtime_error("cannot run " + program.string() + ": " + std::strerror(errno));
}

}  // namespace

action add_selftest(CLI::App& app) {
  app.allow_extras();  // all that follows is the program's, --help too
  app.set_help_flag();
  return [&app] { return selftest(app); };
}

}  // namespace tandem::tools
