// The hand-written kernels: each right one passes ordinary problems, each wrong one is wrong where its remark says.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <tandem/harness/judge.hpp>

#include "tests/mutants/plugin.hpp"

using namespace tandem;
using namespace tandem::harness;
using mutants::remark;

namespace {

struct kernels {
  std::vector<candidate> candidates;
  std::map<std::string, remark> remarks;
};

/// What the plugins of a folder hold; they stay loaded.
kernels load(std::string const& folder) {
  kernels out;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TANDEM_PLUGINS) + "/" + folder)) {
    void* const library = dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    std::vector<kernel> rows;
    std::vector<remark> remarks;
    reinterpret_cast<decltype(&tandem_plugin)>(dlsym(library, "tandem_plugin"))(rows);
    reinterpret_cast<decltype(&tandem_plugin_candidates)>(dlsym(library, "tandem_plugin_candidates"))(out.candidates);
    reinterpret_cast<decltype(&tandem_plugin_remarks)>(dlsym(library, "tandem_plugin_remarks"))(remarks);
    for (auto const& row : rows) out.candidates.push_back(candidate_of(row));
    for (auto& r : remarks) out.remarks.emplace(r.kernel, r);
  }
  std::ranges::sort(out.candidates, {}, &candidate::name);
  return out;
}

judge_options plainly() {
  judge_options options;
  options.diagnose = false;
  return options;
}

/// What is wrong with a kernel on a problem; empty if nothing.
std::string wrong_with(candidate const& k, std::string const& line, std::string const& before = {}) {
  std::optional<test_case> first;
  if (!before.empty()) first = parse_case(before);
  auto const failure = replay(k, parse_case(line), plainly(), first);
  return failure ? failure->reason : "";
}

}  // namespace

TEST_CASE("there are enough of them, each with a name of its own and a remark") {
  for (auto const& [folder, least] : std::map<std::string, std::size_t>{{"right", 40}, {"wrong", 100}}) {
    auto const all = load(folder);
    std::set<std::string> names;
    for (auto const& k : all.candidates) {
      CAPTURE(k.name);
      CHECK(names.insert(k.name).second);
      CHECK(k.name.starts_with(folder + "."));
      REQUIRE(all.remarks.contains(k.name));
      CHECK(all.remarks.at(k.name).what.size() > 10);
      CHECK(all.remarks.at(k.name).witness.empty() == (folder == "right"));
    }
    CHECK(names.size() >= least);
  }
}

TEST_CASE("right kernels are right on ordinary problems") {
  for (auto const& k : load("right").candidates) {
    CAPTURE(k.name);
    std::string const type(to_string(k.dtype));
    for (std::string const problem :
         {"nn:1x1x1:fill=normal", "nn:5x1x9:fill=normal:alpha=0.7:beta=-0.3", "nt:1x7x70:fill=normal:beta=1",
          "tn:17x33x65:alpha=2:beta=1", "tt:crc:33x18x129:fill=normal:alpha=-0.9:beta=0.4",
          "nn:rcc:16x16x64:fill=normal:beta=1", "tn:50x70x130:lda=64:ldb=80:ldc=96:offsets=1,2,3:alpha=-1:beta=2",
          "nn:64x64x600:fill=normal:alpha=0.3"}) {
      for (std::string const seed : {"1", "2", "3"}) {
        auto const line = to_string(within(k.limits, parse_case(type + ":" + problem + ":seed=" + seed)));
        CAPTURE(line);
        CHECK(wrong_with(k, line) == "");
      }
    }
  }
}

TEST_CASE("wrong kernels are wrong where their remark says") {
  auto const all = load("wrong");
  for (auto const& k : all.candidates) {
    CAPTURE(k.name);
    auto const& r = all.remarks.at(k.name);
    CAPTURE(r.witness);
    bool wrong = false;
    for (int seen = 0; seen < r.tries && !wrong; ++seen) wrong = !wrong_with(k, r.witness, r.before).empty();
    CHECK(wrong);
  }
}

TEST_CASE("what a plain kernel gets right, they get wrong: witnesses ask for nothing special") {
  auto const right = load("right");
  auto const wrong = load("wrong");
  for (auto const& entry : wrong.remarks) {
    remark const& r = entry.second;
    CAPTURE(r.kernel);
    std::string const plain = r.kernel.find(".cblas.") != std::string::npos ? "right.cblas.plain." : "right.fma_free.";
    auto const k = std::ranges::find(right.candidates, plain + r.kernel.substr(r.kernel.size() - 3), &candidate::name);
    REQUIRE(k != right.candidates.end());
    auto plain_one = *k;
    plain_one.concurrent = true;  // they keep nothing
    CHECK(wrong_with(plain_one, r.witness, r.before) == "");
  }
}
