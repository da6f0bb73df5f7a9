// Kernels under test: rows of a table, functions with CBLAS's signature, functions on device pointers, shared objects.
#include <tandem/harness/candidate.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <tandem/error.hpp>
#include <tandem/kernels.hpp>
#include <tandem/matrix_view.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/calling_convention.hpp"
#include "harness/constant.hpp"

namespace tandem::harness {
namespace {

constexpr std::array precisions{precision::element, precision::tf32, precision::f16, precision::bf16};

template <element T>
void call_row(kernel const& row, gemm_call const& x) {
  auto const& t = x.test;
  auto const stored_a = t.trans_a ? std::pair(t.k, t.m) : std::pair(t.m, t.k);
  auto const stored_b = t.trans_b ? std::pair(t.n, t.k) : std::pair(t.k, t.n);
  matrix_view<T const> a(static_cast<T const*>(x.a), stored_a.first, stored_a.second, t.lda, t.layout_a, x.memory);
  matrix_view<T const> b(static_cast<T const*>(x.b), stored_b.first, stored_b.second, t.ldb, t.layout_b, x.memory);
  matrix_view<T> const c(static_cast<T*>(x.c), t.m, t.n, t.ldc, t.layout_c, x.memory);
  if (t.trans_a) a = a.transposed();
  if (t.trans_b) b = b.transposed();
  gemm_with(row, a, b, c, {.alpha = t.alpha, .beta = t.beta, .stream = x.stream}, x.threads);
}

/// Why a row cannot run on this machine; empty when it can.
std::string why_unavailable(kernel const& row, tandem::memory where) {
  auto const all = backends();
  auto const info = std::ranges::find(all, row.backend, &backend_info::backend);
  if (info != all.end() && !info->available) return info->reason;
  if (row.unavailable)
    if (auto why = row.unavailable(); !why.empty()) return why;
  return where == memory::device ? gpu::unavailable() : std::string();
}

/// A size as the interface's int; the harness makes no problem that does not fit, so one that does not is its caller's.
int as_int(std::int64_t x) {
  if (x > std::numeric_limits<int>::max() || x < std::numeric_limits<int>::min())
    throw error(errc::unsupported, fmt::format("{} is no int", x));
  return static_cast<int>(x);
}

std::string refuse_beyond_int(test_case const& t) {
  for (auto const x : {t.m, t.n, t.k, t.lda, t.ldb, t.ldc})
    if (x > std::numeric_limits<int>::max()) return fmt::format("{} is more than an int holds", x);
  return {};
}

/// CBLAS_LAYOUT and CBLAS_TRANSPOSE, whose values the interface fixes.
enum : int { row_major = 101, col_major = 102, no_trans = 111, trans = 112, conj_trans = 113 };

template <class T, class F>
int call_cblas(F const& f, gemm_call const& x) {
  auto const& t = x.test;
  // One layout holds for all three operands there: one that is stored in the other is its own transpose.
  bool const flip_a = t.trans_a != (t.layout_a != t.layout_c), flip_b = t.trans_b != (t.layout_b != t.layout_c);
  int const flipped = x.conjugated ? conj_trans : trans;
  // Operands without elements, or that are not read, may have no address: an odd seed says so.
  bool const nowhere = !reads_operands(t) && t.seed % 2 == 1;
  auto* const a = nowhere ? nullptr : static_cast<T const*>(x.a);
  auto* const b = nowhere ? nullptr : static_cast<T const*>(x.b);
  f(t.layout_c == layout::row_major ? row_major : col_major, flip_a ? flipped : no_trans, flip_b ? flipped : no_trans,
    as_int(t.m), as_int(t.n), as_int(t.k), static_cast<T>(t.alpha), a, as_int(t.lda), b, as_int(t.ldb),
    static_cast<T>(t.beta), static_cast<T*>(x.c), as_int(t.ldc));
  return 0;
}

template <class T, class F>
candidate of_cblas(std::string name, F f) {
  candidate out;
  out.name = std::move(name);
  out.dtype = dtype_of<T>;
  out.has_conjugate_transpose = true;
  out.budget_follows_speed = true;
  out.refuses = refuse_beyond_int;
  out.run = [f = std::move(f)](gemm_call const& x) { return call_cblas<T>(f, x); };
  return out;
}

template <class T, class F>
int call_cuda(F const& f, gemm_call const& x) {
  auto const& t = x.test;
  return f(as_int(t.m), as_int(t.n), as_int(t.k), static_cast<T>(t.alpha), static_cast<T const*>(x.a), as_int(t.lda),
           static_cast<T const*>(x.b), as_int(t.ldb), static_cast<T>(t.beta), static_cast<T*>(x.c), as_int(t.ldc),
           x.stream);
}

/// Row-major and without transposes, whatever else is declared.
limits cuda_limits() {
  limits l;
  l.nt = l.tn = l.tt = l.col_major = false;
  return l;
}

template <class T, class F>
candidate of_cuda(std::string name, F f) {
  candidate out;
  out.name = std::move(name);
  out.dtype = dtype_of<T>;
  out.memory = memory::device;
  out.limits = cuda_limits();
  out.threaded = false;
  out.flop_budget = 1e11;
  out.refuses = refuse_beyond_int;
  out.open = [] { return gpu::unavailable(); };
  out.run = [f = std::move(f)](gemm_call const& x) { return call_cuda<T>(f, x); };
  return out;
}

/// A symbol's address, once it is loaded, and what sets the number of its library's threads, if there is anything.
struct loaded {
  void* address = nullptr;
  void (*set_threads)(int) = nullptr;
  int (*threads)() = nullptr;
};

/// The library stays loaded until the process ends: some cannot be unloaded.
void load(loaded& into, library_function const& f) {
  void* const library = dlopen(f.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument(fmt::format("cannot load {}: {}", f.path, dlerror()));
  void* const function = dlsym(library, f.symbol.c_str());
  if (function == nullptr) throw std::invalid_argument(fmt::format("{} has no symbol '{}'", f.path, f.symbol));
  into.address = watched(function);
  struct names {
    char const *set, *get;
  };
  for (auto const& [set, get] :
       {names{"openblas_set_num_threads", "openblas_get_num_threads"},
        names{"MKL_Set_Num_Threads", "MKL_Get_Max_Threads"}, names{"omp_set_num_threads", "omp_get_max_threads"}})
    if (dlsym(library, set) != nullptr && dlsym(library, get) != nullptr) {
      into.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, set));
      into.threads = reinterpret_cast<int (*)()>(dlsym(library, get));
      return;
    }
}

/// A library's own number of threads, which is the call's for so long.
class threads_of_call {
 public:
  threads_of_call(loaded const& f, int threads) : f_(f), before_(sets(threads) ? f.threads() : 0) {
    if (before_ > 0) f_.set_threads(threads);
  }
  threads_of_call(threads_of_call const&) = delete;
  threads_of_call& operator=(threads_of_call const&) = delete;
  ~threads_of_call() {
    if (before_ > 0) f_.set_threads(before_);
  }

