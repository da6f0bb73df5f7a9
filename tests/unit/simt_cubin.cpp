// What the SIMT executor counts is what the source asks for. These tests hold it against what nvcc made of it: a step
// of k in the source and a trip of the main loop in the cubin must make the same accesses.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <tandem/simt/kernels.hpp>

#include "tests/cubin/cubin.hpp"
#include "tests/support.hpp"

using namespace tandem::tests;

namespace {

#ifdef TANDEM_CUBINS
bool has_cubins() { return true; }
std::string path_of(std::string const& name) { return std::string(TANDEM_CUBINS) + "/" + name + ".cubin"; }
#else
bool has_cubins() {
  skip("no cubin: built without nvcc");
  return false;
}
std::string path_of(std::string const&) { return {}; }
#endif

std::vector<char> file_of(std::string const& name) {
  std::ifstream in(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<cubin_kernel> kernels_of(std::string const& name) {
  auto const file = file_of(name);
  return read_cubin(std::as_bytes(std::span(file)));
}

std::string text(histogram const& counts) {
  std::ostringstream out;
  for (auto const& [access, number] : counts)
    if (access.op != opcode::branch && access.op != opcode::exit)
      out << (out.tellp() == 0 ? "" : ", ") << number << ' ' << to_string(access);
  return out.str();
}

// "expected 32 LDS.128, found 16", one of each that differs.
std::string text(comparison const& c) {
  std::ostringstream out;
  if (auto const steps = std::to_string(c.steps); c.differences.empty())
    return steps.substr(0, steps.find('.')) + " steps";
  for (auto const& d : c.differences)
    out << (out.tellp() == 0 ? "" : "; ") << to_string(d.access) << ": expected " << d.expected << ", found "
        << d.found;
  return out.str();
}

// A kernel whose main loop is these instructions.
cubin_kernel kernel_of(histogram const& trip) {
  cubin_kernel kernel;
  for (auto const& [access, number] : trip)
    for (int i = 0; i < number; ++i)
      kernel.code.push_back({.at = 16 * static_cast<std::int64_t>(kernel.code.size()), .access = access});
  kernel.code.push_back({.at = 16 * static_cast<std::int64_t>(kernel.code.size()), .access = {opcode::branch}});
  return kernel;
}

constexpr machine_access ffma{opcode::ffma}, dfma{opcode::dfma}, barrier{opcode::barrier};
constexpr machine_access global_load(int bits) { return {opcode::global_load, bits}; }
constexpr machine_access shared_load(int bits) { return {opcode::shared_load, bits}; }
constexpr machine_access shared_store(int bits) { return {opcode::shared_store, bits}; }

// Techniques whose main loop is not the same step of k for every warp: those over block_product copy chunks and
// multiply them in two loops, and have a copy for either width, persistent and tensor_core have one loop for whole
// chunks and one for others; of maxas, half the warps fetch A and half B; gemv has loops for whole vectors and for
// single elements, lines_of_dots and lines_of_sums for several steps and for one, and rank_k one over rows of C.
bool has_other_loops(std::string_view kernel) {
  constexpr std::string_view names[] = {"split_k",    "stream_k", "skinny", "small",  "maxas_64",    "maxas_256",
                                        "persistent", "peeled",   "gemv",   "rank_k", "tensor_core", "lines_of"};
  return std::ranges::any_of(names, [&](std::string_view name) { return kernel.starts_with(name); });
}

// Kernels around products, which copy operands or add up slices.
bool has_no_k(std::string_view kernel) {
  constexpr std::string_view names[] = {"axpy<",      "scale<", "sum_slices<",   "join_shares<",
                                        "add_parts<", "align<", "gather_vector<"};
  return std::ranges::any_of(names, [&](std::string_view name) { return kernel.starts_with(name); });
}

// What the executor counts that a warp of a block inside the matrices does in a step of k, or a thread, or the block
// where that is the unit; by kernel. A row has other kernels for operands that do not begin at multiples of 16 bytes.
std::map<std::string, k_step> count_steps() {
  using tandem::simt::access_kind;
  static std::map<access_kind, opcode> const opcodes = {
      {access_kind::global_load, opcode::global_load},     {access_kind::global_store, opcode::global_store},
      {access_kind::global_atomic, opcode::global_atomic}, {access_kind::shared_load, opcode::shared_load},
      {access_kind::shared_store, opcode::shared_store},   {access_kind::shared_atomic, opcode::shared_atomic},
      {access_kind::async_copy, opcode::async_copy},       {access_kind::texture_load, opcode::texture_load}};
  constexpr std::int64_t depths[] = {128, 256};  // whole trips, however far a loop is unrolled
  std::map<std::string, k_step> steps;
  for (auto const& row : tandem::simt::checked_kernels()) {
    if (!row.run || has_other_loops(row.technique())) continue;
    auto const levels = row.plan({}).levels;
    auto const &block = levels.front(), &thread = levels.back();
    auto const threads = static_cast<double>(block.m * block.n / (thread.m * thread.n));
    for (int form = 0; form < 8; ++form) {
      bool const trans_a = (form & 1) != 0, trans_b = (form & 2) != 0;
      std::size_t const offset = (form & 4) != 0 ? size_of(row.dtype) : 0;
      std::string name;
      k_step step;
      for (auto const depth : depths) {
        std::vector<std::byte> a(static_cast<std::size_t>(block.m * depth) * size_of(row.dtype) + offset),
            b(static_cast<std::size_t>(block.n * depth) * size_of(row.dtype) + offset),
            c(static_cast<std::size_t>(block.m * block.n) * size_of(row.dtype));
        tandem::problem p;
        p.dtype = row.dtype;
        p.m = block.m, p.n = block.n, p.k = depth;
        p.trans_a = trans_a, p.trans_b = trans_b;
        p.a = a.data() + offset, p.lda = p.trans_a ? p.m : p.k;
        p.b = b.data() + offset, p.ldb = p.trans_b ? p.k : p.n;
        p.c = c.data(), p.ldc = p.n;
        auto const counted = tandem::simt::count_accesses(row.name, p);
        auto const share = [&](std::uint64_t n, double units) {
          return static_cast<double>(n) / units / static_cast<double>(depths[1] - depths[0]) *
                 (depth == depths[1] ? 1 : -1);
        };
        for (auto const& site : counted.sites) {
          name = site.kernel;
          auto const op = opcodes.at(site.kind);
          bool const has_width =
              op != opcode::global_atomic && op != opcode::shared_atomic && op != opcode::texture_load;
          step[{op, has_width ? 8 * site.bytes : 0}] += share(site.counts.requests, threads / 32);
        }
        step[ffma] += share(counted.ffma, threads);
        step[dfma] += share(counted.dfma, threads);
        step[barrier] += share(counted.barriers, 1);
      }
      // One kernel takes several forms where they are its arguments, and does the same for each; so do several rows.
      CHECK_MESSAGE(steps.emplace(name, step).first->second == step, name);
    }
  }
  return steps;
}

// What ptxas is known to do otherwise in a kernel whose name starts so, and why; how often is its affair.
struct explanation {
  std::string_view kernel;
  machine_access what;
};
constexpr explanation explained[] = {
    // Two blocks a multiprocessor leave a thread 128 registers, of which 64 hold its tile of C. What is spilled and
    // read
    // again in each trip (nvcc 13.0: 6 words with A and B contiguous in k, 3 with B alone) is not that tile.
    {"thread_tile<float, 128, 128, 8, 8, 8, 2, ", {opcode::local_load, 32}},
    // The innermost loop is one over the steps of a tile, so what is done once a tile stands outside.
    {"vector_load<float, 128, 128, 8, 8, 8, 2, false, 1, ", global_load(32)},
    {"vector_load<float, 128, 128, 8, 8, 8, 2, false, 1, ", global_load(128)},
    {"vector_load<float, 128, 128, 8, 8, 8, 2, false, 1, ", shared_store(32)},
    {"vector_load<float, 128, 128, 8, 8, 8, 2, false, 1, ", shared_store(128)},
    {"vector_load<float, 128, 128, 8, 8, 8, 2, false, 1, ", barrier},
    // Likewise; two or three words a chunk, of addresses, not of C.
    {"maxas_256<tandem::gpu::on_device::block_tiling<float, 128, 128, 8, 8, 8, 1, 2, 2>, 4, ",
     {opcode::local_load, 32}},
    {"maxas_256<tandem::gpu::on_device::block_tiling<float, 128, 128, 8, 8, 8, 1, 2, 2>, 4, ",
     {opcode::local_store, 32}},
    // A vector that lies across an edge goes by elements, in a branch that no block inside the matrices takes.
    {"async_copy<float", {opcode::async_copy, 32}},
    {"async_copy<double", {opcode::async_copy, 64}},
};

bool is_explained(std::string const& kernel, difference const& d) {
  return std::ranges::any_of(explained,
                             [&](explanation const& e) { return kernel.starts_with(e.kernel) && e.what == d.access; });
}

// "thread_tile<float, ...>" of "void tandem::gpu::on_device::thread_tile<float, ...>(...)".
std::string short_name(std::string const& demangled) {
  constexpr std::string_view scope = "on_device::";
  auto const start = demangled.find(scope) + scope.size();
  return demangled.substr(start, demangled.find('(') - start);
}

// The instruction that a line of cuobjdump's shows, "/*0a30*/ @P0 LDS.128 R4, [R2] ;", if it matters here.
std::optional<instruction> parse_sass(std::string const& line) {
  static std::map<std::string, opcode> const words = {
      {"FFMA", opcode::ffma},         {"DFMA", opcode::dfma},           {"LDG", opcode::global_load},
      {"STG", opcode::global_store},  {"ATOM", opcode::global_atomic},  {"ATOMG", opcode::global_atomic},
      {"RED", opcode::global_atomic}, {"REDG", opcode::global_atomic},  {"LDS", opcode::shared_load},
      {"STS", opcode::shared_store},  {"ATOMS", opcode::shared_atomic}, {"LDGSTS", opcode::async_copy},
      {"TEX", opcode::texture_load},  {"TLD", opcode::texture_load},    {"LDL", opcode::local_load},
      {"STL", opcode::local_store},   {"LD", opcode::generic_load},     {"ST", opcode::generic_store},
      {"BAR", opcode::barrier},       {"SHFL", opcode::shuffle},        {"BRA", opcode::branch},
      {"EXIT", opcode::exit},
  };
  static std::regex const shape(R"(/\*([0-9a-f]+)\*/\s+(@!?U?P[T0-9]\s+)?([A-Z0-9]+)((?:\.[A-Za-z0-9_]+)*)([^;]*);)");
  std::smatch m;
  if (!std::regex_search(line, m, shape) || m[2].str().starts_with("@!PT") || !words.contains(m[3])) return {};
  instruction result{.at = std::stoll(m[1], nullptr, 16), .access = {words.at(m[3])}};
  if (auto const op = result.access.op; to_string(op).starts_with("LD") || to_string(op).starts_with("ST")) {
    result.access.bits = 32;
    std::istringstream modifiers(m[4]);
    for (std::string one; std::getline(modifiers, one, '.');)
      if (one == "64" || one == "128" || one == "U8" || one == "S8" || one == "U16" || one == "S16")
        result.access.bits = std::stoi(one.substr(one.find_first_of("0123456789")));
  }
  auto const operands = m[5].str();
  if (auto const hex = operands.rfind("0x"); result.access.op == opcode::branch && hex != std::string::npos)
    result.target = std::stoll(operands.substr(hex), nullptr, 16);
  return result;
}

// A kernel's instructions, one a line, so that doctest shows where two lists part.
std::string listing(std::vector<instruction> const& code) {
  std::ostringstream out;
  for (auto const& i : code) out << std::hex << i.at << ' ' << to_string(i.access) << ' ' << i.target << '\n';
  return out.str();
}

}  // namespace

TEST_SUITE_BEGIN("cubin");

TEST_CASE("each instruction is decoded in each of its forms and widths") {
  if (!has_cubins()) return;
  std::map<std::string, std::string> const expected = {
      {"ffma_forms", "5 FFMA, 2 LDG.32, 1 STG.32"},
      {"dfma_forms", "5 DFMA, 2 LDG.64, 1 STG.64"},
      {"global_8", "1 LDG.8, 1 STG.8"},
      {"global_16", "1 LDG.16, 1 STG.16"},
      {"global_32", "1 LDG.32, 1 STG.32"},
      {"global_64", "1 LDG.64, 1 STG.64"},
      {"global_128", "1 LDG.128, 1 STG.128"},
      {"global_constant", "1 LDG.128, 1 STG.128"},
      {"global_predicated", "1 LDG.32, 1 STG.32"},
      {"shared_8", "1 LDG.8, 1 STG.8, 1 LDS.8, 1 STS.8, 1 BAR"},
      {"shared_16", "1 LDG.16, 1 STG.16, 1 LDS.16, 1 STS.16, 1 BAR"},
      {"shared_32", "1 LDG.32, 1 STG.32, 1 LDS.32, 1 STS.32, 1 BAR"},
      {"shared_64", "1 LDG.64, 1 STG.64, 1 LDS.64, 1 STS.64, 1 BAR"},
      {"shared_128", "1 LDG.128, 1 STG.128, 1 LDS.128, 1 STS.128, 1 BAR"},
      {"async_32", "1 STG.32, 1 LDS.32, 1 LDGSTS.32, 1 BAR"},
      {"async_64", "1 STG.64, 1 LDS.64, 1 LDGSTS.64, 1 BAR"},
      {"async_128", "1 STG.128, 1 LDS.128, 1 LDGSTS.128, 1 BAR"},
      {"atomic_add", "1 STG.32, 1 ATOMG/RED"},
      {"atomic_add_f64", "1 STG.64, 1 ATOMG/RED"},
      {"atomic_cas", "1 STG.32, 1 ATOMG/RED"},
      {"reduce", "1 ATOMG/RED"},
      {"reduce_f32", "1 ATOMG/RED"},
      {"reduce_f64", "1 ATOMG/RED"},
      {"atomic_shared", "1 LDG.32, 1 STG.32, 1 STS.32, 1 ATOMS, 1 BAR"},
      {"atomic_shared_cas", "1 LDG.32, 1 STG.32, 1 STS.32, 1 ATOMS, 1 BAR"},
      {"shuffles", "1 LDG.32, 1 STG.32, 4 SHFL"},
      {"texture_fetch", "1 STG.32, 1 TEX/TLD"},
      {"texture_2d", "2 LDG.32, 1 STG.32, 1 TEX/TLD"},
      {"local_memory", "65 LDG.32, 2 STG.32, 2 LDL.32, 1 STL.32, 16 STL.128"},
      {"generic", "1 STS.32, 1 LD.32, 1 ST.32, 1 BAR"},
      {"short_loop", "1 FFMA, 1 LDG.32, 1 STG.32"},
      {"long_loops", "300 FFMA, 1 LDG.32, 2 STG.32"},
  };
  auto const kernels = kernels_of("probe");
  CHECK(kernels.size() == expected.size());
  for (auto const& kernel : kernels) {
    CAPTURE(kernel.name);
    REQUIRE(expected.contains(kernel.name));
    CHECK(text(count(kernel.code)) == expected.at(kernel.name));
  }
}

TEST_CASE("the main loop is the innermost one with most multiply-adds, however far its branch reaches") {
  if (!has_cubins()) return;
  std::map<std::string, std::string> const expected = {{"short_loop", "1 FFMA"}, {"long_loops", "300 FFMA"}};
  for (auto const& kernel : kernels_of("probe"))
    CHECK_MESSAGE(text(count(main_loop(kernel))) == (expected.contains(kernel.name) ? expected.at(kernel.name) : ""),
                  kernel.name);
}

TEST_CASE("what is no cubin for 9.0, or only the start of one, is refused") {
  if (!has_cubins()) return;
  auto const refused = [](std::vector<char> const& file) { read_cubin(std::as_bytes(std::span(file))); };
  auto file = file_of("probe");
  CHECK_NOTHROW(refused(file));
  for (std::size_t const size : {std::size_t{0}, std::size_t{63}, std::size_t{64}, file.size() / 4, file.size() / 2})
    CHECK_THROWS_AS(refused({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}), std::runtime_error);
  file[49] = 80;  // the compute capability
  CHECK_THROWS_AS(refused(file), std::runtime_error);
}

TEST_CASE("accesses that are merged, split, spilled or gone show, and so do steps that are not whole") {
  // thread_tile's, with 256 threads and 8x8 elements of C each.
  k_step const source = {
      {ffma, 64}, {shared_load(128), 4}, {global_load(32), 1}, {shared_store(32), 1}, {barrier, 0.25}};
  histogram const trip = {
      {ffma, 512}, {shared_load(128), 32}, {global_load(32), 8}, {shared_store(32), 8}, {barrier, 2}};
  auto const after = [&](auto&& change) {
    auto changed = trip;
    change(changed);
    return text(compare(kernel_of(changed), source));
  };
  CHECK(after([](auto&) {}) == "8 steps");
  CHECK(after([](auto& t) { t[global_load(32)] = 4, t[global_load(64)] = 2; }) ==
        "LDG.32: expected 8, found 4; LDG.64: expected 0, found 2");
  CHECK(after([](auto& t) { t.erase(shared_load(128)), t[shared_load(64)] = 64; }) ==
        "LDS.64: expected 0, found 64; LDS.128: expected 32, found 0");
  CHECK(after([](auto& t) { t[{opcode::local_load, 32}] = 1; }) == "LDL.32: expected 0, found 1");
  CHECK(after([](auto& t) { t.erase(barrier); }) == "BAR: expected 2, found 0");
  CHECK(after([](auto& t) { t[ffma] = 500; }) == "FFMA: expected 512, found 500");
  CHECK(after([](auto& t) { t.erase(ffma), t[dfma] = 512; }) ==
        "FFMA: expected 512, found 0; DFMA: expected 0, found 512");
  // Unrolled twice as far, everything doubles.
  CHECK(after([](auto& t) {
          for (auto& [access, number] : t) number *= 2;
        }) == "16 steps");
  CHECK(text(compare({}, {{ffma, 1}})) == "FFMA: expected 1, found 0");
}

TEST_CASE("a trip of each kernel's main loop does what the executor counts in whole steps of k") {
  if (!has_cubins()) return;
  if (auto const why = tandem::simt::checked_unavailable(); !why.empty()) return skip(why);
  auto const sources = count_steps();
  std::size_t compared = 0;
  for (auto const& kernel : kernels_of("kernels")) {
    auto const name = short_name(kernel.name);
    if (has_no_k(name)) continue;
    if (has_other_loops(name)) {
      for (auto const& each : count(main_loop(kernel))) {
        bool const spills = each.first.op == opcode::local_load || each.first.op == opcode::local_store;
        CHECK_MESSAGE((!spills || is_explained(name, {.access = each.first})), name, ": ", to_string(each.first));
      }
      continue;
    }
    REQUIRE_MESSAGE(sources.contains(name), name, " was not counted");
    auto const result = compare(kernel, sources.at(name));
    MESSAGE(name, ": ", text(result));
    for (auto const& d : result.differences)
      CHECK_MESSAGE(is_explained(name, d), name, ": ", to_string(d.access), " is made otherwise than in the source");
    ++compared;
  }
  CHECK(compared == sources.size());
}

TEST_CASE("cuobjdump's lines are understood") {
  auto const understood = [](std::string const& line) {
    auto const i = parse_sass(line);
    return i ? listing({*i}) : "";
  };
  CHECK(understood("        /*00c0*/                   LDS.U8 R5, [R4+UR4] ;   /* 0x0000000400057984 */") ==
        "c0 LDS.8 0\n");
  CHECK(understood("        /*0a30*/              @!P0 LDG.E.LTC128B.128.CONSTANT R8, desc[UR4][R2.64] ;") ==
        "a30 LDG.128 0\n");
  CHECK(understood("        /*0a40*/                   FFMA R8, R8, UR4, R9 ;") == "a40 FFMA 0\n");
  CHECK(understood("        /*0a50*/               @P2 BRA 0xa30 ;") == "a50 BRA a30\n");
  CHECK(understood("        /*0a60*/              @!PT LDS RZ, [RZ] ;") == "");
  CHECK(understood("        /*0a70*/                   IMAD.MOV.U32 R1, RZ, RZ, R5 ;") == "");
  CHECK(understood("                                   /* 0x000fe20000000800 */") == "");
}

TEST_CASE("cuobjdump sees the same instructions at the same places") {
  if (!has_cubins()) return;
  if (run_command("command -v cuobjdump").exit_code != 0) return skip("no cuobjdump on the PATH");
  for (auto const& name : {"probe", "kernels"}) {
    std::map<std::string, std::vector<instruction>> shown;
    std::istringstream lines(run_command("cuobjdump -sass " + path_of(name)).out);
    std::string kernel;
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view heading = "Function : ";
      if (auto const at = line.find(heading); at != std::string::npos) kernel = line.substr(at + heading.size());
      if (auto const i = parse_sass(line)) shown[kernel].push_back(*i);
    }
    auto const kernels = kernels_of(name);
    CHECK(shown.size() == kernels.size());
    for (auto const& k : kernels) CHECK_MESSAGE(listing(k.code) == listing(shown[k.mangled]), k.name);
  }
}

TEST_SUITE_END();
