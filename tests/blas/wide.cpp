// The library of 64-bit integers: distances beyond 2^31 elements, and the suffixed names.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <tandem/blas.h>

#include <cstdint>
#include <string>

#include "tests/support.hpp"

namespace {

// Address space of which only the touched pages take memory.
class sparse_floats {
 public:
  explicit sparse_floats(std::size_t size) : bytes_(size * sizeof(float)) {
    void* const all = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all != MAP_FAILED) data_ = static_cast<float*>(all);
  }
  ~sparse_floats() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  sparse_floats(sparse_floats const&) = delete;
  sparse_floats& operator=(sparse_floats const&) = delete;

  float* data() const { return data_; }

 private:
  std::size_t bytes_;
  float* data_ = nullptr;
};

constexpr std::int64_t far = (std::int64_t{1} << 32) + 3;  // as a 32-bit integer it is 3

}  // namespace

TEST_CASE("increments and leading dimensions beyond 32 bits") {
  sparse_floats const space(static_cast<std::size_t>(far) + 4);
  if (space.data() == nullptr) return tandem::tests::skip("16 GiB of address space are not to be had");
  float* const x = space.data();
  x[0] = 1, x[far] = 2;
  float y[2] = {10, 20};
  cblas_saxpy(2, 1, x, far, y, 1);
  CHECK(y[0] == 11);
  CHECK(y[1] == 22);
  cblas_saxpy(2, 1, x, -far, y, 1);
  CHECK(y[0] == 13);
  CHECK(y[1] == 23);
  // A is 1 x 2, column-major: its columns lie far apart.
  float const b[2] = {3, 4};
  float c = 0;
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, 2, 1, x, far, b, 2, 0, &c, 1);
  CHECK(c == 11);
}

TEST_CASE("a routine has the suffixes of OpenBLAS (cblas_sgemm64_) and of Netlib (cblas_sgemm_64)") {
  for (std::string const letter : {"s", "d"})
    for (std::string const name : {"gemm", "axpy"}) {
      void* const c = dlsym(RTLD_DEFAULT, ("cblas_" + letter + name).c_str());
      REQUIRE(c != nullptr);
      CHECK(dlsym(RTLD_DEFAULT, ("cblas_" + letter + name + "64_").c_str()) == c);
      CHECK(dlsym(RTLD_DEFAULT, ("cblas_" + letter + name + "_64").c_str()) == c);
      void* const fortran = dlsym(RTLD_DEFAULT, (letter + name + "_").c_str());
      REQUIRE(fortran != nullptr);
      CHECK(dlsym(RTLD_DEFAULT, (letter + name + "_64_").c_str()) == fortran);
    }
}
