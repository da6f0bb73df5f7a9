// The cut is found by trying: the edges are halved until they reach 128, for each of the four ways to keep panels.
#include "gpu/runtime/host_tiles.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

namespace tandem::gpu {
namespace {

constexpr std::int64_t smallest_edge = 128;
// Above any device's memory, and every number of bytes below it is exact in double.
constexpr std::int64_t most_memory = std::int64_t{1} << 53;

std::int64_t round_up(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }
std::int64_t count(std::int64_t size, std::int64_t edge) { return (size + edge - 1) / edge; }

// Whole blocks of the kernels where there is room for several.
std::int64_t edge_of(std::int64_t size, std::int64_t parts) {
  auto const edge = count(size, parts);
  return edge < 256 ? edge : std::min(size, round_up(edge, 256));
}

// 1, 2, 4, … parts, as long as they are not smaller than the smallest edge.
std::vector<std::int64_t> edges_of(std::int64_t size) {
  std::vector<std::int64_t> edges;
  for (std::int64_t parts = 1; parts == 1 || (size / parts >= smallest_edge && parts <= size / 2); parts *= 2)
    if (edges.empty() || edge_of(size, parts) < edges.back()) edges.push_back(edge_of(size, parts));
  if (edges.back() > smallest_edge) edges.push_back(smallest_edge);
  return edges;
}

std::int64_t padded(std::int64_t cols, std::int64_t element) {
  return cols * element < 256 ? cols : round_up(cols * element, 16) / element;
}

panel_slots room_for(std::int64_t rows, std::int64_t cols, std::int64_t element, std::int64_t slots) {
  auto const ld = padded(cols, element);
  // Saturated: sizes that no machine has must not wrap around.
  bool const is_possible =
      static_cast<double>(rows) * static_cast<double>(ld * element) < static_cast<double>(most_memory);
  return {rows, cols, slots, is_possible ? round_up(rows * ld * element, 512) : most_memory};
}

double bytes_of(panel_slots const& s) { return static_cast<double>(s.slots) * static_cast<double>(s.slot_bytes); }

struct cut {
  host_tiles tiles;
  double bytes;  // on the device
  double cost;   // in bytes that are copied
};

class cutter {
 public:
  explicit cutter(problem const& p) : p_(p), element_(static_cast<std::int64_t>(size_of(p.dtype))) {}

  // With panels that stay: those of the outer loop for the whole of a tile's k, those of the inner one for good.
  cut with(std::int64_t m, std::int64_t n, std::int64_t k, bool columns_first, bool outer_stays,
           bool inner_stays) const {
    auto const count_m = count(p_.m, m), count_n = count(p_.n, n), count_k = count(p_.k, k);
    auto const outer = columns_first ? count_n : count_m, inner = columns_first ? count_m : count_n;
    // Two are the least, so that one is copied while the other is used.
    auto const outer_slots = std::min(outer * count_k, outer_stays ? count_k + 1 : std::int64_t{2});
    auto const inner_slots = std::min(inner * count_k, inner_stays ? inner * count_k : std::int64_t{2});
    double const outer_loads = outer_slots >= count_k ? 1 : static_cast<double>(inner);
    double const inner_loads = inner_slots == inner * count_k ? 1 : static_cast<double>(outer);

    host_tiles tiles{.m = m, .n = n, .k = k, .columns_first = columns_first, .a = {}, .b = {}, .c = {}};
    tiles.a = room_for(p_.trans_a ? k : m, p_.trans_a ? m : k, element_, columns_first ? inner_slots : outer_slots);
    tiles.b = room_for(p_.trans_b ? n : k, p_.trans_b ? k : n, element_, columns_first ? outer_slots : inner_slots);
    tiles.c = room_for(m, n, element_, std::min(count_m * count_n, std::int64_t{2}));

    // A step costs about as much as 4 MiB of copies: its launches, and the blocks that its last round leaves idle.
    constexpr double step_bytes = 4 << 20;
    double const dm = static_cast<double>(p_.m), dn = static_cast<double>(p_.n), dk = static_cast<double>(p_.k);
    double const copied = static_cast<double>(element_) *
                          (dm * dk * (columns_first ? inner_loads : outer_loads) +
                           dk * dn * (columns_first ? outer_loads : inner_loads) + dm * dn * (p_.beta != 0 ? 2 : 1));
    double const exposed = static_cast<double>(tiles.a.slot_bytes) + static_cast<double>(tiles.b.slot_bytes) +
                           static_cast<double>(tiles.c.slot_bytes);
    double const steps = static_cast<double>(count_m) * static_cast<double>(count_n) * static_cast<double>(count_k);
    return {tiles, bytes_of(tiles.a) + bytes_of(tiles.b) + bytes_of(tiles.c), copied + exposed + steps * step_bytes};
  }

