// A watched run of SIMT kernels: while a session lives, launches of instrumented kernels by its thread are checked for
// races and stray accesses, and their accesses counted as an NVIDIA GPU's memory system would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tandem/simt/executor.hpp>

namespace tandem::simt {

/// What can be wrong with a kernel even where its results are right.
enum class defect {
  shared_race,           ///< two threads, no barrier between them, at least one writes
  global_race,           ///< the same in an operand that the kernel writes
  barrier_divergence,    ///< threads of a block wait at different __syncthreads(), or some have exited
  warp_divergence,       ///< lanes that a warp operation names have exited, wait elsewhere or do not name each other
  deadlock,              ///< threads wait for each other for ever, or spin
  uninitialised_shared,  ///< a read of shared memory that this block has not written
  outside_operands,      ///< an access to memory that is no operand, or past an operand's end
  below_operand,         ///< an access just before an operand's first element
  row_gap,               ///< an access between the rows of an operand whose leading dimension is padded
  misaligned,            ///< an address that is no multiple of the access's size
  write_to_input,        ///< a write to an operand that is only read
  outside_shared,        ///< an access past the end of a shared array or of the dynamic shared memory launched
  async_not_awaited,     ///< an access to what cp.async still copies
};
std::string_view to_string(defect) noexcept;

/// A line of a kernel's source.
struct place {
  std::string file = {};  ///< empty where the program has no line information
  int line = 0;
  std::string function = {};
};

/// One defect at one place, with the first thread that showed it.
struct finding {
  defect kind = defect::outside_operands;
  std::string kernel = {};
  place where;
  index3 block = {}, thread = {};
  std::string detail = {};  ///< what was accessed; for a race, who else did and where
  std::uint64_t count = 0;  ///< how often it was seen
};

/// One line: "race in shared memory: thread_tile<...>, thread_tile.cuh:98, block (0, 0, 0), thread (33, 0, 0): ...".
std::string to_string(finding const&);

/// Memory that kernels may access: `lines` lines of `length` elements, `stride` elements apart; 0: all at one place.
struct operand {
  std::string name = {};
  void const* data = nullptr;
  std::int64_t lines = 1, length = 0, stride = 0;
  std::size_t element_size = 4;
  bool writable = false;
};

enum class access_kind {
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  async_copy,
  texture_load
};
inline constexpr std::size_t access_kinds = 8;
std::string_view to_string(access_kind) noexcept;

/// Accesses of whole warps.
struct access_counts {
  std::uint64_t requests = 0;    ///< warp instructions with at least one active lane; cp.async: that reads
  std::uint64_t lanes = 0;       ///< active lanes of all requests
  std::uint64_t bytes = 0;       ///< asked for by the lanes
  std::uint64_t sectors = 0;     ///< global: distinct 32-byte sectors of each request; cp.async: those that it moves
  std::uint64_t wavefronts = 0;  ///< shared, and cp.async: passes
  std::uint64_t conflicts = 0;   ///< likewise: passes beyond those that conflict-free lanes would take
  access_counts& operator+=(access_counts const&) noexcept;
  access_counts& operator*=(std::uint64_t) noexcept;
  bool operator==(access_counts const&) const = default;
};

/// The accesses of one width at one line.
struct site_counts {
  std::string kernel = {};
  place where;
  access_kind kind = access_kind::global_load;
  int bytes = 0;  ///< that each lane accesses
  access_counts counts;
};

struct counts {
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;          ///< of all launches
  std::uint64_t blocks_run = 0;      ///< fewer where blocks were sampled
  std::uint64_t barriers = 0;        ///< __syncthreads() a block, summed over blocks
  std::uint64_t ffma = 0, dfma = 0;  ///< fused multiply-adds of threads, float and double
  std::array<access_counts, access_kinds> total = {};
  /// Distinct sectors of each block, summed over blocks, and of the whole grid, of loads and of stores: with nothing
  /// and with everything kept in cache, the traffic from and to the level below lies between them.
  std::uint64_t block_sectors_loaded = 0, grid_sectors_loaded = 0;
  std::uint64_t block_sectors_stored = 0, grid_sectors_stored = 0;
  std::vector<site_counts> sites = {};  ///< by kernel, file, line, kind and width
  access_counts const& operator[](access_kind k) const { return total[static_cast<std::size_t>(k)]; }
};

/// What stands for what when only some blocks of a grid are run: `members` blocks of which `block` is one.
struct block_class {
  index3 block = {};
  std::uint64_t members = 1;
  /// For each operand of the session, by how many bytes the members' accesses lie from this block's, each shift once;
  /// multiples of 32.
  std::vector<std::vector<std::int64_t>> shifts = {};
};

struct session_options {
  bool check = true;   ///< look for defects; if not, only accesses that nothing is there for are found
  bool count = false;  ///< count accesses
  std::vector<operand> operands = {};
  /// The blocks of a launch to run, with this grid and block size; unset or empty: all of them.
  std::function<std::vector<block_class>(index3 grid, index3 block)> sample = {};
};

class monitor;

/// One at a time a process: a second one's constructor on another thread, like a launch of another thread, waits until
/// the first ends. It ends on the thread that began it.
class session {
 public:
  /// Throws errc::unsupported where this thread has a session already; errc::null_data, errc::negative_size and
  /// errc::leading_dimension for an operand that is none.
  explicit session(session_options options);
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// What was found so far, in the order in which it was found.
  std::vector<finding> findings() const;
  simt::counts counts() const;

 private:
  std::unique_ptr<monitor> monitor_;
};

}  // namespace tandem::simt
