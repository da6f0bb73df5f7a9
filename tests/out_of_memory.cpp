// Where there is no more memory a call says so by its own error, and C is as it was.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <tandem/tandem.hpp>

namespace {

/// Which of the next allocations there is no memory for, the first in the lowest bit; all after the last as that.
std::atomic<std::uint64_t> refused = 0;
constexpr std::uint64_t none = 0, last = std::uint64_t{1} << 63;
constexpr std::uint64_t from(int allocation) { return ~std::uint64_t{0} << allocation; }

bool has_memory() {
  std::uint64_t const now = refused;
  refused = now >> 1 | (now & last);
  return (now & 1) == 0;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const p = has_memory() ? std::malloc(bytes) : nullptr;
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  auto const a = static_cast<std::size_t>(alignment);
  return has_memory() ? std::aligned_alloc(a, (bytes + a - 1) / a * a) : nullptr;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace tandem;

/// C = A B of ones while such allocations fail; whether the call failed.
bool fails_without(std::uint64_t allocations, int size) {
  CAPTURE(size);
  CAPTURE(allocations);
  auto const count = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<float> const a(count, 1), b(count, 1), before(count, 7), product(count, static_cast<float>(size));
  auto c = before;
  bool failed = false;
  errc code = errc::device;
  refused = allocations;
  try {
    gemm(matrix_view<float const>(a.data(), size, size, size), matrix_view<float const>(b.data(), size, size, size),
         matrix_view<float>(c.data(), size, size, size), {.backend = backend::cpu});
  } catch (error const& e) {
    failed = true, code = e.code();
  }
  refused = none;
  CHECK(c == (failed ? before : product));
  if (failed) CHECK(code == errc::out_of_memory);
  return failed;
}

TEST_CASE("with memory for some allocations a product is right, or an error with C as it was") {
  CHECK(fails_without(from(0), 5));  // the process's first call
  CHECK_FALSE(fails_without(none, 5));
  int errors = 0, products = 0;
  auto const look = [&](std::uint64_t allocations, int size) {
    ++(fails_without(allocations, size) ? errors : products);
  };
  for (int const size : {5, 70, 300, 600}) {
    for (int first = 0; first < 12; ++first) look(from(first), size);
    // What a message needs may fail as well, in whatever order.
    for (std::uint64_t some = 1; some < 1 << 8; ++some) look(some, size);
  }
  CHECK(errors > 0);
  CHECK(products > 0);
}

TEST_CASE("a plan that there is no memory for is an error") {
  int errors = 0, plans = 0;
  for (int const size : {5, 70, 300})
    for (std::uint64_t allocations = 0; allocations < 1 << 8; ++allocations) {
      CAPTURE(size);
      CAPTURE(allocations);
      float element = 0;  // which nobody reads
      bool failed = false;
      refused = allocations;
      try {
        gemm_plan<float> const plan({&element, size, size, size}, {&element, size, size, size},
                                    {&element, size, size, size});
      } catch (error const& e) {
        failed = e.code() == errc::out_of_memory;
      }
      refused = none;
      ++(failed ? errors : plans);
    }
  CHECK(errors > 0);
  CHECK(plans > 0);
}

TEST_CASE("a plan without memory for its workspace, in a thread that has none yet, is an error with C as it was") {
  int errors = 0;
  struct {
    std::int64_t m, n, k;
  } const sizes[] = {{300, 9, 100}, {9, 300, 100}, {60, 60, 60}, {40, 50, 8}, {400, 20, 30}};
  for (auto const& [m, n, k] : sizes)
    for (int const transposes : {0, 1, 2, 3}) {
      auto const count = [](std::int64_t rows, std::int64_t cols) { return static_cast<std::size_t>(rows * cols); };
      std::vector<float> const a(count(m, k), 1), b(count(k, n), 1), before(count(m, n), 7);
      auto c = before;
      bool const trans_a = transposes % 2 == 1, trans_b = transposes > 1;
      auto const by_columns = [](bool is) { return is ? layout::col_major : layout::row_major; };
      gemm_plan<float> const plan({a.data(), m, k, trans_a ? m : k, by_columns(trans_a)},
                                  {b.data(), k, n, trans_b ? k : n, by_columns(trans_b)}, {c.data(), m, n, n});
      errc code = errc::device;
      std::thread other([&] {
        refused = from(0);
        try {
          plan(a.data(), b.data(), c.data());
        } catch (error const& e) {
          code = e.code();
        }
        refused = none;
      });
      other.join();
      bool const failed = code == errc::out_of_memory;
      errors += failed;
      CHECK((failed || code == errc::device));
      CHECK(c == (failed ? before : std::vector<float>(before.size(), static_cast<float>(k))));
    }
  CHECK(errors > 0);
}

}  // namespace
