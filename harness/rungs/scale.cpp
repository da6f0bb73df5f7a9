// L9: operands that span more than 2^31 and 2^32 elements, a million rows, columns or terms, long sums on several
// threads, and products so large that only Freivalds' check is quick enough.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "harness/rungs/forms.hpp"
#include "harness/rungs/problems.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

constexpr std::int64_t reach_of_32_bits = std::int64_t{1} << 32;
constexpr std::array operand_names{"A", "B", "C"};

/// How many rows (or columns) an operand has whose leading dimension takes the last of them past 2^33 elements: tiles
/// and edges of usual kernels; 33 for the lanes of one vector, whose offsets have 32 bits in a gather; and few rows far
/// apart. With 3 the leading dimension is no 32-bit int.
constexpr std::array<std::int64_t, 4> lines_apart{200, 33, 9, 3};
constexpr std::int64_t whole_span = std::int64_t{1} << 33;

/// What stands beside these lines.
constexpr product_size thin{21, 18, 24}, wide{150, 170, 40}, narrow{5, 3, 400};

/// A sum that a kernel may split among threads, or add up in several rounds. No k is a multiple of anything usual.
struct long_sum {
  product_size size;
  level from;  ///< what is tried at this level and above
};
constexpr std::array long_sums_tried{long_sum{{3, 9, 20001}, level::quick},
                                     long_sum{{9, 2, 20011}, level::quick},
                                     long_sum{{17, 19, 6007}, level::quick},
                                     long_sum{{1, 1, 50021}, level::quick},
                                     long_sum{{1, 2, 100003}, level::quick},
                                     long_sum{{40, 37, 20011}, level::standard},
                                     long_sum{{5, 150, 10007}, level::standard},
                                     long_sum{{150, 5, 10007}, level::standard},
                                     long_sum{{8, 8, (1 << 21) + 50021}, level::standard},
                                     long_sum{{24, 9, (1 << 20) + 7}, level::full},
                                     long_sum{{3, 5, (1 << 22) + 11}, level::full}};

/// alpha and beta by turns. Each scalar that a kernel may have forgotten meets others that hide it as well as some that
/// do not.
constexpr std::array<std::array<double, 2>, 8> scalars_by_turns{
    {{1, 0}, {-1, 2}, {2, 1}, {1, -1}, {-2, 0}, {1, 2}, {-1, 1}, {2, -2}}};
constexpr gaps some_gaps{5, 3, 7};

/// One or two long sides past what programs with several ways, or with blocks of columns, rows and terms, are wont to
/// tell apart: a few tokens beside the weights of a network, a long sum of a small C, panels of one and of two long
/// sides, blocks of k beside more columns or rows than one block has; and a matrix and one vector, or two, and an outer
/// product.
constexpr std::array long_sided{
    product_size{17, 2100, 2200}, product_size{2100, 17, 2200}, product_size{70, 67, 5003},
    product_size{70, 1201, 80},   product_size{1201, 70, 80},   product_size{70, 4201, 80},
    product_size{4201, 70, 80},   product_size{2100, 2050, 65}, product_size{8, 4201, 530},
    product_size{4201, 8, 530},   product_size{5, 9001, 40},    product_size{9001, 5, 40},
    product_size{8, 600, 2200},   product_size{600, 8, 2200},   product_size{20, 24, 70001},
    product_size{8, 1201, 1300},  product_size{1201, 8, 1300},  product_size{70, 2100, 1100},
    product_size{2100, 2050, 5}};
constexpr std::array thin_sided{product_size{1, 4201, 4211}, product_size{4211, 1, 4201}, product_size{2, 2507, 2019},
                                product_size{3011, 2003, 1}};
/// A vector and a matrix that only a few of the questions below are asked of.
constexpr std::array vectors{product_size{1, 2011, 4507}, product_size{4513, 1, 2003}};
/// Whole tiles of all usual kernels, as benchmarks have them.
constexpr std::array whole_tiles{product_size{512, 512, 512}, product_size{768, 512, 1024}};
/// Two or three sides past several blocks at once.
constexpr std::array all_long{product_size{260, 270, 4201}, product_size{600, 4201, 1100},
                              product_size{4201, 600, 1100}};
