// tandem count: what a GPU kernel's memory accesses cost, line by line, counted on the CPU from its source.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "tools/commands.hpp"
#include "tools/counted.hpp"
#include "tools/names.hpp"

namespace tandem::tools {
namespace {

// One product; a leading dimension of 0 is the smallest.
struct count_case {
  std::int64_t m = 0, n = 0, k = 0;
  std::string trans = "nn";
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};

struct count_arguments {
  std::string kernels, cases, sampling = "classes", json;
  std::vector<std::int64_t> sizes;
  count_case one;
  double alpha = 1, beta = 0;
};

// Zeroed memory at the start of a page that takes room only where it is written: only some of a large operand is.
class pages {
 public:
  explicit pages(std::int64_t elements, std::size_t size) : bytes_(static_cast<std::size_t>(elements) * size) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::runtime_error(fmt::format("no room for an operand of {} bytes", bytes_));
  }
  ~pages() { munmap(data_, bytes_); }
  pages(pages const&) = delete;
  pages& operator=(pages const&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// The problem as kernels see it, without operands. Leading dimensions are at least as long as what they pass over.
problem canonical(count_case const& c, count_arguments const& o, dtype type) {
  problem p;
  p.dtype = type;
  p.m = c.m, p.n = c.n, p.k = c.k;
  p.trans_a = c.trans[0] == 't', p.trans_b = c.trans[1] == 't';
  p.alpha = type == dtype::f32 ? static_cast<float>(o.alpha) : o.alpha;
  p.beta = type == dtype::f32 ? static_cast<float>(o.beta) : o.beta;
  for (auto const& [name, size] : {std::pair{"m", c.m}, {"n", c.n}, {"k", c.k}})
    if (size < 1) throw std::invalid_argument(fmt::format("{} {} < 1", name, size));
  auto const ld = [](char const* name, std::int64_t wanted, char const* least_name, std::int64_t least) {
    if (wanted != 0 && wanted < least)
      throw std::invalid_argument(fmt::format("{} {} < {} {}", name, wanted, least_name, least));
    return wanted == 0 ? least : wanted;
  };
  p.lda = p.trans_a ? ld("lda", c.lda, "m", c.m) : ld("lda", c.lda, "k", c.k);
  p.ldb = p.trans_b ? ld("ldb", c.ldb, "k", c.k) : ld("ldb", c.ldb, "n", c.n);
  p.ldc = ld("ldc", c.ldc, "n", c.n);
  return p;
}

counted count_one(std::string const& row, problem p, simt::sampling sampling) {
  auto const size = size_of(p.dtype);
  pages const a((p.trans_a ? p.k : p.m) * p.lda, size), b((p.trans_b ? p.n : p.k) * p.ldb, size), c(p.m * p.ldc, size);
  p.a = a.data(), p.b = b.data(), p.c = c.data();
  counted result{row, p, sampling, simt::count_accesses(row, p, sampling)};
  result.problem.a = result.problem.b = result.problem.c = nullptr;
  return result;
}

// A CSV with the columns m,n,k,trans,lda,ldb,ldc in this order.
std::vector<count_case> read_cases(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  constexpr std::string_view heading = "m,n,k,trans,lda,ldb,ldc";
  std::vector<count_case> cases;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    auto const fail = [&](std::string const& what) {
      throw std::invalid_argument(fmt::format("{}:{}: {}: '{}'", path, number, what, line));
    };
    if (++number == 1) {
      if (line != heading) fail(fmt::format("the heading is not '{}'", heading));
      continue;
    }
    auto const fields = split(line);
    if (fields.size() != 7) fail(fmt::format("{} fields where there are 7 columns", fields.size()));
    count_case c;
    c.trans = fields[3];
    if (c.trans.size() != 2 || c.trans.find_first_not_of("nt") != std::string::npos)
      fail("trans is not nn, nt, tn or tt");
    std::int64_t* const sizes[] = {&c.m, &c.n, &c.k, nullptr, &c.lda, &c.ldb, &c.ldc};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      if (sizes[i] == nullptr) continue;
      auto const* const end = fields[i].data() + fields[i].size();
      auto const [at, status] = std::from_chars(fields[i].data(), end, *sizes[i]);
      if (status != std::errc() || at != end || *sizes[i] < (i < 3 ? 1 : 0))
        fail(fmt::format("'{}' is no size", fields[i]));
    }
    cases.push_back(std::move(c));
  }
  if (cases.empty()) throw std::invalid_argument(path + ": no case in this file");
  return cases;
}

std::vector<count_case> wanted_cases(count_arguments const& o) {
  if (o.sizes.empty() == o.cases.empty()) throw std::invalid_argument("either M N K or --cases is needed");
  if (!o.cases.empty()) return read_cases(o.cases);
  auto c = o.one;
  c.m = o.sizes[0], c.n = o.sizes[1], c.k = o.sizes[2];
  return {c};
}

// The GPU's rows among those that the globs match, under whichever of their two names.
std::vector<kernel const*> wanted_rows(std::string const& globs) {
  std::vector<kernel const*> rows;
  for (auto const* row : find_kernels(globs, operation::gemm)) {
    if (row->backend != backend::gpu && row->backend != backend::simt) continue;
    auto const* const on_gpu = find_kernel("gpu" + row->name.substr(row->name.find('.')));
    if (std::ranges::find(rows, on_gpu) == rows.end()) rows.push_back(on_gpu);
  }
  if (rows.empty()) throw std::invalid_argument("'" + globs + "' matches no kernel of the gpu or simt backend");
  return rows;
}

int count(count_arguments const& o) {
  if (o.alpha == 0) throw std::invalid_argument("alpha 0: no kernel runs where nothing is multiplied");
  std::vector<std::pair<kernel const*, problem>> wanted;
  auto const rows = wanted_rows(o.kernels);
  for (auto const& c : wanted_cases(o))
    for (auto const* row : rows) {
      auto const p = canonical(c, o, row->dtype);
      auto const why = row->refuses(p);
      if (why.empty())
        wanted.emplace_back(row, p);
      else
        fmt::print(stderr, "tandem: {} is left out at {}x{}x{}: {}\n", row->name, p.m, p.n, p.k, why);
    }
  if (wanted.empty()) throw std::invalid_argument("no kernel takes what is to be counted");
  if (auto const why = simt::checked_unavailable(); !why.empty()) {
    fmt::print(stderr, "tandem: nothing can be counted: {}\n", why);
    return backend_missing;
  }
  std::ofstream file;
  if (!o.json.empty() && o.json != "-") {  // opened before the work, so that a wrong path costs nothing
    file.open(o.json);
    if (!file) throw std::runtime_error("cannot write " + o.json);
  }

  auto const sampling = o.sampling == "all" ? simt::sampling::all : simt::sampling::classes;
  bool const progress = isatty(STDERR_FILENO) != 0;
  std::string entries;  // one a line, so that a change of one is a change of one line
  std::size_t done = 0;
  for (auto const& [row, p] : wanted) {
    if (progress) fmt::print(stderr, "\r\x1b[K{}/{} {} {}x{}x{}", ++done, wanted.size(), row->name, p.m, p.n, p.k);
    auto const result = count_one(row->name, p, sampling);
    if (progress) fmt::print(stderr, "\r\x1b[K");
    if (o.json != "-") fmt::print("{}{}", entries.empty() ? "" : "\n", describe(result));
    entries += (entries.empty() ? "[\n" : ",\n") + to_json(result).dump();
  }
  if (o.json.empty()) return ok;
  auto& out = o.json == "-" ? std::cout : file;
  if (!(out << entries << "\n]\n").flush()) throw std::runtime_error("cannot write " + o.json);
  return ok;
}

}  // namespace

