// Makes single cp.async copies of one warp for Nsight Compute to count, one a launch: 4 to 16 bytes a lane, of given
// lanes from and to given offsets, some of them zeros. `async_access` launches them all in the order in which
// `async_access --list` writes them as CSV; async_access.sh joins that list with the counters.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#define TANDEM_KERNEL_NAMESPACE calibrated
#include "gpu/runtime/async.cuh"

namespace {

constexpr unsigned arena_bytes = 48 * 1024;  // what a block gets without asking
constexpr unsigned global_bytes = 1 << 20;

struct lanes {
  unsigned from[32], to[32];  // bytes from addresses that are multiples of 256
  std::uint32_t mask, there;  // who copies, and who of them copies what is there
};

struct pattern {
  std::string name;
  unsigned bytes;
  lanes of;
};

template <unsigned bytes>
__global__ void copy_once(__grid_constant__ lanes const of, char const* global) {
  extern __shared__ __align__(256) char arena[];
  if ((of.mask >> threadIdx.x & 1) != 0)
    calibrated::copy_async_or_zero<bytes>(arena + of.to[threadIdx.x], global + of.from[threadIdx.x],
                                          (of.there >> threadIdx.x & 1) != 0);
  calibrated::commit_async();
  calibrated::wait_async<0>();
}

class patterns {
 public:
  patterns() {
    for (unsigned bytes : {4U, 8U, 16U}) {
      add_systematic(bytes);
      add_tiles(bytes);
      add_random(bytes, 4);
    }
  }
  std::vector<pattern> all;

 private:
  static constexpr std::uint32_t full = ~0U;

  template <class From, class To>
  void add(char const* name, unsigned bytes, std::uint32_t mask, std::uint32_t there, From&& from, To&& to) {
    pattern p{name, bytes, {}};
    p.of.mask = mask, p.of.there = there;
    for (unsigned lane = 0; lane < 32; ++lane) p.of.from[lane] = from(lane) * bytes, p.of.to[lane] = to(lane) * bytes;
    all.push_back(p);
  }

  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  std::uint32_t random_mask() {
    auto const some = static_cast<std::uint32_t>(random_());
    return some | 1U << below(32);
  }

  void add_systematic(unsigned bytes) {
    auto const i = [](unsigned lane) { return lane; };
    auto const every = [](unsigned step) { return [=](unsigned lane) { return lane * step; }; };
    auto const past = [](unsigned by) { return [=](unsigned lane) { return lane + by; }; };
    add("i to i", bytes, full, full, i, i);
    for (unsigned by : {1U, 2U, 4U, 8U}) {
      add("i+n to i", bytes, full, full, past(by), i);
      add("i to i+n", bytes, full, full, i, past(by));
      add("i+n to i+n", bytes, full, full, past(by), past(by));
    }
    for (unsigned step : {0U, 2U, 4U, 8U, 9U, 32U}) {
      add("n*i to i", bytes, full, full, every(step), i);
      if (step != 0) add("i to n*i", bytes, full, full, i, every(step));
      if (step != 0) add("n*i to n*i", bytes, full, full, every(step), every(step));
    }
    add("i to 31-i", bytes, full, full, i, [](unsigned lane) { return 31 - lane; });
    for (std::uint32_t mask : {1U, 1U << 31, 0xffU, 0xffffU, 0xff00ffU, 0x55555555U, 0x11111111U, ~1U}) {
      add("i to i by some", bytes, mask, full, i, i);
      add("i to i and zeros", bytes, full, mask, i, i);
    }
    add("zeros", bytes, full, 0, i, i);
    add("zeros by some", bytes, 0xffff, 0, i, i);
    add("zeros to 9*i", bytes, full, 0, i, every(9));
  }

