// Reads shape files: a strict CSV reader whose every error names file, line and text.
#include <tandem/harness/shapes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tandem::harness {
namespace {

constexpr std::array<std::string_view, 7> columns{"m", "n", "k", "dtype", "trans_a", "trans_b", "source"};

/// A place in a file, for messages.
struct place {
  std::string name;
  std::size_t line;

  std::string text() const { return fmt::format("{}:{}", name, line); }
  [[noreturn]] void fail(std::string const& what) const { throw shape_error(fmt::format("{}: {}", text(), what)); }
};

/// The fields of one line; a field in double quotes may hold commas, and quotes written twice (RFC 4180).
std::vector<std::string> split_fields(std::string_view line, place const& at) {
  std::vector<std::string> fields;
  std::size_t i = 0;
  while (true) {
    std::string field;
    if (i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i == line.size()) at.fail(fmt::format("a quote is not closed: '{}'", line));
        if (line[i] != '"') {
          field += line[i];
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          field += line[i++];
        } else {
          break;
        }
      }
      ++i;
      if (i < line.size() && line[i] != ',') at.fail(fmt::format("text after a closing quote: '{}'", line.substr(i)));
    } else {
      auto const end = std::min(line.find(',', i), line.size());
      field = line.substr(i, end - i);
      if (field.find('"') != std::string::npos) at.fail(fmt::format("a quote inside an unquoted field: '{}'", field));
      i = end;
    }
    fields.push_back(std::move(field));
    if (i == line.size()) return fields;
    ++i;
  }
}

/// Which field of a line each of `columns` is.
std::array<std::size_t, columns.size()> read_header(std::vector<std::string> const& fields, place const& at) {
  std::array<std::size_t, columns.size()> where{};
  for (auto const& field : fields) {
    if (std::ranges::find(columns, field) == columns.end()) at.fail(fmt::format("unknown column '{}'", field));
    if (std::ranges::count(fields, field) != 1) at.fail(fmt::format("column '{}' twice", field));
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto const found = std::ranges::find(fields, columns[c]);
    if (found == fields.end()) at.fail(fmt::format("no column '{}'", columns[c]));
    where[c] = static_cast<std::size_t>(found - fields.begin());
  }
  return where;
}

std::int64_t read_size(std::string_view text, std::string_view column, place const& at) {
  // Products of two sizes are formed in double and, within a byte budget, in 64 bits.
  constexpr std::int64_t largest = std::int64_t{1} << 53;
  std::int64_t value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) at.fail(fmt::format("{} is too large: '{}'", column, text));
  if (status != std::errc() || end != text.data() + text.size())
    at.fail(fmt::format("{} is not a number: '{}'", column, text));
  if (value < 0) at.fail(fmt::format("{} is negative: '{}'", column, text));
  if (value > largest) at.fail(fmt::format("{} is too large: '{}'", column, text));
  return value;
}

tandem::dtype read_dtype(std::string_view text, place const& at) {
  for (auto const type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16})
    if (text == to_string(type)) return type;
  at.fail(fmt::format("unknown dtype '{}'; there are f32, f64, f16, bf16", text));
}

bool read_trans(std::string_view text, std::string_view column, place const& at) {
  if (text != "n" && text != "t") at.fail(fmt::format("{} is neither n nor t: '{}'", column, text));
  return text == "t";
}

}  // namespace

std::vector<shape> parse_shapes(std::string_view text, std::string const& name) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());

  std::vector<shape> shapes;
  std::array<std::size_t, columns.size()> where{};
  bool header_read = false;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    auto const end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;

    place const at{name, line_number};
    auto const fields = split_fields(line, at);
    if (!header_read) {
      where = read_header(fields, at);
      header_read = true;
      continue;
    }
    if (fields.size() != columns.size())
      at.fail(fmt::format("{} fields where there are {} columns: '{}'", fields.size(), columns.size(), line));
    auto const field = [&](std::size_t column) -> std::string const& { return fields[where[column]]; };
    shape s;
    s.m = read_size(field(0), columns[0], at);
    s.n = read_size(field(1), columns[1], at);
    s.k = read_size(field(2), columns[2], at);
    s.dtype = read_dtype(field(3), at);
    s.trans_a = read_trans(field(4), columns[4], at);
    s.trans_b = read_trans(field(5), columns[5], at);
    s.source = field(6);
    s.where = at.text();
    shapes.push_back(std::move(s));
  }
  if (shapes.empty()) place{name, std::max<std::size_t>(line_number, 1)}.fail("no shape in this file");
  return shapes;
}

std::vector<shape> read_shapes(std::filesystem::path const& path) {
  place const at{path.string(), 1};
  if (std::filesystem::is_directory(path)) at.fail("cannot be read: it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) at.fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string const text(std::istreambuf_iterator<char>(file), {});
  return parse_shapes(text, path.string());
}

}  // namespace tandem::harness
