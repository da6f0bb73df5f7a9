// A problem's line, sizes and canonical form.
#include <tandem/harness/problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tandem::harness {
namespace {

constexpr int most_callers = 64;

char letter(tandem::layout l) { return l == layout::row_major ? 'r' : 'c'; }

/// The stored matrix's contiguous length: its rows in a column-major layout, its columns in a row-major one.
std::int64_t tight(tandem::layout l, bool transposed, std::int64_t rows, std::int64_t cols) {
  if (transposed) std::swap(rows, cols);
  return std::max<std::int64_t>(1, l == layout::row_major ? cols : rows);
}

[[noreturn]] void unreadable(std::string_view part, std::string_view wanted) {
  throw std::invalid_argument(fmt::format("'{}' in a problem's line: wanted {}", part, wanted));
}

template <class T>
T number(std::string_view text, std::string_view wanted) {
  T value{};
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) unreadable(text, wanted);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    auto const at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool one_of_two(char c, char no, char yes, std::string_view part) {
  if (c != no && c != yes) unreadable(part, fmt::format("{} or {}", no, yes));
  return c == yes;
}

std::int64_t size(std::string_view text) {
  auto const value = number<std::int64_t>(text, "a number of elements");
  if (value < 0) unreadable(text, "a number of elements");
  return value;
}

/// What stands after "name=".
std::string_view value_of(std::string_view part, std::string_view name) {
  if (!part.starts_with(name) || part.size() <= name.size() || part[name.size()] != '=')
    unreadable(part, fmt::format("{}=…", name));
  return part.substr(name.size() + 1);
}

}  // namespace

namespace {

constexpr auto fills = std::to_array<std::pair<fill, std::string_view>>({{fill::integer, "integer"},
                                                                         {fill::address, "address"},
                                                                         {fill::permutation_a, "permutation_a"},
                                                                         {fill::permutation_b, "permutation_b"},
                                                                         {fill::normal, "normal"},
                                                                         {fill::uniform, "uniform"},
                                                                         {fill::cancellation, "cancellation"},
                                                                         {fill::graded, "graded"},
                                                                         {fill::absorption, "absorption"},
                                                                         {fill::complementary, "complementary"},
                                                                         {fill::exponent_span, "exponent_span"},
                                                                         {fill::subnormal, "subnormal"},
                                                                         {fill::micro, "micro"},
                                                                         {fill::nan_all, "nan_all"},
                                                                         {fill::nan_a, "nan_a"},
                                                                         {fill::nan_b, "nan_b"},
                                                                         {fill::infinity_a, "infinity_a"},
                                                                         {fill::infinity_b, "infinity_b"},
                                                                         {fill::overflow, "overflow"}});

}  // namespace

std::string_view to_string(fill f) noexcept {
  auto const found = std::ranges::find(fills, f, [](auto const& x) { return x.first; });
  return found == fills.end() ? "unknown" : found->second;
}

fill parse_fill(std::string_view word) {
  if (word == "int") return fill::integer;
  auto const found = std::ranges::find(fills, word, [](auto const& x) { return x.second; });
  if (found == fills.end()) unreadable(word, "a fill, such as integer or normal");
  return found->first;
}

std::string to_string(test_case const& t) {
  return fmt::format(
      "{}:{}{}:{}{}{}:{}x{}x{}:lda={}:ldb={}:ldc={}:offsets={},{},{}:alpha={}:beta={}:fill={}:seed={}{}{}{}",
      to_string(t.dtype), t.trans_a ? 't' : 'n', t.trans_b ? 't' : 'n', letter(t.layout_a), letter(t.layout_b),
      letter(t.layout_c), t.m, t.n, t.k, t.lda, t.ldb, t.ldc, t.offset_a, t.offset_b, t.offset_c, t.alpha, t.beta,
      to_string(t.fill), t.seed, t.threads > 0 ? fmt::format(":threads={}", t.threads) : "",
      t.callers > 0 ? fmt::format(":callers={}", t.callers) : "", t.b_is_a ? ":b=a" : "");
}

