// The rules of a session.
#include "gpu/simt/monitor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <link.h>

#include "gpu/simt/symbolize.hpp"

namespace tandem::simt {

monitor* watching = nullptr;
std::atomic<std::uintptr_t> watched_stack = 0, watched_stack_bytes = 0;

namespace {

constexpr std::size_t near_by = 4096;  // bytes: an access this close to an operand is told as one beside it

void watch(monitor* by, std::uintptr_t stack, std::size_t bytes) {
  watching = by;
  watched_stack.store(stack, std::memory_order_relaxed);
  watched_stack_bytes.store(bytes, std::memory_order_relaxed);
}

std::uintptr_t number(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }

char const* verb(touch how) { return how == touch::load ? "reads" : how == touch::store ? "writes" : "updates"; }

std::string describe(index3 const& size, unsigned thread) {
  return fmt::format("({}, {}, {})", thread % size.x, thread / size.x % size.y, thread / size.x / size.y);
}

}  // namespace

monitor::monitor(session_options options) : options_(std::move(options)), counter_(options_.operands) {
  regions_.resize(first_operand);
  regions_[0].space = space::shared_arrays;
  regions_[1].space = space::shared_dynamic;
  // First those that are written: where a kernel works in place, an element of two operands is one of these.
  auto operands = options_.operands;
  std::stable_partition(operands.begin(), operands.end(), [](operand const& o) { return o.writable; });
  for (auto const& o : operands) {
    region r;
    r.begin = number(o.data);
    r.line_bytes = static_cast<std::size_t>(o.length) * o.element_size;
    r.stride_bytes = static_cast<std::size_t>(o.stride) * o.element_size;
    r.bytes = o.lines == 0 ? 0 : static_cast<std::size_t>(o.lines - 1) * r.stride_bytes + r.line_bytes;
    if (o.lines <= 1 || o.stride == 0) r.stride_bytes = r.line_bytes;  // no gaps, and no division by zero
    r.writable = o.writable;
    r.name = o.name;
    r.element_bytes = o.element_size;
    if (options_.check && o.writable) r.shadow = simt::shadow(r.bytes, true);
    r.overlaps_written = std::ranges::any_of(regions_, [&](region const& written) {
      return written.space == space::operand && written.writable && written.begin < r.begin + r.bytes &&
             r.begin < written.begin + written.bytes;
    });
    regions_.push_back(std::move(r));
  }
  ranges_.resize(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) set_range(i);
}

void monitor::set_shared_arrays(shared_image const* image) {
  if (image == image_) return;
  image_ = image;
  auto& r = regions_[0];
  r = {};
  r.space = space::shared_arrays;
  set_range(0);
  arrays_.clear();
  if (image == nullptr || image->begin == nullptr) return;
  r.begin = number(image->begin);
  r.bytes = static_cast<std::size_t>(number(image->end) - r.begin);
  if (options_.check) r.shadow = simt::shadow(r.bytes, false);
  arrays_.assign(image->arrays_begin, image->arrays_end);
  std::ranges::sort(arrays_, {}, &shared_array::begin);
  set_range(0);
}

std::vector<block_class> monitor::begin_launch(kernel_launch const& launch, unsigned char const* arena) {
  kernel_ = launch.kernel;
  arguments_ = launch.arguments;
  argument_bytes_ = launch.argument_bytes;
  thread_count_ = launch.block.x * launch.block.y * launch.block.z;
  set_shared_arrays(launch.image);
  auto& dynamic = regions_[1];
  dynamic.begin = number(arena);
  dynamic.bytes = launch.dynamic_bytes;
  set_range(1);
  dynamic.shadow = options_.check ? simt::shadow(dynamic.bytes, false) : simt::shadow();
  threads_.assign(thread_count_, {});
  live_.resize((thread_count_ + 31) / 32);
  order_.begin_launch();
  most_basic_blocks_ = std::uint64_t{1} << 26;
  trace_.clear();  // of a launch that threw
  counter_.begin_launch(kernel_, std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z);
  return options_.sample ? options_.sample(launch.grid, launch.block) : std::vector<block_class>();
}

void monitor::begin_block(block_class const& block) {
  block_ = block;
  exited_ = 0;
  abandoned_ = false;
  barrier_ = 0;
  meetings_ = {};
  for (std::size_t w = 0; w < live_.size(); ++w)
    live_[w] = ~0u >> (32 - std::min<unsigned>(32, thread_count_ - static_cast<unsigned>(w) * 32));
  order_.begin_block();
  counter_.begin_block(block.members);
}

void monitor::resume(running_thread const& thread) {
  thread_ = thread;
  stack_ = number(thread.stack.top) - thread.stack.size;
  stack_bytes_ = thread.stack.size;
  me().waits_at = 0;
  basic_blocks_ = 0;
  order_.resume(thread.thread);
  if (options_.count) trace_.start_lane(thread.lane);
  watch(this, stack_, stack_bytes_);
}

void monitor::wait_for_block(void const* pc) {
  watch(nullptr, 0, 0);
  me().waits_at = number(pc);
  me().waits_for_warp = false;
  if (barrier_ == 0) barrier_ = number(pc), barrier_thread_ = thread_index;
  if (options_.check && barrier_ != number(pc))
    note(defect::barrier_divergence, number(pc), barrier_, [] { return "waits here, others"; });
}

void monitor::wait_for_warp(std::uint32_t mask, bool exchanges, void const* pc) {
  watch(nullptr, 0, 0);
  me().waits_at = number(pc);
  me().waits_for_warp = true;
  if (!options_.check) return;
  if ((mask >> thread_.lane & 1) == 0)
    note(defect::warp_divergence, number(pc), 0,
         [&] { return fmt::format("lane {} is not in its own mask {:#010x}", thread_.lane, mask); });
  meetings_[thread_.lane] = {thread_.warp, exchanges, number(pc)};
  auto const others = mask & live_[thread_.warp] & ~(1u << thread_.lane);
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto const& other = meetings_[lane];
    if ((others >> lane & 1) == 0 || other.warp != thread_.warp || other.pc == 0 || other.pc == number(pc)) continue;
    if (!exchanges && !other.exchanges) continue;  // __syncwarp() at another line is as good
    note(defect::warp_divergence, number(pc), other.pc, [&] { return fmt::format("waits here, lane {}", lane); });
    return;
  }
}

