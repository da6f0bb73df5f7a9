// How products of host operands are cut: every element once, k in order, panels there when they are used, memory kept.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/host_tiles.hpp"

namespace gpu = tandem::gpu;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

tandem::problem product(std::int64_t m, std::int64_t n, std::int64_t k, int transposes = 0, double beta = 0,
                        tandem::dtype type = tandem::dtype::f32) {
  tandem::problem p;
  p.dtype = type;
  p.m = m, p.n = n, p.k = k, p.beta = beta;
  p.trans_a = (transposes & 1) != 0, p.trans_b = (transposes & 2) != 0;
  return p;
}

std::string describe(tandem::problem const& p, gpu::host_tiles const& t) {
  return fmt::format("m {} n {} k {} trans {}{} in tiles {} x {} x {}, slots {} {} {}, {} bytes", p.m, p.n, p.k,
                     p.trans_a, p.trans_b, t.m, t.n, t.k, t.a.slots, t.b.slots, t.c.slots, t.bytes());
}

bool in_slot(gpu::panel_slots const& slots, tandem::dtype type, std::int64_t rows, std::int64_t cols) {
  auto const ld = gpu::panel_ld(rows, cols, type);
  return rows <= slots.rows && cols <= slots.cols && ld >= cols &&
         ((rows - 1) * ld + cols) * static_cast<std::int64_t>(tandem::size_of(type)) <= slots.slot_bytes;
}

struct copies {
  std::int64_t steps = 0, a = 0, b = 0;  // panels that were loaded
};

// Walks a cut as the device would, and counts what is wrong with it.
int defects(tandem::problem const& p, gpu::host_tiles const& t, copies& counted) {
  using place = std::pair<std::int64_t, std::int64_t>;
  std::vector<place> a(t.a.slots, {-1, -1}), b(t.b.slots, {-1, -1});
  std::map<place, std::int64_t> reached;  // of k, by tile
  std::map<place, place> sizes;
  int wrong = 0;
  gpu::host_walk walk(t, p);
  gpu::host_step before;
  while (auto const step = walk.next()) {
    bool const is_first = counted.steps++ == 0;
    place const tile{step->m.begin, step->n.begin};
    wrong += step->slot_a >= t.a.slots || step->slot_b >= t.b.slots || step->slot_c >= t.c.slots;
    if (wrong != 0) return wrong;
    // What the step before uses stays.
    wrong += !is_first && step->load_a && step->slot_a == before.slot_a;
    wrong += !is_first && step->load_b && step->slot_b == before.slot_b;
    wrong += !is_first && step->first_of_k && step->slot_c == before.slot_c;
    wrong += !is_first && !step->first_of_k &&
             (step->slot_c != before.slot_c || tile != place{before.m.begin, before.n.begin});
    if (step->load_a) a[step->slot_a] = {step->m.begin, step->k.begin}, ++counted.a;
    if (step->load_b) b[step->slot_b] = {step->k.begin, step->n.begin}, ++counted.b;
    wrong += a[step->slot_a] != place{step->m.begin, step->k.begin};
    wrong += b[step->slot_b] != place{step->k.begin, step->n.begin};
    wrong += !in_slot(t.a, p.dtype, p.trans_a ? step->k.size : step->m.size, p.trans_a ? step->m.size : step->k.size);
    wrong += !in_slot(t.b, p.dtype, p.trans_b ? step->n.size : step->k.size, p.trans_b ? step->k.size : step->n.size);
    wrong += !in_slot(t.c, p.dtype, step->m.size, step->n.size);
    wrong += step->first_of_k != (step->k.begin == 0) || step->last_of_k != (step->k.begin + step->k.size == p.k);
    wrong += step->k.size < 1 || step->k.begin != reached[tile];
    reached[tile] += step->k.size;
    sizes[tile] = {step->m.size, step->n.size};
    before = *step;
  }
  // The tiles are a grid that covers C once.
  std::int64_t elements = 0;
  for (auto const& [tile, size] : sizes) {
    elements += size.first * size.second;
    wrong += tile.first % t.m != 0 || tile.second % t.n != 0 || size.first > t.m || size.second > t.n;
    wrong += tile.first + size.first > p.m || tile.second + size.second > p.n || reached[tile] != p.k;
  }
  return wrong + (elements != p.m * p.n);
}

}  // namespace

TEST_SUITE_BEGIN("gpu host tiles");

