#include "gpu/runtime/host_copy.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "gpu/runtime/check.hpp"

namespace tandem::gpu {
namespace {

// A part of a matrix that fits a chunk: whole rows, or a part of one.
struct piece {
  std::size_t row, rows;
  std::size_t column, row_bytes;  // in bytes
};

class pieces {
 public:
  pieces(host_rows const& host, std::size_t device_pitch)
      : host_(host), rows_(std::max<std::size_t>(chunk::bytes / device_pitch, 1)) {}

  std::optional<piece> next() {
    if (row_ >= host_.rows) return {};
    piece const one{row_, std::min(rows_, host_.rows - row_), column_,
                    std::min(chunk::bytes, host_.row_bytes - column_)};
    column_ += one.row_bytes;
    if (column_ == host_.row_bytes) row_ += one.rows, column_ = 0;
    return one;
  }

 private:
  host_rows const& host_;
  std::size_t rows_;
  std::size_t row_ = 0, column_ = 0;
};

// From the piece's first byte to its last one, on the device and in a chunk alike.
std::size_t span(piece const& p, std::size_t device_pitch) { return (p.rows - 1) * device_pitch + p.row_bytes; }

void copy_bytes(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, own_stream const& stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), [&] {
    return fmt::format("cudaMemcpyAsync of {} bytes {}", bytes,
                       kind == cudaMemcpyHostToDevice ? "to the device" : "to the host");
  });
}

// A device copies lines shorter than PCI Express's packets far below its rate: those are packed by the processor.
bool is_copied_directly(host_rows const& host, std::size_t device_pitch) {
  constexpr std::size_t shortest = 256;
  bool const is_one_piece = host.rows == 1 || (host.pitch == host.row_bytes && device_pitch == host.row_bytes);
  return host.is_pinned && (is_one_piece || host.row_bytes >= shortest);
}

// cudaMemcpy2D takes pitches up to 2 GiB only; wider rows are copied one by one.
void copy_pinned(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch, std::size_t rows,
                 std::size_t row_bytes, cudaMemcpyKind kind, own_stream const& stream) {
  if (to_pitch == row_bytes && from_pitch == row_bytes) row_bytes *= rows, rows = 1;
  constexpr std::size_t max_pitch = (std::size_t{1} << 31) - 1;
  if (rows > 1 && std::max(to_pitch, from_pitch) <= max_pitch)
    return check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, kind, stream.get()), [&] {
      return fmt::format("cudaMemcpy2DAsync of {} rows of {} bytes, pitches {} and {}, {}", rows, row_bytes, from_pitch,
                         to_pitch, kind == cudaMemcpyHostToDevice ? "to the device" : "to the host");
    });
  for (std::size_t i = 0; i < rows; ++i) copy_bytes(to + i * to_pitch, from + i * from_pitch, row_bytes, kind, stream);
}

}  // namespace

void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch, std::size_t rows,
               std::size_t row_bytes) {
  if (to_pitch == row_bytes && from_pitch == row_bytes) row_bytes *= rows, rows = 1;
  auto const total = rows * row_bytes;
  // Bytes of all rows, counted through.
  auto const copy = [&](std::size_t begin, std::size_t end) {
    std::size_t row = begin / row_bytes, column = begin % row_bytes;
    for (auto left = end - begin; left != 0; ++row, column = 0) {
      auto const bytes = std::min(row_bytes - column, left);
      std::memcpy(to + row * to_pitch + column, from + row * from_pitch + column, bytes);
      left -= bytes;
    }
  };
  // A thread copies 5 to 15 GB/s, PCI Express 25 to 55; below half a MiB starting a team is felt.
  constexpr std::size_t least_share = std::size_t{256} << 10, most_threads = 8;
  auto const threads = std::min({total / least_share, most_threads, static_cast<std::size_t>(omp_get_max_threads())});
  if (threads < 2) return copy(0, total);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    auto const team = static_cast<std::size_t>(omp_get_num_threads());
    auto const t = static_cast<std::size_t>(omp_get_thread_num());
    copy(total / team * t, t + 1 == team ? total : total / team * (t + 1));
  }
}

void copy_in(std::byte* device, std::size_t device_pitch, host_rows const& host, chunk_ring& chunks,
             own_stream const& stream) {
  if (is_copied_directly(host, device_pitch))
    return copy_pinned(device, device_pitch, host.data, host.pitch, host.rows, host.row_bytes, cudaMemcpyHostToDevice,
                       stream);
  pieces all(host, device_pitch);
  while (auto const p = all.next()) {
    auto& chunk = chunks.next();
    copy_rows(chunk.memory.get(), device_pitch, host.data + p->row * host.pitch + p->column, host.pitch, p->rows,
              p->row_bytes);
    copy_bytes(device + p->row * device_pitch + p->column, chunk.memory.get(), span(*p, device_pitch),
               cudaMemcpyHostToDevice, stream);
    chunk.copied.record(stream);
  }
}

void copy_out(host_rows const& host, std::byte const* device, std::size_t device_pitch, chunk_ring& chunks,
              own_stream const& stream) {
  if (is_copied_directly(host, device_pitch))
    return copy_pinned(host.data, host.pitch, device, device_pitch, host.rows, host.row_bytes, cudaMemcpyDeviceToHost,
                       stream);
  struct on_its_way {
    piece p;
    chunk* at;
  };
  std::deque<on_its_way> pieces_on_their_way;
  auto const unpack_first = [&] {
    auto const [p, at] = pieces_on_their_way.front();
    pieces_on_their_way.pop_front();
    at->copied.wait();
    copy_rows(host.data + p.row * host.pitch + p.column, host.pitch, at->memory.get(), device_pitch, p.rows,
              p.row_bytes);
  };
  pieces all(host, device_pitch);
  while (auto const p = all.next()) {
    if (pieces_on_their_way.size() == chunk_ring::count) unpack_first();
    auto& chunk = chunks.next();
    copy_bytes(chunk.memory.get(), device + p->row * device_pitch + p->column, span(*p, device_pitch),
               cudaMemcpyDeviceToHost, stream);
    chunk.copied.record(stream);
    pieces_on_their_way.push_back({*p, &chunk});
  }
  while (!pieces_on_their_way.empty()) unpack_first();
}

}  // namespace tandem::gpu
