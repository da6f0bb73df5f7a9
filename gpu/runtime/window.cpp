// Windows by the driver's virtual memory calls.
#include "gpu/runtime/window.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/driver.hpp"

namespace tandem::gpu {
namespace {

struct driver {
  decltype(cuMemGetAllocationGranularity)* granularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemAddressReserve)* reserve = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* free = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemCreate)* create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemMap)* map = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* access = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
};

driver const& functions() {
  static driver const found;
  return found;
}

void check_driver(CUresult status, char const* call, std::size_t bytes) {
  if (status == CUDA_SUCCESS) return;
  throw error(status == CUDA_ERROR_OUT_OF_MEMORY ? errc::out_of_memory : errc::device,
              fmt::format("{} of {} bytes: CUDA driver error {}", call, bytes, static_cast<int>(status)));
}

}  // namespace

device_window::device_window(std::size_t bytes) {
  if (auto const why = unavailable(); !why.empty()) throw error(errc::unavailable, "gpu: " + why);
  int device = 0;
  check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
  check(cudaFree(nullptr), [] { return "cudaFree"; });  // makes the context that the driver's calls need
  auto const& cuda = functions();

  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  check_driver(cuda.granularity(&margin_, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM), "granularity", bytes);
  std::size_t const mapped = (std::max<std::size_t>(bytes, 1) + margin_ - 1) / margin_ * margin_;
  CUdeviceptr base = 0;
  check_driver(cuda.reserve(&base, mapped + 2 * margin_, 0, 0, 0), "cuMemAddressReserve", mapped + 2 * margin_);
  CUmemGenericAllocationHandle handle = 0;
  if (auto const status = cuda.create(&handle, mapped, &properties, 0); status != CUDA_SUCCESS) {
    cuda.free(base, mapped + 2 * margin_);
    check_driver(status, "cuMemCreate", mapped);
  }
  base_ = base, handle_ = handle, size_ = mapped;  // from here the destructor frees them
  try {
    check_driver(cuda.map(base + margin_, mapped, 0, handle, 0), "cuMemMap", mapped);
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check_driver(cuda.access(base + margin_, mapped, &access, 1), "cuMemSetAccess", mapped);
  } catch (...) {
    *this = device_window();
    throw;
  }
}

device_window::~device_window() {
  if (size_ == 0) return;
  auto const& cuda = functions();
  cudaDeviceSynchronize();  // nothing may still use it
  cuda.unmap(base_ + margin_, size_);
  cuda.release(handle_);
  cuda.free(base_, size_ + 2 * margin_);
}

device_window::device_window(device_window&& other) noexcept
    : base_(std::exchange(other.base_, 0)),
      margin_(std::exchange(other.margin_, 0)),
      size_(std::exchange(other.size_, 0)),
      handle_(std::exchange(other.handle_, 0)) {}

device_window& device_window::operator=(device_window&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(margin_, other.margin_);
  std::swap(size_, other.size_);
  std::swap(handle_, other.handle_);
  return *this;
}

}  // namespace tandem::gpu