/// More multiply-adds than 2^31, and just 2^32.
constexpr std::array countless{product_size{1301, 1303, 1307}, product_size{2048, 2048, 1024}};
/// An operand past caches that is a few lines, or has a few elements in each: beside it some programs turn C, or go
/// through A or B as streams.
constexpr std::array far_and_narrow{product_size{40009, 3, 7}, product_size{3, 40009, 7}, product_size{203, 7, 33001},
                                    product_size{7, 203, 33001}};
/// Past a wave of usual blocks on a large GPU, with several steps of k; and past the rows of such blocks that are
/// renumbered for the cache.
constexpr std::array many_tiles{product_size{1550, 1570, 270}, product_size{3100, 3070, 40}};

/// An index that comes out of arithmetic in 32 bits, unsigned: of elements, or of bytes.
struct wrap {
  char const* text;
  std::int64_t modulus;  ///< elements
};

template <element T>
class scale_rung {
 public:
  explicit scale_rung(context<T>& x) : x_(x) {}

  void climb() {
    far_apart();
    long_sides();
    large_products();
    remainders();
    long_sums();
    if (x_.report().calls == 0 || x_.report().failed > 0) return;
    std::string text = far_ > 0 ? fmt::format("operands across more than 2^32 elements ({} calls)", far_)
                                : fmt::format("no operand across 2^31 elements: {}", why_not_far_);
    text += fmt::format("; m, n and k up to {}, {} and {}; products up to {:.2g} flop", longest_[0], longest_[1],
                        longest_[2], largest_);
    x_.set_summary(std::move(text));
  }

 private:
  bool quick() const { return x_.level() == level::quick; }

  void check(test_case t, call_options const& how = {}) {
    t = x_.adapted(t);
    if (x_.enough() || !x_.affordable(t)) return;
    auto const before = x_.report().calls;
    bool const right = x_.check(t, how);
    if (x_.report().calls == before) return;
    longest_ = {std::max(longest_[0], t.m), std::max(longest_[1], t.n), std::max(longest_[2], t.k)};
    largest_ = std::max(largest_, flops(t));
    auto const widest = std::max({storage_a(t).span(), storage_b(t).span(), storage_c(t).span()});
    if (widest > reach_of_32_bits) ++far_;
    if (!right && widest > reach_of_32_bits / 2) explain(t);
  }

  test_case sized(std::int64_t m, std::int64_t n, std::int64_t k, int form) {
    test_case t;
    t.dtype = dtype_of<T>;
    t.m = m, t.n = n, t.k = k;
    t.beta = count_ % 3 == 2 ? 1 : 0;
    t.seed = x_.seed(1, count_++);
    return in_form(t, form);
  }

  /// With the next scalars, and gaps in every second one.
  test_case varied(product_size const& size, int form) {
    auto t = sized(size[0], size[1], size[2], form);
    auto const& [alpha, beta] = scalars_by_turns[turn_ % scalars_by_turns.size()];
    t.alpha = alpha, t.beta = beta;
    // Not the same scalars with gaps each time round.
    bool const apart = (turn_ + turn_ / scalars_by_turns.size()) % 2 == 1;
    ++turn_;
    return in_form(t, form, apart ? some_gaps : gaps{});
  }

  // ---- more than 2^32 elements, most of which are gaps ----

