// Lanes' streams become the requests of their warp: on streams written by hand, and on random programs, whose lanes are
// also run in lockstep.
#include <doctest/doctest.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "gpu/simt/warp_trace.hpp"

namespace {

using tandem::simt::access_kind;
using tandem::simt::warp_request;
using tandem::simt::warp_trace;

struct request {
  std::uint64_t pc;
  std::uint32_t lanes;
  std::map<unsigned, std::uint64_t> addresses = {};  // by lane
  bool operator==(request const&) const = default;
};
using requests = std::vector<request>;

std::ostream& operator<<(std::ostream& out, requests const& all) {
  for (auto const& r : all) out << r.pc << " by lanes 0x" << std::hex << r.lanes << std::dec << "; ";
  return out;
}

// Places that end in 0 are basic blocks, all others accesses; one stream for each lane from 0.
requests merge(std::vector<std::vector<std::uint64_t>> const& streams) {
  warp_trace trace;
  for (unsigned lane = 0; lane < streams.size(); ++lane) {
    trace.start_lane(lane);
    for (auto const pc : streams[lane])
      if (pc % 10 == 0)
        trace.block(pc);
      else
        trace.access(pc, access_kind::global_load, 4, 0);
  }
  requests result;
  trace.flush([&](warp_request const& r) { result.push_back({r.pc, r.access.mask}); });
  return result;
}

}  // namespace

TEST_CASE("trace: lanes that do the same make one request of each access") {
  CHECK(merge({{10, 11, 20, 21}, {10, 11, 20, 21}, {10, 11, 20, 21}}) == requests{{11, 0b111}, {21, 0b111}});
  CHECK(merge({}).empty());
}

TEST_CASE("trace: the sides of an if are apart, what follows is together") {
  CHECK(merge({{10, 20, 21, 40, 41}, {10, 30, 31, 40, 41}, {10, 20, 21, 40, 41}}) ==
        requests{{21, 0b101}, {31, 0b010}, {41, 0b111}});
}

TEST_CASE("trace: lanes leave a loop after their own number of rounds and wait behind it") {
  CHECK(merge({{10, 11, 10, 11, 20, 21}, {20, 21}, {10, 11, 10, 11, 10, 11, 20, 21}, {10, 11, 20, 21}}) ==
        requests{{11, 0b1101}, {11, 0b0101}, {11, 0b0100}, {21, 0b1111}});
}

TEST_CASE("trace: rounds of an outer loop stay together over an inner one of any number of rounds") {
  CHECK(merge({{10, 20, 21, 20, 21, 30, 31, 10, 20, 21, 30, 31}, {10, 20, 21, 30, 31, 10, 20, 21, 20, 21, 30, 31}}) ==
        requests{{21, 0b11}, {21, 0b01}, {31, 0b11}, {21, 0b11}, {21, 0b10}, {31, 0b11}});
}

TEST_CASE("trace: an access under a condition meets that of the same round only") {
  // for (...) if (c) x; y;  Lane 0 does x in rounds 0 and 2, lane 1 in rounds 1 and 2.
  CHECK(merge({{10, 20, 21, 30, 10, 30, 10, 20, 21, 30, 40, 41}, {10, 30, 10, 20, 21, 30, 10, 20, 21, 30, 40, 41}}) ==
        requests{{21, 0b01}, {21, 0b10}, {21, 0b11}, {41, 0b11}});
}

TEST_CASE("trace: lanes that continue wait for the end of the round, lanes that break for the end of the loop") {
  // for (...) { 10; if (a) { 21; continue; } if (b) { 31; break; } 41; }  51;
  CHECK(merge({{10, 20, 21, 50, 10, 40, 41, 50, 60, 61},
               {10, 40, 41, 50, 10, 40, 41, 50, 60, 61},
               {10, 30, 31, 60, 61}}) == requests{{21, 0b001}, {31, 0b100}, {41, 0b010}, {41, 0b011}, {61, 0b111}});
}

TEST_CASE("trace: lanes meet behind an if that others left by continue") {
  // for (...) { if (a) { if (b) continue; 21; } 31; }  In the first round lane 0 continues, lane 2 does not enter.
  CHECK(merge({{10, 15 * 10}, {10, 20, 21, 30, 31, 150}, {10, 30, 31, 150}}) == requests{{21, 0b010}, {31, 0b110}});
}

TEST_CASE(
    "trace: a function behind its caller parts the lanes that call it from those that do not, one before does not") {
  CHECK(merge({{100, 10, 11, 110, 111}, {100, 110, 111}}) == requests{{11, 0b01}, {111, 0b11}});
  CHECK(merge({{100, 200, 201, 110, 111}, {100, 110, 111}}) == requests{{111, 0b10}, {201, 0b01}, {111, 0b01}});
}

