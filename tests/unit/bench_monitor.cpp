// What the benchmark reads of a device's clocks and power, from a library of ours that answers as NVML does.
#include <doctest/doctest.h>

#include "tools/bench/gpu_monitor.hpp"

using tandem::bench::gpu_monitor;

TEST_SUITE_BEGIN("bench: monitor");

TEST_CASE("clocks, power and limit come from the device at the bus") {
  gpu_monitor const monitor("00000000:01:00.0", TANDEM_EXTERNAL_NVML);
  REQUIRE(monitor.missing() == "");
  CHECK(monitor.driver() == "123.45");
  CHECK(monitor.most_sm_mhz() == 1981);
  CHECK(monitor.power_limit() == doctest::Approx(700));
  auto const now = monitor.read();
  CHECK(now.sm_mhz == 1980);
  CHECK(now.memory_mhz == 3201);
  CHECK(now.watts == doctest::Approx(654.321));
  CHECK(!monitor.joules());
}

TEST_CASE("a device or a library that is not there, or that is another, says so") {
  CHECK(gpu_monitor("00000000:02:00.0", TANDEM_EXTERNAL_NVML).missing() ==
        "nvmlDeviceGetHandleByPciBusId_v2: Not Found");
  CHECK(gpu_monitor("", "libno_such_nvml.so.1").missing().find("libno_such_nvml.so.1") != std::string::npos);
  CHECK(gpu_monitor("", TANDEM_EXTERNAL_BLAS).missing() ==
        std::string(TANDEM_EXTERNAL_BLAS) + " lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2");
}

TEST_SUITE_END();