  void far_apart() {
    if (x_.kernel().memory == memory::device) return void(why_not_far_ = "they would have to fit the device's memory");
    if (!x_.kernel().spans_far) return void(why_not_far_ = "what watches the kernel would take as much memory");
    if (x_.kernel().limits.tight) return void(why_not_far_ = "the kernel takes no gaps between rows");
    for (auto const lines : lines_apart)
      for (int form = 0; form < storage_forms; ++form)
        for (std::size_t operand = 0; operand < 3; ++operand) check_far_apart(operand, form, lines, thin);
    // More lines than one block or thread takes: the offset of the next one is a product, too. Beside them thin sides,
    // such as take a product past what is kept for small ones, and a C so narrow that others are kept for it.
    for (auto const lines : more_than_a_block())
      for (auto const& beside : {thin, wide, narrow})
        for (int form = 0; form < storage_forms; ++form) {
          bool const rarely = quick() || beside == thin;
          if (rarely && form != 0 && form != storage_forms - 1) continue;
          for (std::size_t operand = 0; operand < 3; ++operand) check_far_apart(operand, form, lines, beside);
        }
    // One vector, or an outer product, whose loops are others, and where nothing is multiplied.
    for (int form = 0; form < storage_forms; ++form) {
      if (quick() && form % 5 != 0) continue;
      for (std::size_t operand = 0; operand < 3; ++operand)
        for (std::size_t one = 0; one < 3; ++one) {
          auto beside = thin;
          beside[one] = 1;
          check_far_apart(operand, form, 200, beside);
        }
      check_far_apart(2, form, 200, {21, 18, 0});
      check_far_apart(2, form, 200, thin, 0, 0.0);
    }
    // The largest leading dimension of an interface whose integers have 32 bits.
    for (std::size_t operand = 0; operand < 3; ++operand)
      check_far_apart(operand, static_cast<int>(operand), 5, thin, std::int64_t{0x7fffffff});
    if (far_ == 0 && why_not_far_.empty()) why_not_far_ = "the kernel takes no such leading dimension";
  }

  /// Past the blocks that kernels are wont to have, and past every edge of this one's.
  std::set<std::int64_t> more_than_a_block() const {
    if (quick()) return {200};
    std::set<std::int64_t> out{200, 600, 1100, 2100};
    if (!x_.kernel().plan) return out;
    for (auto const& level : x_.kernel().plan(canonical(x_.plain(4096, 4096, 4096, fill::integer, 0))).levels)
      for (auto const edge : {level.m, level.n, level.k})
        if (edge > lines_apart[0] && edge < 4096) out.insert(edge + 1);
    return out;
  }

  /// Only this operand, so that what is wrong can be said of it.
  void check_far_apart(std::size_t operand, int form, std::int64_t lines, product_size const& beside,
                       std::int64_t ld = 0, std::optional<double> alpha = {}) {
    bool const by_columns = (form >> operand & 1) != 0;
    // A is m x k, B k x n, C m x n: which size counts its lines.
    constexpr std::array<std::array<std::size_t, 2>, 3> size_of_lines{{{0, 2}, {2, 1}, {0, 1}}};
    auto size = beside;
    size[size_of_lines[operand][by_columns ? 1 : 0]] = lines;
    test_case t = sized(size[0], size[1], size[2], form);
    auto const& scalars = scalars_by_turns[turn_++ % scalars_by_turns.size()];
    t.alpha = alpha.value_or(scalars[0]), t.beta = size[2] == 0 || alpha == 0 ? 2 : scalars[1];
    t = x_.adapted(t);
    auto const stored = std::array{storage_a(t), storage_b(t), storage_c(t)}[operand];
    auto& told = *std::array{&t.lda, &t.ldb, &t.ldc}[operand];
    if (stored.outer() < 2) return;
    told = ld > 0 ? ld : std::max(whole_span / (stored.outer() - 1) + 7, stored.ld);
    // A multiple of the elements for which the limits ask.
    t = x_.adapted(t);
    auto const span = std::array{storage_a(t), storage_b(t), storage_c(t)}[operand].span();
    if (static_cast<std::size_t>(span) * sizeof(T) + 4096 > sandbox::max_region) return;
    check(t);
  }

  // ---- long sides ----

