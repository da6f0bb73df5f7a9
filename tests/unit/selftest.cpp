// The selftest's machinery: tables of bugs, planting them, processes, and what its result says.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/mutants/judging.hpp"
#include "tests/mutants/report.hpp"
#include "tests/mutants/table.hpp"
#include "tests/mutants/workers.hpp"
#include "tests/unit/harness_kernels.hpp"

namespace {

using namespace tandem::mutants;

constexpr char const* one_mutant = R"(# a comment

mutant gemm.tail
file cpu/gemm.cpp
unit cpu
kernel cpu.avx2.f32.6x16
what The tail is lost.
seen https://example.org/1
witness f32:nn:3x4x5
before f32:nn:1x1x1
tries 3
- i < m;
-   ++i
+ i < m - 1;
+   ++i
)";

std::string without(std::string text, std::string const& line) {
  auto const at = text.find(line);
  REQUIRE(at != text.npos);
  return text.erase(at, text.find('\n', at) + 1 - at);
}

mutant mutant_of(std::string from, std::string to) {
  mutant m;
  m.id = "a.bug", m.file = "a.cpp", m.from = std::move(from), m.to = std::move(to);
  return m;
}

}  // namespace

TEST_CASE("a table names a file, the text that stands there and the text instead") {
  auto const all = parse_table(one_mutant, "kernels.txt");
  REQUIRE(all.size() == 1);
  auto const& m = all[0];
  CHECK(m.id == "gemm.tail");
  CHECK(m.file == "cpu/gemm.cpp");
  CHECK(m.unit == "cpu");
  CHECK(m.kernel == "cpu.avx2.f32.6x16");
  CHECK(m.what == "The tail is lost.");
  CHECK(m.seen == "https://example.org/1");
  CHECK(m.witness == "f32:nn:3x4x5");
  CHECK(m.before == "f32:nn:1x1x1");
  CHECK(m.tries == 3);
  CHECK(m.from == "i < m;\n  ++i");
  CHECK(m.to == "i < m - 1;\n  ++i");
  CHECK(m.line == 3);
}

TEST_CASE("a table with a mistake is refused with the line that has it") {
  auto const refused = [](std::string const& text, char const* message) {
    CHECK_THROWS_WITH_AS(parse_table(text, "kernels.txt"), doctest::Contains(message), std::invalid_argument);
  };
  std::string const good = one_mutant;
  refused("file cpu/gemm.cpp\n", "kernels.txt:1: before the first mutant");
  refused("mutant \n", "kernels.txt:1: a mutant without an id");
  refused(good + "wat what\n", "'wat' is no word of a table");
  refused(good + "tries none\n", "'none' is no number of tries");
  refused(good + "tries 0\n", "'0' is no number of tries");
  refused(good + "file cpu/blocked.cpp\n", "a second line 'file' of mutant gemm.tail");
  refused(good + good, "a second mutant gemm.tail");
  refused(without(good, "file "), "kernels.txt:3: mutant gemm.tail has no line 'file'");
  refused(without(good, "unit "), "has no line 'unit'");
  refused(without(good, "what "), "has no line 'what'");
  refused("mutant a\nfile f\nunit u\nwhat w\n- x\n+ x\n", "mutant a changes nothing");
  refused("mutant a\nfile f\nunit u\nwhat w\n+ x\n", "mutant a has no line '- '");
}

TEST_CASE("a bug is planted where its text stands, and nowhere else") {
  CHECK(planted(mutant_of("b", "x"), "abc") == "axc");
  CHECK(planted(mutant_of("a\nb", ""), "(a\nb)") == "()");
}

TEST_CASE("a bug that does not apply is an error: its text is gone, or stands there twice") {
  for (auto const* source : {"ac", "abcb", "bb"}) {
    CAPTURE(source);
    CHECK_THROWS_WITH_AS(planted(mutant_of("b", "x"), source), doctest::Contains("a.bug"), std::runtime_error);
  }
  CHECK_THROWS_WITH_AS(planted(mutant_of("aa", "x"), "aaa"), doctest::Contains("occurs 2 times in a.cpp"),
                       std::runtime_error);
}

// What the selftest's build would stop on, which is not run with every change.
TEST_CASE("every bug of the tables still applies to its source") {
  for (std::string const table : {"kernels.txt", "harness.txt"}) {
    auto const all = parse_table(read_file("tests/mutants/" + table), table);
    CHECK(all.size() > 30);
    for (auto const& m : all) CHECK_NOTHROW(planted(m, read_file(m.file)));
  }
}