 private:
  bool sets(int threads) const { return threads > 0 && f_.set_threads != nullptr; }
  loaded const& f_;
  int before_;
};

/// Fortran's interface: column-major, everything by its address, and behind it the lengths of the words, which
/// compilers pass that nobody sees. A row-major C is the transpose of the product of B and A, which are transposed as
/// they lie there.
template <class T>
using fortran_gemm = void(char const*, char const*, int const*, int const*, int const*, T const*, T const*, int const*,
                          T const*, int const*, T const*, T*, int const*, std::size_t, std::size_t);

/// What such a function gets by its address and has to leave as it is.
template <class T>
struct fortran_arguments {
  std::array<char, 2> words;
  std::array<int, 6> sizes;  // m, n, k, lda, ldb, ldc
  std::array<T, 2> scalars;
};

template <class T>
void call_fortran(fortran_gemm<T>* f, int order, int trans_a, int trans_b, int m, int n, int k, T alpha, T const* a,
                  int lda, T const* b, int ldb, T beta, T* c, int ldc) {
  if (order == row_major) {
    std::swap(trans_a, trans_b), std::swap(m, n);
    std::swap(a, b), std::swap(lda, ldb);
  }
  // Small letters say the same.
  auto const word = [small = (m + n) % 2 != 0](int flag) {
    char const letter = flag == no_trans ? 'N' : flag == trans ? 'T' : 'C';
    return static_cast<char>(small ? letter - 'A' + 'a' : letter);
  };
  fortran_arguments<T> const given{{word(trans_a), word(trans_b)}, {m, n, k, lda, ldb, ldc}, {alpha, beta}};
  auto const call = [&](fortran_arguments<T> const& x) {
    auto const& [of_m, of_n, of_k, of_lda, of_ldb, of_ldc] = x.sizes;
    f(&x.words[0], &x.words[1], &of_m, &of_n, &of_k, &x.scalars[0], a, &of_lda, b, &of_ldb, &x.scalars[1], c, &of_ldc,
      1, 1);
  };
  // By turns, since the one shows what is written for a moment, and the other can say what was written.
  if (k % 2 != 0) return call(*constant(given));
  auto x = given;
  call(x);
  bool const same_scalars = std::memcmp(x.scalars.data(), given.scalars.data(), sizeof given.scalars) == 0;
  if (x.words != given.words || x.sizes != given.sizes || !same_scalars)
    throw std::runtime_error("it wrote to an argument that it gets by its address");
}

template <class Function>
Function* as_function(loaded const& f) {
  return reinterpret_cast<Function*>(f.address);
}

template <class F>
void list_words(std::string_view text, F const& f) {
  while (!text.empty()) {
    auto const comma = text.find(',');
    f(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
}

std::int64_t positive(std::string_view text, std::string_view word) {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0)
    throw std::invalid_argument(fmt::format("'{}' of '{}' is no positive number", text, word));
  return value;
}

std::int64_t round_up(std::int64_t x, std::int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

std::int64_t element_size(dtype type) { return type == dtype::f64 ? 8 : 4; }

}  // namespace

std::string_view to_string(precision p) noexcept {
  switch (p) {
    case precision::element: return "element";
    case precision::tf32: return "tf32";
    case precision::f16: return "f16";
    case precision::bf16: return "bf16";
  }
  return "element";
}

precision parse_precision(std::string_view word) {
  for (auto const p : precisions)
    if (word == to_string(p)) return p;
  throw std::invalid_argument(fmt::format("'{}' is no precision; there are element, tf32, f16 and bf16", word));
}

limits parse_limits(std::string_view text) {
  limits l;
  bool named_trans = false, named_layout = false;
  list_words(text, [&](std::string_view word) {
    auto const trans = [&](bool limits::*member) {
      if (!std::exchange(named_trans, true)) l.nn = l.nt = l.tn = l.tt = false;
      l.*member = true;
    };
    auto const stored = [&](bool limits::*member) {
      if (!std::exchange(named_layout, true)) l.row_major = l.col_major = false;
      l.*member = true;
    };
    auto const value = [&](std::string_view name) {
      return word.starts_with(name) && word.size() > name.size() && word[name.size()] == '='
                 ? word.substr(name.size() + 1)
                 : std::string_view();
    };
    if (word == "nn") return trans(&limits::nn);
    if (word == "nt") return trans(&limits::nt);
    if (word == "tn") return trans(&limits::tn);
    if (word == "tt") return trans(&limits::tt);
    if (word == "row_major") return stored(&limits::row_major);
    if (word == "col_major") return stored(&limits::col_major);
    if (word == "tight") return void(l.tight = true);
    if (word == "alpha=1") return void(l.alpha_one = true);
    if (word == "beta=0") return void(l.beta_zero = true);
    if (word == "nonempty") return void(l.no_empty = true);
    if (auto const v = value("multiple_of"); !v.empty())
      return void(l.multiple_m = l.multiple_n = l.multiple_k = positive(v, word));
    if (auto const v = value("m_multiple_of"); !v.empty()) return void(l.multiple_m = positive(v, word));
    if (auto const v = value("n_multiple_of"); !v.empty()) return void(l.multiple_n = positive(v, word));
    if (auto const v = value("k_multiple_of"); !v.empty()) return void(l.multiple_k = positive(v, word));
    if (auto const v = value("align"); !v.empty()) return void(l.alignment = positive(v, word));
    throw std::invalid_argument(
        fmt::format("'{}' is no limit; there are nn, nt, tn, tt, row_major, col_major, multiple_of=N, m_multiple_of=N, "
                    "n_multiple_of=N, k_multiple_of=N, align=BYTES, tight, alpha=1, beta=0 and nonempty",
                    word));
  });
  return l;
}

namespace {

/// What of the canonical problem the limits speak of.
struct canonical_view {
  bool trans_a, trans_b;
  std::int64_t m, n;
};

canonical_view view_of(test_case const& t) {
  auto const p = canonical(t);
  return {p.trans_a, p.trans_b, p.m, p.n};
}

bool allows(limits const& l, bool trans_a, bool trans_b) {
  return trans_a ? (trans_b ? l.tt : l.tn) : (trans_b ? l.nt : l.nn);
}

/// Cuts the sizes that have to be the same for A to be B to the smallest of them.
void agree_sizes(test_case& t) {
  t.m = t.n = std::min(t.m, t.n);
  if (contiguous_alike(t)) t.m = t.n = t.k = std::min(t.m, t.k);
}

}  // namespace

std::string outside(limits const& l, test_case const& t) {
  auto const p = view_of(t);
  if (!(t.layout_c == layout::row_major ? l.row_major : l.col_major))
    return fmt::format("C is {}", to_string(t.layout_c));
  if (!allows(l, p.trans_a, p.trans_b))
    return fmt::format("the transposes are {}{}", p.trans_a ? 't' : 'n', p.trans_b ? 't' : 'n');
  if (p.m % l.multiple_m != 0) return fmt::format("m {} is no multiple of {}", p.m, l.multiple_m);
  if (p.n % l.multiple_n != 0) return fmt::format("n {} is no multiple of {}", p.n, l.multiple_n);
  if (t.k % l.multiple_k != 0) return fmt::format("k {} is no multiple of {}", t.k, l.multiple_k);
  if (l.tight && (t.lda != tight_lda(t) || t.ldb != tight_ldb(t) || t.ldc != tight_ldc(t)))
    return fmt::format("lda {}, ldb {}, ldc {} leave gaps", t.lda, t.ldb, t.ldc);
  auto const size = element_size(t.dtype);
  for (auto const offset : {t.offset_a, t.offset_b, t.offset_c})
    if (offset * size % l.alignment != 0) return fmt::format("an operand is not aligned to {} bytes", l.alignment);
  bool const empty = t.m == 0 || t.n == 0 || t.k == 0;  // one of the operands has no leading dimension to speak of
  for (auto const ld : {t.lda, t.ldb, t.ldc})
    if (!empty && ld * size % l.alignment != 0)
      return fmt::format("a leading dimension of {} is not aligned to {} bytes", ld, l.alignment);
  if (l.alpha_one && t.alpha != 1) return fmt::format("alpha is {}", t.alpha);
  if (l.beta_zero && t.beta != 0) return fmt::format("beta is {}", t.beta);
  if (l.no_empty && (t.m == 0 || t.n == 0 || t.k == 0)) return fmt::format("{}x{}x{} is empty", t.m, t.n, t.k);
  return {};
}

test_case within(limits const& l, test_case t) {
  auto const was = t;
  if (!(t.layout_c == layout::row_major ? l.row_major : l.col_major))
    t.layout_c = t.layout_c == layout::row_major ? layout::col_major : layout::row_major;
  // The transpose flag that a canonical one asks for, with the layouts as they are.
  if (auto const p = view_of(t); !allows(l, p.trans_a, p.trans_b)) {
    for (int const pair : {0, 1, 2, 3}) {
      auto x = t;
      x.trans_a = (pair & 1) != 0, x.trans_b = (pair & 2) != 0;
      if (auto const q = view_of(x); !allows(l, q.trans_a, q.trans_b)) continue;
      t = x;
      break;
    }
  }
  if (t.b_is_a) agree_sizes(t);
  if (l.no_empty)
    t.m = std::max<std::int64_t>(t.m, 1), t.n = std::max<std::int64_t>(t.n, 1), t.k = std::max<std::int64_t>(t.k, 1);
  bool const turned = t.layout_c == layout::col_major;  // canonical m is n, then
  auto const size = element_size(t.dtype);
  auto const step = std::max<std::int64_t>(1, l.alignment / size);
  std::int64_t const run = l.tight ? step : 1;  // without gaps, rows are aligned only if they are as long as that
  auto multiple_m = std::lcm(run, turned ? l.multiple_n : l.multiple_m);
  auto multiple_n = std::lcm(run, turned ? l.multiple_m : l.multiple_n);
  auto multiple_k = std::lcm(run, l.multiple_k);
  if (t.b_is_a) multiple_m = multiple_n = std::lcm(multiple_m, multiple_n);
  if (t.b_is_a && contiguous_alike(t)) multiple_m = multiple_n = multiple_k = std::lcm(multiple_m, multiple_k);
  t.m = round_up(t.m, multiple_m);
  t.n = round_up(t.n, multiple_n);
  t.k = round_up(t.k, multiple_k);
  if (l.alpha_one) t.alpha = 1;
  if (l.beta_zero) t.beta = 0;

  auto const fit = [&](std::int64_t& ld, std::int64_t old_tight, std::int64_t tight, std::int64_t& offset) {
    // The gap stays what it was.
    ld = l.tight ? tight : round_up(tight + std::max<std::int64_t>(0, ld - old_tight), step);
    offset = offset / step * step;
  };
  fit(t.lda, tight_lda(was), tight_lda(t), t.offset_a);
  fit(t.ldb, tight_ldb(was), tight_ldb(t), t.offset_b);
  fit(t.ldc, tight_ldc(was), tight_ldc(t), t.offset_c);
  if (t.b_is_a) t.ldb = t.lda, t.offset_b = t.offset_a;
  return t;
}

candidate candidate_of(kernel const& row, tandem::memory where) {
  candidate out;
  out.name = row.name;
  out.dtype = row.dtype;
  out.memory = where;
  out.flop_budget = row.flop_budget;
  out.threaded = row.threaded && where == memory::host;
  out.concurrent = row.concurrent;
  out.reports_errors = true;
  out.open = [row, where] { return why_unavailable(row, where); };
  out.run = [row](gemm_call const& x) {
    x.test.dtype == dtype::f32 ? call_row<float>(row, x) : call_row<double>(row, x);
    return 0;
  };
  if (row.refuses)
    out.refuses = [row](test_case const& t) {
      return reads_operands(t) && t.m > 0 && t.n > 0 ? row.refuses(canonical(t)) : std::string();
    };
  out.plan = row.plan;
  return out;
}

candidate cblas_candidate(std::string name, std::function<cblas_sgemm_function> f) {
  return of_cblas<float>(std::move(name), std::move(f));
}
candidate cblas_candidate(std::string name, std::function<cblas_dgemm_function> f) {
  return of_cblas<double>(std::move(name), std::move(f));
}
candidate cuda_candidate(std::string name, std::function<cuda_sgemm_function> f) {
  return of_cuda<float>(std::move(name), std::move(f));
}
candidate cuda_candidate(std::string name, std::function<cuda_dgemm_function> f) {
  return of_cuda<double>(std::move(name), std::move(f));
}

library_function parse_library_function(std::string_view text, harness::abi abi, std::string_view type) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size())
    throw std::invalid_argument(fmt::format("'{}' is not LIB.so:SYMBOL", text));
  library_function f;
  f.path = text.substr(0, colon);
  f.symbol = text.substr(colon + 1);
  f.abi = abi;
  bool const single = f.symbol.find("sgemm") != std::string::npos;
  bool const twice = f.symbol.find("dgemm") != std::string::npos;
  if (type == "f32" || (type.empty() && single && !twice))
    f.dtype = dtype::f32;
  else if (type == "f64" || (type.empty() && twice && !single))
    f.dtype = dtype::f64;
  else if (type.empty())
    throw std::invalid_argument(
        fmt::format("the symbol '{}' does not say sgemm or dgemm; name its type, f32 or f64", f.symbol));
  else
    throw std::invalid_argument(fmt::format("'{}' is no type of such a function; there are f32 and f64", type));
  return f;
}

