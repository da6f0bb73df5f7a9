// The accesses of small kernels, whose lanes part in every way or that use one feature each, as the SIMT executor
// counts them: what an H200 counted (tests/calibrate/requests.sh).
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <tandem/simt/session.hpp>

#include "tests/kernels/feature.hpp"

using namespace tandem;
using namespace tandem::tests;

namespace {

using numbers = std::vector<std::uint64_t>;

std::map<std::string, numbers> measured() {
  std::ifstream file("tests/data/h200_requests.csv");
  REQUIRE(file);
  std::map<std::string, numbers> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    auto const end = line.find('"', 1);
    std::istringstream values(line.substr(end + 2));
    auto& row = all[line.substr(1, end - 1)];
    for (std::string value; std::getline(values, value, ',');) row.push_back(std::stoull(value));
  }
  return all;
}

std::string text(numbers const& row) {
  std::string all;
  for (auto const n : row) all += std::to_string(n) + ' ';
  return all;
}

simt::operand vector_of(char const* name, void const* data, bool writable) {
  return {name, data,    1, static_cast<std::int64_t>(feature_bytes), static_cast<std::int64_t>(feature_bytes),
          1,    writable};
}

// Memory that begins in a sector as the device's does.
struct alignas(256) buffer {
  std::byte bytes[feature_bytes] = {};
  buffer() = default;
  template <class T>
  explicit buffer(std::vector<T> const& data) {
    std::memcpy(bytes, data.data(), data.size() * sizeof(T));
  }
};

std::string count(feature const& feature, feature_inputs const& in) {
  auto const f = std::make_unique<buffer>(in.f), d = std::make_unique<buffer>(in.d), i = std::make_unique<buffer>(in.i),
             out = std::make_unique<buffer>();
  simt::session watched({.check = false,
                         .count = true,
                         .operands = {vector_of("f", f->bytes, false), vector_of("d", d->bytes, false),
                                      vector_of("i", i->bytes, false), vector_of("out", out->bytes, true)}});
  feature.start({reinterpret_cast<float const*>(f->bytes), reinterpret_cast<double const*>(d->bytes),
                 reinterpret_cast<int const*>(i->bytes), out->bytes},
                nullptr);
  auto const counts = watched.counts();
  using enum simt::access_kind;
  // The GPU counts cp.async's reads among the loads.
  return text({counts[global_load].requests + counts[async_copy].requests,
               counts[global_load].sectors + counts[async_copy].sectors, counts[global_store].requests,
               counts[global_store].sectors, counts[shared_load].requests, counts[shared_load].wavefronts,
               counts[shared_store].requests, counts[shared_store].wavefronts});
}

}  // namespace

// Where nvcc makes other accesses of the source than the executor, or the hardware others than the instruction says.
std::map<std::string, std::string> const otherwise = {
    {"if_else", "nvcc selects an address and loads and stores once for both branches"},
    {"choice", "likewise, in two of the cases"},
    {"two kernels", "ptxas makes one 128-bit load of four neighbours in shared memory"},
    {"cp.async, 4 bytes", "dead LDS stand beside cp.async and count as instructions"},
    {"cp.async, 8 bytes", "likewise, and ptxas makes one 64-bit load of two neighbours in shared memory"},
    {"cp.async, 16 bytes", "likewise, of four"},
    {"early exit", "nvcc keeps a loaded value over a shuffle"},
    {"atomics", "atomic operations on floats in shared memory are loops of loads and compare-and-swaps"},
};

TEST_SUITE_BEGIN("requests");

TEST_CASE("the lanes of a warp meet again as on the GPU, and features cost what they cost there, but for named ones") {
  auto const expected = measured();
  feature_inputs const in;
  std::size_t differ = 0;
  for (auto const* table : {&watched_divergences(), &watched_features()})
    for (auto const& f : *table) {
      std::string const name = f.name;
      CAPTURE(name);
      if (name.starts_with("wmma")) continue;  // the hardware's own accesses are not known
      REQUIRE(expected.contains(name));
      if (!otherwise.contains(name)) {
        CHECK(count(f, in) == text(expected.at(name)));
        continue;
      }
      CHECK(count(f, in) != text(expected.at(name)));
      ++differ;
    }
  CHECK(differ == otherwise.size());
}

TEST_SUITE_END();
