// Guarded operands: where they lie, what they hold, and what happens beyond them.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "harness/guard.hpp"

using namespace tandem::harness;

namespace {

/// Whether a child process that touches this byte is ended by a segmentation fault.
bool faults(std::byte* at, bool write) {
  pid_t const child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    auto volatile* const p = reinterpret_cast<unsigned char volatile*>(at);
    if (write) *p = 1;
    _exit(*p == 77 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

}  // namespace

TEST_SUITE_BEGIN("harness: guards");

TEST_CASE("a byte before or after a region cannot be touched, and its own can") {
  host_region const region(8192);
  CHECK(faults(region.data() - 1, false));
  CHECK(faults(region.data() + 8192, false));
  CHECK(faults(region.data() + 8192, true));
  CHECK_FALSE(faults(region.data(), true));
  CHECK_FALSE(faults(region.data() + 8191, true));
}

TEST_CASE("an operand keeps its offset from a 16-byte boundary and touches a page's end where the sizes fit") {
  for (std::int64_t offset = 0; offset < 4; ++offset)
    for (std::int64_t cols = 1; cols < 40; ++cols)
      for (bool const at_end : {false, true}) {
        storage const s{.rows = 7, .cols = cols, .ld = cols + 2, .offset = offset, .by_rows = true};
        auto const where = place_on_host(s, 4, at_end);
        REQUIRE(where.region % 4096 == 0);
        REQUIRE(where.begin % 16 == static_cast<std::size_t>(offset) * 4);
        REQUIRE(where.begin + where.bytes <= where.region);
        REQUIRE(where.bytes == static_cast<std::size_t>(6 * (cols + 2) + cols) * 4);
        if (at_end) REQUIRE(where.region - where.begin - where.bytes < 16);
        if (!at_end) REQUIRE(where.begin == static_cast<std::size_t>(offset) * 4);
        auto const on_device = place_on_device(s, 4);
        REQUIRE(on_device.begin == 256 + static_cast<std::size_t>(offset) * 4);
        REQUIRE(on_device.region == on_device.begin + on_device.bytes + 256);
      }
}

TEST_CASE("operands of both placements occur") {
  for (std::size_t operand = 0; operand < 3; ++operand) {
    int at_end = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) at_end += lies_at_end(seed, operand) ? 1 : 0;
    CHECK(at_end > 25);
    CHECK(at_end < 75);
  }
}

TEST_CASE_TEMPLATE("elements come back from an image in either order, around gaps of NaN", T, float, double) {
  std::vector<T> values;
  for (int i = 0; i < 15; ++i) values.push_back(static_cast<T>(i));
  for (bool const by_rows : {true, false}) {
    storage const s{.rows = 3, .cols = 5, .ld = 7, .offset = 1, .by_rows = by_rows};
    auto const where = place_on_host(s, sizeof(T), true);
    auto const image = make_image<T>(s, where, values, nan_bits<T>::gap_a, nan_bits<T>::poison);
    std::vector<T> back;
    read_elements<T>(image, s, where, back);
    CHECK(back == values);
    T at_1_2, gap;
    std::memcpy(&at_1_2, image.data() + where.begin + static_cast<std::size_t>(by_rows ? 7 + 2 : 2 * 7 + 1) * sizeof(T),
                sizeof(T));
    CHECK(at_1_2 == 7);
    std::memcpy(&gap, image.data() + where.begin + static_cast<std::size_t>(s.inner()) * sizeof(T), sizeof(T));
    CHECK(gap != gap);
    CHECK(find_damage<T>(image, image, s, where, "A", true).empty());
  }
}

TEST_CASE("damage is named by its place") {
  storage const s{.rows = 3, .cols = 5, .ld = 7, .offset = 1, .by_rows = true};
  auto const where = place_on_host(s, 4, false);
  std::vector<float> const values(15, 1.0F);
  auto const image = make_image<float>(s, where, values, nan_bits<float>::gap_a, nan_bits<float>::poison);
  auto const damage = [&](std::size_t byte, bool elements) {
    auto now = image;
    now[byte] ^= std::byte{1};
    return find_damage<float>(now, image, s, where, "A", elements);
  };
  CHECK(damage(where.begin - 1, true) == "byte 1 before the start of A overwritten");
  CHECK(damage(where.begin - 3, false) == "byte 3 before the start of A overwritten");
  CHECK(damage(where.begin + where.bytes, true) == "byte 1 past the end of A overwritten");
  CHECK(damage(where.begin + (7 + 3) * 4 + 2, true) == "A modified at (1, 3)");
  CHECK(damage(where.begin + (7 + 3) * 4 + 2, false).empty());
  CHECK(damage(where.begin + 6 * 4, false) == "gap of A written, 2 elements past the end of row 0");
}

TEST_CASE("an empty operand is all canaries") {
  storage const s{.rows = 0, .cols = 5, .ld = 7, .offset = 0, .by_rows = true};
  auto const where = place_on_host(s, 4, true);
  CHECK(where.bytes == 0);
  CHECK(where.region == 4096);
  auto image = make_image<float>(s, where, {}, nan_bits<float>::gap_a, nan_bits<float>::poison);
  auto now = image;
  CHECK(find_damage<float>(now, image, s, where, "C", false).empty());
  now[where.begin - 1] = std::byte{0};
  CHECK_FALSE(find_damage<float>(now, image, s, where, "C", false).empty());
}

TEST_SUITE_END();
