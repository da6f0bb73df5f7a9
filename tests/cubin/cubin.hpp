// What nvcc made of the kernels: reads a cubin's instructions, finds each kernel's main loop, and compares what a trip
// of it does with what the source does in a step of k. No disassembler is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::tests {

/// The instructions that matter here, by the memory or unit that they use.
enum class opcode {
  ffma,
  dfma,
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  async_copy,
  texture_load,
  local_load,  ///< local memory: spilled registers, or an array indexed at run time
  local_store,
  generic_load,  ///< of a pointer that may be shared or global
  generic_store,
  barrier,
  shuffle,
  branch,
  exit,
};

/// As SASS calls it: "FFMA", "LDG".
std::string_view to_string(opcode) noexcept;

/// Which instruction, and how many bits a lane accesses; 0 where none, and for atomics and textures.
struct machine_access {
  opcode op = opcode::ffma;
  int bits = 0;
  auto operator<=>(machine_access const&) const = default;
};

/// "LDS.128".
std::string to_string(machine_access const&);

struct instruction {
  std::int64_t at = 0;  ///< bytes from the kernel's start
  machine_access access;
  int predicate = 7;        ///< 0-6: if that register is true; 8-14: if it is false; 7: always; 15: never
  std::int64_t target = 0;  ///< of a branch, in bytes from the kernel's start
};

struct cubin_kernel {
  std::string name = {};  ///< demangled where it can be
  std::string mangled = {};
  std::vector<instruction> code = {};  ///< those that matter and can be executed
};

/// The kernels of a cubin for compute capability 9.0. Throws std::runtime_error if it is something else.
std::vector<cubin_kernel> read_cubin(std::span<std::byte const> file);

using histogram = std::map<machine_access, int>;
histogram count(std::span<instruction const> code);

/// The instructions of one trip of the loop with most fused multiply-adds of those that hold no other loop; empty if
/// none has any.
std::span<instruction const> main_loop(cubin_kernel const&);

/// What a warp does in a step of k on average over the steps: requests of each kind and width, barriers, and the fused
/// multiply-adds of a thread.
using k_step = std::map<machine_access, double>;

struct difference {
  machine_access access;
  double expected = 0;  ///< in a trip of the main loop
  int found = 0;
};

struct comparison {
  double steps = 0;  ///< of k that a trip of the main loop takes
  std::vector<difference> differences = {};
};

/// Compares the main loop with the steps of k that it takes, as its multiply-adds tell; these must be whole steps.
///
/// Only the main loop is looked at. Its trips repeat, so each must do what its steps do, whatever ptxas has moved: a
/// load hoisted to the trip before is still one a trip, what was peeled off before or after the loop is a copy of what
/// is in it, and so are the loops for the steps that are left when the main loop is unrolled. A predicated instruction
/// counts like another: the steps compared are those of a block inside the matrices, where all of them run. What the
/// source does once a tile of C stands outside.
comparison compare(cubin_kernel const&, k_step const& source);

}  // namespace tandem::tests