test_case parse_case(std::string_view line) {
  auto const parts = split(line, ':');
  if (parts.size() < 3) unreadable(line, "type:transposes:MxNxK and more");
  test_case t;

  constexpr std::array types{dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
  auto const type = std::ranges::find(types, parts[0], [](dtype d) { return to_string(d); });
  if (type == types.end()) unreadable(parts[0], "f32, f64, f16 or bf16");
  t.dtype = *type;

  if (parts[1].size() != 2) unreadable(parts[1], "two letters of n and t");
  t.trans_a = one_of_two(parts[1][0], 'n', 't', parts[1]);
  t.trans_b = one_of_two(parts[1][1], 'n', 't', parts[1]);

  std::size_t next = 2;
  if (parts[next].find_first_of("0123456789") == std::string_view::npos) {
    auto const letters = parts[next++];
    if (letters.size() != 3) unreadable(letters, "three letters of r and c");
    std::array const layouts{&t.layout_a, &t.layout_b, &t.layout_c};
    for (std::size_t i = 0; i < 3; ++i)
      *layouts[i] = one_of_two(letters[i], 'r', 'c', letters) ? layout::col_major : layout::row_major;
  }

  if (next == parts.size()) unreadable(line, "sizes, MxNxK");
  auto const sizes = split(parts[next], 'x');
  if (sizes.size() != 3) unreadable(parts[next], "m x n x k");
  t.m = size(sizes[0]), t.n = size(sizes[1]), t.k = size(sizes[2]);
  t.lda = tight_lda(t), t.ldb = tight_ldb(t), t.ldc = tight_ldc(t);

  bool ldb_named = false;
  for (auto const part : std::span(parts).subspan(next + 1)) {
    auto const name = part.substr(0, part.find('='));
    auto const value = value_of(part, name);
    auto const ld = [&](std::int64_t& to, std::int64_t least) {
      to = size(value);
      if (to < least) unreadable(part, fmt::format("at least {}", least));
    };
    if (name == "lda") {
      ld(t.lda, tight_lda(t));
    } else if (name == "ldb") {
      ld(t.ldb, tight_ldb(t));
      ldb_named = true;
    } else if (name == "ldc") {
      ld(t.ldc, tight_ldc(t));
    } else if (name == "offsets") {
      auto const offsets = split(value, ',');
      if (offsets.size() != 3) unreadable(part, "three offsets");
      t.offset_a = size(offsets[0]), t.offset_b = size(offsets[1]), t.offset_c = size(offsets[2]);
    } else if (name == "alpha") {
      t.alpha = number<double>(value, "a number");
    } else if (name == "beta") {
      t.beta = number<double>(value, "a number");
    } else if (name == "fill") {
      t.fill = parse_fill(value);
    } else if (name == "seed") {
      t.seed = number<std::uint64_t>(value, "a number");
    } else if (name == "threads") {
      t.threads = number<int>(value, "a number of threads");
      if (t.threads < 0) unreadable(part, "a number of threads");
    } else if (name == "callers") {
      t.callers = number<int>(value, "a number of callers");
      if (t.callers < 1 || t.callers > most_callers) unreadable(part, fmt::format("1 to {} callers", most_callers));
    } else if (name == "b") {
      if (value != "a") unreadable(part, "b=a");
      t.b_is_a = true;
    } else {
      unreadable(part, "lda, ldb, ldc, offsets, alpha, beta, fill, seed, threads, callers or b=a");
    }
  }
  if (t.b_is_a && !ldb_named) t.ldb = t.lda;
  if (t.b_is_a && !shares_storage(t)) unreadable(line, "with b=a, an A and a B that are one stored matrix");
  if (t.callers > 0 && (t.b_is_a || t.beta != 0 || t.fill != fill::integer))
    unreadable(line, "with callers, integers, beta = 0 and a B that is not A");
  return t;
}

double flops(test_case const& t) noexcept {
  return 2.0 * static_cast<double>(t.m) * static_cast<double>(t.n) * static_cast<double>(t.k);
}

bool reads_operands(test_case const& t) noexcept { return t.alpha != 0 && t.k != 0; }

std::int64_t tight_lda(test_case const& t) noexcept { return tight(t.layout_a, t.trans_a, t.m, t.k); }
std::int64_t tight_ldb(test_case const& t) noexcept { return tight(t.layout_b, t.trans_b, t.k, t.n); }
std::int64_t tight_ldc(test_case const& t) noexcept { return tight(t.layout_c, false, t.m, t.n); }

bool contiguous_alike(test_case const& t) noexcept {
  bool const a_turned = t.trans_a != (t.layout_a == layout::col_major);
  bool const b_turned = t.trans_b != (t.layout_b == layout::col_major);
  return a_turned == b_turned;
}

bool shares_storage(test_case const& t) noexcept {
  bool const same_sizes = contiguous_alike(t) ? t.m == t.k && t.k == t.n : t.m == t.n;
  return same_sizes && t.lda == t.ldb && t.offset_a == t.offset_b;
}

problem canonical(test_case const& t) noexcept {
  problem p;
  p.dtype = t.dtype;
  p.m = t.m, p.n = t.n, p.k = t.k;
  auto const rounded = [&t](double x) { return t.dtype == dtype::f32 ? static_cast<float>(x) : x; };
  p.alpha = rounded(t.alpha), p.beta = rounded(t.beta);
  p.lda = t.lda, p.ldb = t.ldb, p.ldc = t.ldc;
  p.trans_a = t.trans_a != (t.layout_a == layout::col_major);
  p.trans_b = t.trans_b != (t.layout_b == layout::col_major);
  if (t.layout_c == layout::col_major) {  // C^T = B^T A^T
    std::swap(p.m, p.n);
    std::swap(p.lda, p.ldb);
    std::swap(p.trans_a, p.trans_b);
    p.trans_a = !p.trans_a, p.trans_b = !p.trans_b;
  }
  return p;
}

}  // namespace tandem::harness