void monitor::shuffle_from_outside(unsigned source, void const* pc) {
  if (options_.check)
    note(defect::warp_divergence, number(pc), 0,
         [&] { return fmt::format("wants the value of lane {}, which takes no part", source); });
}

void monitor::exit_thread() {
  watch(nullptr, 0, 0);
  live_[thread_.warp] &= ~(1u << thread_.lane);
  ++exited_;
  me().copies.clear();
  me().groups = 0;
}

void monitor::warp_stopped(unsigned) {
  // Where only some lanes waited for each other, the others may still meet them in what both do next.
  bool const parted = synced_ != 0 && (trace_.lanes() & ~met_) != 0;
  synced_ = met_ = 0;
  if (options_.count && (!parted || trace_.is_full()))
    trace_.flush([this](warp_request const& request) { counter_.add(request); });
}

void monitor::warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live, bool exchanges) {
  if (!exchanges) order_.warp_synced(warp, lanes, live);
  synced_ |= lanes;
  if (std::popcount(lanes) > std::popcount(met_)) met_ = lanes;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1) != 0) meetings_[lane] = {};
}

void monitor::block_synced() {
  if (options_.check && exited_ != 0)
    note(defect::barrier_divergence, barrier_, 0, barrier_thread_,
         [&] { return fmt::format("{} of the block's {} threads have exited", exited_, thread_count_); });
  barrier_ = 0;
  order_.block_synced();
  if (options_.count) counter_.block_synced();
}

void monitor::deadlock() {
  if (!options_.check) return;
  auto const waits = [&](bool for_warp) {
    return std::ranges::find_if(threads_,
                                [&](auto const& t) { return t.waits_at != 0 && t.waits_for_warp == for_warp; });
  };
  auto const lane = waits(true), other = waits(false);
  auto const who = static_cast<unsigned>(lane - threads_.begin());
  index3 const at{who % block_size.x, who / block_size.x % block_size.y, who / block_size.x / block_size.y};
  bool const barrier = other != threads_.end();
  note(defect::deadlock, lane->waits_at, barrier ? other->waits_at : 0, at, [&] {
    return std::string("waits for lanes of its warp that do not come") + (barrier ? "; others wait for the block" : "");
  });
}