TEST_CASE("trace: of two jumps back to a loop's begin the first lets its lanes run ahead") {
  // do { 11; if (c) continue; 21; } while (...) without a common end of the round
  CHECK(merge({{10, 11, 20, 21, 10, 11}, {10, 11, 10, 11}}) ==
        requests{{11, 0b11}, {11, 0b10}, {21, 0b01}, {11, 0b01}});
}

TEST_CASE("trace: a request has its kind, its width and the address of each of its lanes") {
  warp_trace trace;
  for (unsigned lane : {31U, 3U, 4U}) {
    trace.start_lane(lane);
    trace.access(0x7fff12345678, access_kind::texture_load, 16, lane * 100);
    if (lane == 3) trace.access(0x7fff12345679, access_kind::shared_store, 2, ~std::uint64_t{0});
    trace.access(0x7fff12345680, access_kind::global_load, lane == 4 ? 4 : 8, lane);
  }
  std::vector<warp_request> all;
  trace.flush([&](warp_request const& r) { all.push_back(r); });
  REQUIRE(all.size() == 4);
  CHECK(all[0].pc == 0x7fff12345678);
  CHECK(all[0].kind == access_kind::texture_load);
  CHECK(all[0].access.bytes == 16);
  CHECK(all[0].access.mask == (1U << 31 | 1U << 3 | 1U << 4));
  for (unsigned lane : {31U, 3U, 4U}) CHECK(all[0].access.address[lane] == lane * 100);
  CHECK(all[1].kind == access_kind::shared_store);
  CHECK(all[1].access.bytes == 2);
  CHECK(all[1].access.mask == 1U << 3);
  CHECK(all[1].access.address[3] == ~std::uint64_t{0});
  CHECK(all[2].access.bytes == 4);
  CHECK(all[2].access.address[4] == 4);
  CHECK(all[3].access.bytes == 8);
  CHECK(all[3].access.address[31] == 31);
}

TEST_CASE("trace: a copy has the address of each of its lanes on both sides") {
  warp_trace trace;
  for (unsigned lane : {0U, 5U}) {
    trace.start_lane(lane);
    trace.copy(11, 16, lane == 0 ? 0 : 4096, lane * 16);
    trace.access(21, access_kind::shared_load, 4, lane);
  }
  std::vector<warp_request> all;
  trace.flush([&](warp_request const& r) { all.push_back(r); });
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == access_kind::async_copy);
  CHECK(all[0].access.mask == 0b100001);
  CHECK(all[0].access.address[0] == 0);
  CHECK(all[0].access.address[5] == 4096);
  CHECK(all[0].to[0] == 0);
  CHECK(all[0].to[5] == 80);
  CHECK(all[1].access.address[5] == 5);
}

TEST_CASE("trace: a lane goes on where it stopped, and meets the others in what both do next") {
  // Lane 0 stops twice and lane 1 once before both come to 41.
  warp_trace trace;
  auto const go_on = [&](unsigned lane, std::vector<std::uint64_t> const& pcs) {
    trace.start_lane(lane);
    for (auto const pc : pcs) trace.access(pc, access_kind::global_load, 4, 100 * pc + lane);
  };
  go_on(0, {11, 21});
  go_on(1, {11, 31});
  go_on(0, {22});
  go_on(1, {41, 42});
  go_on(0, {41, 42});
  CHECK(trace.lanes() == 0b11);
  requests merged;
  trace.flush([&](warp_request const& r) {
    merged.push_back({r.pc, r.access.mask});
    for (unsigned lane = 0; lane < 2; ++lane)
      if ((r.access.mask >> lane & 1) != 0) CHECK(r.access.address[lane] == 100 * r.pc + lane);
  });
  CHECK(merged == requests{{11, 0b11}, {21, 0b01}, {22, 0b01}, {31, 0b10}, {41, 0b11}, {42, 0b11}});
  CHECK(trace.lanes() == 0);
}

TEST_CASE("trace: segments are independent of each other, also after one of a million accesses") {
  warp_trace trace;
  for (std::uint64_t const length : {3, 1000000, 2}) {
    for (unsigned lane : {0U, 1U}) {
      trace.start_lane(lane);
      for (std::uint64_t i = 0; i < length; ++i) trace.access(7, access_kind::global_load, 4, 4 * i + lane);
    }
    std::uint64_t seen = 0, right = 0;
    trace.flush([&](warp_request const& r) {
      right += r.access.mask == 0b11 && r.access.address[0] == 4 * seen && r.access.address[1] == 4 * seen + 1;
      ++seen;
    });
    CHECK(seen == length);
    CHECK(right == length);
  }
}

