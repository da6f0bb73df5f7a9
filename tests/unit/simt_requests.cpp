// The accesses of small kernels, whose lanes part in every way or that use one feature each, as the SIMT executor counts
// them: what an H200 counted (tests/calibrate/requests.sh).
#include <doctest/doctest.h>

#include <fstream>
#include <map>
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

simt::operand vector_of(char const* name, void const* data, bool writable) {
  return {name, data, 1, static_cast<std::int64_t>(feature_bytes), static_cast<std::int64_t>(feature_bytes), 1,
          writable};
}

numbers count(feature const& f, feature_inputs const& in) {
  feature_output out(feature_elements);
  simt::session watched({.check = false,
                         .count = true,
                         .operands = {vector_of("f", in.f.data(), false), vector_of("d", in.d.data(), false),
                                      vector_of("i", in.i.data(), false), vector_of("out", out.data(), true)}});
  f.start({in.f.data(), in.d.data(), in.i.data(), out.data()}, nullptr);
  auto const counts = watched.counts();
  using enum simt::access_kind;
  return {counts[global_load].requests,  counts[global_load].sectors,     counts[global_store].requests,
          counts[global_store].sectors,  counts[shared_load].requests,    counts[shared_load].wavefronts,
          counts[shared_store].requests, counts[shared_store].wavefronts};
}

}  // namespace

TEST_SUITE_BEGIN("requests");

TEST_CASE("the lanes of a warp meet again as on the GPU, and every feature costs what it costs there") {
  auto const expected = measured();
  feature_inputs const in;
  for (auto const* table : {&watched_divergences(), &watched_features()})
    for (auto const& f : *table) {
      std::string const name = f.name;
      CAPTURE(name);
      if (name.starts_with("wmma")) continue;  // the hardware's own accesses are not known
      REQUIRE(expected.contains(name));
      CHECK(count(f, in) == expected.at(name));
    }
}

TEST_SUITE_END();