void monitor::end_block() {
  for (auto& t : threads_) t = {};
  if (options_.count) counter_.end_block(block_);
}

void monitor::end_launch() { kernel_ = nullptr; }

void monitor::add_workspace(void const* begin, std::size_t bytes) {
  region r;
  r.begin = number(begin);
  r.bytes = r.line_bytes = r.stride_bytes = bytes;
  r.name = "the workspace";
  if (options_.check) r.shadow = simt::shadow(bytes, true);
  regions_.push_back(std::move(r));
  ranges_.emplace_back();
  set_range(regions_.size() - 1);
}

void monitor::remove_workspace(void const* begin) {
  auto const found = std::ranges::find_if(regions_.begin() + first_operand, regions_.end(),
                                          [&](region const& r) { return r.begin == number(begin); });
  if (found == regions_.end()) return;  // of before the session
  ranges_.erase(ranges_.begin() + (found - regions_.begin()));
  regions_.erase(found);
  region_of_pc_ = {};
}

bool monitor::is_built_in_variable(std::uintptr_t address) const {
  if (address - number(arguments_) < argument_bytes_) return true;
  for (auto const* index : {&thread_index, &block_index, &block_size, &grid_size})
    if (address - number(index) < sizeof *index) return true;
  return false;
}

// Whether it lies in what a program's file holds and nobody writes: `__constant__` tables, strings, virtual functions.
bool monitor::is_constant(std::uintptr_t address) {
  auto const holds = [](dl_phdr_info* object, std::size_t, void* wanted) {
    auto const at = *static_cast<std::uintptr_t const*>(wanted) - object->dlpi_addr;
    return static_cast<int>(
        std::any_of(object->dlpi_phdr, object->dlpi_phdr + object->dlpi_phnum, [&](auto const& part) {
          return ((part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) || part.p_type == PT_GNU_RELRO) &&
                 at - part.p_vaddr < part.p_memsz;
        }));
  };
  return dl_iterate_phdr(holds, &address) != 0;
}

void monitor::set_range(std::size_t i) {
  auto const& r = regions_[i];
  ranges_[i] = {r.begin, r.bytes,
                r.space == space::operand && !r.writable && !r.overlaps_written && r.stride_bytes == r.line_bytes};
}

std::size_t monitor::find(std::uintptr_t address, unsigned bytes) const {
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].contains(address, bytes)) return i;
  return nowhere;
}

std::size_t monitor::find_or_stray(std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc) {
  auto const r = find(address, bytes);
  if (r == nowhere) stray(address, bytes, how, pc);
  return r;
}

void monitor::check(region& r, std::uintptr_t address, unsigned bytes, unsigned alignment, touch how,
                    std::uintptr_t pc) {
  if ((address & (alignment - 1)) != 0) misaligned(r, address, bytes, alignment, how, pc);
  auto const offset = address - r.begin;
  if (r.space == space::operand) {
    bool const gap = is_in_gap(r, address, bytes);
    bool const not_allowed = !r.writable && how != touch::load;
    if (gap || not_allowed || (!r.writable && r.overlaps_written)) [[unlikely]] {
      auto* const other = find_operand(address, bytes, how);
      if (other != nullptr && other != &r) return check(*other, address, bytes, alignment, how, pc);
      if (not_allowed) write_to_input(r, address, bytes, pc);
      if (gap) in_gap(r, address, bytes, how, pc);
    }
    if (!r.writable) return;
  }
  if (how == touch::atomic) order_.atomic();
  stamp other;
  auto const found = how == touch::load ? r.shadow.load(order_, offset, bytes, pc, other)
                                        : r.shadow.store(order_, offset, bytes, pc, how == touch::atomic, other);
  if (found != clash::none) report(found, other, r, address, bytes, how, pc);
}

// Operands may overlap and be parts of one matrix: another one may allow what this one does not, or be written there.
monitor::region* monitor::find_operand(std::uintptr_t address, unsigned bytes, touch how) {
  for (auto i = first_operand; i < regions_.size(); ++i) {
    auto& r = regions_[i];
    if (ranges_[i].contains(address, bytes) && !is_in_gap(r, address, bytes) && (how == touch::load || r.writable))
      return &r;
  }
  return nullptr;
}

void monitor::end_thread() {
  abandoned_ = true;
  watch(nullptr, 0, 0);
  abandon_thread();
}

