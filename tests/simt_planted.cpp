// Sessions on kernels with planted bugs: each must be found at the line that the kernel's file marks, by the thread
// that it names, and nothing else; and right kernels must be found right.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <tandem/error.hpp>
#include <tandem/simt/session.hpp>

#include "tests/simt/planted.hpp"

using namespace tandem::simt;
using planted::planted_kernel;

namespace {

/// A, B and C of one launch, far from each other.
class memory {
 public:
  explicit memory(planted_kernel const& p) : p_(p), storage_(4 * apart) {
    auto* first = storage_.data();
    while (reinterpret_cast<std::uintptr_t>(first) % 256 != 0) ++first;
    a_ = first, b_ = first + apart, c_ = first + 2 * apart;
    for (std::size_t i = 0; i < apart; ++i) a_[i] = static_cast<float>(i % 7), b_[i] = static_cast<float>(i % 5);
  }
  planted::operands operands() const { return {p_.m, p_.n, p_.k, lda(), ldb(), ldb(), a_, b_, c_}; }
  std::vector<operand> watched() const {
    return {{.name = "A", .data = a_, .lines = p_.m, .length = p_.k, .stride = lda()},
            {.name = "B", .data = b_, .lines = p_.k, .length = p_.n, .stride = ldb()},
            {.name = "C", .data = c_, .lines = p_.m, .length = p_.n, .stride = ldb(), .writable = true}};
  }
  bool is_product() const {
    for (int i = 0; i < p_.m; ++i)
      for (int j = 0; j < p_.n; ++j) {
        float sum = 0;
        for (int q = 0; q < p_.k; ++q) sum += a_[i * lda() + q] * b_[q * ldb() + j];
        if (c_[i * ldb() + j] != sum) return false;
      }
    return true;
  }

 private:
  static constexpr std::size_t apart = 16384;  // floats: more than what counts as beside an operand
  int lda() const { return p_.k + p_.padding; }
  int ldb() const { return p_.n + p_.padding; }
  planted_kernel p_;
  std::vector<float> storage_;
  float *a_, *b_, *c_;
};

struct mark {
  std::string file;
  int line;
  std::string kind, block, thread;  // the last two empty where any will do
};

/// The marks of all kernels, by kernel.
std::map<std::string, std::vector<mark>> const& marks() {
  static auto const all = [] {
    std::map<std::string, std::vector<mark>> by_kernel;
    std::regex const kernel(R"(__global__ void (\w+)\()");
    std::regex const bug(R"(// BUG: ([a-z ]+)(?:, block (\(.*?\)))?(?:, thread (\(.*?\)))?$)");
    for (auto const* name :
         {"async", "barriers", "global_races", "outside", "right", "shared_races", "uninitialised"}) {
      auto const file = std::string("tests/simt/") + name + ".cuh";
      std::ifstream in(file);
      std::string text, current;
      std::vector<mark> pending;
      std::smatch found;
      for (int line = 1; std::getline(in, text); ++line) {
        if (std::regex_search(text, found, kernel)) by_kernel[current = found[1]];
        if (std::regex_search(text, found, bug)) {
          pending.push_back({file, 0, found[1], found[2], found[3]});
          continue;
        }
        for (auto& each : std::exchange(pending, {})) {
          each.line = line;
          by_kernel[current].push_back(each);
        }
      }
    }
    return by_kernel;
  }();
  return all;
}

std::string text(index3 const& i) {
  std::ostringstream out;
  out << '(' << i.x << ", " << i.y << ", " << i.z << ')';
  return out.str();
}

bool is_of(finding const& f, mark const& m) {
  return to_string(f.kind) == m.kind && f.where.file == m.file && f.where.line == m.line;
}

std::vector<finding> findings_of(planted_kernel const& p) {
  memory const all(p);
  session watched({.operands = all.watched()});
  try {
    planted::run(p, all.operands());
  } catch (tandem::error const&) {
    auto const found = watched.findings();
    CHECK(std::ranges::find(found, defect::deadlock, &finding::kind) != found.end());
  }
  return watched.findings();
}

bool right_kernel_is_clean() {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  session watched({.operands = all.watched()});
  planted::run_right_kernel(all.operands());
  return watched.findings().empty() && all.is_product();
}

}  // namespace