namespace {

// A random structured program, laid out in the order of its source.
struct instruction {
  enum { block, access, branch, jump, stop } does = block;
  std::size_t target = 0;  // of a branch or jump
  bool uniform = false;    // all lanes that visit a branch equally often decide the same
  bool leaves_by = false;  // the decision by which a loop's branch ends the loop
  bool loop = false;
};

class random_program {
 public:
  // Without `nested_leaves`, a break or continue stands in an if of the loop's own body only, and no loop has both:
  // each branch's immediate post-dominator is then the end of its if or loop.
  random_program(unsigned seed, bool nested_leaves) : random_(seed), nested_leaves_(nested_leaves) {
    emit({instruction::block});
    list(3, true);
    emit({instruction::stop});
  }
  std::vector<instruction> code;

 private:
  struct loop_ends {
    std::vector<std::size_t> breaks, continues;
    bool breaks_only = false;
  };

  std::size_t emit(instruction i) {
    code.push_back(i);
    return code.size() - 1;
  }
  std::size_t begin_block() { return emit({instruction::block}); }
  void accesses() {
    for (auto n = random_() % 3; n > 0; --n) emit({instruction::access});
  }
  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  void list(int depth, bool loop_body) {
    accesses();
    for (auto n = 1 + random_() % 3; n > 0; --n) {
      auto const choice = random_() % 4;
      if (choice == 0 && loop_ != nullptr && (loop_body || nested_leaves_))
        leave();
      else if (depth > 0 && choice == 1)
        loop(depth);
      else if (depth > 0)
        choose(depth);
      accesses();
    }
  }

  void choose(int depth) {
    auto const branch = emit({instruction::branch, 0, chance(4)});
    begin_block();
    list(depth - 1, false);
    if (chance(2)) {
      auto const jump = emit({instruction::jump});
      code[branch].target = begin_block();
      list(depth - 1, false);
      code[jump].target = begin_block();
    } else {
      code[branch].target = begin_block();
    }
  }

  void leave() {
    auto const branch = emit({instruction::branch, 0, chance(4)});
    begin_block();
    accesses();
    ((nested_leaves_ ? chance(2) : loop_->breaks_only) ? loop_->breaks : loop_->continues)
        .push_back(emit({instruction::jump}));
    code[branch].target = begin_block();
  }

  void loop(int depth) {
    loop_ends ends;
    ends.breaks_only = chance(2);
    auto* const outer = std::exchange(loop_, &ends);
    bool const tests_first = chance(2), uniform = chance(3);
    auto const begin = begin_block();
    if (tests_first) {
      accesses();
      ends.breaks.push_back(emit({instruction::branch, 0, uniform, true, true}));
      begin_block();
    }
    list(depth - 1, true);
    auto const round_end = begin_block();
    accesses();
    emit({tests_first ? instruction::jump : instruction::branch, begin, uniform, false, true});
    auto const end = begin_block();
    for (auto i : ends.breaks) code[i].target = end;
    for (auto i : ends.continues) code[i].target = round_end;
    loop_ = outer;
  }

  std::mt19937 random_;
  bool nested_leaves_;
  loop_ends* loop_ = nullptr;
};

constexpr unsigned lanes = 32;

// What the lanes of a run decide and access: both depend on how often a lane was at a place, not on other lanes.
class run {
 public:
  run(std::vector<instruction> const& code, unsigned seed) : code_(code), seed_(seed), visits_(code.size() * lanes) {}

  bool takes(std::size_t pc, unsigned lane) {
    auto const visit = ++visits_[pc * lanes + lane];
    auto const& i = code_[pc];
    if (i.loop && visit > 12) return i.leaves_by;
    std::uint64_t h =
        (((seed_ * 1000003ULL + pc) * 1000003 + visit) * 1000003 + (i.uniform ? 0 : lane)) * 0x9e3779b97f4a7c15;
    return (h >> 60) % 3 == 0 ? i.leaves_by : !i.leaves_by;
  }
  std::uint64_t address(std::size_t pc, unsigned lane) { return ++visits_[pc * lanes + lane] * lanes + lane; }

  std::size_t after(std::size_t pc, unsigned lane) {
    auto const& i = code_[pc];
    if (i.does == instruction::jump || (i.does == instruction::branch && takes(pc, lane))) return i.target;
    return pc + 1;
  }