void monitor::endless(std::uintptr_t pc) {
  note(defect::deadlock, pc, 0, [&] {
    return fmt::format(
        "has gone through {} basic blocks without waiting; it may spin until another thread does something",
        most_basic_blocks_);
  });
  most_basic_blocks_ = std::uint64_t{1} << 16;
  end_thread();
}

void monitor::misaligned(region const& r, std::uintptr_t address, unsigned bytes, unsigned alignment, touch how,
                         std::uintptr_t pc) {
  note(defect::misaligned, pc, 0, [&] {
    return fmt::format("{} {} bytes at {}, which is no multiple of {}", verb(how), bytes, describe(r, address),
                       alignment);
  });
  end_thread();
}

void monitor::write_to_input(region const& r, std::uintptr_t address, unsigned bytes, std::uintptr_t pc) {
  note(defect::write_to_input, pc, 0,
       [&] { return fmt::format("writes {} bytes at {}", bytes, describe(r, address)); });
  end_thread();
}

void monitor::in_gap(region const& r, std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc) {
  note(defect::row_gap, pc, 0, [&] {
    return fmt::format("{} {} bytes at {}, where a row has {} bytes", verb(how), bytes, describe(r, address),
                       r.line_bytes);
  });
}

bool monitor::is_in_shared_array(std::uintptr_t address, unsigned bytes) const {
  auto const after =
      std::ranges::upper_bound(arrays_, reinterpret_cast<void const*>(address), {}, &shared_array::begin);
  if (after == arrays_.begin()) return false;
  auto const& array = *std::prev(after);
  return address + bytes <= number(array.begin) + array.bytes;
}

void monitor::report(clash found, stamp const& other, region& r, std::uintptr_t address, unsigned bytes, touch how,
                     std::uintptr_t pc) {
  auto const what = [&] { return fmt::format("{} {} bytes at {}", verb(how), bytes, describe(r, address)); };
  // What no thread may write stays unwritten, so that every access to it comes here.
  if (r.space == space::shared_arrays && (found == clash::uninitialised || found == clash::first_write) &&
      !is_in_shared_array(address, bytes)) {
    note(defect::outside_shared, pc, 0, what);
    if (how != touch::load) r.shadow.forget(address - r.begin, bytes);
    return;
  }
  if (found == clash::first_write) return;
  if (found == clash::uninitialised) {
    note(defect::uninitialised_shared, pc, 0, what);
    return;
  }
  auto const who = [&] {
    return order_.by_another_block(other) ? std::string("a thread of another block")
           : other.is(stamp::several_warps) || !std::has_single_bit(other.lanes)
               ? std::string("several threads")
               : fmt::format("thread {}", simt::describe(block_size, other.thread));
  };
  if (found == clash::in_flight) {
    note(defect::async_not_awaited, pc, full_pc(other),
         [&] { return fmt::format("{}, to which {} still copies,", what(), who()); });
    return;
  }
  note(r.space == space::operand ? defect::global_race : defect::shared_race, pc, full_pc(other), [&] {
    return fmt::format("{}, which {} {}", what(), who(),
                       found == clash::read      ? "read"
                       : other.is(stamp::atomic) ? "updated"
                                                 : "wrote");
  });
}

// A stamp keeps the low half of a pc; the kernel's own code is near.
std::uintptr_t monitor::full_pc(stamp const& s) const {
  auto const kernel = number(kernel_);
  auto pc = (kernel & ~std::uintptr_t{0xffffffff}) | s.pc;
  if (pc + 0x80000000 < kernel) pc += std::uintptr_t{1} << 32;
  if (pc > kernel + 0x80000000) pc -= std::uintptr_t{1} << 32;
  return pc;
}

std::string monitor::describe(region const& r, std::uintptr_t address) const {
  auto const offset = address - r.begin;
  switch (r.space) {
    case space::shared_dynamic: return fmt::format("byte {} of the {} bytes of dynamic shared memory", offset, r.bytes);
    case space::shared_arrays: {
      auto const after =
          std::ranges::upper_bound(arrays_, reinterpret_cast<void const*>(address), {}, &shared_array::begin);
      if (after == arrays_.begin()) return "shared memory";
      auto const& array = *std::prev(after);
      return fmt::format("byte {} of {} ({} bytes)", address - number(array.begin), variable_name(array.symbol),
                         array.bytes);
    }
    case space::operand: break;
  }
  auto const line = r.stride_bytes == 0 ? 0 : offset / r.stride_bytes;
  return fmt::format("{}, row {}, element {}", r.name, line, (offset - line * r.stride_bytes) / r.element_bytes);
}

