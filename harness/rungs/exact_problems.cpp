// The problems of the exact rung: a covering array of storage, scalars and sizes; every size; tile edges; calls that
// follow one another at the same addresses; thread counts; a few large ones.
#include "harness/rungs/exact_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include <tandem/harness/cases.hpp>

#include "harness/fill.hpp"
#include "harness/rungs/exact_choices.hpp"

namespace tandem::harness {
namespace {

using namespace exact;

/// How much of each part a level has.
struct amounts {
  int strength = 2;                 // of the covering arrays
  std::int64_t every_size_to = 70;  // in each dimension
  std::int64_t small_sizes_to = 0;  // with each of the four transposes, this often:
  int small_passes = 0;
  std::int64_t squares_to = 40;
  std::int64_t turned_squares_to = 16;  // with each of the four transposes
  int drawn_squares = 0;                // larger ones
  double size_flops = 1e6;              // of a problem made for a size
  double edge_flops = 3e5;              // of a problem made for a tile edge
  double first_cut_flops = 1e7;         // of the sizes at which a tiling first cuts
  double thin_flops = 6e5;              // of one dimension long
  std::int64_t longest = 4097;
  std::int64_t longest_line = 5003;  // of a problem one of whose sizes is 1
  int line_passes = 1;
  int sequences = 5;   // of each kind
  int fresh = 1;       // processes whose first calls are looked at
  int addresses = 32;  // problems with the address code
  int thread_passes = 1;
  int shared_passes = 6;  // of problems whose B is A
  std::vector<sizes> large = {{130, 257, 70}};
  std::vector<sizes> aligned_large = {{256, 128, 24}};
  int drawn_large = 1;
  double drawn_flops = 2e7;  // of each of these
};

amounts amounts_of(level l) {
  amounts out;
  if (l == level::quick) return out;
  out.strength = 3;
  out.every_size_to = 272;
  out.small_sizes_to = 70;
  out.small_passes = 1;
  out.squares_to = 100;
  out.turned_squares_to = 50;
  out.drawn_squares = 16;
  out.size_flops = 8e6;
  out.edge_flops = 5e6;
  out.first_cut_flops = 1e8;
  out.thin_flops = 2e6;
  out.longest_line = 100003;
  out.line_passes = 2;
  out.sequences = 40;
  out.fresh = 3;
  out.addresses = 256;
  out.thread_passes = 2;
  out.shared_passes = 40;
  out.large = {{1031, 1057, 5}, {1033, 6, 1049}, {7, 1061, 1027}, {257, 385, 513}, {517, 525, 530}};
  out.aligned_large = {{256, 384, 128}, {512, 1024, 16}, {512, 512, 512}};
  out.drawn_large = 8;
  out.drawn_flops = 1.5e8;
  if (l == level::standard) return out;
  out.strength = 4;
  out.every_size_to = 1030;
  out.small_sizes_to = 140;
  out.small_passes = 3;
  out.squares_to = 200;
  out.turned_squares_to = 130;
  out.drawn_squares = 32;
  out.size_flops = 2e7;
  out.edge_flops = 2e7;
  out.first_cut_flops = 5e8;
  out.thin_flops = 5e6;
  out.longest = 16385;
  out.longest_line = 1000003;
  out.line_passes = 8;
  out.sequences = 400;
  out.fresh = 8;
  out.addresses = 4096;
  out.thread_passes = 10;
  out.shared_passes = 400;
  out.large.insert(out.large.end(), {{2053, 2063, 9},
                                     {2069, 8, 2081},
                                     {10, 2083, 2087},
                                     {769, 641, 1025},
                                     {300, 2100, 400},
                                     {2101, 301, 402},
                                     {403, 303, 2111}});
  out.drawn_large = 64;
  out.drawn_flops = 4e8;
  out.aligned_large.insert(out.aligned_large.end(), {{640, 768, 512}, {1024, 512, 1024}, {128, 2048, 256}});
  return out;
}

class maker : exact::choices {
 public:
  maker(candidate const& kernel, level l, std::uint64_t seed, std::span<std::int64_t const> k_blocks)
      : choices(kernel, seed, k_blocks), kernel_(kernel), amounts_(amounts_of(l)), k_blocks_(k_blocks) {}

