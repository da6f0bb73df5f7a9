// TANDEM_KERNEL, which is read once: this program runs once for each value (see CMakeLists.txt).
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <tandem/tandem.hpp>

namespace {

using namespace tandem;

struct product {
  std::vector<float> a = std::vector<float>(16, 1), b = a, c = std::vector<float>(16, 7);
  void operator()(gemm_options const& options) {
    gemm(matrix_view<float const>(a.data(), 4, 4, 4), matrix_view<float const>(b.data(), 4, 4, 4),
         matrix_view<float>(c.data(), 4, 4, 4), options);
  }
  /// The message of the error that the options must raise, with C untouched.
  std::string refusal(gemm_options const& options) {
    try {
      (*this)(options);
    } catch (error const& e) {
      CHECK(e.code() == errc::unknown_kernel);
      CHECK(c == std::vector<float>(16, 7));
      return e.what();
    }
    return "no error";
  }
};

/// y = x + y of 1 and 2; what an error said, with y untouched.
std::string add() {
  float const x = 1;
  float y = 2;
  try {
    axpy(1, vector_view<float const>(&x, 1), vector_view<float>(&y, 1));
  } catch (error const& e) {
    CHECK(e.code() == errc::unknown_kernel);
    CHECK(y == 2);
    return e.what();
  }
  CHECK(y == 3);
  return "no error";
}

std::string wanted() {
  char const* const value = std::getenv("TANDEM_KERNEL");
  return value ? value : "";
}

TEST_CASE("a kernel from the environment runs where the call names none") {
  if (wanted() != "inner_product") return;
  product multiply;
  multiply({});
  CHECK(multiply.c == std::vector<float>(16, 4));
  // Its rows are the ones chosen: Eigen has none of that name.
  CHECK(product().refusal({.backend = backend::eigen}).find("(from TANDEM_KERNEL)") != std::string::npos);
  CHECK(add() == "no error");  // which it does not name
}

TEST_CASE("an unknown kernel in the environment is an error, unless the call names one") {
  if (wanted() != "no_such_kernel") return;
  CHECK(product().refusal({}).find("'no_such_kernel' (from TANDEM_KERNEL)") != std::string::npos);
  product multiply;
  multiply({.kernel = "outer_product"});
  CHECK(multiply.c == std::vector<float>(16, 4));
  CHECK(add().find("'no_such_kernel' (from TANDEM_KERNEL)") != std::string::npos);
}

TEST_CASE("the program was given a value that it tests") {
  CHECK((wanted() == "inner_product" || wanted() == "no_such_kernel"));
}

}  // namespace
