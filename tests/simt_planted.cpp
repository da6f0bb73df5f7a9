// Sessions on kernels with planted bugs: each must be found at the line that the kernel's file marks, by the thread
// that it names, and nothing else; and right kernels must be found right.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tandem/error.hpp>
#include <tandem/simt/operations.hpp>
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
  std::string file = {};
  int line = 0;
  std::string kind = {}, block = {}, thread = {};  // the last two empty where any will do
};

/// What follows `key` in the text up to and with `end`; empty without the key.
std::string after(std::string const& text, std::string const& key, char end) {
  auto const at = text.find(key);
  if (at == text.npos) return {};
  auto const first = at + key.size();
  return text.substr(first, text.find(end, first) + 1 - first);
}

/// The marks of all kernels, by kernel.
std::map<std::string, std::vector<mark>> const& marks() {
  static auto const all = [] {
    std::map<std::string, std::vector<mark>> by_kernel;
    for (auto const* name :
         {"async", "barriers", "global_races", "outside", "right", "shared_races", "uninitialised"}) {
      auto const file = std::string("tests/simt/") + name + ".cuh";
      std::ifstream in(file);
      std::string text, current;
      std::vector<mark> pending;
      for (int line = 1; std::getline(in, text); ++line) {
        if (auto const kernel = after(text, "__global__ void ", '('); !kernel.empty())
          by_kernel[current = kernel.substr(0, kernel.size() - 1)];
        if (auto const bug = text.find("// BUG: "); bug != text.npos) {
          text = text.substr(bug + 8);
          pending.push_back({.kind = text.substr(0, text.find(',')),
                             .block = after(text, "block ", ')'),
                             .thread = after(text, "thread ", ')')});
          continue;
        }
        for (auto& each : std::exchange(pending, {})) {
          each.file = file, each.line = line;
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
  for (auto const& each : marks()) {
    CAPTURE(each.first);
    CHECK(launched.contains(each.first));
    for (auto const& m : each.second) kinds.insert(m.kind);
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
  std::vector<float> all(11 * 30, 1.0f);
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
  SUBCASE("C begins at A's second row: a block writes what the next one reads") {
    CHECK(run({part("A", 0, false), part("B", 10, false), part("C", 30, true)},
              {10, 10, 0, 30, 30, 30, x, x + 10, x + 30}) == 1);
  }
  SUBCASE("one line without a stride, one element for all rows") {
    std::vector<operand> const lines = {{.name = "x", .data = x, .length = 10},
                                        {.name = "y", .data = x + 150, .lines = 10, .length = 10, .stride = 0},
                                        {.name = "z", .data = x + 200, .length = 100, .writable = true}};
    CHECK(run(lines, {10, 10, 0, 0, 0, 10, x, x + 150, x + 200}) == 0);
    CHECK(run(lines, {10, 11, 0, 0, 0, 10, x, x + 150, x + 200}) == 1);
  }
}

TEST_CASE("a workspace is an operand of the session that it is taken in, for as long as it lives") {
  std::vector<float> const inputs(64, 1.0f);
  session watched({.operands = {{.name = "A", .data = inputs.data(), .length = 32},
                                {.name = "B", .data = inputs.data() + 32, .length = 32}}});
  auto* const c = static_cast<float*>(allocate_workspace(32 * sizeof(float)));
  auto const add = [&](int columns) {
    planted::run_add({1, columns, 0, 0, 0, 0, inputs.data(), inputs.data() + 32, c});
    return watched.findings();
  };
  CHECK(std::isnan(c[0]));
  CHECK(std::isnan(c[31]));
  CHECK(add(32).empty());
  CHECK(c[31] == 2);
  planted::run_add({1, 32, 0, 0, 0, 0, c, inputs.data(), c});  // a later launch reads what an earlier one wrote
  CHECK(watched.findings().empty());
  // Two blocks write its first elements.
  planted::run_add({2, 8, 0, 0, 0, 0, inputs.data(), inputs.data() + 32, c});
  REQUIRE(watched.findings().size() == 1);
  CHECK(watched.findings()[0].kind == defect::global_race);
  CHECK(watched.findings()[0].detail.find("the workspace") != std::string::npos);
  free_workspace(c);
  auto const found = add(32);
  REQUIRE(found.size() == 2);
  CHECK((found[1].kind == defect::outside_operands || found[1].kind == defect::below_operand));  // near one, or not
}

TEST_CASE("a session without operands, and one that only counts") {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  for (bool const check : {true, false}) {  // the thread ends in any case, so it is told
    session watched({.check = check, .count = true});
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

TEST_CASE("a launch that failed leaves nothing in the counts of the next") {
  auto const& p = *std::ranges::find(planted::kernels(), std::string_view("half_at_barrier_half_at_shuffle"),
                                     [](planted_kernel const& k) { return std::string_view(k.name); });
  memory const all(p);
  auto const block_sectors = [&](bool fails_before) {
    session watched({.check = false, .count = true, .operands = all.watched()});
    if (fails_before) CHECK_THROWS_AS(planted::run(p, all.operands()), tandem::error);
    auto const before = watched.counts().block_sectors_loaded;
    planted::run_right_kernel(all.operands());
    return watched.counts().block_sectors_loaded - before;
  };
  CHECK(block_sectors(true) == block_sectors(false));
}

TEST_CASE("a session refuses what it could not watch, and goes on") {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const all(p);
  float const x = 0;
  for (auto const& [wrong, code] :
       {std::pair{operand{.data = nullptr, .length = 1}, tandem::errc::null_data},
        {operand{.data = &x, .length = -1}, tandem::errc::negative_size},
        {operand{.data = &x, .length = 1, .element_size = 0}, tandem::errc::negative_size},
        {operand{.data = &x, .lines = 2, .length = 4, .stride = 3}, tandem::errc::leading_dimension}}) {
    try {
      session const none({.operands = {wrong}});
      FAIL("no error");
    } catch (tandem::error const& e) {
      CHECK(e.code() == code);
    }
  }
  session watched({.count = true, .operands = all.watched()});
  CHECK_THROWS_WITH_AS(session({}), "simt: this thread has a session already", tandem::error);
  kernel_launch const not_instrumented{.kernel = nullptr,
                                       .body = [](void const*) {},
                                       .arguments = nullptr,
                                       .grid = {1, 1, 1},
                                       .block = {1, 1, 1},
                                       .dynamic_bytes = 0,
                                       .image = nullptr};
  CHECK_THROWS_AS(run_grid(not_instrumented), tandem::error);
  planted::run_right_kernel(all.operands());
  CHECK(watched.counts().launches == 1);
}

TEST_CASE("launches of other threads wait for a session's end and are no part of it") {
  planted_kernel const p{.name = "right_tile", .kernel = nullptr, .grid = {}, .block = {}};
  memory const mine(p);
  std::vector<std::thread> others;
  {
    session watched({.count = true, .operands = mine.watched()});
    for (int i = 0; i < 32; ++i) {
      others.emplace_back([&p] {
        memory const all(p);
        planted::run_right_kernel(all.operands());
        CHECK(all.is_product());
      });
      planted::run_right_kernel(mine.operands());
    }
    CHECK(watched.findings().empty());
    CHECK(watched.counts().launches == 32);
  }
  for (auto& each : others) each.join();
  CHECK(mine.is_product());
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
