// Column widths count characters, not bytes: names and units may hold UTF-8.
#include "tools/table.hpp"

#include <algorithm>

namespace tandem::tools {
namespace {

std::size_t width(std::string const& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

bool is_number(std::string const& text) {
  return text.empty() || text == "-" || text.find_first_not_of("0123456789.+-e %x") == std::string::npos;
}

}  // namespace

std::string text_table(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (c == widths.size()) widths.push_back(0), right.push_back(true);
      widths[c] = std::max(widths[c], width(rows[r][c]));
      if (r > 0 && !is_number(rows[r][c])) right[c] = false;
    }
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::string const blanks(widths[c] - width(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (right[c] ? blanks + row[c] : row[c] + blanks);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace tandem::tools
