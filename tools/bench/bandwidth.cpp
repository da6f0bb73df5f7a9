// Loops of the widest vectors that load, store or do both, and nothing else.
#include "tools/bench/bandwidth.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "tools/bench/timed_threads.hpp"

// Vectors of SVE have no size, so there are no arrays of them: Arm's machines are measured with NEON.
// clang-format off
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/bandwidth.cpp"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tandem::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using tag = hn::ScalableTag<std::uint64_t>;
constexpr std::size_t step = 8;  // vectors an iteration

// What is in memory may have changed: the next pass is not this one again.
void forget_memory() { asm volatile("" ::: "memory"); }

template <class Body>
void walk(std::uint64_t* data, std::size_t bytes, std::int64_t passes, Body const& body) {
  std::size_t const lanes = hn::Lanes(tag()), count = bytes / sizeof(std::uint64_t) / (lanes * step) * (lanes * step);
  for (; passes > 0; --passes) {
    for (std::size_t i = 0; i < count; i += lanes * step) body(data + i, lanes);
    forget_memory();
  }
}

void read_bytes(std::uint64_t* data, std::size_t bytes, std::int64_t passes) {
  tag const d;
  hn::Vec<tag> sums[step];
  for (auto& s : sums) s = hn::Zero(d);
  walk(data, bytes, passes, [&](std::uint64_t const* p, std::size_t lanes) HWY_ATTR {
    for (std::size_t v = 0; v < step; ++v) sums[v] = hn::Add(sums[v], hn::Load(d, p + v * lanes));
  });
  for (std::size_t v = 1; v < step; ++v) sums[0] = hn::Add(sums[0], sums[v]);
  std::uint64_t volatile const seen = hn::GetLane(sums[0]);
  static_cast<void>(seen);
}

void store_bytes(std::uint64_t* data, std::size_t bytes, std::int64_t passes) {
  tag const d;
  auto const value = hn::Set(d, 3);
  walk(data, bytes, passes, [&](std::uint64_t* p, std::size_t lanes) HWY_ATTR {
    for (std::size_t v = 0; v < step; ++v) hn::Store(value, d, p + v * lanes);
  });
}

void stream_bytes(std::uint64_t* data, std::size_t bytes, std::int64_t passes) {
  tag const d;
  auto const value = hn::Set(d, 3);
  walk(data, bytes, passes, [&](std::uint64_t* p, std::size_t lanes) HWY_ATTR {
    for (std::size_t v = 0; v < step; ++v) hn::Stream(value, d, p + v * lanes);
  });
  hwy::FlushStream();
}

void update_bytes(std::uint64_t* data, std::size_t bytes, std::int64_t passes) {
  tag const d;
  auto const value = hn::Set(d, 3);
  walk(data, bytes, passes, [&](std::uint64_t* p, std::size_t lanes) HWY_ATTR {
    for (std::size_t v = 0; v < step; ++v) hn::Store(hn::Add(hn::Load(d, p + v * lanes), value), d, p + v * lanes);
  });
}

}  // namespace
}  // namespace tandem::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::bench {
namespace {

HWY_EXPORT(read_bytes);
HWY_EXPORT(store_bytes);
HWY_EXPORT(stream_bytes);
HWY_EXPORT(update_bytes);

using loop = void (*)(std::uint64_t*, std::size_t, std::int64_t);

constexpr std::size_t page = 4096, smallest = 1024;  // the smallest is whole iterations of any vector length

double rate(loop f, char* data, std::size_t share, std::size_t stride, int threads) {
  // Short samples (0.1 ms in caches) and many: on a machine that others use, too, some fall between their turns.
  constexpr std::size_t sample_bytes = 16 << 20;
  auto const passes = static_cast<std::int64_t>(std::max<std::size_t>(1, sample_bytes / share));
  double best = 0, spent = 0;
  for (int sample = 0; sample < 15 || (spent < 0.02 && sample < 100); ++sample) {
    double const seconds = timed_threads(threads, [&](int thread) {
      f(reinterpret_cast<std::uint64_t*>(data + static_cast<std::size_t>(thread) * stride), share, passes);
    });
    spent += seconds;
    best = std::max(best, static_cast<double>(share) * threads * static_cast<double>(passes) / seconds);
  }
  return best;
}

byte_rates measure_bytes(std::size_t working_set, int threads) {
  auto const share = std::max(smallest, working_set / static_cast<std::size_t>(threads) / smallest * smallest);
  // Threads that write keep to pages of their own.
  auto const stride = (share + page - 1) / page * page;
  auto const bytes = stride * static_cast<std::size_t>(threads);
  std::unique_ptr<char, void (*)(void*)> const data(static_cast<char*>(std::aligned_alloc(page, bytes)), std::free);
  if (!data) throw std::bad_alloc();
  timed_threads(threads,
                [&](int thread) { std::memset(data.get() + static_cast<std::size_t>(thread) * stride, 1, stride); });
  auto const of = [&](loop f) { return rate(f, data.get(), share, stride, threads); };
  return {.read = of(HWY_DYNAMIC_DISPATCH(read_bytes)),
          .store = std::max(of(HWY_DYNAMIC_DISPATCH(store_bytes)), of(HWY_DYNAMIC_DISPATCH(stream_bytes))),
          .update = of(HWY_DYNAMIC_DISPATCH(update_bytes))};
}

}  // namespace

byte_rates const& measured_bytes(std::size_t working_set, int threads) {
  static std::map<std::pair<std::size_t, int>, byte_rates> known;
  std::pair const key(std::max(smallest, working_set), threads);
  auto const found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, measure_bytes(key.first, threads)).first->second;
}

}  // namespace tandem::bench
#endif