candidate library_candidate(library_function const& f) {
  auto const symbol = std::make_shared<loaded>();
  candidate out;
  std::string const name = f.path + ":" + f.symbol;
  bool const single = f.dtype == dtype::f32;
  if (f.abi == abi::cblas && f.symbol.ends_with('_')) {
    out = single ? cblas_candidate(name, std::function<cblas_sgemm_function>([symbol](auto... x) {
                                     call_fortran<float>(as_function<fortran_gemm<float>>(*symbol), x...);
                                   }))
                 : cblas_candidate(name, std::function<cblas_dgemm_function>([symbol](auto... x) {
                                     call_fortran<double>(as_function<fortran_gemm<double>>(*symbol), x...);
                                   }));
  } else if (f.abi == abi::cblas) {
    out = single ? cblas_candidate(name, std::function<cblas_sgemm_function>([symbol](auto... x) {
                                     as_function<cblas_sgemm_function> (*symbol)(x...);
                                   }))
                 : cblas_candidate(name, std::function<cblas_dgemm_function>([symbol](auto... x) {
                                     as_function<cblas_dgemm_function> (*symbol)(x...);
                                   }));
  } else {
    out = single ? cuda_candidate(name, std::function<cuda_sgemm_function>([symbol](auto... x) {
                                    return as_function<cuda_sgemm_function>(*symbol)(x...);
                                  }))
                 : cuda_candidate(name, std::function<cuda_dgemm_function>([symbol](auto... x) {
                                    return as_function<cuda_dgemm_function>(*symbol)(x...);
                                  }));
  }
  out.run = [symbol, run = std::move(out.run)](gemm_call const& x) {
    threads_of_call const threads(*symbol, x.threads);
    int const code = run(x);
    if (auto const unkept = unkept_registers(); !unkept.empty()) throw std::runtime_error(unkept);
    return code;
  };
  bool const device = f.abi == abi::cuda;
  out.open = [symbol, f, device] {
    load(*symbol, f);
    return device ? gpu::unavailable() : std::string();
  };
  return out;
}

std::function<tandem::plan(problem const&)> parse_tile(std::string_view text) {
  std::array<std::int64_t, 3> edges{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const cross = rest.find('x');
    auto const part = rest.substr(0, cross);
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    bool const last = cross == std::string_view::npos;
    if (error != std::errc() || end != part.data() + part.size() || value <= 0 || last != (i == 2))
      throw std::invalid_argument(fmt::format("'{}' is no tile; one is M x N x K, such as 128x128x8", text));
    edges[i] = value;
    rest = last ? std::string_view() : rest.substr(cross + 1);
  }
  return [edges](problem const&) {
    return tandem::plan{
        {{.name = "block", .m = edges[0], .n = edges[1], .k = edges[2], .memory = {}, .keeps_c = true}}};
  };
}

}  // namespace tandem::harness
