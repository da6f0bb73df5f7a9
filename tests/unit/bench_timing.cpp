// How long device contenders are measured, and what the report says of device figures.
#include <doctest/doctest.h>

#include <string>

#include "tools/bench/contender.hpp"
#include "tools/bench/report.hpp"

using namespace tandem;

namespace {

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("bench: timing");

TEST_CASE("short turns have many rounds, long ones those that were asked for or as many as there is time for") {
  bench::device_rounds const how{.rounds = 7, .max_seconds = 1};
  CHECK(bench::device_turns({50e-6, 60e-6}, how) == std::vector{175, 175});
  CHECK(bench::device_turns({2e-3, 2e-3}, how) == std::vector{35, 35});
  CHECK(bench::device_turns({20e-3, 22e-3}, how) == std::vector{7, 7});
  CHECK(bench::device_turns({20e-3, 0.36}, how) == std::vector{7, 2});
  CHECK(bench::device_turns({20e-3, 2.2}, how) == std::vector{7, 0});
  CHECK(bench::device_turns({2.2, 2.3}, how) == std::vector{0, 0});
}

TEST_CASE("the report: the device's own limit, no threads, watts, sets and every shape under 1") {
  bench::subject ours{.name = "tandem_gpu", .ours = true, .device = true}, cublas{.name = "cublas", .device = true};
  bench::report all(bench::report::lines::contender,
                    {{"contenders", nlohmann::json::array()}, {"enqueue", true}, {"power", true}});
  auto const add = [&](std::int64_t m, std::string const& set, double our_seconds, double their_seconds) {
    bench::match x{.m = m, .n = 100, .k = 100, .threads = 4, .set = set};
    x.device_bound = {.fma_seconds = 0.5, .byte_seconds = 0.25};
    bench::contender us{.who = &ours, .seconds = {our_seconds}}, them{.who = &cublas, .seconds = {their_seconds}};
    us.power = {.watts = 100, .calls_per_second = 10, .sm_mhz = 1980};
    us.enqueue = {.seconds = 4.5e-6, .launch_seconds = 4.125e-6};
    us.rounds_missed = 4;
    x.them = {us, them};
    all.add(x);
  };
  add(1, "a.csv", 1, 4);
  add(2, "a.csv", 1, 1);
  add(3, "b.csv", 2, 1);
  auto const json = all.json();
  auto const& row = json["rows"][0];
  CHECK(row["memory"] == "device");
  CHECK(row["threads"] == 0);
  CHECK(row["percent_of_limit"] == 50);
  CHECK(row["percent_of_fma_peak"] == 50);
  CHECK(row["percent_of_byte_limit"] == 25);
  CHECK(row["watts"] == 100);
  CHECK(row["gflops_per_watt"].get<double>() == doctest::Approx(2 * 100 * 100 * 10 * 1e-9 / 100));
  CHECK(!json["rows"][1].contains("watts"));
  CHECK(row["enqueue_us"].get<double>() == doctest::Approx(4.5));
  CHECK(row["launch_us"].get<double>() == doctest::Approx(4.125));
  CHECK(!json["rows"][1].contains("enqueue_us"));
  auto const& summary = json["summary"][0];
  CHECK(summary["geometric_mean"].get<double>() == doctest::Approx(std::cbrt(4 * 1 * 0.5)));
  CHECK(summary["below_1"] == 1);
  CHECK(summary["slower"][0]["match"] == "3x100x100 beta 0");
  REQUIRE(summary["sets"].size() == 2);
  CHECK(summary["sets"][0]["set"] == "a.csv");
  CHECK(summary["sets"][0]["geometric_mean"].get<double>() == doctest::Approx(2));
  CHECK(summary["sets"][1]["below_1"] == 1);
  auto const text = all.text();
  for (auto const* part :
       {"tandem_gpu f32: geometric mean 1.260", "a.csv: geometric mean 2.000 over 2; worst 1.000; below 1: 0",
        "below 1: 0.500 at 3x100x100", "tandem_gpu at 1x100x100 f32: 1 of 5 rounds, by --max-seconds", "enqueue us",
        "4.50", "GFLOP/s/W"})
    CHECK(contains(text, part));
}

TEST_CASE("axpy's rate is held against the faster copy in the same memory, at 12 bytes an element and 8") {
  bench::subject ours{.name = "tandem_gpu", .ours = true, .device = true};
  bench::subject slow{.name = "slow", .device = true, .copies = true}, fast = slow, host = slow;
  host.device = false;
  bench::match x{.operation = operation::axpy, .n = 1000};
  x.them = {{.who = &ours, .seconds = {3}},
            {.who = &slow, .seconds = {4}},
            {.who = &fast, .seconds = {2}},
            {.who = &host, .seconds = {1}}};
  CHECK(bench::best_copy(x, x.them[0])->who == &fast);
  bench::report all(bench::report::lines::contender, {{"contenders", nlohmann::json::array()}});
  all.add(x);
  CHECK(all.json()["rows"][0]["ratio_to_copy"].get<double>() == doctest::Approx(12.0 / 3 / (8.0 / 2)));
}

TEST_SUITE_END();