  exact_problems make() {
    add_declared_edges();
    auto const small = out_.sequences.size();
    add_covering_array(false);
    add_covering_array(true);
    add_every_size();
    add_squares();
    add_long_sizes();
    add_k_blocks();
    add_addresses();
    for (int i = 0; i < amounts_.sequences; ++i) {
      add_same_addresses();
      add_alternating_sizes();
      add_after_nan();
    }
    for (int i = 0; i < amounts_.fresh; ++i) add_first_calls();
    if (kernel_.threaded) {
      for (int i = 0; i < amounts_.thread_passes; ++i) add_threads();
      if (amounts_.thread_passes > 1) add_many_threads(), add_threads_of_large();
    }
    for (int i = 0; i < amounts_.shared_passes; ++i) add_b_is_a();
    if (amounts_.thread_passes > 1) add_large_b_is_a();
    for (int i = 0; i < amounts_.line_passes; ++i) add_lines();
    // In no order, so that every kind of failure shows early and calls of all kinds follow one another.
    shuffle_from(small);
    for (auto const& s : amounts_.large) add_large(s, false);
    for (auto const& s : amounts_.aligned_large) add_large(s, true);
    for (int i = 0; i < amounts_.drawn_large; ++i) add_drawn_large(i);
    return std::move(out_);
  }

 private:
  bool runs(test_case const& t) const {
    return flops(t) <= kernel_.flop_budget && outside(kernel_.limits, t).empty() &&
           (t.fill != fill::integer || limits_of(t.dtype, t.k, t.alpha, t.beta).ab > 0);
  }

  void add_alone(test_case t) {
    if (runs(t)) out_.sequences.push_back({false, {std::move(t)}});
  }

  void add(std::vector<test_case> tests, bool fresh = false) {
    std::erase_if(tests, [this](test_case const& t) { return !runs(t); });
    if (!tests.empty()) out_.sequences.push_back({fresh, std::move(tests)});
  }

  void shuffle_from(std::size_t first) {
    auto& all = out_.sequences;
    for (std::size_t i = all.size(); i > first + 1; --i) std::swap(all[i - 1], all[first + source().below(i - first)]);
  }

  /// What a check of these tilings has anyway: sizes 0 to 3, transposes x layouts, alphas x betas, every declared edge.
  void add_declared_edges() {
    case_options options;
    options.seed = source().next();
    options.dtypes = {kernel_.dtype};
    options.fill = fill::integer;
    options.edge_flops = std::min(amounts_.edge_flops, kernel_.flop_budget);
    for (auto& t : make_cases({}, {&row(), 1}, options))
      if (flops(t) <= amounts_.first_cut_flops) add_alone(within(kernel_.limits, std::move(t)));
  }

  /// Aligned: of all but leading dimensions and offsets, in which the rows of the other array are aligned hardly ever.
  void add_covering_array(bool aligned) {
    auto levels = levels_of_factor;
    if (aligned)
      for (auto const f : {ld_a, ld_b, ld_c, offset_a, offset_b, offset_c}) levels[f] = 1;
    auto const rows = covering_array(levels, amounts_.strength, source().next());
    for (auto row : rows) {
      if (aligned) align(row);
      sizes const s{size_of_class(row[size_m], 0), size_of_class(row[size_n], 1), size_of_class(row[size_k], 2)};
      add_alone(chosen(row, s, aligned ? "covering array, aligned" : "covering array"));
    }
    if (!aligned)
      out_.described =
          fmt::format("any {} of {} factors, {} rows", amounts_.strength, std::size_t{factors}, rows.size());
  }

  void add_every_size() {
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::int64_t size = 1; size <= amounts_.every_size_to; ++size)
        add_alone(drawn(with_neighbours(d, size, amounts_.size_flops), "every size"));
      for (int pass = 0; pass < 4 * amounts_.small_passes; ++pass)
        for (std::int64_t size = 1; size <= amounts_.small_sizes_to; ++size) {
          auto const trans = static_cast<int>((pass + size) % 4);
          add_alone(with_transposes(trans, with_neighbours(d, size, amounts_.thin_flops), "every size x transposes"));
        }
    }
  }

