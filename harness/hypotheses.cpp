// The hypotheses, from those with the least freedom to those with the most.
#include "harness/hypotheses.hpp"

#include <algorithm>

#include "harness/hypotheses/hypotheses.hpp"

namespace tandem::harness {

template <element T>
std::vector<explanation> probe(std::span<observation<T> const> calls, std::span<std::int64_t const> k_edges) {
  if (calls.empty()) return {};
  evidence<T> e(calls, k_edges);
  if (e.witnesses().empty()) return {};
  try_stale(e);
  try_scalars(e);
  try_strides(e);
  try_result_places(e);
  try_precision(e);
  try_panels(e);
  try_intervals(e);
  try_old_panels(e);
  try_displacements(e);
  try_fitted_scalars(e);
  if (std::ranges::none_of(e.findings(), [](finding const& f) { return f.share() >= 0.5; })) try_lost_bits(e);
  return e.choose();
}

template std::vector<explanation> probe<float>(std::span<observation<float> const>, std::span<std::int64_t const>);
template std::vector<explanation> probe<double>(std::span<observation<double> const>, std::span<std::int64_t const>);

}  // namespace tandem::harness