TEST_SUITE_BEGIN("simt");

TEST_CASE("planted bugs are found at their lines, and nothing else is") {
  REQUIRE(!marks().empty());
  for (auto const& p : planted::kernels()) {
    std::string const name = p.name;
    CAPTURE(name);
    REQUIRE(marks().contains(name));
    auto const& expected = marks().at(name);
    auto const found = findings_of(p);
    for (auto const& f : found) {
      INFO(to_string(f));
      CHECK(f.kernel.substr(0, f.kernel.find('<')) == name);
      CHECK(f.count > 0);
      CHECK(std::ranges::any_of(expected, [&](mark const& m) { return is_of(f, m); }));
    }
    for (auto const& m : expected) {
      INFO(m.file, ":", m.line, ": ", m.kind);
      auto const f = std::ranges::find_if(found, [&](finding const& each) { return is_of(each, m); });
      CHECK((f != found.end()));
      if (f == found.end()) continue;
      if (!m.block.empty()) CHECK(text(f->block) == m.block);
      if (!m.thread.empty()) CHECK(text(f->thread) == m.thread);
    }
    CHECK(right_kernel_is_clean());
  }
}

TEST_CASE("every kernel with a mark is launched, and every kind of defect is planted") {
  std::set<std::string> launched, kinds;
  for (auto const& p : planted::kernels()) launched.insert(p.name);
  for (auto const& [name, list] : marks()) {
    std::string const& kernel = name;  // clang 14 captures no structured binding
    CAPTURE(kernel);
    CHECK(launched.contains(kernel));
    for (auto const& m : list) kinds.insert(m.kind);
  }
  for (int kind = 0; kind <= static_cast<int>(defect::async_not_awaited); ++kind)
    CHECK(kinds.contains(std::string(to_string(static_cast<defect>(kind)))));
}

TEST_CASE("two instrumented files with kernels of the same name, launched in one session") {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  session watched({.operands = all.watched()});
  planted::run_right_kernel(all.operands());
  planted::run_another_kernel(all.operands());
  planted::run_right_kernel(all.operands());
  auto const found = watched.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].kernel == "right_tile");
  CHECK(found[0].where.file == "tests/simt/another.cpp");
  CHECK(found[0].detail.find("smem_a (32 bytes)") != std::string::npos);
  CHECK(all.is_product());
}

TEST_CASE("operands may be parts of one matrix, the same memory, or one line") {
  std::vector<float> all(10 * 30, 1.0f);
  auto const part = [&](char const* name, int first, bool writable) {
    return operand{.name = name, .data = &all[first], .lines = 10, .length = 10, .stride = 30, .writable = writable};
  };
  auto const run = [&](std::vector<operand> operands, planted::operands const& g) {
    session watched({.operands = std::move(operands)});
    planted::run_add(g);
    return watched.findings().size();
  };
  auto* const x = all.data();
  SUBCASE("columns of one matrix") {
    for (auto const& [a, b, c] : {std::array{0, 10, 20}, {20, 0, 10}, {10, 20, 0}})
      CHECK(run({part("A", a, false), part("B", b, false), part("C", c, true)},
                {10, 10, 0, 30, 30, 30, x + a, x + b, x + c}) == 0);
  }
  SUBCASE("in place") {
    CHECK(run({part("A", 0, false), part("B", 10, false), part("C", 0, true)}, {10, 10, 0, 30, 30, 30, x, x + 10, x}) ==
          0);
  }
  SUBCASE("one line without a stride, one element for all rows") {
    std::vector<operand> const lines = {{.name = "x", .data = x, .length = 10},
                                        {.name = "y", .data = x + 150, .lines = 10, .length = 10, .stride = 0},
                                        {.name = "z", .data = x + 200, .length = 100, .writable = true}};
    CHECK(run(lines, {10, 10, 0, 0, 0, 10, x, x + 150, x + 200}) == 0);
    CHECK(run(lines, {10, 11, 0, 0, 0, 10, x, x + 150, x + 200}) == 1);
  }
}

