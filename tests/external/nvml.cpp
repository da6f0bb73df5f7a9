// A management library that knows one device, at bus 00000000:01:00.0, of round figures; it does not tell its energy.
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
char const* nvmlErrorString(int status) { return status == 6 ? "Not Found" : "Unknown Error"; }

int nvmlDeviceGetHandleByPciBusId_v2(char const* bus, void** device) {
  static int here;
  if (std::strcmp(bus, "00000000:01:00.0") != 0) return 6;
  *device = &here;
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "123.45", size);
  return 0;
}

int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1980 : which == 2 ? 3201 : 0;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1981 : 0;
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 654321;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return 3; }  // not supported

}  // extern "C"