  void long_sides() {
    // Sides of a tile cost a tiled kernel as much as whole tiles. Those whose budget says that they are slow get less.
    double const share = x_.kernel().flop_budget / (x_.level() == level::full ? 8 : 512);
    auto const million = static_cast<std::int64_t>(std::min(0x1p20, share)) + 7;
    for (int const form : {0, 7, 2, 5}) {
      check(sized(million, 2, 2, form));
      check(sized(2, million, 2, form));
      // On one thread: some step through k together, and wait for each other a hundred thousand times.
      auto deep = sized(2, 1, million, form);
      deep.threads = 1;
      check(deep);
      if (quick()) break;
    }
    // More than 16 bits count blocks of 8, beside what takes a product past a loop for few columns.
    if (!quick())
      for (auto const& s : {product_size{524309, 9, 8}, product_size{9, 524309, 8}})
        if (share >= 524309) check(sized(s[0], s[1], s[2], 3));
    // More than 65535 tiles of 128: a CUDA grid has no more than that in y.
    constexpr std::int64_t grid = 65536 * 128 + 9;
    if (quick() || share < grid / 8) return;
    check(sized(grid, 2, 1, 0));
    check(sized(1, grid, 2, 7));
    // The first number that is no float: the last row is written, or it is not.
    auto no_float = sized((1 << 24) + 1, 1, 1, 0);
    no_float.beta = 0;
    check(no_float);
  }

  // ---- long sums ----

  /// Each with other numbers of threads, forms and scalars, so that what is done for each part of k shows.
  void long_sums() {
    struct turn {
      int form;
      double alpha, beta;
      int threads;
    };
    static constexpr std::array turns{turn{0, -1, 2, 4}, turn{5, 2, 0, 3}, turn{2, 1, -1, 0}, turn{7, -1, 1, 1}};
    for (auto const& sum : long_sums_tried) {
      if (x_.level() < sum.from) continue;
      bool const costly = sum.size[2] > 1 << 20;
      std::size_t const calls = costly ? (x_.level() == level::full ? 2 : 1) : quick() ? 2 : turns.size();
      for (auto const& how : std::span(turns).first(calls)) {
        auto t = sized(sum.size[0], sum.size[1], sum.size[2], how.form);
        t.alpha = how.alpha, t.beta = how.beta;
        if (x_.kernel().threaded) t.threads = how.threads;
        check(t);
      }
    }
  }

  // ---- large products ----

