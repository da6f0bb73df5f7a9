// The sums of a session.
#include "gpu/simt/counter.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <new>
#include <tuple>

#include <tandem/simt/operations.hpp>

#include "gpu/simt/symbolize.hpp"

namespace tandem::simt {
namespace {

constexpr std::uint64_t sector_bytes = 32;

bool is_global(access_kind k) {
  return k == access_kind::global_load || k == access_kind::global_store || k == access_kind::global_atomic ||
         k == access_kind::texture_load;
}

touched_sectors sectors_of(operand const& o) {
  auto const begin = reinterpret_cast<std::uintptr_t>(o.data);
  auto const elements = o.lines == 0 ? 0 : (o.lines - 1) * o.stride + o.length;
  auto const end = begin + static_cast<std::uint64_t>(elements) * o.element_size;
  auto const first = begin / sector_bytes;
  return {first, (end + sector_bytes - 1) / sector_bytes - first};
}

}  // namespace

touched_sectors::touched_sectors(std::uint64_t first, std::uint64_t count)
    : first_(first),
      last_block_(static_cast<std::uint32_t*>(std::calloc(count + 1, sizeof(std::uint32_t)))),
      by_grid_(count) {
  if (last_block_ == nullptr) throw std::bad_alloc();
}

void touched_sectors::end_block(std::span<std::int64_t const> shifts, std::uint64_t members, std::uint64_t& of_blocks,
                                std::uint64_t& of_grid) {
  of_blocks += of_block_.size() * members;
  constexpr std::int64_t none[] = {0};
  for (auto const shift : shifts.empty() ? std::span<std::int64_t const>(none) : shifts)
    for (auto const sector : of_block_) {
      auto const i = sector + static_cast<std::uint64_t>(shift / static_cast<std::int64_t>(sector_bytes));
      if (i >= by_grid_.size() || by_grid_[i]) continue;
      by_grid_[i] = true;
      ++of_grid;
    }
  of_block_.clear();
}

void touched_sectors::begin_launch() {
  of_block_.clear();  // of a launch that threw
  std::fill(by_grid_.begin(), by_grid_.end(), false);
}

counter::counter(std::span<operand const> operands) {
  for (auto const& o : operands) operands_.push_back({sectors_of(o), sectors_of(o)});
}

void counter::begin_launch(void const* kernel, std::uint64_t blocks) {
  these_sites_ = &sites_[kernel];
  ++counts_.launches;
  counts_.blocks += blocks;
  for (auto& o : operands_) {
    o.loaded.begin_launch();
    o.stored.begin_launch();
  }
}

void counter::begin_block(std::uint64_t members) {
  members_ = members;
  ++block_;
  ++counts_.blocks_run;
  ffma_before_ = tandem_simt_ffma;
  dfma_before_ = tandem_simt_dfma;
}

void counter::end_block(block_class const& block) {
  counts_.ffma += (tandem_simt_ffma - ffma_before_) * members_;
  counts_.dfma += (tandem_simt_dfma - dfma_before_) * members_;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    auto const shifts =
        block.shifts.empty() ? std::span<std::int64_t const>() : std::span<std::int64_t const>(block.shifts.at(i));
    operands_[i].loaded.end_block(shifts, members_, counts_.block_sectors_loaded, counts_.grid_sectors_loaded);
    operands_[i].stored.end_block(shifts, members_, counts_.block_sectors_stored, counts_.grid_sectors_stored);
  }
}

void counter::touch(std::uint64_t sector, bool load) {
  for (std::size_t tried = 0; tried < operands_.size(); ++tried) {
    auto& o = operands_[last_operand_];
    if (o.loaded.contains(sector)) {
      (load ? o.loaded : o.stored).touch(sector, block_);
      return;
    }
    last_operand_ = last_operand_ + 1 == operands_.size() ? 0 : last_operand_ + 1;
  }
}

