// Kernels with what compute-sanitizer's tools are there to find.
#pragma once

#include <string>

/// Runs the kernel that the tool (memcheck, racecheck, initcheck or synccheck) is to report; false without a device.
bool plant(std::string const& tool);