TEST_CASE("a session without operands, and one that only counts") {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  {
    session watched({});
    planted::run_right_kernel(all.operands());
    auto const found = watched.findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == defect::outside_operands);
  }
  {
    // A count without the threads that were stopped is none, and says so.
    session watched({.check = false, .count = true});
    planted::run_right_kernel(all.operands());
    CHECK(watched.findings().size() == 1);
  }
  session watched({.check = false, .count = true, .operands = all.watched()});
  planted::run_right_kernel(all.operands());
  CHECK(watched.findings().empty());
  CHECK(watched.counts().launches == 1);
  CHECK(watched.counts().blocks_run == 9);
  CHECK(all.is_product());
}

TEST_CASE("a session within a session: each sees its own launches") {
  planted_kernel const p{.name = "plain_copy", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  session outer({});
  {
    session inner({});
    planted::run_plain_copy(all.operands());
    CHECK(inner.findings().size() == 1);
  }
  CHECK(outer.findings().empty());
  planted::run_plain_copy(all.operands());
  CHECK(outer.findings().size() == 1);
}

TEST_CASE("the line of an access in a function that nothing is inlined into") {
  planted_kernel const p{.name = "plain_copy", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  session watched({});
  planted::run_plain_copy(all.operands());
  auto const found = watched.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].where.file == "tests/simt/another.cpp");
  CHECK(found[0].where.line != 0);
}

TEST_CASE("arguments as large as a launch takes") {
  planted_kernel const p{.name = "large_argument", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  session watched({.operands = all.watched()});
  planted::run_large_argument(all.operands());
  CHECK(watched.findings().empty());
  CHECK(all.operands().c[0] == 0);
  CHECK(all.operands().c[1] == 1);
}

TEST_CASE("counts after a launch that threw are those of the next one") {
  auto const& p = *std::ranges::find(planted::kernels(), std::string_view("half_at_barrier_half_at_shuffle"),
                                     [](planted_kernel const& k) { return std::string_view(k.name); });
  memory const all(p);
  session watched({.count = true, .operands = all.watched()});
  CHECK_THROWS_AS(planted::run(p, all.operands()), tandem::error);
  auto const before = watched.counts();
  planted::run_plain_copy(all.operands());
  auto const after = watched.counts();
  CHECK(after[access_kind::global_load].requests - before[access_kind::global_load].requests == 1);
  CHECK(after[access_kind::global_load].lanes - before[access_kind::global_load].lanes == 32);
  CHECK(after[access_kind::global_store].requests - before[access_kind::global_store].requests == 1);
}

TEST_CASE("findings name the kernel, both accesses and how often") {
  auto const& p = *std::ranges::find(planted::kernels(), std::string_view("two_blocks_write_an_element"),
                                     [](planted_kernel const& k) { return std::string_view(k.name); });
  auto const found = findings_of(p);
  REQUIRE(found.size() == 1);
  CHECK(found[0].count == 2);
  auto const line = std::to_string(found[0].where.line);
  CHECK(to_string(found[0]) ==
        "race in global memory: two_blocks_write_an_element, tests/simt/global_races.cuh:" + line +
            ", block (1, 0, 0), thread (0, 0, 0): writes 4 bytes at C, row 0, element 31, which a thread of another "
            "block wrote "
            "at tests/simt/global_races.cuh:" +
            line + " (2 times)");
}

TEST_SUITE_END();
