// What the subcommands' arguments name: kernels by glob, element types, sizes.
#pragma once

#include <string>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::tools {

/// "a,b,c" cut at the commas; no empty parts.
std::vector<std::string> split(std::string const& list);

/// Rows of this operation whose name matches one of the globs, or whose backend is one of them, in the table's order.
/// Throws std::invalid_argument with the pattern that matches nothing.
std::vector<kernel const*> find_kernels(std::string const& globs, operation op);

/// "f32" or "f64"; throws std::invalid_argument otherwise.
dtype parse_dtype(std::string const& name);

}  // namespace tandem::tools
