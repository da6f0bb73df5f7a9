// From an address in a program to the lines of source that it stands for.
#pragma once

#include <string>
#include <vector>

#include <tandem/simt/session.hpp>

namespace tandem::simt {

/// The line of the instruction before `pc`, and of each call that was inlined around it, innermost first. Empty where
/// the program has no line information.
std::vector<place> lines_of(void const* pc);

/// The line of the kernel's own source: the innermost one that is not in CUDA's words.
place source_line(void const* pc);

/// The function's name with its template arguments, without namespaces and parameters.
std::string function_name(void const* address);

/// The last part of a mangled name.
std::string variable_name(char const* symbol);

}  // namespace tandem::simt
