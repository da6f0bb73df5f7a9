// Runs a kernel under test in a child process, on operands in memory that both share: a crash, a hang or a stray write
// is an outcome of the call, not the end of the judge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tandem/harness/candidate.hpp>

#include "harness/guard.hpp"
#include "harness/surroundings.hpp"

namespace tandem::harness {

enum class call_status {
  finished,
  refused,  ///< outside what the kernel takes; it was not run, or said errc::unsupported
  threw,    ///< threw or returned an error code
  died,     ///< its process ended
  hung      ///< over the time limit; its process was ended
};

/// What became of a call.
struct call_outcome {
  call_status status = call_status::finished;
  std::string reason = {};   ///< empty when finished
  std::string defects = {};  ///< what a watched kernel did that it must not (kernel_defect); it ran to its end
  std::string damage = {};   ///< to what only the child sees: the floating-point environment, device memory
  /// What went wrong when callers called again and again, after the kernel was called once; where its process ended or
  /// hung then, the status says that and this stays empty.
  std::string disturbed = {};
  int code = 0;         ///< what `run` returned
  bool exited = false;  ///< died of its own will, with an exit code
  int touched = -1;     ///< died by an access to unmapped memory nearest to operand 0 (A), 1 (B), 2 (C); -1: not seen
  std::ptrdiff_t touched_at = 0;  ///< bytes from the first byte of that operand's region
  bool wrote = false;             ///< whether that access was a store
  double seconds = 0;
};

/// What a call is made with.
struct call_arguments {
  test_case test;                         ///< what the kernel is told, whatever lies in the regions
  std::array<std::size_t, 3> begin = {};  ///< bytes from the start of each region to its operand
  std::array<bool, 3> at_end = {};        ///< whether the operand is to lie before unmapped memory, or after it
  int threads = 0;                        ///< 0: as many as the kernel likes
  bool own_stream = false;                ///< device memory: a stream of its own, not the default one
  bool conjugated = false;                ///< as in gemm_call
  harness::surroundings amid = {};
};

/// A child process with one kernel, started when first needed and again after each death.
class sandbox {
 public:
  explicit sandbox(candidate const& kernel, double time_limit);
  ~sandbox();
  sandbox(sandbox const&) = delete;
  sandbox& operator=(sandbox const&) = delete;

  /// Loads the kernel. Why it is not there; empty when it is. Throws std::invalid_argument with what `open` threw, and
  /// std::runtime_error when the child died or hung while loading.
  std::string open();

  /// The bytes of an operand's region (0: A, 1: B, 2: C) as both processes see them. The child's copy of the mapping
  /// has an unmapped page before its first byte and after its last; it starts at the same address in every call. Sizes
  /// are multiples of the page size, up to max_region. Pages never written hold zeros and cost no memory.
  std::span<std::byte> region(std::size_t operand, std::size_t bytes);
  static constexpr std::size_t max_region = std::size_t{1} << 37;

  /// Where an operand's region has memory, because it was written or read, in order.
  std::vector<extent> present(std::size_t operand) const;

  /// Gives back the memory of what was written to the regions; they hold zeros afterwards.
  void release();

  /// Calls the kernel on the regions.
  call_outcome call(call_arguments const& arguments);

  /// Ends the child; the next call starts a fresh one.
  void restart();
  /// How often a child was started.
  int starts() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tandem::harness
