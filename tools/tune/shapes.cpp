// Seeds are fixed: what was measured on two machines can be compared shape by shape.
#include "tools/tune/shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <tandem/harness/shapes.hpp>

namespace tandem::tune {
namespace {

constexpr double most_flop = 3e11, most_flop_of_square = 1.2e12;
constexpr double most_bytes = 2e9;

class maker {
 public:
  maker(dtype type, std::string set, std::uint64_t seed) : type_(type), set_(std::move(set)), random_(seed) {}

  std::int64_t even(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  /// Every magnitude as likely as any other.
  std::int64_t any(std::int64_t least, std::int64_t most) {
    std::uniform_real_distribution<double> magnitude(std::log(static_cast<double>(least)),
                                                     std::log(static_cast<double>(most) + 1));
    return std::min(most, static_cast<std::int64_t>(std::exp(magnitude(random_))));
  }

  /// With random transposes and places; false: too large, left out.
  bool add(std::int64_t m, std::int64_t n, std::int64_t k) { return push(m, n, k, true, most_flop); }
  /// Not transposed, no gaps.
  bool add_plain(std::int64_t m, std::int64_t n, std::int64_t k) { return push(m, n, k, false, most_flop_of_square); }

  std::vector<shape> shapes;

 private:
  /// The width in three of five, a multiple of 16 bytes in one, anything a little more in one.
  std::int64_t leading(std::int64_t width) {
    auto const kind = even(0, 4);
    if (kind < 3) return width;
    auto const vector = static_cast<std::int64_t>(16 / size_of(type_));
    return kind == 3 ? (width + vector - 1) / vector * vector : width + even(1, 7);
  }
  int offset() { return even(0, 6) == 0 ? static_cast<int>(even(1, 3)) : 0; }

  bool push(std::int64_t m, std::int64_t n, std::int64_t k, bool vary, double most) {
    auto const at = [](std::int64_t x) { return static_cast<double>(x); };
    if (2 * at(m) * at(n) * at(k) > most) return false;
    if ((at(m) * at(k) + at(k) * at(n) + at(m) * at(n)) * static_cast<double>(size_of(type_)) > most_bytes)
      return false;
    shape s;
    s.set = set_;
    s.p.dtype = type_;
    s.p.memory = memory::device;
    s.p.m = m, s.p.n = n, s.p.k = k;
    if (vary) s.p.trans_a = even(0, 1) == 1, s.p.trans_b = even(0, 1) == 1;
    s.p.lda = s.p.trans_a ? m : k, s.p.ldb = s.p.trans_b ? k : n, s.p.ldc = n;
    if (vary) {
      s.p.lda = leading(s.p.lda), s.p.ldb = leading(s.p.ldb), s.p.ldc = leading(s.p.ldc);
      s.offsets = {offset(), offset(), offset()};
    }
    shapes.push_back(std::move(s));
    return true;
  }

  dtype type_;
  std::string set_;
  std::mt19937_64 random_;
};

template <class Add>
void repeat(int count, Add const& add) {
  while (count > 0) count -= add() ? 1 : 0;
}

}  // namespace

problem place(shape const& s, void const* a, void const* b, void* c) {
  auto const size = static_cast<std::ptrdiff_t>(size_of(s.p.dtype));
  auto p = s.p;
  p.a = static_cast<char const*>(a) + s.offsets.a * size;
  p.b = static_cast<char const*>(b) + s.offsets.b * size;
  p.c = static_cast<char*>(c) + s.offsets.c * size;
  return p;
}

problem place(shape const& s) {
  auto* const aligned = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
  return place(s, aligned, aligned, aligned);
}

extents extents_of(shape const& s) {
  auto const& p = s.p;
  auto const end = [](std::int64_t lines, std::int64_t ld, int offset) { return lines * ld + offset; };
  return {end(p.trans_a ? p.k : p.m, p.lda, s.offsets.a), end(p.trans_b ? p.n : p.k, p.ldb, s.offsets.b),
          end(p.m, p.ldc, s.offsets.c)};
}

std::vector<shape> calibration_shapes(dtype type) {
  maker make(type, "calibration", 20240601);
  for (std::int64_t const size : {64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 7168, 8192})
    make.add_plain(size, size, size);
  for (std::int64_t const power : {256, 512, 1024, 2048, 4096, 8192})
    for (std::int64_t const size : {power - 1, power + 1}) make.add_plain(size, size, size);
  constexpr std::array<std::int64_t, 12> few{1, 1, 1, 1, 2, 4, 7, 8, 12, 16, 17, 32};
  for (auto const thin : few) {
    repeat(1, [&] { return make.add(thin, make.any(64, 16384), make.any(64, 16384)); });
    repeat(1, [&] { return make.add(make.any(64, 16384), thin, make.any(64, 16384)); });
  }
  for (auto const thin : few)  // k
    repeat(2, [&] { return make.add(make.any(128, 16384), make.any(128, 16384), thin); });
  repeat(12, [&] { return make.add(make.any(8, 256), make.any(8, 256), make.any(8192, 500'000)); });
  repeat(4, [&] { return make.add(make.any(20'000, 200'000), make.any(8, 64), make.any(8, 64)); });
  repeat(2, [&] { return make.add(make.any(8, 64), make.any(20'000, 200'000), make.any(8, 64)); });
  repeat(220, [&] { return make.add(make.any(1, 8192), make.any(1, 8192), make.any(1, 8192)); });
  repeat(180, [&] { return make.add(make.even(1, 4096), make.even(1, 4096), make.even(1, 4096)); });
  // Large and thin: so many bytes that nothing else counts.
  for (std::int64_t const thin : {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48}) {
    repeat(2, [&] { return make.add(make.any(2000, 12'000), make.any(2000, 12'000), thin); });
    repeat(1, [&] { return make.add(make.any(20'000, 1'000'000), make.any(2, 64), thin); });
    repeat(1, [&] { return make.add(make.any(2, 64), make.any(20'000, 1'000'000), thin); });
  }
  repeat(8, [&] { return make.add(1, make.any(1000, 60'000), make.any(1000, 20'000)); });
  repeat(8, [&] { return make.add(make.any(1000, 60'000), 1, make.any(1000, 20'000)); });
  return std::move(make.shapes);
}

std::vector<shape> held_out_shapes(dtype type, int count) {
  maker make(type, "held_out", 777);
  for (int i = 0; i < count; ++i)
    repeat(1, [&] {
      auto const edge = [&] { return i % 2 == 0 ? make.any(1, 8192) : make.even(1, 4096); };
      std::int64_t const m = edge(), n = edge(), k = edge();
      return make.add(m, n, k);
    });
  return std::move(make.shapes);
}

std::vector<shape> read_shapes(std::vector<std::string> const& files, dtype type) {
  std::vector<shape> all;
  for (auto const& file : files)
    for (auto const& from : harness::read_shapes(file)) {
      if (from.dtype != type) continue;
      shape s{.set = "file"};
      s.p = {.dtype = type, .m = from.m, .n = from.n, .k = from.k, .trans_a = from.trans_a, .trans_b = from.trans_b};
      s.p.memory = memory::device;
      s.p.lda = from.trans_a ? from.m : from.k, s.p.ldb = from.trans_b ? from.k : from.n, s.p.ldc = from.n;
      all.push_back(std::move(s));
    }
  return all;
}

}  // namespace tandem::tune