  /// Squares, the first with each of the four transposes one after the other: the one kind of problem for which the
  /// sizes do not tell the transposes.
  void add_squares() {
    for (std::int64_t size = 2; size <= amounts_.squares_to; ++size) {
      std::vector<test_case> tests;
      int const first = static_cast<int>(source().below(4));
      for (int i = 0; i < (size <= amounts_.turned_squares_to ? 4 : 1); ++i)
        tests.push_back(with_transposes((first + i) % 4, {size, size, size}, "square"));
      add(std::move(tests));
    }
    // Larger ones, as many by each of the four transposes.
    for (int i = 0; i < amounts_.drawn_squares; ++i) {
      auto const size = i < amounts_.drawn_squares / 2 ? between(130, 330) : between(330, 800);
      add_alone(with_transposes(i % 4, {size, size, size}, "square, drawn"));
    }
  }

  /// Once, or with each of the four transposes where that is cheap.
  void add_large(sizes const& s, bool aligned) {
    constexpr double cheap = 3e7;
    int const first = static_cast<int>(source().below(4));
    for (int i = 0; i < 4; ++i) {
      add_alone(with_transposes((first + i) % 4, s, "large", aligned));
      if (flops_of(s) > cheap) return;
    }
  }

  /// Past several blocks of usual kernels in each dimension, by whatever that leaves over of them: every other one in
  /// whole multiples of 32 but for one dimension.
  void add_drawn_large(int i) {
    auto const edge = static_cast<std::int64_t>(std::cbrt(amounts_.drawn_flops / 2));
    sizes s{};
    for (auto& size : s) size = between(edge * 2 / 3, edge * 4 / 3);
    if (i % 2 == 1)
      for (std::size_t d = 0; d < 3; ++d)
        if (d != static_cast<std::size_t>(i / 2 % 3)) s[d] = s[d] / 32 * 32;
    add_alone(with_transposes(i % 4, s, "large, drawn"));
  }

  /// 2^p - 1, 2^p, 2^p + 1 and primes in one dimension, the others thin.
  void add_long_sizes() {
    std::vector<std::int64_t> all{83, 97, 191, 251, 383, 509, 769, 1021, 1531, 2039, 3067, 4093};
    for (std::int64_t power = 32; power <= amounts_.longest; power *= 2)
      all.insert(all.end(), {power - 1, power, power + 1});
    for (auto const size : all)
      for (std::size_t d = 0; d < 3; ++d) add_alone(drawn(with_neighbours(d, size, amounts_.thin_flops), "long"));
  }

  /// One size long and another 1: matrices and vectors, dot and outer products, for which libraries have paths of their
  /// own, and other limits.
  void add_lines() {
    for (std::int64_t const length :
         {255,  511,   1000,  1023,  1024,  1025,  2049,  4095,   4096,   4097,   5003,   8191,   8192,
          8193, 10007, 16384, 16387, 32771, 65536, 65537, 100003, 131075, 262147, 524309, 1000003}) {
      if (length > amounts_.longest_line) continue;
      auto const room = static_cast<std::int64_t>(amounts_.thin_flops / 2 / static_cast<double>(length));
      for (std::size_t long_one = 0; long_one < 3; ++long_one)
        for (std::size_t single = 0; single < 3; ++single) {
          if (single == long_one) continue;
          sizes s{};
          s[long_one] = length, s[single] = 1;
          s[3 - long_one - single] = between(1, std::clamp<std::int64_t>(room, 1, 700));
          add_alone(drawn(s, "line"));
        }
    }
  }

  void add_k_blocks() {
    for (auto const block : k_blocks_)
      for (std::int64_t times = 1; times <= 3; ++times)
        for (std::int64_t step = -1; step <= 1; ++step)
          if (times * block + step > 0)
            add_alone(drawn(with_neighbours(2, times * block + step, amounts_.edge_flops), "K-block"));
  }