action add_count(CLI::App& app) {
  auto o = std::make_shared<count_arguments>();
  app.add_option("sizes", o->sizes, "M N K")->expected(3);
  app.add_option("--kernels,--kernel", o->kernels, "names or globs of gpu or simt kernels, by commas")->required();
  app.add_option("--cases", o->cases, "a CSV file of problems (m,n,k,trans,lda,ldb,ldc) instead of M N K");
  app.add_option("--trans", o->one.trans, "nn, nt, tn or tt")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}))
      ->capture_default_str();
  app.add_option("--lda", o->one.lda, "elements from a row of A to the next, as it is stored (default: its length)");
  app.add_option("--ldb", o->one.ldb, "likewise of B");
  app.add_option("--ldc", o->one.ldc, "likewise of C");
  app.add_option("--alpha", o->alpha, "alpha of the product")->capture_default_str();
  app.add_option("--beta", o->beta, "beta of the product")->capture_default_str();
  app.add_option("--sampling", o->sampling, "classes: run one of each class of like blocks; all: run every block")
      ->check(CLI::IsMember({"classes", "all"}))
      ->capture_default_str();
  app.add_option("--json", o->json,
                 "write the counts to a file; - or none: to the standard output, instead of the tables")
      ->expected(0, 1)
      ->default_str("-");
  return [o] { return count(*o); };
}

}  // namespace tandem::tools