 private:
  std::vector<instruction> const& code_;
  unsigned seed_;
  std::vector<unsigned> visits_;
};

// Lane after lane.
requests traced(std::vector<instruction> const& code, unsigned seed) {
  warp_trace trace;
  run r(code, seed);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    trace.start_lane(lane);
    for (std::size_t pc = 0; code[pc].does != instruction::stop; pc = r.after(pc, lane)) {
      if (code[pc].does == instruction::block) trace.block(pc);
      if (code[pc].does == instruction::access) trace.access(pc, access_kind::shared_load, 4, r.address(pc, lane));
    }
  }
  requests result;
  trace.flush([&](warp_request const& w) {
    result.push_back({w.pc, w.access.mask});
    for (unsigned lane = 0; lane < lanes; ++lane)
      if (w.access.mask >> lane & 1) result.back().addresses[lane] = w.access.address[lane];
  });
  return result;
}

template <class F>
void for_each_lane(std::uint32_t mask, F&& f) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1) f(lane);
}

request access_by(run& r, std::size_t pc, std::uint32_t mask) {
  request result{pc, mask};
  for_each_lane(mask, [&](unsigned lane) { result.addresses[lane] = r.address(pc, lane); });
  return result;
}

// All lanes at once; always those with the least program counter.
requests least_counter_first(std::vector<instruction> const& code, unsigned seed) {
  run r(code, seed);
  std::vector<std::size_t> at(lanes, 0);
  requests result;
  for (;;) {
    auto const pc = *std::ranges::min_element(at);
    if (code[pc].does == instruction::stop) return result;
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) mask |= std::uint32_t{at[lane] == pc} << lane;
    if (code[pc].does == instruction::access) result.push_back(access_by(r, pc, mask));
    for_each_lane(mask, [&](unsigned lane) { at[lane] = r.after(pc, lane); });
  }
}

std::vector<std::size_t> immediate_post_dominators(std::vector<instruction> const& code) {
  using set = std::bitset<512>;
  std::vector<set> of(code.size(), set().set());
  of.back() = set().set(code.size() - 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto pc = code.size() - 1; pc-- > 0;) {
      auto now = code[pc].does == instruction::jump ? of[code[pc].target] : of[pc + 1];
      if (code[pc].does == instruction::branch) now &= of[code[pc].target];
      now.set(pc);
      changed |= now != of[pc];
      of[pc] = now;
    }
  }
  std::vector<std::size_t> result(code.size());
  for (std::size_t pc = 0; pc < code.size(); ++pc)
    for (std::size_t d = 0; d < code.size(); ++d)
      if (d != pc && of[pc][d] && of[d].count() + 1 == of[pc].count()) result[pc] = d;
  return result;
}

// All lanes at once; those that part wait for each other at the immediate post-dominator of the branch.
requests post_dominator(std::vector<instruction> const& code, unsigned seed) {
  struct entry {
    std::size_t pc, until;
    std::uint32_t mask;
  };
  auto const meet = immediate_post_dominators(code);
  run r(code, seed);
  std::vector<entry> stack{{0, code.size() - 1, ~std::uint32_t{0}}};
  requests result;
  while (!stack.empty()) {
    auto& top = stack.back();
    if (top.pc == top.until) {
      stack.pop_back();
      continue;
    }
    auto const pc = top.pc;
    if (code[pc].does == instruction::access) result.push_back(access_by(r, pc, top.mask));
    std::map<std::size_t, std::uint32_t> next;
    for_each_lane(top.mask, [&](unsigned lane) { next[r.after(pc, lane)] |= std::uint32_t{1} << lane; });
    top.pc = next.size() == 1 ? next.begin()->first : meet[pc];
    if (next.size() == 1) continue;
    for (auto side = next.rbegin(); side != next.rend(); ++side) stack.push_back({side->first, meet[pc], side->second});
  }
  return result;
}

}  // namespace

TEST_CASE("trace: random programs make the requests of a warp that runs in lockstep") {
  std::size_t made = 0, partial = 0, sooner = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    bool const nested_leaves = seed % 2 != 0;
    random_program const program(seed, nested_leaves);
    if (program.code.size() > 512) continue;
    auto const merged = traced(program.code, seed);
    REQUIRE(merged == least_counter_first(program.code, seed));
    auto const reference = post_dominator(program.code, seed);
    if (nested_leaves) {
      REQUIRE(merged.size() <= reference.size());
      sooner += merged.size() < reference.size();
    } else {
      REQUIRE(merged == reference);
    }
    made += merged.size();
    partial += std::ranges::count_if(merged, [](request const& r) { return r.lanes != ~std::uint32_t{0}; });
  }
  // The programs are no trivial ones.
  CHECK(made > 10000);
  CHECK(partial > made / 4);
  CHECK(sooner > 10);
}
