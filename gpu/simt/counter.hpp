// Adds up what the merged accesses of warps cost an NVIDIA GPU's memory system.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <tandem/simt/session.hpp>

#include "gpu/simt/warp_access.hpp"
#include "gpu/simt/warp_trace.hpp"

namespace tandem::simt {

/// Which sectors of one operand were touched, by the block that runs and by the whole grid.
class touched_sectors {
 public:
  touched_sectors(std::uint64_t first, std::uint64_t count);

  bool contains(std::uint64_t sector) const { return sector - first_ < by_grid_.size(); }
  void touch(std::uint64_t sector, std::uint32_t block) {
    auto const i = sector - first_;
    if (last_block_[i] == block) return;
    last_block_[i] = block;
    of_block_.push_back(i);
  }
  /// Adds the block's sectors, seen from the block's whole class, to the grid's, and forgets them.
  void end_block(std::span<std::int64_t const> shifts, std::uint64_t members, std::uint64_t& of_blocks,
                 std::uint64_t& of_grid);
  void begin_launch();

 private:
  struct release {
    void operator()(std::uint32_t* p) const { std::free(p); }
  };
  std::uint64_t first_;
  // For each sector. Pages of zeros cost nothing until they are touched, and a sampled grid touches few.
  std::unique_ptr<std::uint32_t[], release> last_block_;
  std::vector<std::uint64_t> of_block_;
  std::vector<bool> by_grid_;
};

class counter {
 public:
  explicit counter(std::span<operand const> operands);

  void begin_launch(void const* kernel, std::uint64_t blocks);
  void begin_block(std::uint64_t members);
  void add(warp_request const& request);
  void block_synced() { counts_.barriers += members_; }
  void end_block(block_class const& block);

  simt::counts counts() const;

 private:
  struct sectors_of_operand {
    touched_sectors loaded, stored;
  };
  void touch(std::uint64_t sector, bool load);
  access_counts cost_of_copy(warp_request const& request);

  simt::counts counts_;
  std::uint64_t members_ = 1;
  std::uint32_t block_ = 0;
  std::uint64_t ffma_before_ = 0, dfma_before_ = 0;
  std::vector<sectors_of_operand> operands_;
  std::size_t last_operand_ = 0;
  struct site {
    access_kind kind;
    unsigned bytes;
    access_counts counts;
  };
  using sites_of_kernel = std::unordered_map<std::uint64_t, site>;  // by pc and kind
  std::map<void const*, sites_of_kernel> sites_;
  sites_of_kernel* these_sites_ = nullptr;  // of the kernel that runs
};

}  // namespace tandem::simt
