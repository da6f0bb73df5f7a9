// Makes single accesses of one warp for Nsight Compute to count, one a launch: shared or global, load or store, 8 to
// 128 bits, of given lanes at given offsets. `warp_access` launches them all in the order in which `warp_access --list`
// writes them as CSV; warp_access.sh joins that list with the counters.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr unsigned arena_bytes = 48 * 1024;  // what a block gets without asking
constexpr unsigned global_bytes = 1 << 20;

struct pattern {
  std::string name;
  bool shared, store;
  unsigned bits;
  std::uint32_t mask;
  unsigned offset[32];  // bytes from an address that is a multiple of 256
};

struct lanes {
  unsigned offset[32];
  std::uint32_t mask;
};

template <unsigned bits>
struct element;
template <>
struct element<8> {
  using type = std::uint8_t;
};
template <>
struct element<16> {
  using type = std::uint16_t;
};
template <>
struct element<32> {
  using type = unsigned;
};
template <>
struct element<64> {
  using type = uint2;
};
template <>
struct element<128> {
  using type = uint4;
};

__device__ unsigned mix(unsigned v) { return v; }
__device__ unsigned mix(uint2 v) { return v.x ^ v.y; }
__device__ unsigned mix(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Offsets come as parameters, which are no accesses of the load-store unit. What is loaded decides over a store that
// never happens (nothing in memory gives `never`); without it there would be no load.
template <bool shared, bool store, unsigned bits>
__global__ void access_once(__grid_constant__ lanes const of, char* global, unsigned never) {
  using type = typename element<bits>::type;
  extern __shared__ __align__(256) char arena[];
  if ((of.mask >> threadIdx.x & 1) == 0) return;
  type* const at = reinterpret_cast<type*>((shared ? arena : global) + of.offset[threadIdx.x]);
  if (store)
    *at = type{};
  else if (mix(*at) == never)
    *global = 1;
}

class patterns {
 public:
  patterns() {
    for (unsigned bits : {32U, 64U, 128U})
      for (bool store : {false, true}) {
        add_systematic_shared(store, bits);
        add_random_shared(store, bits, store || bits == 32 ? 2 : 6);
      }
    for (bool store : {false, true})
      for (unsigned bits : {8U, 16U}) add_narrow_shared(store, bits);
    for (unsigned bits : {32U, 64U, 128U})
      for (bool store : {false, true}) add_global(store, bits);
  }
  std::vector<pattern> all;

 private:
  template <class F>
  void add(char const* name, bool shared, bool store, unsigned bits, std::uint32_t mask, F&& element_of_lane) {
    pattern p{name, shared, store, bits, mask, {}};
    for (unsigned lane = 0; lane < 32; ++lane) p.offset[lane] = element_of_lane(lane) * (bits / 8);
    all.push_back(p);
  }

  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  // Never empty.
  std::uint32_t random_mask() {
    auto const some = static_cast<std::uint32_t>(random_());
    return some | 1U << below(32);
  }

  void add_systematic_shared(bool store, unsigned bits) {
    constexpr std::uint32_t all_lanes = ~0U;
    auto const full = [&](char const* name, auto f) { add(name, true, store, bits, all_lanes, f); };
    full("i", [](unsigned i) { return i; });
    full("0", [](unsigned) { return 0U; });
    full("i/2", [](unsigned i) { return i / 2; });
    full("i/4", [](unsigned i) { return i / 4; });
    full("(i&1)|(i>>2<<1)", [](unsigned i) { return (i & 1) | (i >> 2 << 1); });
    full("(i&3)|(i>>3<<2)", [](unsigned i) { return (i & 3) | (i >> 3 << 2); });
    full("i%4", [](unsigned i) { return i % 4; });
    full("i%8", [](unsigned i) { return i % 8; });
    full("i%16", [](unsigned i) { return i % 16; });
    full("i/16", [](unsigned i) { return i / 16; });
    full("2*i", [](unsigned i) { return 2 * i; });
    full("3*i", [](unsigned i) { return 3 * i; });
    full("8*i", [](unsigned i) { return 8 * i; });
    full("32*i", [](unsigned i) { return 32 * i; });
    full("33*i", [](unsigned i) { return 33 * i; });
    full("2*(i/2)", [](unsigned i) { return i / 2 * 2; });
    full("16*(i/2)", [](unsigned i) { return i / 2 * 16; });
    full("pairs i^1 in the lower half and i^2 in the upper",
         [](unsigned i) { return i < 16 ? i / 2 : (i & 1) | (i >> 2 << 1); });
    full("pairs i^1 in the lower half only", [](unsigned i) { return i < 16 ? i / 2 : i; });
    full("pairs i^1 in the first quarter only", [](unsigned i) { return i < 8 ? i / 2 : i; });
    full("pairs i^1 but for lane 31", [](unsigned i) { return i == 31 ? 16 : i / 2; });
    full("pairs i^1 and i^2 by turns of four lanes",
         [](unsigned i) { return i % 8 < 4 ? i / 2 : (i & 1) | (i >> 2 << 1); });
    full("pairs i^4", [](unsigned i) { return (i & 3) | (i >> 3 << 2); });
    auto const masked = [&](char const* name, std::uint32_t mask) {
      add(name, true, store, bits, mask, [](unsigned i) { return i; });
    };
    masked("i by lane 0", 1);
    masked("i by lane 31", 1U << 31);
    masked("i by first quarter", 0x000000ff);
    masked("i by lower half", 0x0000ffff);
    masked("i by quarters 0 and 2", 0x00ff00ff);
    masked("i by quarters 1 and 2", 0x00ffff00);
    masked("i by lane 0 of each quarter", 0x01010101);
    masked("i by even lanes", 0x55555555);
    masked("i by one of four lanes", 0x11111111);
    masked("i by all but lane 0", ~1U);
    auto const paired = [](unsigned i) { return i / 2; };
    add("i/2 by even lanes", true, store, bits, 0x55555555, paired);
    add("i/2 by lower half", true, store, bits, 0x0000ffff, paired);
    add("i/2 by first quarter", true, store, bits, 0x000000ff, paired);
    add("i/2 by all but lane 0", true, store, bits, ~1U, paired);
    add("2*i by even lanes", true, store, bits, 0x55555555, [](unsigned i) { return 2 * i; });
  }

  void add_random_shared(bool store, unsigned bits, unsigned rounds) {
    unsigned const elements = arena_bytes / (bits / 8);
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned range : {16U, 64U, 256U, elements}) {
        add("random", true, store, bits, ~0U, [&](unsigned) { return below(range); });
        add("random some lanes", true, store, bits, random_mask(), [&](unsigned) { return below(range); });
      }
      unsigned lane_at[32], bank_at[32];
      shuffle(lane_at);
      shuffle(bank_at);
      unsigned const pair_bit = round % 2 == 0 ? 1 : 2;
      auto const first_of_pair = [&](unsigned i) { return i & ~pair_bit; };
      add("permutation", true, store, bits, ~0U, [&](unsigned i) { return lane_at[i]; });
      add("permutation by some lanes", true, store, bits, random_mask(), [&](unsigned i) { return lane_at[i]; });
      add("random pairs", true, store, bits, ~0U, [&](unsigned i) { return bank_at[first_of_pair(i)] * (1 + i / 16); });
      add("random pairs by some lanes", true, store, bits, random_mask(),
          [&](unsigned i) { return bank_at[first_of_pair(i)]; });
      add("random pairs but for one lane", true, store, bits, ~0U,
          [&, odd = below(32)](unsigned i) { return bank_at[i == odd ? i : first_of_pair(i)]; });
      add("random pairs in one half", true, store, bits, ~0U,
          [&](unsigned i) { return bank_at[(i < 16) == (round % 4 < 2) ? first_of_pair(i) : i]; });
      add("some lanes read one word", true, store, bits, ~0U,
          [&, common = random_mask()](unsigned i) { return common >> i & 1 ? 5U : lane_at[i]; });
    }
  }

  void add_narrow_shared(bool store, unsigned bits) {
    add("i", true, store, bits, ~0U, [](unsigned i) { return i; });
    add("0", true, store, bits, ~0U, [](unsigned) { return 0U; });
    add("one word apart", true, store, bits, ~0U, [&](unsigned i) { return i * (32 / bits); });
    add("one row apart", true, store, bits, ~0U, [&](unsigned i) { return i * (1024 / bits); });
    for (unsigned range : {64U, 512U}) add("random", true, store, bits, ~0U, [&](unsigned) { return below(range); });
  }

  void add_global(bool store, unsigned bits) {
    auto const full = [&](char const* name, auto f) { add(name, false, store, bits, ~0U, f); };
    full("i", [](unsigned i) { return i; });
    full("i+1", [](unsigned i) { return i + 1; });
    full("0", [](unsigned) { return 0U; });
    full("i/2", [](unsigned i) { return i / 2; });
    full("i%8", [](unsigned i) { return i % 8; });
    full("2*i", [](unsigned i) { return 2 * i; });
    full("32*i", [](unsigned i) { return 32 * i; });
    for (unsigned range : {32U, 1024U}) {
      full("random", [&](unsigned) { return below(range); });
      add("random some lanes", false, store, bits, random_mask(), [&](unsigned) { return below(range); });
    }
  }

  // std::shuffle may differ from one library to the next.
  void shuffle(unsigned (&numbers)[32]) {
    for (unsigned i = 0; i < 32; ++i) numbers[i] = i;
    for (unsigned i = 31; i > 0; --i) std::swap(numbers[i], numbers[below(i + 1)]);
  }

  std::mt19937 random_{1};
};

