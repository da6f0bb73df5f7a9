// Copies of matrices between host memory and the device: straight where the host's memory is pinned and its rows are
// not short, by way of pinned chunks elsewhere, so that the processor copies one chunk while the device copies another.
#pragma once

#include <cstddef>

#include "gpu/runtime/staging_area.hpp"

namespace tandem::gpu {

/// Rows of bytes in host memory; what lies between them is not touched.
struct host_rows {
  std::byte* data = nullptr;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  std::size_t pitch = 0;   ///< bytes from row to row
  bool is_pinned = false;  ///< so that the device may copy it itself
};

/// Copies rows that lie `from_pitch` bytes apart to others; several threads share what is worth it.
void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch, std::size_t rows,
               std::size_t row_bytes);

/// Enqueues copies to rows on the device, `device_pitch` bytes apart. Host memory that is not pinned may be changed on
/// return, pinned memory when the stream has done its work.
void copy_in(std::byte* device, std::size_t device_pitch, host_rows const& host, chunk_ring& chunks,
             own_stream const& stream);

/// The same to the host. Without pinned memory the rows are there on return.
void copy_out(host_rows const& host, std::byte const* device, std::size_t device_pitch, chunk_ring& chunks,
              own_stream const& stream);

}  // namespace tandem::gpu