TEST_CASE("tasks run in processes of their own, in whatever order, and keep their places") {
  auto const outcomes = run_in_processes(20, 3, 60, [](std::size_t i) { return std::to_string(i * i); });
  REQUIRE(outcomes.size() == 20);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CHECK(outcomes[i].error.empty());
    CHECK(outcomes[i].output == std::to_string(i * i));
  }
}

TEST_CASE("output larger than a pipe comes back whole") {
  auto const outcomes = run_in_processes(2, 2, 60, [](std::size_t) { return std::string(1 << 20, 'x'); });
  for (auto const& o : outcomes) CHECK(o.output == std::string(1 << 20, 'x'));
}

TEST_CASE("a task that dies, throws or takes too long is the end of no other") {
  auto const outcomes = run_in_processes(5, 2, 2, [](std::size_t i) -> std::string {
    if (i == 0) raise(SIGSEGV);
    if (i == 1) throw std::runtime_error("no luck");
    if (i == 2) std::this_thread::sleep_for(std::chrono::seconds(60));
    if (i == 3) _exit(7);
    return "fine";
  });
  CHECK(outcomes[0].error.find("signal 11") != std::string::npos);
  CHECK(outcomes[1].error == "no luck");
  CHECK(outcomes[2].error == "took too long");
  CHECK(outcomes[3].error == "ended with exit code 7");
  CHECK(outcomes[4].error.empty());
  CHECK(outcomes[4].output == "fine");
}

namespace {

/// A selftest of `wrong` wrong kernels, `missed` of which pass, and one right one.
struct example {
  selftest_result result;

  example(int wrong, int missed) {
    for (int i = 0; i <= wrong; ++i) {
      subject s;
      s.origin = i == 0 ? origin::right : i % 2 == 0 ? origin::mutant : origin::wrong;
      s.id = s.kernel = "kernel " + std::to_string(i);
      s.about.what = "What is wrong with it.";
      result.subjects.push_back(s);
    }
    judge(1, missed, "L2 exact");
  }

  /// One seed's trials.
  void judge(std::uint64_t seed, int missed, char const* caught_by) {
    for (std::size_t i = 0; i < result.subjects.size(); ++i) {
      trial t{&result.subjects[i], seed, {}};
      bool const fails = static_cast<int>(i) > missed;
      t.result.verdict = fails ? "fail" : "pass";
      if (fails) t.result.failed = {caught_by};
      result.trials.push_back(t);
    }
    result.seeds = static_cast<int>(seed);
  }
};

}  // namespace

TEST_CASE("the selftest passes when wrong kernels are caught, right ones are not refused, and witnesses hold") {
  CHECK(passed(example(10, 0).result));
  CHECK(to_text(example(10, 0).result).find("wrong kernels caught: 10 / 10") != std::string::npos);
}

TEST_CASE("a mutant that is no bug passes, is named, and fails the selftest") {
  example one(10, 1);
  CHECK_FALSE(passed(one.result));
  CHECK(to_text(one.result).find("passed, and wrong: kernel 1: What is wrong with it.") != std::string::npos);
  CHECK(to_text(one.result).find("MISSED") != std::string::npos);
  CHECK(to_json(one.result).find("\"passed\": false") != std::string::npos);
}

TEST_CASE("one wrong kernel in twenty may pass at standard, none at full") {
  using tandem::harness::level;
  CHECK(is_enough(19, 20, level::standard));
  CHECK_FALSE(is_enough(18, 20, level::standard));
  CHECK_FALSE(is_enough(19, 20, level::full));
  CHECK(is_enough(20, 20, level::full));
  example one(20, 1);
  CHECK(passed(one.result));
  one.result.how.level = level::full;
  CHECK_FALSE(passed(one.result));
}

TEST_CASE("each seed counts by itself, and the table of first rungs counts the first") {
  example two(10, 0);
  two.judge(2, 1, "L7 accumulation");
  auto const text = to_text(two.result);
  CHECK(text.find("wrong kernels caught: 19 / 20") != std::string::npos);
  CHECK(text.find("right kernels refused: 0 / 2") != std::string::npos);
  INFO(text);
  CHECK(text.find("level standard, right kernels quick; 2 seeds") != std::string::npos);
  CHECK(text.find("passed, and wrong: kernel 1 (seed 2): What is wrong with it.") != std::string::npos);
  CHECK(text.find("kernel 1                                 L2 (1), MISSED (1)") != std::string::npos);
  CHECK(text.find("kernel 2                                 L2 (1), L7 (1)") != std::string::npos);
  CHECK(text.find("L2 exact                         10") != std::string::npos);
  CHECK(text.find("L7 accumulation  ") == std::string::npos);
}