  void large_products() {
    double const level_flops = quick() ? 1.2e8 : x_.level() == level::standard ? 9e8 : 8e9;
    double const most = std::min(level_flops, x_.kernel().flop_budget);
    // Kernels whose budget says that they are slow get less.
    constexpr double fast = 1.5e10;
    bool const often = x_.kernel().flop_budget >= fast || x_.level() == level::full;
    int const calls = quick() ? 1 : x_.level() == level::full ? 24 : often ? 12 : 4;
    random drawn(x_.seed(8));
    for (int i = 0; i < calls; ++i) {
      // Not far from a cube, whatever the edges leave over of somebody's blocks; one where m and k are the same, so
      // that the one may be taken for the other.
      auto const edge = std::cbrt(most / 2);
      auto const near = [&] {
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(edge * (0.72 + 0.28 * drawn.uniform())));
      };
      auto const m = near(), n = near();
      check(varied({m, n, i == 3 ? m : near()}, i % storage_forms));
    }
    if (quick()) return;
    check(varied({2999, 2801, 17}, 2));
    int form = 0;
    for (auto const& s : long_sided)
      for (int i = 0; i < (often ? 2 : 1); ++i) check(varied(s, form++ % storage_forms));
    for (int const each : {0, 5, 2, 7})
      for (auto const& s : thin_sided) check(varied(s, each));
    // A vector that does not lie together, and its matrix either way.
    for (int const each : {1, 2, 3})
      for (auto const& s : vectors) check(in_form(varied(s, each), each, some_gaps));
    if (often) {
      for (auto const& s : all_long) check(varied(s, form++ % storage_forms));
      for (int i = 0; i < storage_forms; ++i)
        for (auto const& s : whole_tiles) check(varied(s, i));
    }
    // Integers are small, so that fewer digits do for them: a permutation must bring every digit of the other operand.
    for (auto const& s : long_sided) keeps_digits(s, form++);
    for (auto const& s : {vectors[0], vectors[1], thin_sided[2], thin_sided[3]}) keeps_digits(s, form++);
    if (often) keeps_digits(all_long[0], form++);
    for (int i = 0; often && i < storage_forms; ++i)
      for (auto const& s : far_and_narrow) check(varied(s, i));
    for (int i = 0; i < (often ? storage_forms : 4); ++i)
      for (auto const& s : {product_size{801, 803, 65}, product_size{20011, 40, 30}, product_size{40, 20011, 30}})
        check(varied(s, i));
    for (auto const& s : many_tiles)
      for (int i = 0; i < (often ? 2 : 1); ++i) check(varied(s, form++ % storage_forms));
    // Nothing to multiply, in long rows.
    for (auto const& s : {product_size{9, 9001, 0}, product_size{9001, 9, 0}, product_size{9, 9001, 20}})
      for (int const each : {0, 7}) {
        auto t = varied(s, each);
        t.alpha = s[2] == 0 ? 1 : 0, t.beta = each == 0 ? 2 : 0;
        check(t);
      }
    // The same of a cube; and an alpha whose bits are not those of 0.
    for (double const alpha : {0.0, -0.0}) {
      auto t = varied({301, 310, 320}, form++ % storage_forms);
      t.alpha = alpha, t.beta = std::signbit(alpha) ? 0 : 2;
      check(t);
    }
    beyond_caches();
    amid();
    for (auto const& s : countless) check(varied(s, form++ % storage_forms));
    // What a fast kernel takes for a product that is worth another algorithm.
    double const share = std::min(2.3e9, x_.kernel().flop_budget / 4);
    if (share < 6e8) return;
    auto const edge = static_cast<std::int64_t>(std::cbrt(share / 2));
    struct turn {
      harness::fill fill;
      int form;
      bool alone;  // one thread has more blocks than its share of the rows would be
    };
    for (auto const& how : {turn{fill::integer, 0, false}, turn{fill::permutation_a, 7, true},
                            turn{fill::permutation_b, 7, false}, turn{fill::permutation_b, 1, true}}) {
      auto t = sized(edge | 1, edge / 8 * 8, (edge + 10) | 1, how.form);
      t.fill = how.fill;
      if (how.alone && x_.kernel().threaded) t.threads = 1;
      check(t);
    }
    // Whole tiles of all usual kernels, which may halve such sides, or take the way of another format.
    auto even = sized(edge / 64 * 64, edge / 64 * 64, edge / 64 * 64, 0);
    even.fill = fill::permutation_a;
    check(even);
  }

  /// Every digit of one operand, and then of the other.
  void keeps_digits(product_size const& size, int form) {
    for (auto const fill : {fill::permutation_a, fill::permutation_b}) {
      auto t = sized(size[0], size[1], size[2], form % storage_forms);
      t.fill = fill;
      check(t);
    }
  }

  /// A C larger than caches whose rows begin at cache lines and end within one: whoever writes it past the caches, in
  /// whole lines, has to leave the gaps.
  void beyond_caches() {
    constexpr std::int64_t line = 16;
    struct {
      std::int64_t lines, length, k;  // of C: few lines are cut, not shared out
    } const sizes[] = {{3501, 3605, 9}, {13, 350020, 16}};
    for (auto const& [lines, length, k] : sizes)
      for (int const form : {0, storage_forms - 1}) {
        auto t = form == 0 ? sized(lines, length, k, form) : sized(length, lines, k, form);
        t.beta = 0;
        t.ldc = (length + line - 1) / line * line;
        while (lies_at_end(t.seed, 2)) ++t.seed;
        check(t);
      }
  }

  /// What a caller may have set up for itself, in products that are worth several threads.
  void amid() {
    for (product_size const& s : {product_size{520, 530, 540}, product_size{9, 4001, 700}}) {
      check(varied(s, 0), {.amid = {.interrupted = true}});
      x_.restart();  // threads that there are already keep their processors
      check(varied(s, 1), {.amid = {.one_processor = true}});
      x_.restart();
      check(varied(s, 2), {.amid = {.flushes = true}});
      x_.restart();
    }
  }

  // ---- what usual blocks leave over ----

  /// Of products past what is kept for small ones: every pair of remainders that tiles of up to 16 x 32 and 32 x 16
  /// leave, one term behind whole blocks of k, a few rows or columns behind wide ones.
  void remainders() {
    constexpr double fast = 1.5e10;
    if (quick() || x_.kernel().flop_budget < fast) return;
    constexpr std::int64_t few = 16, many = 32, edge = 257, terms = 523;
    int form = 0;
    auto const look = [&](product_size const& size) {
      if (!x_.enough()) check(varied(size, form++ % storage_forms), {.soon_judged = true});
    };
    for (std::int64_t i = 0; i < few; ++i)
      for (std::int64_t j = 0; j < many; ++j) {
        look({edge + i, edge + j, terms});
        if (j >= few) look({edge + j, edge + i, terms});
      }
    for (std::int64_t k = 257; k <= 513; k += 8) look({517, 521, k});
    for (std::int64_t const block : {1024, 1536, 2048, 3072, 4032, 4080, 4096, 6144, 8160, 8192})
      for (std::int64_t const rest : {1, 5})
        for (int each = 0; each < storage_forms; ++each) look({70, block + rest, 40});
  }

  // ---- what a failure looks like ----

  /// Adds to the witness what an index computed in 32 bits would explain.
  void explain(test_case const& t) {
    auto& witness = x_.report().witness;
    if (!witness || to_string(witness->test) != to_string(t)) return;
    auto const data = draw<T>(t, x_.kernel().precision);
    auto const seen = x_.call(t, data, {.quiet = true});
    auto const why = seen.how.status == call_status::died ? explain_fault(t, seen.how)
                     : seen.finished()                    ? explain_numbers(t, data, seen.c)
                                                          : std::string();
    if (!why.empty()) witness->reason += "; " + why;
  }

  /// An access below the operand whose address is right but for a multiple of 2^32 elements or bytes.
  std::string explain_fault(test_case const& t, call_outcome const& how) const {
    if (how.touched < 0) return {};
    auto const operand = static_cast<std::size_t>(how.touched);
    auto const stored = std::array{storage_a(t), storage_b(t), storage_c(t)}[operand];
    auto const alignment = std::max(usual_alignment, static_cast<std::size_t>(x_.kernel().limits.alignment));
    auto const where = place_on_host(stored, sizeof(T), lies_at_end(t.seed, operand), alignment);
    std::int64_t const at = how.touched_at - static_cast<std::int64_t>(where.begin);
    if (at >= 0) return {};
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
    std::int64_t const element = -((-at + bytes - 1) / bytes);
    auto const explained = [&](std::int64_t modulus) {
      auto const meant = element + modulus;
      return meant >= modulus / 2 && meant < stored.span();
    };
    if (explained(reach_of_32_bits))
      return fmt::format("an index computed in 32 bits with a sign: element {} of {} was meant, element {} taken",
                         element + reach_of_32_bits, operand_names[operand], element);
    if (explained(reach_of_32_bits / bytes))
      return fmt::format("an offset in bytes computed in 32 bits with a sign: byte {} of {} was meant, byte {} taken",
                         at + reach_of_32_bits, operand_names[operand], at);
    return {};
  }

  /// A C that is what such an index leads to.
  static std::string explain_numbers(test_case const& t, operands<T> const& data, std::vector<T> const& got) {
    std::array const stored{storage_a(t), storage_b(t), storage_c(t)};
    for (auto const& w : {wrap{"an index", reach_of_32_bits},
                          wrap{"an offset in bytes", reach_of_32_bits / static_cast<std::int64_t>(sizeof(T))}})
      for (std::size_t operand = 0; operand < 3; ++operand) {
        if (stored[operand].span() <= w.modulus) continue;
        if (operand < 2 ? !reads_wrapped(t, data, got, operand, w.modulus) : !writes_wrapped(t, data, got, w.modulus))
          continue;
        return fmt::format("{} computed in 32 bits: of {}, element x - {} is {} instead of element x", w.text,
                           operand_names[operand], w.modulus, operand < 2 ? "read" : "written");
      }
    return {};
  }

  static std::int64_t index_in(storage const& s, std::int64_t row, std::int64_t col) {
    return s.by_rows ? row * s.ld + col : col * s.ld + row;
  }

  /// What memory holds at an index of a stored operand: an element, or 0 in a gap far from any row, or NaN near one.
  static T value_at(storage const& s, std::vector<T> const& packed, std::int64_t index) {
    auto const line = index / s.ld, along = index % s.ld;
    if (along < s.inner())
      return packed[static_cast<std::size_t>(s.by_rows ? line * s.cols + along : along * s.cols + line)];
    constexpr std::int64_t page = 4096 / sizeof(T);
    return along < s.inner() + page || along >= s.ld - page ? std::numeric_limits<T>::quiet_NaN() : T{0};
  }

  static bool reads_wrapped(test_case const& t, operands<T> const& data, std::vector<T> const& got, std::size_t operand,
                            std::int64_t modulus) {
    auto const a = storage_a(t), b = storage_b(t);
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < t.k; ++q) {
          auto const at_a = index_in(a, i, q), at_b = index_in(b, q, j);
          sum += static_cast<double>(value_at(a, data.a, operand == 0 ? at_a % modulus : at_a)) *
                 static_cast<double>(value_at(b, data.b, operand == 1 ? at_b % modulus : at_b));
        }
        if (!agrees(t, data, got, i, j, sum)) return false;
      }
    return true;
  }

  /// Elements that such an index does not reach are as they were, and all others right.
  static bool writes_wrapped(test_case const& t, operands<T> const& data, std::vector<T> const& got,
                             std::int64_t modulus) {
    auto const c = storage_c(t);
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        auto const at = static_cast<std::size_t>(i * t.n + j);
        if (index_in(c, i, j) >= modulus) {
          if (t.beta == 0 ? std::bit_cast<typename nan_bits<T>::word>(got[at]) != nan_bits<T>::poison
                          : got[at] != data.c[at])
            return false;
          continue;
        }
        double sum = 0;
        for (std::int64_t q = 0; q < t.k; ++q)
          sum += static_cast<double>(data.a[static_cast<std::size_t>(i * t.k + q)]) *
                 static_cast<double>(data.b[static_cast<std::size_t>(q * t.n + j)]);
        if (!agrees(t, data, got, i, j, sum)) return false;
      }
    return true;
  }

  /// Integers, so that equality is not too much to ask.
  static bool agrees(test_case const& t, operands<T> const& data, std::vector<T> const& got, std::int64_t i,
                     std::int64_t j, double sum) {
    auto const at = static_cast<std::size_t>(i * t.n + j);
    double const wanted = t.alpha * sum + (t.beta == 0 ? 0 : t.beta * static_cast<double>(data.c[at]));
    return std::isnan(wanted) ? std::isnan(got[at]) : static_cast<double>(got[at]) == wanted;
  }

  context<T>& x_;
  std::uint64_t count_ = 0;
  std::size_t turn_ = 0;  // of the scalars
  std::int64_t far_ = 0;
  std::string why_not_far_;
  std::array<std::int64_t, 3> longest_{};
  double largest_ = 0;
};

}  // namespace

template <element T>
void climb_scale(context<T>& x) {
  scale_rung<T>(x).climb();
}

template void climb_scale<float>(context<float>&);
template void climb_scale<double>(context<double>&);

}  // namespace tandem::harness
