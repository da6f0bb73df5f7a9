// Reads cubins: ELF files with a section for each kernel, and in it instructions of 128 bits.
//
// The encodings were found by compiling probe.cu (nvcc 13.0, sm_90), where each kernel holds one instruction in each of
// its forms, and comparing the words. In the low word: bits 0-8 the operation, 9-11 its form (registers, constant,
// immediate), 12-15 the predicate. In the high word, of an access: bits 9-11 the type.
#include "tests/cubin/cubin.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

namespace tandem::tests {
namespace {

constexpr std::size_t instruction_bytes = 16;

struct encoding {
  unsigned operation;
  opcode op;
  bool typed;  // the type field says how wide it is
};

constexpr encoding encodings[] = {
    {0x023, opcode::ffma, false},          {0x02b, opcode::dfma, false},          {0x181, opcode::global_load, true},
    {0x186, opcode::global_store, true},   {0x1a3, opcode::global_atomic, false}, {0x1a6, opcode::global_atomic, false},
    {0x1a8, opcode::global_atomic, false}, {0x1a9, opcode::global_atomic, false}, {0x18e, opcode::global_atomic, false},
    {0x184, opcode::shared_load, true},    {0x188, opcode::shared_store, true},   {0x18c, opcode::shared_atomic, false},
    {0x18d, opcode::shared_atomic, false}, {0x1ae, opcode::async_copy, true},     {0x160, opcode::texture_load, false},
    {0x166, opcode::texture_load, false},  {0x183, opcode::local_load, true},     {0x187, opcode::local_store, true},
    {0x180, opcode::generic_load, true},   {0x185, opcode::generic_store, true},  {0x11d, opcode::barrier, false},
    {0x189, opcode::shuffle, false},       {0x147, opcode::branch, false},        {0x14d, opcode::exit, false},
};

template <class T>
T read(std::span<std::byte const> file, std::uint64_t at) {
  if (at > file.size() || file.size() - at < sizeof(T)) throw std::runtime_error("cubin: the file ends too early");
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

std::span<std::byte const> part(std::span<std::byte const> file, std::uint64_t at, std::uint64_t size) {
  if (at > file.size() || file.size() - at < size) throw std::runtime_error("cubin: a section lies outside the file");
  return file.subspan(at, size);
}

std::string text_at(std::span<std::byte const> strings, std::uint64_t at) {
  auto const from = part(strings, at, strings.size() - std::min<std::uint64_t>(at, strings.size()));
  auto const end = std::ranges::find(from, std::byte{0});
  return {reinterpret_cast<char const*>(from.data()), static_cast<std::size_t>(end - from.begin())};
}

constexpr std::uint64_t field(std::uint64_t word, int first, int width) {
  return word >> first & ((std::uint64_t{1} << width) - 1);
}

// Bytes from the end of the branch in units of 4: the low 8 bits stand apart from the 48 above them.
std::int64_t branch_offset(std::uint64_t low, std::uint64_t high) {
  auto const upper = static_cast<std::int64_t>((field(high, 0, 18) << 30 | field(low, 34, 30)) << 16) >> 16;
  return (upper * 256 + static_cast<std::int64_t>(field(low, 16, 8))) * 4;
}

std::optional<instruction> decode(std::uint64_t low, std::uint64_t high, std::int64_t at) {
  constexpr int bits_of_type[] = {8, 8, 16, 16, 32, 64, 128, 0};
  auto const* const found = std::ranges::find(encodings, field(low, 0, 9), &encoding::operation);
  int const predicate = static_cast<int>(field(low, 12, 4));
  if (found == std::end(encodings) || predicate == 15) return {};
  return instruction{.at = at,
                     .access = {found->op, found->typed ? bits_of_type[field(high, 9, 3)] : 0},
                     .predicate = predicate,
                     .target = found->op == opcode::branch
                                   ? at + static_cast<std::int64_t>(instruction_bytes) + branch_offset(low, high)
                                   : 0};
}

std::string demangle(std::string const& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

bool is_fma(instruction const& i) { return i.access.op == opcode::ffma || i.access.op == opcode::dfma; }

// Only branches back make loops; a branch to itself is the padding after a kernel's end.
bool closes_loop(instruction const& i) { return i.access.op == opcode::branch && i.target < i.at; }

}  // namespace

std::string_view to_string(opcode op) noexcept {
  switch (op) {
    case opcode::ffma: return "FFMA";
    case opcode::dfma: return "DFMA";
    case opcode::global_load: return "LDG";
    case opcode::global_store: return "STG";
    case opcode::global_atomic: return "ATOMG/RED";
    case opcode::shared_load: return "LDS";
    case opcode::shared_store: return "STS";
    case opcode::shared_atomic: return "ATOMS";
    case opcode::async_copy: return "LDGSTS";
    case opcode::texture_load: return "TEX/TLD";
    case opcode::local_load: return "LDL";
    case opcode::local_store: return "STL";
    case opcode::generic_load: return "LD";
    case opcode::generic_store: return "ST";
    case opcode::barrier: return "BAR";
    case opcode::shuffle: return "SHFL";
    case opcode::branch: return "BRA";
    case opcode::exit: return "EXIT";
  }
  return "?";
}

std::string to_string(machine_access const& a) {
  return std::string(to_string(a.op)) + (a.bits != 0 ? "." + std::to_string(a.bits) : "");
}

std::vector<cubin_kernel> read_cubin(std::span<std::byte const> file) {
  auto const header = read<Elf64_Ehdr>(file, 0);
  bool const is_elf64 = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_elf64 || header.e_machine != EM_CUDA) throw std::runtime_error("cubin: not an ELF file of a GPU");
  // Where CUDA 13 keeps the compute capability; branches are encoded otherwise before 9.0.
  if (field(header.e_flags, 8, 8) != 90) throw std::runtime_error("cubin: not for compute capability 9.0");
  auto const section = [&](std::uint64_t i) { return read<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  auto const names_header = section(header.e_shstrndx);
  auto const names = part(file, names_header.sh_offset, names_header.sh_size);

  constexpr std::string_view prefix = ".text.";
  std::vector<cubin_kernel> kernels;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    auto const s = section(i);
    auto const name = text_at(names, s.sh_name);
    if (!name.starts_with(prefix)) continue;
    auto const mangled = name.substr(prefix.size());
    cubin_kernel kernel{.name = demangle(mangled), .mangled = mangled};
    auto const code = part(file, s.sh_offset, s.sh_size);
    for (std::uint64_t at = 0; at < code.size(); at += instruction_bytes)
      if (auto const decoded =
              decode(read<std::uint64_t>(code, at), read<std::uint64_t>(code, at + 8), static_cast<std::int64_t>(at)))
        kernel.code.push_back(*decoded);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

histogram count(std::span<instruction const> code) {
  histogram counts;
  for (auto const& i : code) ++counts[i.access];
  return counts;
}

std::span<instruction const> main_loop(cubin_kernel const& kernel) {
  std::span<instruction const> best;
  std::ptrdiff_t most = 0;
  for (auto last = kernel.code.begin(); last != kernel.code.end(); ++last) {
    if (!closes_loop(*last)) continue;
    auto const first = std::ranges::lower_bound(kernel.code, last->target, {}, &instruction::at);
    if (std::any_of(first, last, closes_loop)) continue;
    if (auto const fmas = std::count_if(first, last, is_fma); fmas > most) {
      most = fmas;
      best = {first, last + 1};
    }
  }
  return best;
}

comparison compare(cubin_kernel const& kernel, k_step const& source) {
  auto const found = count(main_loop(kernel));
  double fmas_found = 0, fmas_a_step = 0;
  for (auto const op : {opcode::ffma, opcode::dfma}) {
    if (auto const i = found.find({op}); i != found.end()) fmas_found += i->second;
    if (auto const i = source.find({op}); i != source.end()) fmas_a_step += i->second;
  }
  if (fmas_a_step == 0) throw std::invalid_argument("a step of k has multiply-adds");
  // At least one: without a main loop, everything differs.
  double const whole_steps = std::max(1.0, std::round(fmas_found / fmas_a_step));

  std::map<machine_access, difference> all;
  for (auto const& [access, number] : found) all[access] = {.access = access, .expected = 0, .found = number};
  for (auto const& [access, number] : source) {
    all[access].access = access;
    all[access].expected = number * whole_steps;
  }
  comparison result{.steps = fmas_found / fmas_a_step, .differences = {}};
  for (auto const& [access, d] : all) {
    bool const is_counted = access.op != opcode::branch && access.op != opcode::exit && access.op != opcode::shuffle;
    if (is_counted && std::abs(d.expected - d.found) > 1e-6) result.differences.push_back(d);
  }
  return result;
}

}  // namespace tandem::tests