namespace {

using tandem::harness::rung;

/// A kernel that takes beta for 0.
tandem::harness::candidate deaf_to_beta() {
  return tandem::harness::candidate_of(
      harness_test::make_kernel<float>("test.deaf_to_beta", [](harness_test::element_access<float> x) {
        x.p.beta = 0;
        harness_test::multiply(x);
      }));
}

/// The rungs that came to a verdict.
std::vector<std::string> climbed(record const& r) {
  auto all = r.failed;
  all.insert(all.end(), r.passed.begin(), r.passed.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

TEST_CASE("with a rung to begin with, a kernel that fails there meets it and L7, and no other") {
  auto const r =
      judge_kernel(deaf_to_beta(), false, {.level = tandem::harness::level::quick, .first = rung::interface});
  CHECK(r.verdict == "fail");
  CHECK(r.failed == std::vector<std::string>{"L0 interface"});
  for (auto const& name : climbed(r)) CHECK((name == "L0 interface" || name == "L7 accumulation"));
}

TEST_CASE("a kernel that passes the rung to begin with climbs the whole ladder") {
  auto const r = judge_kernel(deaf_to_beta(), false, {.level = tandem::harness::level::quick, .first = rung::grade});
  CHECK(r.verdict == "fail");
  CHECK(r.failed.front() == "L0 interface");
}

TEST_CASE("a right kernel that fails nowhere climbs all of it") {
  auto const r = judge_kernel(tandem::harness::candidate_of(harness_test::naive<float>()), true,
                              {.level = tandem::harness::level::quick});
  CHECK(r.verdict == "pass");
  CHECK(r.failed.empty());
  CHECK(climbed(r).size() >= 8);
}

TEST_CASE("a right kernel that is refused fails the selftest, and so does one that could not be judged") {
  example refused(10, 0);
  refused.result.trials[0].result.verdict = "fail";
  refused.result.trials[0].result.failed = {"L4 error"};
  CHECK_FALSE(passed(refused.result));
  CHECK(to_text(refused.result).find("refused, and right: kernel 0") != std::string::npos);

  example unjudged(10, 0);
  unjudged.result.trials[5].result.verdict = "error";
  unjudged.result.trials[5].result.error = "took too long";
  CHECK_FALSE(passed(unjudged.result));
  CHECK(to_text(unjudged.result).find("not judged: kernel 5: took too long") != std::string::npos);
}

TEST_CASE("a kernel of an instruction set that is not there is skipped with its reason, and counted nowhere") {
  example one(10, 0);
  one.result.trials[5].result = {};
  one.result.trials[5].result.verdict = "unavailable";
  one.result.trials[5].result.error = "no such processor";
  set_skipped_apart(one.result);
  CHECK(passed(one.result));
  auto const text = to_text(one.result);
  CHECK(text.find("skipped: kernel 5: no such processor") != std::string::npos);
  CHECK(text.find("wrong kernels caught: 9 / 9") != std::string::npos);
  CHECK(to_json(one.result).find("no such processor") != std::string::npos);
}

TEST_CASE("a witness that does not hold fails the selftest") {
  example one(10, 0);
  one.result.trials[3].result.witness_defect = "passes on it (1 tries)";
  CHECK_FALSE(passed(one.result));
  CHECK(to_text(one.result).find("witness of kernel 3: passes on it") != std::string::npos);
}

TEST_CASE("a bug in the harness that nothing shows fails the selftest") {
  example one(10, 0);
  one.result.harness.push_back({"compare.nan", "NaN passes.", "harness/compare.cpp", "a kernel: pass", "", 1});
  CHECK(passed(one.result));
  one.result.harness.push_back({"bound.wrong", "The bound is wrong.", "harness/bound.cpp", "", "", 1});
  CHECK_FALSE(passed(one.result));
  auto const text = to_text(one.result);
  CHECK(text.find("killed 1 / 2") != std::string::npos);
  CHECK(text.find("ALIVE: The bound is wrong.") != std::string::npos);
}

TEST_CASE("a judgement comes through a pipe as it was") {
  record r;
  r.verdict = "fail", r.failed = {"L2 exact", "L9 scale"}, r.passed = {"L0 interface"};
  r.failure_class = "wrong value", r.reason = "3 of 4 \"elements\"", r.problem = "f32:nn:1x1x1";
  r.witness_defect = "passes on it";
  auto const back = parse_record(to_text(r));
  CHECK(back.verdict == r.verdict);
  CHECK(back.failed == r.failed);
  CHECK(back.passed == r.passed);
  CHECK(back.failure_class == r.failure_class);
  CHECK(back.reason == r.reason);
  CHECK(back.problem == r.problem);
  CHECK(back.witness_defect == r.witness_defect);
}
