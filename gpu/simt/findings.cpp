// Findings by line of source, and their names.
#include "gpu/simt/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/simt/symbolize.hpp"

namespace tandem::simt {
namespace {

void const* address(std::uintptr_t pc) { return reinterpret_cast<void const*>(pc); }

// One line of source becomes several calls where the compiler copies it. Two threads that wait at copies of one
// barrier wait at the same one.
bool is_same_place(std::uintptr_t x, std::uintptr_t y) {
  auto const a = lines_of(address(x)), b = lines_of(address(y));
  return !a.empty() && std::ranges::equal(a, b, [](place const& p, place const& q) {
    return p.line == q.line && p.file == q.file && p.function == q.function;
  });
}

std::string describe(place const& p) { return p.line == 0 ? "an unknown line" : fmt::format("{}:{}", p.file, p.line); }

std::string describe(index3 const& i) { return fmt::format("({}, {}, {})", i.x, i.y, i.z); }

}  // namespace

std::vector<finding> findings_list::tell() const {
  std::vector<finding> told;
  for (auto const& e : list_) {
    if (is_of_two_places(e.kind) && e.other != 0 && is_same_place(e.pc, e.other)) continue;
    finding f;
    f.kind = e.kind;
    f.kernel = function_name(e.kernel);
    f.where = source_line(address(e.pc));
    f.block = e.block, f.thread = e.thread;
    f.count = e.count;
    f.detail = e.other == 0 ? e.detail : fmt::format("{} at {}", e.detail, describe(source_line(address(e.other))));
    auto const same = std::ranges::find_if(told, [&](finding const& t) {
      return t.where.line != 0 && t.kind == f.kind && t.kernel == f.kernel && t.where.line == f.where.line &&
             t.where.file == f.where.file;
    });
    if (same != told.end())
      same->count += f.count;
    else
      told.push_back(std::move(f));
  }
  return told;
}

std::string to_string(finding const& f) {
  return fmt::format("{}: {}, {}, block {}, thread {}: {}{}", to_string(f.kind), f.kernel, describe(f.where),
                     describe(f.block), describe(f.thread), f.detail,
                     f.count == 1 ? "" : fmt::format(" ({} times)", f.count));
}

std::string_view to_string(defect d) noexcept {
  switch (d) {
    case defect::shared_race: return "race in shared memory";
    case defect::global_race: return "race in global memory";
    case defect::barrier_divergence: return "divergent barrier";
    case defect::warp_divergence: return "divergent operation of a warp";
    case defect::deadlock: return "deadlock";
    case defect::uninitialised_shared: return "read of uninitialised shared memory";
    case defect::outside_operands: return "access outside the operands";
    case defect::below_operand: return "access below an operand";
    case defect::row_gap: return "access between the rows of an operand";
    case defect::misaligned: return "misaligned access";
    case defect::write_to_input: return "write to an input";
    case defect::outside_shared: return "access outside shared memory";
    case defect::async_not_awaited: return "access to a copy that was not waited for";
  }
  return "?";
}

}  // namespace tandem::simt