  void add_addresses() {
    for (int i = 0; i < amounts_.addresses; ++i) {
      auto t = drawn(usual_sizes(), "address code");
      t.fill = fill::address;
      add_alone(std::move(t));
    }
  }

  /// t with other data in one operand (0: A, 1: B, 2: C): all of it, or one element.
  test_case with_other(test_case t, unsigned operand, bool one_element) {
    std::uint64_t const change = one_element ? 0x80 : static_cast<std::uint64_t>(between(1, 127));
    t.seed ^= change << (40 + 8 * operand);
    return t;
  }

  /// Calls that differ from the one before in one thing each, where everything else is the same, addresses too: what is
  /// kept of an earlier call for such a sign shows.
  void add_same_addresses() {
    auto s = usual_sizes();
    if (once_in(4)) s[1] = s[2] = s[0];
    auto t = at_start(s, "same addresses");
    std::vector<test_case> tests{t};
    auto const step = [&](auto const& change) {
      change(t);
      t = fitted(std::move(t));
      tests.push_back(t);
    };
    std::vector<std::function<void(test_case&)>> changes{
        [this](test_case& x) { x = with_other(x, 0, false); },
        [this](test_case& x) { x = with_other(x, 1, false); },
        [this](test_case& x) { x = with_other(x, 2, false); },
        [this](test_case& x) { x = with_other(x, 0, true); },
        [this](test_case& x) { x = with_other(x, 1, true); },
        [this](test_case& x) { x = with_other(x, 2, true); },
        [this](test_case& x) { x.seed = seed_for(false, false, false); },
        [](test_case& x) { x.alpha = -x.alpha; },
        [](test_case& x) { x.beta = x.beta == 0 ? 1 : 0; },
        [this](test_case& x) { x.trans_a = !x.trans_a, retighten(x); },
        [this](test_case& x) { x.trans_b = !x.trans_b, retighten(x); },
        [](test_case& x) { ++x.lda; },
        [](test_case& x) { ++x.ldb; },
        [](test_case& x) { ++x.ldc; },
        [](test_case& x) { x.k = std::max<std::int64_t>(1, x.k - 1); },
        [](test_case& x) { x.m = std::max<std::int64_t>(1, x.m - 1); },
        [](test_case& x) { x.n = std::max<std::int64_t>(1, x.n - 1); },
        [this](test_case& x) { std::swap(x.m, x.n), retighten(x); },
        // What sums and shifts of sizes, or their lower bits, do not tell from the sizes before.
        [this](test_case& x) { ++x.m, x.n = std::max<std::int64_t>(1, x.n - 1), retighten(x); },
        [this](test_case& x) { ++x.n, x.k = std::max<std::int64_t>(1, x.k - 1), retighten(x); },
        [this](test_case& x) { x.m += 256, retighten(x); },
        [this](test_case& x) { x.n += 256, retighten(x); },
        [this](test_case& x) { x.m ^= 1, x.n ^= 1, x.m += x.m == 0, x.n += x.n == 0, retighten(x); },
    };
    for (std::size_t i = changes.size(); i > 1; --i) std::swap(changes[i - 1], changes[source().below(i)]);
    for (auto const& change : changes) step(change);
    add(std::move(tests));
  }

  /// Small after large after small: what is left of the one in workspace of the other shows.
  void add_alternating_sizes() {
    std::vector<test_case> tests;
    for (int i = 0; i < 3; ++i) {
      tests.push_back(at_start(large_sizes(), "after a smaller one"));
      tests.push_back(at_start(usual_sizes(), "after a larger one"));
    }
    add(std::move(tests));
  }

  /// Ordinary problems after one that leaves NaN in every workspace.
  void add_after_nan() {
    for (int i = 0; i < 3; ++i) {
      auto poisonous = at_start(large_sizes(), "NaN");
      poisonous.fill = fill::nan_all;
      add({std::move(poisonous), at_start(usual_sizes(), "after NaN")});
    }
  }

  void add_first_calls() {
    add({at_start(usual_sizes(), "first call"), at_start(large_sizes(), "after the first call"),
         at_start(usual_sizes(), "after a larger one")},
        true);
  }

