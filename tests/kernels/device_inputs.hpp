// The inputs of the features' kernels in device memory.
#pragma once

#include <vector>

#include "gpu/runtime/device.hpp"
#include "tests/kernels/feature.hpp"

namespace tandem::tests {

class device_inputs {
 public:
  explicit device_inputs(feature_inputs const& in)
      : f_(copy(in.f)), d_(copy(in.d)), i_(copy(in.i)), out_(feature_bytes) {}

  feature_data data() {
    return {static_cast<float const*>(f_.data()), static_cast<double const*>(d_.data()),
            static_cast<int const*>(i_.data()), out_.data()};
  }
  gpu::device_buffer& out() { return out_; }

 private:
  template <class T>
  static gpu::device_buffer copy(std::vector<T> const& data) {
    gpu::device_buffer buffer(data.size() * sizeof(T));
    gpu::copy_to_device(buffer.data(), data.data(), buffer.size());
    return buffer;
  }
  gpu::device_buffer f_, d_, i_, out_;
};

}  // namespace tandem::tests
