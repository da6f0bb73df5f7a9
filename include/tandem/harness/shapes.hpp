// Shape files: CSV with the columns m,n,k,dtype,trans_a,trans_b,source.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tandem/types.hpp>

namespace tandem::harness {

/// One GEMM of a shape file: C (m x n) = op(A) (m x k) op(B) (k x n).
struct shape {
  std::int64_t m = 0, n = 0, k = 0;
  tandem::dtype dtype = tandem::dtype::f32;
  bool trans_a = false, trans_b = false;
  std::string source = {};  ///< what the file says about it
  std::string where = {};   ///< "file:line"
};

/// What a shape file that cannot be read throws; the message starts with "file:line: ".
class shape_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a shape file. The first line names the columns, in any order; fields may be quoted, lines may end in CRLF and
/// be blank. Throws shape_error, with the file, the line and the offending text, for a file that cannot be opened or
/// holds no shape, a missing or unknown column, and a field that is not what its column wants.
std::vector<shape> read_shapes(std::filesystem::path const& path);

/// The same from text; `name` stands for the file in messages.
std::vector<shape> parse_shapes(std::string_view text, std::string const& name);

}  // namespace tandem::harness
