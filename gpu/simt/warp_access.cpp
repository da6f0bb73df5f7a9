#include "gpu/simt/warp_access.hpp"

#include <algorithm>
#include <bit>

namespace tandem::simt {
namespace {

constexpr unsigned warp_size = 32, sector_bytes = 32, bank_row_bytes = 32 * 4;

// A sorted list of distinct numbers. Lanes mostly come in ascending order, in which nothing is searched or moved.
inline unsigned insert(std::uint64_t* list, unsigned size, std::uint64_t number) {
  unsigned at = size;
  while (at > 0 && list[at - 1] > number) --at;
  if (at > 0 && list[at - 1] == number) return size;
  for (unsigned i = size; i > at; --i) list[i] = list[i - 1];
  list[at] = number;
  return size + 1;
}

template <class F>
void for_each_lane(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// Passes of lanes that go together: a pass reads one row of each bank, and lanes that want the same word share it. An
// aligned access of 2 or 4 words takes 2 or 4 banks whole, so it counts as one unit of that size in fewer, wider banks.
unsigned passes(warp_access const& access, std::uint32_t lanes, unsigned unit_bytes) {
  int const shift = std::countr_zero(unit_bytes);  // a division takes longer than all else here
  std::uint64_t const bank = bank_row_bytes / unit_bytes - 1;
  // Most often all units lie within one row's width, each in a bank of its own.
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for_each_lane(lanes, [&](unsigned lane) {
    first = std::min(first, access.address[lane] >> shift);
    last = std::max(last, access.address[lane] >> shift);
  });
  if (lanes == 0 || last - first <= bank) return lanes != 0 ? 1 : 0;
  std::array<std::uint64_t, warp_size> unit;
  unsigned size = 0;
  for_each_lane(lanes, [&](unsigned lane) { size = insert(unit.data(), size, access.address[lane] >> shift); });
  std::array<std::uint8_t, warp_size> rows{};
  unsigned most = 0;
  for (unsigned i = 0; i < size; ++i) most = std::max<unsigned>(most, ++rows[unit[i] & bank]);
  return most;
}

// Whether every active lane finds its own address in the lane whose number differs in `bit`, or finds that inactive.
bool paired(warp_access const& access, unsigned bit) {
  std::uint32_t unlike = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    unlike |= std::uint32_t{access.address[lane] != access.address[lane ^ bit]} << lane;
  auto const partners = bit == 1 ? (access.mask >> 1 & 0x55555555) | (access.mask & 0x55555555) << 1
                                 : (access.mask >> 2 & 0x33333333) | (access.mask & 0x33333333) << 2;
  return (unlike & access.mask & partners) == 0;
}

}  // namespace

sector_list sectors(warp_access const& access) {
  sector_list list;
  for_each_lane(access.mask, [&](unsigned lane) {
    auto const first = access.address[lane] / sector_bytes;
    auto const last = (access.address[lane] + access.bytes - 1) / sector_bytes;
    list.size = insert(list.number.data(), list.size, first);
    if (last != first) list.size = insert(list.number.data(), list.size, last);
  });
  return list;
}

shared_cost shared_wavefronts(warp_access const& access, direction way) {
  // A pass moves at most 128 bytes, so lanes of 8 and 16 bytes go by half and quarter warps; where lanes that load
  // share addresses in pairs, two such groups go together. So an H200 did in each of 658 patterns, with lanes inactive
  // among them (tests/data/h200_warp_access.csv and h200_warp_access_random.csv). Atomics are taken as stores.
  unsigned const unit_bytes = std::max(4U, std::bit_ceil(access.bytes));
  unsigned group_size = bank_row_bytes / unit_bytes;
  if (way == direction::load && group_size < warp_size && (paired(access, 1) || paired(access, 2))) group_size *= 2;
  std::uint32_t const group = group_size == warp_size ? ~0U : (1U << group_size) - 1;

  shared_cost cost;
  for (unsigned first = 0; first < warp_size; first += group_size) {
    unsigned const taken = passes(access, access.mask & group << first, unit_bytes);
    cost.wavefronts += taken;
    cost.conflicts += taken > 1 ? taken - 1 : 0;
  }
  return cost;
}

// Copies are as an H200 counted, by instruction, in each of 384 patterns (tests/data/h200_async_access.csv).

unsigned copied_sectors(warp_copy const& copy) {
  if (copy.bytes < 16) return sectors({copy.there, copy.bytes, copy.from}).size;
  // A sector goes straight to 32 bytes of shared memory, half to half. What would be shifted, or lies in pieces there,
  // is read once a lane or piece.
  constexpr std::uint64_t half = sector_bytes / 2;
  std::array<std::uint64_t, warp_size> sector{}, piece{};
  unsigned size = 0;
  for_each_lane(copy.there, [&](unsigned lane) {
    auto const from = copy.from[lane] / sector_bytes;
    auto const to = copy.to[lane] / sector_bytes << 1 | ((copy.from[lane] / half ^ copy.to[lane] / half) & 1);
    for (unsigned i = 0; i < size; ++i)
      if (sector[i] == from && piece[i] == to) return;
    sector[size] = from;
    piece[size++] = to;
  });
  return size;
}

shared_cost copy_wavefronts(warp_copy const& copy) {
  // 16 bytes are a store. Fewer are read from the first-level cache, which lies in the same banks: a group takes as
  // many passes as lanes meet in one bank or another with the one that meets most, even if all of them read the same
  // word.
  if (copy.bytes >= 16) return shared_wavefronts({copy.mask, copy.bytes, copy.to}, direction::store);
  unsigned const banks = bank_row_bytes / copy.bytes;
  auto const bank = [&](std::uint64_t address) { return address / copy.bytes % banks; };
  shared_cost cost;
  for (unsigned first = 0; first < warp_size; first += banks) {
    std::uint32_t const group = copy.mask & (banks == warp_size ? ~0U : ((1U << banks) - 1) << first);
    std::array<std::uint32_t, warp_size> readers{}, writers{};  // by bank
    for_each_lane(group & copy.there, [&](unsigned lane) { readers[bank(copy.from[lane])] |= 1U << lane; });
    for_each_lane(group, [&](unsigned lane) { writers[bank(copy.to[lane])] |= 1U << lane; });
    int most = 0;
    for_each_lane(group, [&](unsigned lane) {
      auto const read_beside = copy.there >> lane & 1 ? readers[bank(copy.from[lane])] : 0;
      most = std::max(most, std::popcount(writers[bank(copy.to[lane])] | read_beside));
    });
    cost.wavefronts += static_cast<unsigned>(most);
    cost.conflicts += most > 1 ? static_cast<unsigned>(most - 1) : 0;
  }
  return cost;
}

}  // namespace tandem::simt
