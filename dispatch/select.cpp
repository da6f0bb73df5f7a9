// Choosing a row: by full name, by technique, or the backend's cheapest. Nothing is ever replaced silently.
#include "dispatch/select.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/error.hpp>
#include <tandem/thread_own.hpp>

#include "dispatch/table.hpp"

namespace tandem {
namespace dispatch {
namespace {

struct kernel_name {
  std::string_view text;
  char const* origin;  // for messages
};

bool is_named(kernel const& row, std::string_view name) { return row.name == name || row.technique() == name; }

// Read once: looking through the environment takes longer than a small product.
std::string const& kernel_from_environment() {
  static auto const& name = *new std::string([] {
    char const* const env = std::getenv("TANDEM_KERNEL");
    return env ? env : "";
  }());
  return name;
}

/// Whether a call leaves the choice to the CPU backend, as nearly every one on the host does. Its rows rank alike for
/// all problems, so one answer serves.
bool is_usual(std::string_view kernel, tandem::memory where, tandem::backend id) {
  return kernel.empty() && where == memory::host && (id == backend::automatic || id == backend::cpu) &&
         kernel_from_environment().empty();
}

// TANDEM_KERNEL applies where the call names none. One that names kernels of the other operation alone is not meant
// for this call; one that names nothing at all is a mistake and is kept, so that it is reported.
kernel_name wanted_name(request const& wanted) {
  if (!wanted.kernel.empty()) return {wanted.kernel, ""};
  auto const& env = kernel_from_environment();
  if (env.empty()) return {};
  bool other = false;
  for (auto const& row : kernel_table())
    if (is_named(row, env)) {
      if (row.operation() == wanted.operation) return {env, " (from TANDEM_KERNEL)"};
      other = true;
    }
  return other ? kernel_name{} : kernel_name{env, " (from TANDEM_KERNEL)"};
}

std::string techniques(tandem::backend id, operation op) {
  std::set<std::string> names;
  for (auto const& row : find_backend(id).kernels)
    if (row.operation() == op) names.insert(row.technique());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

[[noreturn]] void throw_unknown(kernel_name name, tandem::backend id, operation op) {
  std::set<std::string_view> elsewhere;
  for (auto const& row : kernel_table())
    if (row.operation() == op && row.technique() == name.text) elsewhere.insert(to_string(row.backend));
  throw error(errc::unknown_kernel, fmt::format("backend {} has no {} kernel '{}'{}; it has: {}{}", to_string(id),
                                                to_string(op), name.text, name.origin, techniques(id, op),
                                                elsewhere.empty() ? ""
                                                                  : fmt::format("; '{}' is of backend {}", name.text,
                                                                                fmt::join(elsewhere, ", "))));
}

std::string refusal(kernel const& row, request const& wanted) {
  return wanted.gemm != nullptr && row.refuses ? row.refuses(*wanted.gemm) : std::string();
}

double cost(kernel const& row, request const& wanted) {
  return wanted.gemm != nullptr && row.cost ? row.cost(*wanted.gemm) : std::numeric_limits<double>::max();
}

// A row without an estimate, or with an infinite one, is taken only when it is named.
bool is_ranked(kernel const& row, problem const& p) { return row.cost && std::isfinite(row.cost(p)); }

// The rows that a call gets by itself, looked for once: those of the backend and type that have a cost.
std::vector<kernel const*> const& ranked_rows(tandem::backend id, dtype type) {
  struct group {
    tandem::backend id;
    dtype type;
    std::vector<kernel const*> rows = {};
  };
  static auto const& groups = *new std::vector<group>([] {
    std::vector<group> all;
    for (auto const* backend : backends())
      for (auto const each : {dtype::f32, dtype::f64}) {
        all.push_back({backend->backend, each});
        for (auto const& row : backend->kernels)
          if (row.operation() == operation::gemm && row.dtype == each && row.cost) all.back().rows.push_back(&row);
      }
    return all;
  }());
  static auto const& none = *new std::vector<kernel const*>;
  auto const found = std::ranges::find_if(groups, [&](group const& g) { return g.id == id && g.type == type; });
  return found == groups.end() ? none : found->rows;
}

// What the choice depends on: not the operands' addresses, but how they lie to 16 bytes.
struct choice_key {
  tandem::backend backend = tandem::backend::automatic;
  tandem::dtype dtype = tandem::dtype::f32;
  std::array<std::int64_t, 6> sizes = {};
  std::array<std::uintptr_t, 3> alignments = {};
  bool trans_a = false, trans_b = false;
  bool operator==(choice_key const&) const = default;

  std::size_t slot(std::size_t slots) const {
    std::uint64_t hash = trans_a ? 3 : trans_b ? 5 : 7;
    for (auto const size : sizes) hash = (hash ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(hash >> 40) % slots;
  }
};

choice_key key_of(tandem::backend id, problem const& p) {
  auto const alignment = [](void const* data) { return reinterpret_cast<std::uintptr_t>(data) % 16; };
  return {id,        p.dtype,  {p.m, p.n, p.k, p.lda, p.ldb, p.ldc}, {alignment(p.a), alignment(p.b), alignment(p.c)},
          p.trans_a, p.trans_b};
}

// On the path of every launch, so nothing is allocated, availability is asked of one row only, and the last choices are
// kept: programs call with few shapes, and forty estimates take longer than a comparison. Null where the cheapest row
// is not there, or none takes the problem: what the error is then is found by the long way.
kernel const* quickly_cheapest(tandem::backend id, problem const& p) {
  struct kept {
    choice_key key;
    kernel const* row = nullptr;
  };
  using choices = std::array<kept, 256>;  // a place by hash: so many that a dozen shapes seldom meet in one
  auto const key = key_of(id, p);
  auto* const last = thread_own<choices>();
  auto* const slot = last != nullptr ? &(*last)[key.slot(last->size())] : nullptr;
  if (slot != nullptr && slot->row != nullptr && slot->key == key) return slot->row;

  kernel const* best = nullptr;
  double best_cost = std::numeric_limits<double>::infinity();
  for (auto const* row : ranked_rows(id, p.dtype))
    if (double const c = row->cost(p); c < best_cost && (!row->refuses || row->refuses(p).empty()))
      best = row, best_cost = c;
  if (best == nullptr || !unavailable(*best).empty()) return nullptr;
  if (slot != nullptr) *slot = {key, best};
  return best;
}

// The cheapest of the candidates that can run; if none can, the first one's reason is the error's.
kernel const& cheapest(std::vector<kernel const*> const& candidates, request const& wanted) {
  kernel const* best = nullptr;
  double best_cost = 0;
  for (auto const* row : candidates) {
    if (!unavailable(*row).empty() || !refusal(*row, wanted).empty()) continue;
    double const c = cost(*row, wanted);
    if (best == nullptr || c < best_cost) best = row, best_cost = c;
  }
  if (best != nullptr) return *best;
  auto const& first = *candidates.front();
  if (auto const& of_backend = find_backend(first.backend).unavailable)
    if (auto reason = of_backend(); !reason.empty())
      throw error(errc::unavailable, fmt::format("{}: {}", to_string(first.backend), reason));
  if (auto reason = unavailable(first); !reason.empty())
    throw error(errc::unavailable, fmt::format("{}: {}", first.name, reason));
  throw error(errc::unsupported, fmt::format("{}: {}", first.name, refusal(first, wanted)));
}

void check_memory(kernel const& row, tandem::memory where) {
  if (where == memory::host ? !row.host : !row.device)
    throw error(errc::mixed_memory,
                fmt::format("{} cannot reach the views: they are in {} memory", row.name, to_string(where)));
}

}  // namespace

void check_row(kernel const& row, operation op, dtype type, memory where) {
  if (row.operation() != op)
    throw error(errc::unknown_kernel,
                fmt::format("{} computes {}, not {}", row.name, to_string(row.operation()), to_string(op)));
  if (row.dtype != type)
    throw error(errc::unknown_kernel,
                fmt::format("{} takes {}, the views hold {}", row.name, to_string(row.dtype), to_string(type)));
  check_memory(row, where);
  if (auto reason = unavailable(row); !reason.empty())
    throw error(errc::unavailable, fmt::format("{}: {}", row.name, reason));
}

kernel const& select(request const& wanted) {
  auto const name = wanted_name(wanted);
  if (auto const* row = name.text.empty() ? nullptr : find_kernel(name.text)) {
    if (wanted.backend != backend::automatic && wanted.backend != row->backend)
      throw error(errc::unknown_kernel,
                  fmt::format("kernel {}{} is not of backend {}", name.text, name.origin, to_string(wanted.backend)));
    check_row(*row, wanted.operation, wanted.dtype, wanted.memory);
    if (auto reason = refusal(*row, wanted); !reason.empty())
      throw error(errc::unsupported, fmt::format("{}: {}", row->name, reason));
    return *row;
  }

  auto const id = wanted.backend != backend::automatic ? wanted.backend
                  : wanted.memory == memory::host      ? backend::cpu
                                                       : backend::gpu;
  bool const unnamed = name.text.empty() && wanted.gemm != nullptr;
  if (unnamed)
    if (auto const* row = quickly_cheapest(id, *wanted.gemm)) {
      check_memory(*row, wanted.memory);
      return *row;
    }
  std::vector<kernel const*> candidates;
  for (auto const& row : find_backend(id).kernels)
    if (row.operation() == wanted.operation && row.dtype == wanted.dtype &&
        (unnamed ? is_ranked(row, *wanted.gemm) : name.text.empty() || row.technique() == name.text))
      candidates.push_back(&row);
  if (candidates.empty()) {
    if (!name.text.empty()) throw_unknown(name, id, wanted.operation);
    throw error(errc::unavailable, fmt::format("backend {} has no {} kernel for {}", to_string(id),
                                               to_string(wanted.operation), to_string(wanted.dtype)));
  }
  check_memory(*candidates.front(), wanted.memory);
  return cheapest(candidates, wanted);
}

kernel const& select_axpy(axpy_problem const& p, axpy_options const& options) {
  return select({operation::axpy, p.dtype, p.memory, options.backend, options.kernel, nullptr});
}

kernel const* open_axpy(dtype type) {
  if (!kernel_from_environment().empty()) return nullptr;
  return &select({operation::axpy, type, memory::host, backend::cpu, {}, nullptr});
}

}  // namespace dispatch

kernel const* select_kernel(problem const& p, gemm_options const& options) {
  if (dispatch::is_usual(options.kernel, p.memory, options.backend)) {
    auto const best = [&](dtype type) -> kernel const* {
      problem const of_type = {.dtype = type, .m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1};
      return &dispatch::select({operation::gemm, type, p.memory, backend::cpu, {}, &of_type});
    };
    static kernel const* const f32 = best(dtype::f32);
    static kernel const* const f64 = best(dtype::f64);
    return p.dtype == dtype::f32 ? f32 : f64;
  }
  return &dispatch::select(
      {operation::gemm, p.dtype, p.memory, options.backend, options.kernel, dispatch::is_degenerate(p) ? nullptr : &p});
}

}  // namespace tandem
