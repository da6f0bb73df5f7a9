// Runs the selftest's own program with a broken libtandem_harness in the place of the real one.
#include "tests/mutants/probes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "tests/mutants/table.hpp"
#include "tests/mutants/workers.hpp"

namespace tandem::mutants {
namespace {

namespace fs = std::filesystem;

// What the whole ladder has to be right about, whatever else it is: kernels that differ in what gives them away, and
// right ones that differ in how they compute.
constexpr std::array fixed_set{"gemm.rows_past_edge",
                               "micro.edge_reads_past_end",
                               "scale.gaps_zeroed",
                               "inner.beta_zero_reads_c",
                               "gemm.k_tail_dropped",
                               "gemm.packed_b_kept_by_pointer",
                               "micro.zeros_skipped",
                               "micro.nan_becomes_zero",
                               "micro.full_tiles_in_tf32",
                               "micro.sums_in_20_bits",
                               "cpu:cpu.inner_product.f32",
                               "cpu:cpu.avx2.f32.6x16",
                               "smem_tile:simt.smem_tile.f32.16x16x16"};

/// The path of the harness that this process has loaded.
bool is_loaded(std::string const& library) {
  auto const path = fs::canonical(library).string();
  return read_file("/proc/self/maps").find(path + "\n") != std::string::npos;
}

std::string quoted(std::string const& text) { return "'" + text + "'"; }

struct ending {
  int code = 0;
  std::string output;
};

ending run(std::string const& command) {
  FILE* const from = popen(command.c_str(), "r");
  if (from == nullptr) throw std::runtime_error("cannot run " + command);
  ending out;
  char buffer[4096];
  while (auto const n = fread(buffer, 1, sizeof buffer, from)) out.output.append(buffer, n);
  int const status = pclose(from);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (out.output.ends_with('\n')) out.output.pop_back();
  return out;
}

std::string command_of(std::string const& program, std::string const& folder, std::string const& library,
                       std::vector<probe> const& probes) {
  std::string out;
  if (!library.empty()) out = "LD_LIBRARY_PATH=" + quoted(fs::path(library).parent_path().string()) + " ";
  out += quoted(program) + " --plugins " + quoted(folder);
  if (!library.empty()) out += " --expect-harness " + quoted(library);
  for (auto const& p : probes) out += " --probe " + quoted(to_string(p));
  return out + " 2>&1";
}

/// A test of the build tree, which is beside the plugins' folder.
std::string command_of_test(std::string const& test, std::string const& folder, std::string const& library) {
  std::string const path = quoted(fs::path(library).parent_path().string());
  return fmt::format("{}{}/tests/test_{} 2>&1", library.empty() ? "" : "LD_LIBRARY_PATH=" + path + " ",
                     quoted(fs::path(folder).parent_path().string()), test);
}

// Exit codes of the program with --probe.
constexpr int no_surprise = 0, surprise = 1;

}  // namespace

probe parse_probe(std::string const& text) {
  auto const at = text.find('@');
  return {text.substr(0, at), at == text.npos ? std::string() : text.substr(at + 1)};
}

std::string to_string(probe const& p) { return p.rung.empty() ? p.subject : p.subject + "@" + p.rung; }

std::string first_surprise(std::vector<subject> const& subjects, std::vector<probe> const& probes,
                           std::string const& library) {
  if (!library.empty() && !is_loaded(library))
    throw std::runtime_error(library + " is not the harness that was loaded");
  for (auto const& p : probes) {
    auto const s = std::ranges::find(subjects, p.subject, &subject::id);
    if (s == subjects.end()) throw std::runtime_error("there is no subject " + p.subject);
    judging how;
    how.level = harness::level::quick;
    how.witnesses = false;
    if (!p.rung.empty()) how.only = {parse_rung(p.rung)};
    auto const result =
        run_in_processes(1, 1, 300, [&](std::size_t) { return to_text(judge_subject(*s, how)); }).front();
    if (!result.error.empty()) return fmt::format("{}: {}", to_string(p), result.error);
    auto const r = parse_record(result.output);
    if (r.verdict == (s->is_right() ? "pass" : "fail")) continue;
    return fmt::format("{}: {}{}", to_string(p), r.verdict,
                       r.failed.empty() ? std::string() : fmt::format(" ({})", fmt::join(r.failed, ", ")));
  }
  return {};
}

std::vector<harness_trial> try_broken_harnesses(std::string const& program, std::string const& folder,
                                                std::string const& only, int jobs,
                                                std::function<void(std::size_t, std::size_t)> const& done) {
  auto const table = folder + "/harness.txt";
  auto mutants = parse_table(read_file(table), table);
  std::erase_if(mutants, [&](mutant const& m) { return fnmatch(only.c_str(), m.id.c_str(), 0) != 0; });
  std::vector<probe> const all(fixed_set.begin(), fixed_set.end());
  std::vector<std::vector<probe>> probes(mutants.size(), all);
  for (std::size_t i = 0; i < mutants.size(); ++i)
    if (!mutants[i].kernel.empty()) probes[i].insert(probes[i].begin(), {mutants[i].kernel, mutants[i].rung});

  // The harness as it is, on everything that will be held against the broken ones.
  std::vector<probe> sound = all;
  for (auto const& m : mutants) {
    auto const same = [&](probe const& p) { return p.subject == m.kernel && p.rung == m.rung; };
    if (!m.kernel.empty() && std::ranges::none_of(sound, same)) sound.push_back({m.kernel, m.rung});
  }
  std::set<std::string> tests;
  for (auto const& m : mutants)
    if (!m.test.empty()) tests.insert(m.test);
  // Each by itself, the tests first, since they take longest: what has to wait for another leaves processors idle.
  std::vector<std::string> commands;
  for (auto const& test : tests) commands.push_back(command_of_test(test, folder, {}));
  for (auto const& p : sound) commands.push_back(command_of(program, folder, {}, {p}));
  auto const baseline = run_in_processes(commands.size(), jobs, 1800, [&](std::size_t i) {
    auto const e = run(commands[i]);
    return e.code == no_surprise ? std::string() : e.output.empty() ? commands[i] : e.output;
  });
  for (auto const& b : baseline)
    if (!b.error.empty() || !b.output.empty())
      throw std::runtime_error("the harness without a bug is wrong about what is to test it: " + b.output + b.error);

  std::size_t finished = 0;
  auto const outcomes = run_in_processes(
      mutants.size(), jobs, 1800,
      [&](std::size_t i) {
        auto const library = fmt::format("{}/harness/{}/libtandem_harness.so.0", folder, mutants[i].id);
        if (!mutants[i].test.empty())
          return run(command_of_test(mutants[i].test, folder, library)).code == 0 ? std::string()
                                                                                  : "test_" + mutants[i].test;
        auto const e = run(command_of(program, folder, library, probes[i]));
        if (e.code == no_surprise) return std::string();
        if (e.code != surprise) throw std::runtime_error(fmt::format("exit code {}: {}", e.code, e.output));
        return e.output;
      },
      [&](std::size_t, outcome const&) {
        if (done) done(++finished, mutants.size());
      });
  std::vector<harness_trial> out;
  for (std::size_t i = 0; i < mutants.size(); ++i)
    out.push_back(
        {mutants[i].id, mutants[i].what, mutants[i].file, outcomes[i].output, outcomes[i].error, outcomes[i].seconds});
  return out;
}

}  // namespace tandem::mutants
