// Plain text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace tandem::tools {

/// Rows of cells, the first of them the headings; a column whose cells below the heading are all numbers is aligned to
/// the right. Every line ends in a newline; none ends in blanks.
std::string text_table(std::vector<std::vector<std::string>> const& rows);

}  // namespace tandem::tools