access_counts counter::cost_of_copy(warp_request const& request) {
  warp_copy copy{request.access.mask, 0, request.access.bytes, request.access.address, request.to};
  for (unsigned lane = 0; lane < copy.from.size(); ++lane)
    if ((copy.mask >> lane & 1) != 0 && copy.from[lane] != 0) copy.there |= std::uint32_t{1} << lane;
  for (auto const sector : sectors({copy.there, copy.bytes, copy.from})) touch(sector, true);
  access_counts c;
  c.requests = copy.there != 0 ? 1 : 0;  // zeros alone are none to global memory
  c.lanes = static_cast<std::uint64_t>(std::popcount(copy.there));
  c.bytes = c.lanes * copy.bytes;
  c.sectors = copied_sectors(copy);
  auto const cost = copy_wavefronts(copy);
  c.wavefronts = cost.wavefronts;
  c.conflicts = cost.conflicts;
  return c;
}

void counter::add(warp_request const& request) {
  access_counts c;
  c.requests = 1;
  c.lanes = static_cast<std::uint64_t>(std::popcount(request.access.mask));
  c.bytes = c.lanes * request.access.bytes;
  if (request.kind == access_kind::async_copy) {
    c = cost_of_copy(request);
  } else if (is_global(request.kind)) {
    auto const touched = sectors(request.access);
    c.sectors = touched.size;
    bool const store = request.kind == access_kind::global_store;
    for (auto const sector : touched) {
      if (!store) touch(sector, true);
      if (store || request.kind == access_kind::global_atomic) touch(sector, false);
    }
  } else {
    auto const cost = shared_wavefronts(request.access,
                                        request.kind == access_kind::shared_load ? direction::load : direction::store);
    c.wavefronts = cost.wavefronts;
    c.conflicts = cost.conflicts;
  }
  c *= members_;
  counts_.total[static_cast<std::size_t>(request.kind)] += c;
  auto const key = request.pc << 4 | static_cast<std::uint64_t>(request.kind);
  auto const at = these_sites_->try_emplace(key, site{request.kind, request.access.bytes, {}}).first;
  at->second.counts += c;
}

simt::counts counter::counts() const {
  auto all = counts_;
  std::map<std::tuple<std::string, std::string, int, access_kind, unsigned>, access_counts> lines;
  for (auto const& [kernel, sites] : sites_) {
    auto const name = function_name(kernel);  // goes through all symbols
    for (auto const& [key, s] : sites) {
      auto const line = source_line(reinterpret_cast<void const*>(key >> 4));
      lines[{name, line.file, line.line, s.kind, s.bytes}] += s.counts;
    }
  }
  for (auto const& [where, counts] : lines) {
    auto const& [kernel, file, line, kind, bytes] = where;
    all.sites.push_back({kernel, {file, line, {}}, kind, static_cast<int>(bytes), counts});
  }
  return all;
}

access_counts& access_counts::operator+=(access_counts const& o) noexcept {
  requests += o.requests, lanes += o.lanes, bytes += o.bytes;
  sectors += o.sectors, wavefronts += o.wavefronts, conflicts += o.conflicts;
  return *this;
}

access_counts& access_counts::operator*=(std::uint64_t n) noexcept {
  requests *= n, lanes *= n, bytes *= n;
  sectors *= n, wavefronts *= n, conflicts *= n;
  return *this;
}

std::string_view to_string(access_kind k) noexcept {
  switch (k) {
    case access_kind::global_load: return "global_load";
    case access_kind::global_store: return "global_store";
    case access_kind::global_atomic: return "global_atomic";
    case access_kind::shared_load: return "shared_load";
    case access_kind::shared_store: return "shared_store";
    case access_kind::shared_atomic: return "shared_atomic";
    case access_kind::async_copy: return "async_copy";
    case access_kind::texture_load: return "texture_load";
  }
  return "?";
}

}  // namespace tandem::simt