TEST_CASE("every element of C is made once, from all of k in order, of panels that are there, in the memory allowed") {
  std::int64_t tried = 0;
  for (std::int64_t const m : {1, 127, 300, 1000, 4097})
    for (std::int64_t const n : {1, 130, 2049})
      for (std::int64_t const k : {1, 129, 700, 5000})
        for (std::int64_t const memory : {900'000L, 2'500'000L, 20'000'000L, 1L << 33})
          for (int transposes = 0; transposes < 4; ++transposes)
            for (auto const type : {tandem::dtype::f32, tandem::dtype::f64}) {
              auto const p = product(m, n, k, transposes, transposes % 2, type);
              auto const t = gpu::cut_host_product(p, memory);
              copies counted;
              auto const wrong = defects(p, t, counted);
              if (wrong != 0) CAPTURE(describe(p, t));
              CHECK(wrong == 0);
              CHECK(t.bytes() <= memory);
              ++tried;
            }
  CHECK(tried == 5 * 3 * 4 * 4 * 4 * 2);
}

TEST_CASE("a small product is one tile, and a large one that fits copies each panel once") {
  auto const whole = [](tandem::problem const& p, gpu::host_tiles const& t) {
    return t.m == p.m && t.n == p.n && t.k == p.k;
  };
  auto const small = product(2048, 2048, 2048, 0, 1);
  CHECK(whole(small, gpu::cut_host_product(small, 1 << 30)));
  auto const flat = product(8'388'611, 1, 1);
  CHECK(whole(flat, gpu::cut_host_product(flat, 1 << 30)));
  for (auto const& p : {product(8192, 8192, 8192), product(1'000'000, 100, 100), product(100, 1'000'000, 300)}) {
    auto const t = gpu::cut_host_product(p, std::int64_t{100} << 30);
    copies counted;
    CHECK(defects(p, t, counted) == 0);
    CHECK(t.k == p.k);
    CHECK(counted.steps > 3);
    CHECK(counted.steps < 200);
    auto const panels = [](std::int64_t size, std::int64_t edge) { return (size + edge - 1) / edge; };
    CHECK(counted.a == panels(p.m, t.m));
    CHECK(counted.b == panels(p.n, t.n));
  }
}

TEST_CASE("with less memory than the operands take one of them still is copied once, then neither, then k is cut") {
  auto const p = product(16384, 8192, 4096);  // A 256 MiB, B 128, C 512
  auto const loads = [&](std::int64_t memory) {
    auto const t = gpu::cut_host_product(p, memory);
    copies counted;
    CHECK(defects(p, t, counted) == 0);
    CHECK(t.bytes() <= memory);
    // In whole operands.
    return std::tuple(static_cast<double>(counted.a * t.m) / 16384 * static_cast<double>(t.k) / 4096,
                      static_cast<double>(counted.b * t.n) / 8192 * static_cast<double>(t.k) / 4096, t.k == p.k);
  };
  CHECK(loads(1000 * mib) == std::tuple(1, 1, true));
  CHECK(loads(300 * mib) == std::tuple(1, 1, true));  // A stays, B's panels pass, or the other way
  auto const [a, b, full_k] = loads(60 * mib);
  CHECK(std::max(a, b) > 1.5);
  CHECK(full_k);
  CHECK(std::get<2>(loads(10 * mib)));
  CHECK_FALSE(std::get<2>(loads(4 * mib)));
}

TEST_CASE("deep, wide, tall and enormous products are cut without overflow, and quickly") {
  constexpr std::int64_t huge = std::int64_t{1} << 30;
  for (auto const& p : {product(64, 64, huge), product(huge, 3, 200, 1), product(5, huge, 7, 3),
                        product(huge / 4, huge / 4, 1000, 2, 1, tandem::dtype::f64), product(huge, huge, 1),
                        product(1, 1, 2 * huge, 1, 1, tandem::dtype::f64)}) {
    for (std::int64_t const memory : {4 * mib, 1000 * mib, 120'000 * mib}) {
      auto const t = gpu::cut_host_product(p, memory);
      CAPTURE(describe(p, t));
      CHECK(t.bytes() <= memory);
      CHECK(t.bytes() > 0);
      CHECK(t.m <= p.m);
      CHECK(t.n <= p.n);
      CHECK(t.k <= p.k);
    }
  }
}

TEST_CASE("where the smallest tiles do not fit the error has the values") {
  auto const p = product(1000, 1000, 1000);
  try {
    gpu::cut_host_product(p, 300'000);
    FAIL("tiles in too little memory");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::out_of_memory);
    CHECK(std::string(e.what()) ==
          "host views of m 1000, n 1000, k 1000: 300000 bytes of device memory may be used, but the smallest tiles, "
          "128 x 128 x 128, take 393216");
  }
  CHECK(gpu::cut_host_product(p, 393'216).bytes() == 393'216);
  CHECK_THROWS_AS(gpu::cut_host_product(p, 393'215), tandem::error);
  CHECK_THROWS_AS(gpu::cut_host_product(product(1, 1, 1), 1535), tandem::error);
  CHECK(gpu::cut_host_product(product(1, 1, 1), 1536).bytes() == 1536);
}

TEST_CASE("lines of panels begin at multiples of 16 bytes, except short ones and where a texture would not hold them") {
  CHECK(gpu::panel_ld(10, 64, tandem::dtype::f32) == 64);
  CHECK(gpu::panel_ld(10, 65, tandem::dtype::f32) == 68);
  CHECK(gpu::panel_ld(10, 65, tandem::dtype::f64) == 66);
  CHECK(gpu::panel_ld(10, 63, tandem::dtype::f32) == 63);
  CHECK(gpu::panel_ld(1 << 20, 127, tandem::dtype::f32) == 128);
  CHECK(gpu::panel_ld((1 << 20) + 1, 127, tandem::dtype::f32) == 127);
}

TEST_CASE("the limit is a number of bytes, or an error with the text") {
  CHECK_FALSE(gpu::parse_memory_limit(nullptr).has_value());
  CHECK(gpu::parse_memory_limit("1") == 1);
  CHECK(gpu::parse_memory_limit("140000000000") == 140'000'000'000);
  for (char const* text : {"", "0", "-5", "4G", " 4", "4 ", "1e9", "99999999999999999999"}) {
    CAPTURE(text);
    try {
      gpu::parse_memory_limit(text);
      FAIL("a limit");
    } catch (tandem::error const& e) {
      CHECK(e.code() == tandem::errc::unsupported);
      CHECK(std::strstr(e.what(), ('"' + std::string(text) + '"').c_str()) != nullptr);
    }
  }
}

TEST_SUITE_END();