 private:
  problem const& p_;
  std::int64_t element_;
};

}  // namespace

std::int64_t panel_ld(std::int64_t rows, std::int64_t cols, dtype type) {
  constexpr std::int64_t most_texels = std::int64_t{1} << 27;
  auto const ld = padded(cols, static_cast<std::int64_t>(size_of(type)));
  return ld <= most_texels / rows ? ld : cols;
}

host_tiles cut_host_product(problem const& p, std::int64_t memory) {
  double const most = static_cast<double>(std::min(memory, most_memory - 1));
  cutter const cutter(p);
  auto const whole = cutter.with(p.m, p.n, p.k, true, true, true);
  if (whole.bytes <= std::min(most, static_cast<double>(whole_product_bytes))) return whole.tiles;

  auto const edges_m = edges_of(p.m), edges_n = edges_of(p.n), edges_k = edges_of(p.k);
  std::optional<cut> best;
  for (auto const k : edges_k) {
    for (auto const m : edges_m)
      for (auto const n : edges_n)
        for (int way = 0; way < 8; ++way) {
          auto const tried = cutter.with(m, n, k, (way & 1) == 0, (way & 2) == 0, (way & 4) == 0);
          if (tried.bytes <= most && (!best || tried.cost < best->cost)) best = tried;
        }
    if (best) return best->tiles;
  }
  auto const smallest = cutter.with(edges_m.back(), edges_n.back(), edges_k.back(), true, false, false);
  throw error(
      errc::out_of_memory,
      fmt::format("host views of m {}, n {}, k {}: {} bytes of device memory may be used, but the smallest "
                  "tiles, {} x {} x {}, take {}",
                  p.m, p.n, p.k, memory, smallest.tiles.m, smallest.tiles.n, smallest.tiles.k, smallest.tiles.bytes()));
}

host_walk::host_walk(host_tiles const& tiles, problem const& p)
    : tiles_(tiles),
      m_(p.m),
      n_(p.n),
      k_(p.k),
      count_m_(count(p.m, tiles.m)),
      count_n_(count(p.n, tiles.n)),
      count_k_(count(p.k, tiles.k)),
      held_a_(static_cast<std::size_t>(tiles.a.slots)),
      held_b_(static_cast<std::size_t>(tiles.b.slots)) {}

std::pair<std::int64_t, bool> host_walk::place(std::vector<held_panel>& held, std::int64_t index) const {
  auto slot = std::ranges::find(held, index, &held_panel::index);
  bool const load = slot == held.end();
  if (load) slot = std::ranges::min_element(held, {}, &held_panel::last_use);
  *slot = {index, step_};
  return {slot - held.begin(), load};
}

std::optional<host_step> host_walk::next() {
  auto const tile = step_ / count_k_, part = step_ % count_k_;
  if (tile >= count_m_ * count_n_) return {};
  auto const i = tiles_.columns_first ? tile % count_m_ : tile / count_n_;
  auto const j = tiles_.columns_first ? tile / count_m_ : tile % count_n_;
  auto const range = [](std::int64_t index, std::int64_t edge, std::int64_t size) {
    return index_range{index * edge, std::min(edge, size - index * edge)};
  };
  host_step step{.m = range(i, tiles_.m, m_), .n = range(j, tiles_.n, n_), .k = range(part, tiles_.k, k_)};
  std::tie(step.slot_a, step.load_a) = place(held_a_, i * count_k_ + part);
  std::tie(step.slot_b, step.load_b) = place(held_b_, j * count_k_ + part);
  step.slot_c = tile % tiles_.c.slots;
  step.first_of_k = part == 0;
  step.last_of_k = part + 1 == count_k_;
  ++step_;
  return step;
}

std::optional<std::int64_t> parse_memory_limit(char const* text) {
  if (text == nullptr) return {};
  std::int64_t bytes = 0;
  auto const* const end = text + std::strlen(text);
  auto const [stop, status] = std::from_chars(text, end, bytes);
  if (status != std::errc() || stop != end || bytes < 1 || bytes > most_memory)
    throw error(errc::unsupported,
                fmt::format("TANDEM_GPU_MEMORY is \"{}\": not a number of bytes from 1 to 2^53", text));
  return bytes;
}

}  // namespace tandem::gpu
