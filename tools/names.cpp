// Globs over kernel names, as a shell matches file names.
#include "tools/names.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

namespace tandem::tools {

std::vector<std::string> split(std::string const& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<kernel const*> find_kernels(std::string const& globs, operation op) {
  std::set<kernel const*> wanted;
  for (auto const& glob : split(globs)) {
    auto const before = wanted.size();
    bool again = false;
    for (auto const& row : kernel_table()) {
      if (row.operation() != op) continue;
      if (glob != to_string(row.backend) && fnmatch(glob.c_str(), row.name.c_str(), 0) != 0) continue;
      again = !wanted.insert(&row).second || again;
    }
    if (wanted.size() == before && !again)
      throw std::invalid_argument("no " + std::string(to_string(op)) + " kernel matches '" + glob +
                                  "'; `tandem list` names them");
  }
  std::vector<kernel const*> rows;
  for (auto const& row : kernel_table())
    if (wanted.contains(&row)) rows.push_back(&row);
  return rows;
}

dtype parse_dtype(std::string const& name) {
  for (auto const type : {dtype::f32, dtype::f64})
    if (name == to_string(type)) return type;
  throw std::invalid_argument("'" + name + "' is no element type; there are f32 and f64");
}

}  // namespace tandem::tools
