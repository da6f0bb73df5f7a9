// doctest's main, with skipped cases counted.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support.hpp"

namespace tandem::tests {
namespace {

int skipped_cases = 0;

bool is_required(std::string_view name) {
  char const* const required = std::getenv("TANDEM_REQUIRE");
  std::istringstream names(required == nullptr ? "" : required);
  for (std::string one; std::getline(names, one, ',');)
    if (one == name) return true;
  return false;
}

std::string read_file(std::filesystem::path const& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

bool thorough() { return std::getenv("TANDEM_THOROUGH") != nullptr; }

void skip(std::string const& reason) {
  ++skipped_cases;
  MESSAGE("skipped: ", reason);
}

bool has_backend(tandem::backend id) {
  auto const all = backends();
  auto const info = std::ranges::find(all, id, &backend_info::backend);
  return info->available || is_there(std::string(to_string(id)), info->reason);
}

bool is_there(std::string const& name, std::string const& missing) {
  if (missing.empty()) return true;
  if (is_required(name)) FAIL(name, " is required, but it is not there: ", missing);
  skip("no " + name + ": " + missing);
  return false;
}

command_result run_command(std::string const& command) {
  auto const folder = std::filesystem::temp_directory_path();
  auto const err = folder / ("tandem_test_" + std::to_string(getpid()) + ".err");
  command_result result;
  FILE* const pipe = popen(("(" + command + ") 2>" + err.string()).c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, n);
  int const status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.err = read_file(err);
  std::filesystem::remove(err);
  return result;
}

command_result run_tandem(std::string const& arguments) { return run_command(TANDEM_COMMAND " " + arguments); }

}  // namespace tandem::tests

namespace {

int asserts_made = 0;

struct assert_counter : doctest::IReporter {
  explicit assert_counter(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const& stats) override { asserts_made = stats.numAsserts; }
  void test_case_start(doctest::TestCaseData const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}
};

}  // namespace

DOCTEST_REGISTER_LISTENER("assert_counter", 1, assert_counter);

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  int const status = context.run();
  if (status != 0 || context.shouldExit()) return status;
  constexpr int skipped = 77;
  return tandem::tests::skipped_cases > 0 && asserts_made == 0 ? skipped : 0;
}
