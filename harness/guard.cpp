// Guarded operands.
#include "harness/guard.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "harness/random.hpp"

namespace tandem::harness {
namespace {

constexpr std::size_t device_zone = 256;

std::size_t page_size() {
  static auto const size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Mappings that are not in use, by size; the largest are not kept.
class mapping_pool {
 public:
  static mapping_pool& instance() {
    static mapping_pool pool;
    return pool;
  }

  std::byte* take(std::size_t bytes) {
    {
      std::lock_guard const lock(mutex_);
      if (auto const found = free_.find(bytes); found != free_.end()) {
        auto* const data = found->second;
        free_.erase(found);
        kept_ -= bytes;
        return data;
      }
    }
    std::size_t const page = page_size();
    void* const whole = mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED) throw std::bad_alloc();
    auto* const data = static_cast<std::byte*>(whole) + page;
    if (mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) {
      munmap(whole, bytes + 2 * page);
      throw std::bad_alloc();
    }
    return data;
  }

  void give(std::byte* data, std::size_t bytes) noexcept {
    constexpr std::size_t most = std::size_t{64} << 20;
    {
      std::lock_guard const lock(mutex_);
      if (kept_ + bytes <= most) try {
          free_.emplace(bytes, data);
          kept_ += bytes;
          return;
        } catch (std::bad_alloc const&) {  // not kept, then
        }
    }
    munmap(data - page_size(), bytes + 2 * page_size());
  }

  mapping_pool(mapping_pool const&) = delete;
  mapping_pool& operator=(mapping_pool const&) = delete;

 private:
  mapping_pool() = default;
  ~mapping_pool() {
    for (auto const& [bytes, data] : free_) munmap(data - page_size(), bytes + 2 * page_size());
  }

  std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> free_;
  std::size_t kept_ = 0;
};

bool stored_by_rows(tandem::layout l, bool transposed) { return (l == layout::row_major) != transposed; }

}  // namespace

storage storage_a(test_case const& t) noexcept {
  return {t.m, t.k, t.lda, t.offset_a, stored_by_rows(t.layout_a, t.trans_a)};
}
storage storage_b(test_case const& t) noexcept {
  return {t.k, t.n, t.ldb, t.offset_b, stored_by_rows(t.layout_b, t.trans_b)};
}
storage storage_c(test_case const& t) noexcept {
  return {t.m, t.n, t.ldc, t.offset_c, stored_by_rows(t.layout_c, false)};
}

std::vector<std::size_t> stored_operands(test_case const& t) {
  if (t.b_is_a) return {0, 2};
  return {0, 1, 2};
}

placement place_on_host(storage const& s, std::size_t element_size, bool at_end, std::size_t alignment) noexcept {
  std::size_t const bytes = static_cast<std::size_t>(s.span()) * element_size;
  std::size_t const offset = static_cast<std::size_t>(s.offset) * element_size;
  std::size_t const region = std::max(page_size(), round_up(offset + bytes, page_size()));
  if (!at_end) return {region, offset, bytes};
  std::size_t const latest = region - bytes;
  std::size_t const begin = latest - (latest + alignment - offset % alignment) % alignment;
  return {region, begin, bytes};
}

bool lies_at_end(std::uint64_t seed, std::size_t operand) noexcept {
  return derive(shared_seed(seed), 6 + operand) % 2 == 0;
}

placement place_on_device(storage const& s, std::size_t element_size) noexcept {
  std::size_t const bytes = static_cast<std::size_t>(s.span()) * element_size;
  std::size_t const begin = device_zone + static_cast<std::size_t>(s.offset) * element_size;
  return {begin + bytes + device_zone, begin, bytes};
}

template <element T>
std::vector<std::byte> make_image(storage const& s, placement const& where, std::vector<T> const& values,
                                  typename nan_bits<T>::word gap, typename nan_bits<T>::word instead) {
  std::vector<std::byte> image(where.region);
  auto const canary = nan_bits<T>::around(gap);
  for (std::size_t at = 0; at < image.size(); at += sizeof canary)
    std::memcpy(image.data() + at, &canary, sizeof canary);
  auto const outer = s.outer(), inner = s.inner();
  for (std::int64_t o = 0; o < outer && inner > 0; ++o) {
    std::byte* to = image.data() + where.begin + static_cast<std::size_t>(o * s.ld) * sizeof(T);
    if (values.empty()) {
      for (std::int64_t i = 0; i < inner; ++i, to += sizeof(T)) std::memcpy(to, &instead, sizeof(T));
    } else if (s.by_rows) {
      std::memcpy(to, values.data() + o * inner, static_cast<std::size_t>(inner) * sizeof(T));
      to += static_cast<std::size_t>(inner) * sizeof(T);
    } else {
      for (std::int64_t i = 0; i < inner; ++i, to += sizeof(T))
        std::memcpy(to, values.data() + i * outer + o, sizeof(T));
    }
    if (o + 1 < outer)
      for (std::int64_t i = inner; i < s.ld; ++i, to += sizeof(T)) std::memcpy(to, &gap, sizeof(T));
  }
  return image;
}

template <element T>
std::string find_damage(std::span<std::byte const> region, std::span<std::byte const> image, storage const& s,
                        placement const& where, std::string const& operand, bool elements) {
  auto const same = [&](std::size_t begin, std::size_t bytes) {
    return bytes == 0 || std::memcmp(region.data() + begin, image.data() + begin, bytes) == 0;
  };
  if (elements && same(0, where.region)) return {};

  std::size_t const end = where.begin + where.bytes;
  if (!same(0, where.begin)) {  // the byte nearest to the matrix tells most
    std::size_t at = where.begin;
    while (region[at - 1] == image[at - 1]) --at;
    return fmt::format("byte {} before the start of {} overwritten", where.begin - at + 1, operand);
  }
  if (!same(end, where.region - end)) {
    std::size_t at = end;
    while (region[at] == image[at]) ++at;
    return fmt::format("byte {} past the end of {} overwritten", at - end + 1, operand);
  }
  auto const outer = s.outer(), inner = s.inner();
  for (std::int64_t o = 0; o < outer && inner > 0; ++o) {
    std::size_t const run = where.begin + static_cast<std::size_t>(o * s.ld) * sizeof(T);
    std::size_t const length = static_cast<std::size_t>(inner) * sizeof(T);
    if (elements && !same(run, length)) {
      std::size_t at = run;
      while (region[at] == image[at]) ++at;
      auto const i = static_cast<std::int64_t>((at - run) / sizeof(T));
      return fmt::format("{} modified at ({}, {})", operand, s.by_rows ? o : i, s.by_rows ? i : o);
    }
    if (o + 1 == outer) break;
    std::size_t const gap = static_cast<std::size_t>(s.ld - inner) * sizeof(T);
    if (!same(run + length, gap)) {
      std::size_t at = run + length;
      while (region[at] == image[at]) ++at;
      return fmt::format("gap of {} written, {} elements past the end of {} {}", operand,
                         (at - run - length) / sizeof(T) + 1, s.by_rows ? "row" : "column", o);
    }
  }
  return {};
}

template <element T>
void read_elements(std::span<std::byte const> region, storage const& s, placement const& where, std::vector<T>& out) {
  auto const outer = s.outer(), inner = s.inner();
  out.resize(static_cast<std::size_t>(outer * inner));
  for (std::int64_t o = 0; o < outer && inner > 0; ++o) {
    std::byte const* from = region.data() + where.begin + static_cast<std::size_t>(o * s.ld) * sizeof(T);
    if (s.by_rows) {
      std::memcpy(out.data() + o * inner, from, static_cast<std::size_t>(inner) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < inner; ++i, from += sizeof(T))
        std::memcpy(out.data() + i * outer + o, from, sizeof(T));
    }
  }
}

namespace {

/// Rows so far apart that the pages between them need no memory, in a region that needs too much of it otherwise.
bool lies_sparsely(storage const& s, placement const& where, std::size_t element_size) {
  constexpr std::size_t large = std::size_t{1} << 28;
  return where.bytes >= large && static_cast<std::size_t>(s.ld - s.inner()) * element_size >= 2 * page_size();
}

}  // namespace

template <element T>
operand_image<T>::operand_image(storage const& s, placement const& where, std::vector<T> const& values,
                                typename nan_bits<T>::word gap, typename nan_bits<T>::word instead)
    : stored_(s), where_(where), sparse_(lies_sparsely(s, where, sizeof(T))) {
  if (!sparse_) {
    pieces_.push_back({0, make_image<T>(s, where, values, gap, instead)});
    return;
  }
  auto const outer = s.outer(), inner = s.inner();
  std::size_t const length = static_cast<std::size_t>(inner) * sizeof(T);
  for (std::int64_t o = 0; o < outer; ++o) {
    std::size_t const run = where.begin + static_cast<std::size_t>(o * s.ld) * sizeof(T);
    std::size_t const begin = run / page_size() * page_size();
    std::vector<T> row;
    for (std::int64_t i = 0; i < inner && !values.empty(); ++i)
      row.push_back(values[static_cast<std::size_t>(s.by_rows ? o * inner + i : i * outer + o)]);
    storage const alone{.rows = 1, .cols = inner, .ld = inner, .offset = 0, .by_rows = true};
    pieces_.push_back({begin, make_image<T>(alone, {round_up(run + length, page_size()) - begin, run - begin, length},
                                            row, gap, instead)});
  }
}

template <element T>
void operand_image<T>::write(std::span<std::byte> region) const {
  for (auto const& p : pieces_) std::ranges::copy(p.bytes, region.begin() + static_cast<std::ptrdiff_t>(p.begin));
}

template <element T>
std::string operand_image<T>::find_damage(std::span<std::byte const> region, std::span<extent const> present,
                                          std::string const& operand, bool elements) const {
  if (!sparse_) return harness::find_damage<T>(region, pieces_[0].bytes, stored_, where_, operand, elements);
  auto const inner = stored_.inner();
  std::size_t const length = static_cast<std::size_t>(inner) * sizeof(T);
  auto const* const line = stored_.by_rows ? "row" : "column";
  for (std::size_t o = 0; o < pieces_.size(); ++o) {
    auto const& p = pieces_[o];
    std::size_t const run = where_.begin + o * static_cast<std::size_t>(stored_.ld) * sizeof(T) - p.begin;
    auto const now = region.subspan(p.begin, p.bytes.size());
    for (std::size_t at = 0; at < p.bytes.size(); ++at) {
      if (now[at] == p.bytes[at]) continue;
      if (at < run)
        return fmt::format("byte {} before the start of {} {} of {} overwritten", run - at, line, o, operand);
      if (at >= run + length)
        return fmt::format("byte {} past the end of {} {} of {} overwritten", at - run - length + 1, line, o, operand);
      if (!elements) continue;
      auto const i = (at - run) / sizeof(T);
      return fmt::format("{} modified at ({}, {})", operand, stored_.by_rows ? o : i, stored_.by_rows ? i : o);
    }
  }
  for (auto const& part : present)
    if (auto found = outside_of_pieces(region, part, operand); !found.empty()) return found;
  return {};
}

/// Pages that no row has: reading them makes them present as well, so only what is not 0 was written.
template <element T>
std::string operand_image<T>::outside_of_pieces(std::span<std::byte const> region, extent const& present,
                                                std::string const& operand) const {
  auto const step = static_cast<std::size_t>(stored_.ld) * sizeof(T);
  auto next = std::ranges::upper_bound(pieces_, present.begin, {}, [](piece const& p) { return p.begin; });
  if (next != pieces_.begin()) --next;
  for (std::size_t at = present.begin; at < present.begin + present.bytes; ++at) {
    while (next != pieces_.end() && at >= next->begin + next->bytes.size()) ++next;
    if (next != pieces_.end() && at >= next->begin) {
      at = next->begin + next->bytes.size() - 1;
      continue;
    }
    if (region[at] == std::byte{0}) continue;
    if (at < where_.begin) return fmt::format("byte {} before the start of {} overwritten", where_.begin - at, operand);
    std::size_t const o = (at - where_.begin) / step, element = (at - where_.begin) % step / sizeof(T);
    return fmt::format("gap of {} written, {} elements past the end of {} {}", operand,
                       element - static_cast<std::size_t>(stored_.inner()) + 1, stored_.by_rows ? "row" : "column", o);
  }
  return {};
}

host_region::host_region(std::size_t bytes) : data_(mapping_pool::instance().take(bytes)), size_(bytes) {}

host_region::~host_region() {
  if (data_ != nullptr) mapping_pool::instance().give(data_, size_);
}

host_region::host_region(host_region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

host_region& host_region::operator=(host_region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

template std::vector<std::byte> make_image<float>(storage const&, placement const&, std::vector<float> const&,
                                                  std::uint32_t, std::uint32_t);
template std::vector<std::byte> make_image<double>(storage const&, placement const&, std::vector<double> const&,
                                                   std::uint64_t, std::uint64_t);
template std::string find_damage<float>(std::span<std::byte const>, std::span<std::byte const>, storage const&,
                                        placement const&, std::string const&, bool);
template std::string find_damage<double>(std::span<std::byte const>, std::span<std::byte const>, storage const&,
                                         placement const&, std::string const&, bool);
template void read_elements<float>(std::span<std::byte const>, storage const&, placement const&, std::vector<float>&);
template void read_elements<double>(std::span<std::byte const>, storage const&, placement const&, std::vector<double>&);
template class operand_image<float>;
template class operand_image<double>;

}  // namespace tandem::harness
