// How a product of host operands is cut into tiles that fit the device, and the order in which they are computed:
// arithmetic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// Room on the device for copies of panels of one operand, as the operand is stored: each up to `rows` lines of `cols`
/// elements, fewer at the operand's edges.
struct panel_slots {
  std::int64_t rows = 0, cols = 0;
  std::int64_t slots = 0;
  std::int64_t slot_bytes = 0;  ///< a multiple of 512
};

/// How many elements apart the lines of a panel's copy lie. They begin at multiples of 16 bytes, which kernels read
/// faster; not short lines, of which padding would be a large part, nor where a panel would outgrow a texture (2^27
/// elements) that it fits without padding.
std::int64_t panel_ld(std::int64_t rows, std::int64_t cols, dtype type);

/// The cut of a product: tiles of C of m x n elements, each the sum of products of panels of A (m x k) and B (k x n)
/// that are copied to the device; fewer at the edges.
struct host_tiles {
  std::int64_t m = 0, n = 0, k = 0;
  bool columns_first = false;  ///< a column of tiles after the other, so that its panel of B stays; else rows
  panel_slots a, b, c;         ///< on the device in this order, one slot behind the other

  std::int64_t begin_b() const { return a.slots * a.slot_bytes; }
  std::int64_t begin_c() const { return begin_b() + b.slots * b.slot_bytes; }
  std::int64_t bytes() const { return begin_c() + c.slots * c.slot_bytes; }
};

/// Products whose operands take up to this many bytes go whole: their copies are short, and they have the bits of the
/// same product on device views.
inline constexpr std::int64_t whole_product_bytes = std::int64_t{96} << 20;

/// The cut of this problem that moves the fewest bytes with at most `memory` bytes on the device, its operands' first
/// panels, which nothing can overlap, counted twice. k is cut only where panels of all of k and 128 rows or columns do
/// not fit. Where every panel has a slot, each is copied once. It depends on nothing but the sizes, the element type,
/// the transposes, whether beta is 0, and `memory`. Throws errc::out_of_memory with the values where the smallest
/// panels, 128 x 128, do not fit.
host_tiles cut_host_product(problem const& p, std::int64_t memory);

struct index_range {
  std::int64_t begin = 0, size = 0;
};

/// One launch: the product of a panel of A and one of B, written or added to a tile of C.
struct host_step {
  index_range m, n, k;
  std::int64_t slot_a = 0, slot_b = 0, slot_c = 0;
  bool load_a = false, load_b = false;  ///< the panel is not in its slot yet
  bool first_of_k = false, last_of_k = false;
};

/// The steps of a cut in their order. A panel takes the place of one that the step before does not use, and a tile of C
/// not the place of the tile before it: so a step's copies may run beside the step before.
class host_walk {
 public:
  host_walk(host_tiles const& tiles, problem const& p);
  /// None after the last one.
  std::optional<host_step> next();

 private:
  struct held_panel {
    std::int64_t index = -1;
    std::int64_t last_use = -1;
  };
  // The slot of a panel, and whether it has to be loaded.
  std::pair<std::int64_t, bool> place(std::vector<held_panel>& held, std::int64_t index) const;

  host_tiles tiles_;
  std::int64_t m_, n_, k_;                    // of the whole problem
  std::int64_t count_m_, count_n_, count_k_;  // tiles
  std::int64_t step_ = 0;
  std::vector<held_panel> held_a_, held_b_;
};

/// The bytes that TANDEM_GPU_MEMORY's text allows; none without text. Throws errc::unsupported with the text where it
/// is no number of bytes from 1 to 2^53.
std::optional<std::int64_t> parse_memory_limit(char const* text);

}  // namespace tandem::gpu
