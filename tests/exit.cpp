// Products while a program ends: in the destructor of an object that is older than all of the library's, and of one
// that belongs to a thread. Nothing that they need may be destroyed before.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

#include <tandem/tandem.hpp>

namespace {

using namespace tandem;

/// Of a tiny product, which is known in the end, and of one for several threads.
template <class T>
bool are_products_right() {
  for (std::int64_t const size : {4, 300}) {
    auto const count = static_cast<std::size_t>(size * size);
    std::vector<T> const a(count, 1), b(count, 2);
    std::vector<T> c(count, 0);
    for (int times = size == 4 ? 64 : 1; times > 0; --times)
      gemm(matrix_view<T const>(a.data(), size, size, size), matrix_view<T const>(b.data(), size, size, size),
           matrix_view<T>(c.data(), size, size, size));
    if (c != std::vector<T>(count, static_cast<T>(2 * size))) return false;
  }
  return true;
}

/// Ends the process with 1 if a product is wrong when this is destroyed.
struct last_products {
  ~last_products() {
    if (are_products_right<float>() && are_products_right<double>()) return;
    std::fputs("a product was wrong while the program ended\n", stderr);
    _exit(1);
  }
};

last_products const of_process;

TEST_CASE("products are right in the destructors of a thread's objects") {
  std::thread([] {
    thread_local last_products const of_thread;
    static_cast<void>(&of_thread);  // made before what the library keeps for the thread, and so destroyed after it
    CHECK(are_products_right<float>());
  }).join();
}

TEST_CASE("the products before the program ends are right") {
  CHECK(are_products_right<float>());
  CHECK(are_products_right<double>());
}

}  // namespace
