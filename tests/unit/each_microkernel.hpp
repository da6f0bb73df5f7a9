// Statements about every microkernel that this processor runs.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <vector>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::tests {

/// f(kernel), of each instruction set and type.
template <class F>
void for_each_microkernel(F const& f) {
  for (auto const* set : cpu::instruction_sets())
    if (set->supported()) {
      INFO(set->technique);
      f(set->f32);
      f(set->f64);
    }
}

/// A function along rows of C, and how many terms it takes.
template <class T>
struct along_rows {
  std::int64_t terms;
  cpu::update_function<T> update;
};

template <class T>
std::vector<along_rows<T>> all_along_rows(cpu::microkernel<T> const& kernel) {
  std::vector<along_rows<T>> all;
  for (auto const update : kernel.update_along) all.push_back({std::ssize(all) + 1, update});
  all.push_back({kernel.terms_of_few_rows, kernel.update_few_rows});
  return all;
}

}  // namespace tandem::tests
