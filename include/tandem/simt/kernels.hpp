// The kernels of the table's simt backend, each run in a session of its own.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tandem/kernel.hpp>
#include <tandem/simt/session.hpp>

namespace tandem::simt {

/// Why the table's kernels cannot run in a session: the library was built without clang or libdw, or for newer
/// processors. Empty when they can.
std::string checked_unavailable();

/// The simt backend's rows under the same names; `run` throws kernel_defect, with every finding a line, where its
/// session found something. They are unavailable where `checked_unavailable` says why.
std::vector<kernel> const& checked_kernels();

/// A problem's operands as a session wants them: A and B are read, C is written.
std::vector<operand> operands_of(problem const& p);
std::vector<operand> operands_of(axpy_problem const& p);

/// How many blocks a count runs: `all`, or, where the launch has one block for each tile of C, one block of each class
/// of blocks whose accesses are the same but for a shift by whole sectors.
enum class sampling { classes, all };

/// What the row's accesses to this problem cost. The row is one of `checked_kernels()` or `gpu.` with the same rest.
/// Throws errc::unknown_kernel, errc::unsupported and errc::unavailable as gemm does, and kernel_defect where the row
/// leaves its operands.
counts count_accesses(std::string_view row, problem const& p, sampling blocks = sampling::classes);

}  // namespace tandem::simt
