// A kernel that ends its process, hangs or writes where it must not ends nothing else, and is told from a right one.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <tandem/harness/judge.hpp>

#include "cpu/threads.hpp"
#include "harness/context.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem;
using namespace tandem::harness;
using product = harness_test::element_access<float>;

namespace {

/// A right kernel that does `what` afterwards.
template <class F>
candidate that(F what) {
  return candidate_of(harness_test::make_kernel<float>("test.kernel", [what](product const& x) {
    harness_test::multiply(x);
    what(x);
  }));
}

judge_options quickly() {
  judge_options o;
  o.time_limit = 0.5;
  return o;
}

/// What one call of a 5 x 6 x 7 product is found to be, its operands at the end of their pages.
trial<float> call(candidate const& kernel, bool at_end = true) {
  auto const options = quickly();
  context<float> x(kernel, options);
  REQUIRE(x.open().empty());
  x.begin_rung(rung::exact);
  auto const t = x.plain(5, 6, 7, fill::integer, 1);
  return x.call(t, draw<float>(t), {.threads = 0, .as = {}, .at_end = at_end, .own_stream = {}, .quiet = false});
}

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("harness: sandbox");

TEST_CASE("a right kernel finishes, and C holds its product") {
  auto const x = call(that([](auto const&) {}));
  CHECK(x.finished());
  CHECK(x.damage.empty());
  CHECK(x.c.size() == 30);
}

TEST_CASE("a signal, an exit and an endless loop are outcomes of the call") {
  auto const aborted = call(that([](auto const&) { std::abort(); }));
  CHECK(aborted.how.status == call_status::died);
  CHECK(contains(aborted.how.reason, "signal 6"));
  auto const ended = call(that([](auto const&) {
    std::puts("no licence");
    std::exit(3);
  }));
  CHECK(ended.how.status == call_status::died);
  CHECK(contains(ended.how.reason, "exit code 3"));
  CHECK(contains(ended.how.reason, "\"no licence\""));
  auto const hung = call(that([](auto const&) {
    for (;;) pause();
  }));
  CHECK(hung.how.status == call_status::hung);
  CHECK(contains(hung.how.reason, "not finished after 0.5 s"));
}

TEST_CASE("an exception is told by what it says") {
  auto const x = call(that([](auto const&) { throw std::runtime_error("no scratch"); }));
  CHECK(x.how.status == call_status::threw);
  CHECK(x.how.reason == "no scratch");
  CHECK(contains(x.damage, "C modified"));  // a call that fails may not have written
}

TEST_CASE("an access past an end or before a start names the operand, the byte and whether it wrote") {
  auto const past = call(
      that([](product const& x) { [[maybe_unused]] float const y = static_cast<float const volatile*>(x.pa)[36]; }));
  CHECK(past.how.status == call_status::died);
  CHECK(past.how.touched == 0);
  CHECK_FALSE(past.how.wrote);
  CHECK(contains(past.how.reason, "unmapped memory read, byte 5 past the end of A (5 x 7, ld 7)"));
  auto const before = call(that([](product const& x) { x.pc[-3] = 1; }), false);
  CHECK(before.how.touched == 2);
  CHECK(before.how.wrote);
  CHECK(contains(before.how.reason, "unmapped memory written, 12 bytes before the start of C"));
}

TEST_CASE("what a kernel writes to its inputs, and what it leaves of the floating-point environment, is damage") {
  auto const wrote = call(that([](product const& x) { const_cast<float*>(x.pb)[3] += 1; }));
  CHECK(wrote.finished());
  CHECK(contains(wrote.damage, "B modified at (0, 3)"));
  auto const upward = call(that([](auto const&) { std::fesetround(FE_UPWARD); }));
  CHECK(upward.finished());
  CHECK(contains(upward.damage, "left "));
}

TEST_CASE("a handler of the kernel's own for faults, and another precision of the x87, are damage") {
  auto const handler = call(that([](auto const&) { std::signal(SIGSEGV, SIG_IGN); }));
  CHECK(handler.finished());
  CHECK(contains(handler.damage, "left a handler of its own for SIGSEGV or SIGBUS"));
#if defined(__x86_64__)
  auto const single = call(that([](auto const&) {
    std::uint16_t word = 0x007f;
    asm volatile("fldcw %0" ::"m"(word));
  }));
  CHECK(single.finished());
  CHECK(contains(single.damage, "left the x87's control word at 0x007f"));
#endif
}

TEST_CASE("in every other call what is only read cannot be written, not even for a moment") {
  auto const kernel = that([](product const& x) {
    auto* const a = const_cast<float volatile*>(x.pa);
    float const before = a[3];
    a[3] = 2 * before;
    a[3] = before;
  });
  auto const options = quickly();
  context<float> x(kernel, options);
  REQUIRE(x.open().empty());
  x.begin_rung(rung::exact);
  for (std::uint64_t const seed : {1, 2}) {
    auto const t = x.plain(5, 6, 7, fill::integer, seed);
    auto const seen = x.call(t, draw<float>(t));
    CHECK(seen.finished() == (seed == 1));
    if (seed == 2) CHECK(contains(seen.how.reason, "A (5 x 7, ld 7), which is only read, written at its byte 12"));
  }
}

TEST_CASE("fresh memory is spoilt, so that what relies on its zeros shows") {
#ifdef __GLIBC__
  auto const kernel = candidate_of(harness_test::make_kernel<float>("test.kernel", [](product const& x) {
    constexpr std::size_t large = std::size_t{1} << 23;
    void* (*volatile allocate)(std::size_t) = std::malloc;  // which the compiler does not know for malloc
    std::unique_ptr<float, void (*)(void*)> const sums(static_cast<float*>(allocate(large)), std::free);
    harness_test::multiply(x);
    x.c(0, 0) += sums.get()[large / 8];
  }));
  auto const x = call(kernel);
  REQUIRE(x.finished());
  CHECK(x.c[0] > 1e38f);
#endif
}

TEST_CASE("a child that answers no more, or died beside a process of its own, is told in time") {
  auto const silent = call(that([](auto const&) {
    for (int file = 3; file < 64; ++file) close(file);
    for (;;) pause();
  }));
  CHECK(silent.how.status == call_status::hung);
  CHECK(contains(silent.how.reason, "closed what it answers by, and did not end"));
  auto const helped = call(that([](auto const&) {
    if (fork() == 0) {
      sleep(5);
      _exit(0);
    }
    std::abort();
  }));
  CHECK(helped.how.status == call_status::died);
  CHECK(contains(helped.how.reason, "signal 6"));
}

TEST_CASE("a fresh child takes over where one died, with the operands at the same addresses") {
  auto const options = quickly();
  auto const kernel = that([](product const& x) {
    if (x.p.m == 13) std::abort();
    x.pc[0] = static_cast<float>(reinterpret_cast<std::uintptr_t>(x.pa) >> 12 & 0xffff);
  });
  context<float> x(kernel, options);
  REQUIRE(x.open().empty());
  x.begin_rung(rung::exact);
  auto const run = [&](std::int64_t m) {
    auto const t = x.plain(m, 3, 4, fill::integer, 1);
    return x.call(t, draw<float>(t), {.threads = 0, .as = {}, .at_end = false, .own_stream = {}, .quiet = true});
  };
  auto const first = run(12);
  CHECK(run(13).how.status == call_status::died);
  auto const second = run(12);
  REQUIRE(second.finished());
  CHECK(first.c[0] == second.c[0]);
}

TEST_CASE("a kernel has its threads in the child of a process that has none") {
  auto const x = call(that([](product const& y) { y.pc[0] = static_cast<float>(cpu::offered_threads({nullptr, 3})); }));
  REQUIRE(x.finished());
  CHECK(x.c[0] == 3);
}

TEST_CASE("a kernel that is not there says why, and one that cannot be loaded is bad input") {
  auto absent = that([](auto const&) {});
  absent.open = [] { return "no such card"; };
  CHECK(judge(absent, quickly()).unavailable == "no such card");
  CHECK(judge(absent, quickly()).verdict() == verdict::unavailable);
  auto const missing = library_candidate(parse_library_function("libm.so.6:no_sgemm", abi::cblas));
  CHECK_THROWS_WITH_AS(judge(missing, quickly()), "libm.so.6 has no symbol 'no_sgemm'", std::invalid_argument);
  auto const nowhere = library_candidate(parse_library_function("/nowhere/libx.so:sgemm", abi::cblas));
  CHECK_THROWS_AS(judge(nowhere, quickly()), std::invalid_argument);
  auto dies = that([](auto const&) {});
  dies.open = []() -> std::string { std::abort(); };
  CHECK_THROWS_AS(judge(dies, quickly()), std::runtime_error);
  CHECK_THROWS_AS(judge(candidate{}, quickly()), std::invalid_argument);
}

TEST_CASE("replay: one problem alone, or after another") {
  auto const right = that([](auto const&) {});
  auto const t = parse_case("f32:nt:33x17x9:lda=12:beta=1:fill=normal:seed=7");
  CHECK_FALSE(replay(right, t, quickly()));
  // Wrong from its second call on.
  auto const drifting = that([calls = std::make_shared<int>(0)](product const& x) {
    if (++*calls > 1) x.c(2, 3) += 1;
  });
  CHECK_FALSE(replay(drifting, t, quickly()));
  auto const failed = replay(drifting, t, quickly(), t);
  REQUIRE(failed);
  CHECK(failed->wrong == 1);
  CHECK(failed->worst.row == 2);
  CHECK(failed->worst.col == 3);
  CHECK_THROWS_AS(replay(right, parse_case("f64:nn:3x3x3"), quickly()), std::invalid_argument);
}

TEST_SUITE_END();
