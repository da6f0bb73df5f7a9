// The shapes that `tandem tune` measures: those that the model is fitted to, and others that it is judged on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::tune {

/// Where a problem's operands begin beyond an aligned address, in elements.
struct offsets {
  int a = 0, b = 0, c = 0;
};

/// A problem without operands: `p.a`, `p.b` and `p.c` are set by `place`.
struct shape {
  std::string set = {};  ///< "calibration", "held_out" or "file"
  problem p = {};
  tune::offsets offsets = {};
};

/// The shape's problem on operands at these addresses, each a multiple of 256.
problem place(shape const& s, void const* a, void const* b, void* c);

/// The same on addresses that nobody reads, for what looks at alignment only.
problem place(shape const& s);

/// Elements from an operand's aligned address to its end.
struct extents {
  std::int64_t a = 0, b = 0, c = 0;
};
extents extents_of(shape const& s);

/// Squares, 2^p and beside it, thin and deep products, and random ones; all transposes, leading dimensions with and
/// without room, aligned and not. The same at every call.
std::vector<shape> calibration_shapes(dtype type);

/// `count` random shapes, half of them with edges of any magnitude up to 8192, half with edges up to 4096, evenly.
std::vector<shape> held_out_shapes(dtype type, int count);

/// Those of shape files that are of this type.
std::vector<shape> read_shapes(std::vector<std::string> const& files, dtype type);

}  // namespace tandem::tune