  /// Numbers of threads on sizes that they cannot share evenly, fewer rows or columns than threads among them.
  void add_threads() {
    constexpr std::array<int, 10> counts{2, 16, 3, 8, 1, 5, 6, 12, 4, 7};
    std::vector<sizes> shapes{{1, 67, 33},   {67, 1, 33},  {2, 131, 40},  {131, 3, 40}, {7, 45, 130},
                              {13, 17, 300}, {33, 65, 41}, {61, 129, 30}, {129, 61, 31}};
    if (amounts_.thread_passes > 1)
      shapes.insert(shapes.end(), {{301, 47, 29},
                                   {45, 307, 31},
                                   {5, 6, 2001},
                                   {129, 257, 65},
                                   {211, 199, 157},
                                   {1, 2003, 503},
                                   {2003, 1, 503},
                                   {8, 9, 8209}});
    for (auto const& s : shapes)
      for (auto const threads : counts) {
        auto t = drawn(s, fmt::format("{} threads", threads));
        t.threads = threads;
        add_alone(std::move(t));
      }
  }

  /// Several threads on products that are worth them to everybody.
  void add_threads_of_large() {
    for (sizes const& s : {sizes{401, 410, 420}, sizes{40, 37, 10007}})
      for (int const threads : {5, 6, 8, 12, 16}) {
        auto t = drawn(s, fmt::format("{} threads", threads));
        t.threads = threads;
        add_alone(std::move(t));
      }
  }

  /// More threads than a table of them may have room for; each costs, so on a few sizes only.
  void add_many_threads() {
    for (sizes const& s : {sizes{5, 6, 2001}, sizes{61, 129, 30}, sizes{301, 47, 29}, sizes{211, 199, 157}})
      for (int const threads : {24, 67, 131, 260}) {
        auto t = drawn(s, fmt::format("{} threads", threads));
        t.threads = threads;
        add_alone(std::move(t));
      }
  }

  /// A A, A A^T, A^T A and A^T A^T with one matrix in memory for both: of usual sizes, and squares at one address, of
  /// which a kernel may keep what it packed for the other operand or for the call before.
  void add_b_is_a() {
    std::vector<test_case> squares;
    auto const edge = usual_sizes()[0];
    int const first = static_cast<int>(source().below(4));
    for (int i = 0; i < 4; ++i) {
      int const trans = (first + i) % 4;
      auto s = once_in(4) ? large_sizes() : usual_sizes();
      s[1] = s[0];
      if (trans == 0 || trans == 3) s[2] = s[0];
      auto t = with_transposes(trans, s, "B is A");
      t.b_is_a = true;
      add_alone(fitted(std::move(t)));
      auto square = at_start({edge, edge, edge}, "B is A, a square");
      square.trans_a = trans % 2 != 0, square.trans_b = trans / 2 != 0;
      square.layout_a = square.layout_b = square.layout_c;
      square.lda = tight_lda(square), square.ldb = tight_ldb(square), square.ldc = tight_ldc(square);
      square.b_is_a = true;
      squares.push_back(fitted(std::move(square)));
    }
    add(std::move(squares));
  }

  /// A^T A and A A^T of a long sum, and of a square past what is kept for small ones.
  void add_large_b_is_a() {
    for (sizes const& s : {sizes{40, 40, 8209}, sizes{300, 300, 300}})
      for (int const trans : {1, 2})
        for (double const beta : {0.0, 2.0}) {
          auto t = with_transposes(trans, s, "B is A, large");
          t.b_is_a = true;
          t.beta = beta;
          add_alone(fitted(std::move(t)));
        }
  }

  candidate const& kernel_;
  amounts amounts_;
  std::span<std::int64_t const> k_blocks_;
  exact_problems out_;
};

}  // namespace

exact_problems make_exact_problems(candidate const& kernel, level how_many, std::uint64_t seed,
                                   std::span<std::int64_t const> k_blocks) {
  return maker(kernel, how_many, seed, k_blocks).make();
}

}  // namespace tandem::harness