void monitor::stray(std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc) {
  auto const what = [&](char const* where, std::size_t by, std::string const& name) {
    return fmt::format("{} {} bytes that {} {} by {} bytes", verb(how), bytes, where, name, by);
  };
  region const* below = nullptr;  // the access lies just below it
  region const* past = nullptr;   // the access lies, or ends, just past it
  for (auto const& r : regions_) {
    if (r.begin == 0) continue;
    auto const end = r.begin + r.bytes;
    if (address < r.begin && r.bytes != 0 && r.begin - address <= near_by &&
        (below == nullptr || r.begin < below->begin))
      below = &r;
    if (address + bytes > end && address - r.begin <= r.bytes + near_by && (past == nullptr || r.begin > past->begin))
      past = &r;
  }
  auto const name_of = [](region const& r) {
    return r.space == space::operand ? r.name
           : r.space == space::shared_dynamic
               ? fmt::format("the {} bytes of dynamic shared memory that were launched", r.bytes)
               : std::string("the shared arrays");
  };
  // Noted also by a session that only counts: what the thread would have done is missing from its counts and results.
  if (past != nullptr && (below == nullptr || address - (past->begin + past->bytes) <= below->begin - address ||
                          address < past->begin + past->bytes))
    note(past->space == space::operand ? defect::outside_operands : defect::outside_shared, pc, 0,
         [&] { return what("end past", address + bytes - past->begin - past->bytes, name_of(*past)); });
  else if (below != nullptr)
    note(below->space == space::operand ? defect::below_operand : defect::outside_shared, pc, 0,
         [&] { return what("begin below", below->begin - address, name_of(*below)); });
  else
    note(defect::outside_operands, pc, 0,
         [&] { return fmt::format("{} {} bytes that no operand is near", verb(how), bytes); });
  end_thread();
}

// Lanes that copy different parts of their bytes, or zeros, do so in one request, which is traced once for both sides.
void monitor::copy_async(void* to, void const* from, unsigned bytes, unsigned from_source, std::uintptr_t pc) {
  if (from_source != 0) {
    auto const source = find_or_stray(number(from), from_source, touch::load, pc);
    if (options_.check) check(regions_[source], number(from), from_source, bytes, touch::load, pc);
  }
  auto const target = find_or_stray(number(to), bytes, touch::store, pc);
  if (options_.count) trace_.copy(pc, bytes, from_source != 0 ? number(from) : 0, number(to));
  if (options_.check) {
    check(regions_[target], number(to), bytes, bytes, touch::store, pc);
    mark_in_flight(to, bytes, pc, true);
  }
  me().copies.push_back({to, from, bytes, from_source, me().groups, pc});
}

void monitor::mark_in_flight(void* to, unsigned bytes, std::uintptr_t pc, bool on_its_way) {
  auto& r = regions_[find(number(to), bytes)];
  r.shadow.set_in_flight(order_, number(to) - r.begin, bytes, pc, on_its_way);
}

void monitor::commit_async() { ++me().groups; }

void monitor::wait_async(unsigned groups) {
  auto& self = me();
  auto const arrived = std::stable_partition(self.copies.begin(), self.copies.end(),
                                             [&](pending_copy const& c) { return c.group + groups < self.groups; });
  for (auto c = self.copies.begin(); c != arrived; ++c) {
    std::memset(c->to, 0, c->bytes);
    std::memcpy(c->to, c->from, c->from_source);
    if (options_.check) mark_in_flight(c->to, c->bytes, c->pc, false);
  }
  self.copies.erase(self.copies.begin(), arrived);
}

void monitor::fetch(void const* from, unsigned bytes, std::uintptr_t pc) {
  auto const r = find_or_stray(number(from), bytes, touch::load, pc);
  if (options_.check) check(regions_[r], number(from), bytes, bytes, touch::load, pc);
  if (options_.count) trace_.access(pc, access_kind::texture_load, bytes, number(from));
}

}  // namespace tandem::simt
