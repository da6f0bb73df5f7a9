// The fit is a pattern search from a few starts, on robust errors of the logarithm of the time.
#include "tools/tune/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "gpu/describe.hpp"

namespace tandem::tune {
namespace {

struct sample {
  problem p;
  double log_time = 0, weight = 1;
};

// A parameter on a scale from 0 to 1, even in what matters: magnitudes, or where 0 is allowed, roots.
double value_at(gpu::parameter const& p, double u) {
  double const v = p.least > 0 ? p.least * std::pow(p.most / p.least, u) : p.most * u * u;
  return p.member == &gpu::row_model::blocks ? std::round(v) : std::clamp(v, p.least, p.most);
}
double place_of(gpu::parameter const& p, double v) {
  return p.least > 0 ? std::log(v / p.least) / std::log(p.most / p.least) : std::sqrt(v / p.most);
}

// Squares near 0, straight lines beyond: shapes that the model does not understand must not bend it.
double robust(double error) {
  constexpr double bend = 0.05;
  double const x = std::abs(error);
  return x < bend ? x * x / (2 * bend) : x - bend / 2;
}

class row_fit {
 public:
  row_fit(gpu::gemm_row const& row, std::vector<sample> const& samples, int multiprocessors)
      : row_(&row), samples_(&samples), multiprocessors_(multiprocessors) {
    for (auto const& s : samples) weight_ += s.weight;
  }

  gpu::row_model best() const {
    std::optional<gpu::row_model> best;
    double least = 0;
    for (double const blocks : {1, 2, 4, 8}) {
      gpu::row_model start;
      start.blocks = blocks;
      auto const [found, loss] = search(start);
      if (!best || loss < least) best = found, least = loss;
    }
    return *best;
  }

 private:
  double loss(gpu::row_model const& model) const {
    gpu::estimator const estimate(*row_, model);
    double sum = 0;
    for (auto const& s : *samples_) sum += s.weight * robust(std::log(estimate(s.p, multiprocessors_)) - s.log_time);
    // Numbers of which the times say nothing stay where they are.
    double away = 0;
    static gpu::row_model const usual;
    for (auto const& p : gpu::parameters())
      if (p.member != &gpu::row_model::blocks)
        away += std::pow(place_of(p, model.*p.member) - place_of(p, usual.*p.member), 2);
    return sum / weight_ + 1e-3 * away;
  }

  std::pair<gpu::row_model, double> search(gpu::row_model model) const {
    auto const all = gpu::parameters();
    double least = loss(model);
    for (double step = 0.1; step > 1e-3; step *= 0.6)
      for (bool better = true; better;) {
        better = false;
        auto const before = model;
        for (auto const& p : all)
          for (double const sign : {1.0, -1.0}) {
            auto tried = model;
            double const u = place_of(p, model.*p.member);
            tried.*p.member = value_at(p, std::clamp(u + sign * step, 0.0, 1.0));
            if (double const l = loss(tried); l < least - 1e-7) model = tried, least = l, better = true;
          }
        auto on = model;  // once more the same way, all numbers at once
        for (auto const& p : all) {
          double const u = place_of(p, model.*p.member);
          on.*p.member = value_at(p, std::clamp(2 * u - place_of(p, before.*p.member), 0.0, 1.0));
        }
        if (double const l = loss(on); l < least - 1e-7) model = on, least = l;
      }
    return {model, least};
  }

  gpu::gemm_row const* row_;
  std::vector<sample> const* samples_;
  int multiprocessors_;
  double weight_ = 0;
};

std::string row_of(std::string const& kernel) { return kernel.substr(kernel.find('.') + 1); }
bool is_ours(std::string const& kernel) { return kernel.starts_with("gpu."); }

timing const* find(measurement const& m, std::string const& row) {
  for (auto const& t : m.timings)
    if (is_ours(t.kernel) && row_of(t.kernel) == row) return &t;
  return nullptr;
}

timing const* best_of(measurement const& m) {
  timing const* best = nullptr;
  for (auto const& t : m.timings)
    if (is_ours(t.kernel) && t.is_median() && (best == nullptr || *t.microseconds < *best->microseconds)) best = &t;
  return best;
}

double part_of(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[std::min(values.size() - 1, static_cast<std::size_t>(part * values.size()))];
}

}  // namespace

std::vector<fitted_row> fit(measurements const& m, std::vector<gpu::gemm_row const*> const& rows) {
  constexpr std::size_t least_samples = 20;
  std::vector<fitted_row> all;
  for (auto const* row : rows) {
    auto const name = gpu::row_name(*row);
    std::vector<sample> samples;
    for (auto const& each : m.all) {
      auto const* const best = best_of(each);
      auto const* const t = find(each, name);
      if (each.shape.set != "calibration" || best == nullptr || t == nullptr || !t->is_median()) continue;
      // What is far from the best need not be known well.
      double const slower = *t->microseconds / *best->microseconds - 1;
      samples.push_back({place(each.shape), std::log(*t->microseconds), 0.03 + 1 / (1 + slower * slower * 12)});
    }
    if (samples.size() < least_samples) continue;
    fitted_row f{name, row_fit(*row, samples, m.multiprocessors).best(), static_cast<int>(samples.size())};
    std::vector<double> errors;
    gpu::estimator const estimate(*row, f.model);
    for (auto const& s : samples)
      if (s.weight > 0.03 + 1 / 13.0)
        errors.push_back(std::abs(std::log(estimate(s.p, m.multiprocessors)) - s.log_time));
    f.median_error = part_of(errors, 0.5), f.large_error = part_of(errors, 0.9);
    all.push_back(std::move(f));
  }
  return all;
}

std::vector<rated_row> rated(std::vector<gpu::gemm_row const*> const& rows, std::vector<fitted_row> const& models,
                             int multiprocessors) {
  std::vector<rated_row> all;
  for (auto const* row : rows)
    for (auto const& f : models)
      if (f.name == gpu::row_name(*row))
        all.push_back({"gpu." + f.name, [estimate = gpu::estimator(*row, f.model), multiprocessors](problem const& p) {
                         return estimate(p, multiprocessors);
                       }});
  return all;
}

std::vector<choice> choices(measurements const& m, std::string const& set, dtype type,
                            std::vector<rated_row> const& rows) {
  std::vector<choice> all;
  for (auto const& each : m.all) {
    auto const* const best = best_of(each);
    if (each.shape.set != set || each.shape.p.dtype != type || best == nullptr) continue;
    auto const p = place(each.shape);
    std::map<std::string_view, timing const*> times;
    for (auto const& t : each.timings)
      if (t.microseconds || t.why_not.starts_with("estimated")) times[t.kernel] = &t;  // others refuse the problem
    timing const* pick = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (auto const& row : rows)
      if (auto const t = times.find(row.kernel); t != times.end())
        if (double const cost = row.cost(p); cost < least) pick = t->second, least = cost;
    if (pick != nullptr)
      all.push_back({&each, pick->kernel, best->kernel, pick->microseconds.value_or(10 * *best->microseconds),
                     *best->microseconds});
  }
  return all;
}

double share_within(std::vector<choice> const& all, double factor) {
  auto const within = std::ranges::count_if(all, [&](choice const& c) { return c.ratio() <= factor; });
  return all.empty() ? 1 : static_cast<double>(within) / static_cast<double>(all.size());
}

double percentile(std::vector<choice> const& all, double part) {
  std::vector<double> ratios;
  for (auto const& c : all) ratios.push_back(c.ratio());
  return part_of(std::move(ratios), part);
}

}  // namespace tandem::tune
