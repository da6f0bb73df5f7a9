// The CPU backend's rows: the blocked GEMM on each instruction set, the plain rungs below it, axpy.
#include "cpu/descriptor.hpp"

#include <fmt/format.h>

#include "cpu/axpy.hpp"
#include "cpu/caches.hpp"
#include "cpu/gemm.hpp"
#include "cpu/rungs.hpp"
#include "cpu/small.hpp"
#include "hwy/highway.h"

namespace tandem::cpu {
namespace {

double flop(problem const& p) {
  return 2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

template <class T>
kernel simd_row(instruction_set const& set, microkernel<T> const& tile, path way, std::string_view suffix) {
  bool const dots = way == path::dots;
  return {.name = fmt::format("cpu.{}{}.{}.{}x{}", set.technique, suffix, to_string(dtype_of<T>),
                              dots ? tile.dot_rows : tile.mr, dots ? tile.dot_cols : tile.nr),
          .backend = backend::cpu,
          .dtype = dtype_of<T>,
          .threaded = true,
          .concurrent = true,
          .flop_budget = set.vector_bytes > 16 ? 2e10 : 1e10,
          .unavailable = [&set] { return set.supported() ? std::string() : std::string(set.missing); },
          .refuses = [way](problem const& p) { return refusal(way, p); },
          .run = [&tile, way](problem const& p, execution const& e) { gemm(tile, way, p, e); },
          .plan = [&tile, way](problem const& p) { return plan_of(tile, way, p); },
          .cost = {},
          .run_axpy = {}};
}

using rung_function = void (*)(problem const&, execution const&);

kernel plain_row(std::string name, dtype type, rung_function run, tile_level level) {
  return {.name = std::move(name),
          .backend = backend::cpu,
          .dtype = type,
          .concurrent = true,
          .flop_budget = 5e8,
          .unavailable = {},
          .refuses = {},
          .run = run,
          .plan = [level = std::move(level)](problem const&) { return plan{{level}}; },
          .cost = {},
          .run_axpy = {}};
}

template <class T>
void append_plain_rows(std::vector<kernel>& rows) {
  auto const type = dtype_of<T>;
  std::int64_t const edge = blocked_edge;
  rows.push_back(plain_row(fmt::format("cpu.blocked.{}.{}x{}x{}", to_string(type), edge, edge, edge), type, blocked<T>,
                           {.name = "block", .m = edge, .n = edge, .k = edge, .memory = "L1"}));
  rows.back().cost = flop;  // dearer than any vector kernel; it serves where there is none
  rows.push_back(plain_row(fmt::format("cpu.outer_product.{}", to_string(type)), type, outer_product<T>,
                           {.name = "update", .m = 0, .n = 0, .k = 1, .memory = "memory"}));
  rows.push_back(plain_row(fmt::format("cpu.inner_product.{}", to_string(type)), type, inner_product<T>,
                           {.name = "element", .m = 1, .n = 1, .k = 0, .memory = "registers", .keeps_c = true}));
}

template <class T>
kernel axpy_row() {
  return {.name = fmt::format("cpu.axpy.{}", to_string(dtype_of<T>)),
          .backend = backend::cpu,
          .dtype = dtype_of<T>,
          .threaded = true,
          .flop_budget = 1e10,
          .unavailable = {},
          .refuses = {},
          .run = {},
          .plan = {},
          .cost = {},
          .run_axpy = axpy<T>,
          .axpy_at_once = best_axpy<T>(),
          .most_at_once = most_at_once<T>};
}

std::vector<kernel> all_rows() {
  std::vector<kernel> rows;
  for (instruction_set const* set : instruction_sets()) {
    auto const add = [&](path way, std::string_view suffix) {
      rows.push_back(simd_row(*set, set->f32, way, suffix));
      rows.push_back(simd_row(*set, set->f64, way, suffix));
    };
    add(path::chosen, "");
    // What dispatch takes by itself; the others have to be named.
    for (auto i = rows.size() - 2; i < rows.size(); ++i)
      rows[i].cost = [set](problem const& p) { return flop(p) / set->vector_bytes; };
    rows[rows.size() - 2].prepare = [set](problem const& p) { return prepare_small(set->f32, p); };
    rows.back().prepare = [set](problem const& p) { return prepare_small(set->f64, p); };
    add(path::packed, "_packed");
    add(path::in_place, "_in_place");
    add(path::dots, "_dots");
  }
  append_plain_rows<float>(rows);
  append_plain_rows<double>(rows);
  rows.push_back(axpy_row<float>());
  rows.push_back(axpy_row<double>());
  return rows;
}

std::string version() {
#ifdef __clang__
  std::string const compiler = fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  std::string const compiler = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  std::string_view isa = "no vectors";
  for (instruction_set const* set : instruction_sets()) {
    if (!set->supported()) continue;
    isa = set->technique;
    break;
  }
  auto const& caches = host_caches();
  return fmt::format("{}, Highway {}.{}.{}: {}, caches {}K,{}K,{}K", compiler, HWY_MAJOR, HWY_MINOR, HWY_PATCH, isa,
                     caches.l1 >> 10, caches.l2 >> 10, caches.l3 >> 10);
}

void scale_host(problem const& p, execution const&) {
  if (p.dtype == dtype::f32)
    scale<float>(p);
  else
    scale<double>(p);
}

}  // namespace

backend_descriptor const& descriptor() {
  static auto const& d = *new backend_descriptor{
      .backend = backend::cpu, .unavailable = {}, .version = version, .scale = scale_host, .kernels = all_rows()};
  return d;
}

}  // namespace tandem::cpu
