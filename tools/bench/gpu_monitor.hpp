// Clocks, power and energy of the device that is measured on, by NVML, which is loaded when asked for.
#pragma once

#include <optional>
#include <string>

#include "tools/bench/shared_object.hpp"

namespace tandem::bench {

/// One look; what the device does not tell is 0.
struct gpu_reading {
  unsigned sm_mhz = 0, memory_mhz = 0;
  double watts = 0;
};

class gpu_monitor {
 public:
  /// Of the device at this PCI bus ("00000000:01:00.0"). Where the library or the device is not there, `missing` says
  /// why, and nothing else is to be called.
  explicit gpu_monitor(std::string const& pci_bus, std::string const& library = "libnvidia-ml.so.1");
  ~gpu_monitor();
  gpu_monitor(gpu_monitor const&) = delete;
  gpu_monitor& operator=(gpu_monitor const&) = delete;

  std::string const& missing() const noexcept { return missing_; }
  std::string driver() const;    ///< its version
  unsigned most_sm_mhz() const;  ///< the highest clock of the multiprocessors
  double power_limit() const;    ///< watts, as enforced; 0: not told
  gpu_reading read() const;
  std::optional<double> joules() const;  ///< since the driver was loaded; none: not told

 private:
  shared_object library_;
  std::string missing_;
  bool started_ = false;
  void* device_ = nullptr;
};

}  // namespace tandem::bench