template <bool shared, bool store>
void launch(pattern const& p, char* global) {
  lanes of;
  std::memcpy(of.offset, p.offset, sizeof of.offset);
  of.mask = p.mask;
  switch (p.bits) {
    case 8: access_once<shared, store, 8><<<1, 32, arena_bytes>>>(of, global, 0xdeadbeef); break;
    case 16: access_once<shared, store, 16><<<1, 32, arena_bytes>>>(of, global, 0xdeadbeef); break;
    case 32: access_once<shared, store, 32><<<1, 32, arena_bytes>>>(of, global, 0xdeadbeef); break;
    case 64: access_once<shared, store, 64><<<1, 32, arena_bytes>>>(of, global, 0xdeadbeef); break;
    case 128: access_once<shared, store, 128><<<1, 32, arena_bytes>>>(of, global, 0xdeadbeef); break;
  }
}

int launch_all(std::vector<pattern> const& all) {
  char* global = nullptr;
  cudaMalloc(&global, global_bytes);
  cudaMemset(global, 0, global_bytes);
  for (auto const& p : all) {
    if (p.shared)
      p.store ? launch<true, true>(p, global) : launch<true, false>(p, global);
    else
      p.store ? launch<false, true>(p, global) : launch<false, false>(p, global);
  }
  auto const status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::fprintf(stderr, "warp_access: %s\n", cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}

void list(std::vector<pattern> const& all) {
  std::puts("pattern,space,op,bits,mask,offsets");
  for (auto const& p : all) {
    std::printf("%s,%s,%s,%u,%08x,", p.name.c_str(), p.shared ? "shared" : "global", p.store ? "store" : "load", p.bits,
                p.mask);
    for (unsigned lane = 0; lane < 32; ++lane) std::printf(lane == 0 ? "%u" : " %u", p.offset[lane]);
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
