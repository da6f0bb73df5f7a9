// NVML's functions by name: their types are those of its reference manual.
#include "tools/bench/gpu_monitor.hpp"

#include <fmt/format.h>

namespace tandem::bench {
namespace {

// nvmlClockType_t
constexpr int sm_clock = 1, memory_clock = 2;

template <class Value, class... Arguments>
std::optional<Value> ask(shared_object const& library, char const* function, Arguments... arguments) {
  auto* const f = library.find<int(Arguments..., Value*)>(function);
  Value value{};
  return f != nullptr && f(arguments..., &value) == 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

gpu_monitor::gpu_monitor(std::string const& pci_bus, std::string const& library) : library_({library}) {
  if (!library_.loaded()) {
    missing_ = library_.error();
    return;
  }
  auto const tried = [&](char const* function, auto const& call) {
    int const status = call();
    auto* const text = library_.find<char const*(int)>("nvmlErrorString");
    if (status != 0)
      missing_ = fmt::format("{}: {}", function, text == nullptr ? std::to_string(status) : text(status));
    return status == 0;
  };
  auto* const start = library_.find<int()>("nvmlInit_v2");
  auto* const find = library_.find<int(char const*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (start == nullptr || find == nullptr) {
    missing_ = library + " lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
    return;
  }
  started_ = tried("nvmlInit_v2", start);
  if (started_) tried("nvmlDeviceGetHandleByPciBusId_v2", [&] { return find(pci_bus.c_str(), &device_); });
}

gpu_monitor::~gpu_monitor() {
  if (auto* const stop = started_ ? library_.find<int()>("nvmlShutdown") : nullptr; stop != nullptr) stop();
}

std::string gpu_monitor::driver() const {
  char text[96] = {};
  auto* const f = library_.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  return f != nullptr && f(text, sizeof text) == 0 ? text : "unknown";
}

unsigned gpu_monitor::most_sm_mhz() const {
  return ask<unsigned>(library_, "nvmlDeviceGetMaxClockInfo", device_, sm_clock).value_or(0);
}

double gpu_monitor::power_limit() const {
  return 1e-3 * ask<unsigned>(library_, "nvmlDeviceGetEnforcedPowerLimit", device_).value_or(0);
}

gpu_reading gpu_monitor::read() const {
  auto const clock = [&](int which) {
    return ask<unsigned>(library_, "nvmlDeviceGetClockInfo", device_, which).value_or(0);
  };
  return {.sm_mhz = clock(sm_clock),
          .memory_mhz = clock(memory_clock),
          .watts = 1e-3 * ask<unsigned>(library_, "nvmlDeviceGetPowerUsage", device_).value_or(0)};
}

std::optional<double> gpu_monitor::joules() const {
  auto const millijoules = ask<unsigned long long>(library_, "nvmlDeviceGetTotalEnergyConsumption", device_);
  return millijoules ? std::optional(1e-3 * static_cast<double>(*millijoules)) : std::nullopt;
}

}  // namespace tandem::bench