  // As the kernels copy: lines of `across` lanes, which lie apart in global memory, to lines or columns.
  void add_tiles(unsigned bytes) {
    for (unsigned across : {8U, 16U, 32U})
      for (unsigned shift : {0U, 1U, 2U}) {
        auto const lines = [=](unsigned pitch, unsigned by) {
          return [=](unsigned lane) { return lane / across * pitch + lane % across + by; };
        };
        auto const columns = [=](unsigned pitch) {
          return [=](unsigned lane) { return lane % across * pitch + lane / across; };
        };
        for (unsigned pitch : {33U, 36U, 66U})
          add("lines to lines", bytes, full, full, lines(64, 0), lines(pitch, shift));
        if (across == 32) continue;
        for (unsigned pitch : {33U, 34U, 36U, 64U})
          if (shift != 2) add("lines to columns", bytes, full, full, lines(61, shift), columns(pitch));
      }
  }

  void add_random(unsigned bytes, unsigned rounds) {
    unsigned const places = arena_bytes / bytes;
    for (unsigned round = 0; round < rounds; ++round) {
      unsigned at[32], from[32];
      shuffle(at), shuffle(from);
      auto const permuted = [&](unsigned lane) { return at[lane]; };
      auto const from_permuted = [&](unsigned lane) { return from[lane]; };
      auto const i = [](unsigned lane) { return lane; };
      // Two lanes never copy to one place.
      auto const spread = [&](unsigned lane) { return at[lane] + 32 * (at[lane] * 7919 % (places / 32)); };
      add(
          "random to i", bytes, full, full, [&](unsigned) { return below(256); }, i);
      add("i to a permutation", bytes, full, full, i, permuted);
      add("a permutation to i", bytes, full, full, from_permuted, i);
      add("a permutation to another", bytes, full, full, from_permuted, permuted);
      add(
          "random to a permutation", bytes, full, full, [&](unsigned) { return below(1024); }, permuted);
      add(
          "random to random", bytes, full, full, [&](unsigned) { return below(1024); }, spread);
      add("i to random columns", bytes, full, full, i, [&](unsigned lane) { return 32 * lane + below(32); });
      add(
          "random by some", bytes, random_mask(), full, [&](unsigned) { return below(256); },
          [&](unsigned lane) { return 32 * lane + below(32); });
      add(
          "random and zeros", bytes, full, random_mask(), [&](unsigned) { return below(256); },
          [&](unsigned lane) { return 32 * lane + below(32); });
    }
  }

  // std::shuffle may differ from one library to the next.
  void shuffle(unsigned (&numbers)[32]) {
    for (unsigned i = 0; i < 32; ++i) numbers[i] = i;
    for (unsigned i = 31; i > 0; --i) std::swap(numbers[i], numbers[below(i + 1)]);
  }

  std::mt19937 random_{1};
};

int launch_all(std::vector<pattern> const& all) {
  char* global = nullptr;
  cudaMalloc(&global, global_bytes);
  cudaMemset(global, 0, global_bytes);
  for (auto const& p : all) {
    switch (p.bytes) {
      case 4: copy_once<4><<<1, 32, arena_bytes>>>(p.of, global); break;
      case 8: copy_once<8><<<1, 32, arena_bytes>>>(p.of, global); break;
      case 16: copy_once<16><<<1, 32, arena_bytes>>>(p.of, global); break;
    }
  }
  auto const status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::fprintf(stderr, "async_access: %s\n", cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}

void list_offsets(unsigned const (&offsets)[32]) {
  for (unsigned lane = 0; lane < 32; ++lane) std::printf(lane == 0 ? ",%u" : " %u", offsets[lane]);
}

void list(std::vector<pattern> const& all) {
  std::puts("pattern,bytes,mask,there,from,to");
  for (auto const& p : all) {
    std::printf("%s,%u,%08x,%08x", p.name.c_str(), p.bytes, p.of.mask, p.of.there);
    list_offsets(p.of.from), list_offsets(p.of.to);
    std::puts("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto const all = patterns().all;
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    list(all);
    return 0;
  }
  return launch_all(all);
}
