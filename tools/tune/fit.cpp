// Each row by itself first, from a few starts, on robust errors of the logarithm of the time; then all rows of a type
// by the choices that they lead to.
#include "tools/tune/fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "gpu/describe.hpp"

namespace tandem::tune {
namespace {

struct sample {
  gpu::row_work work = {};
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

// What is far from the best need not be known well.
double weight_of(double ratio_to_best) { return 0.03 + 1 / (1 + 12 * (ratio_to_best - 1) * (ratio_to_best - 1)); }

using objective = std::function<double(gpu::row_model const&)>;

/// A pattern search: each number up and down by a step, then all once more the same way; steps that shrink.
std::pair<gpu::row_model, double> search(gpu::row_model model, double first_step, objective const& loss) {
  constexpr double last_step = 1e-3, least_gain = 1e-7;
  double least = loss(model);
  for (double step = first_step; step > last_step; step *= 0.6)
    for (bool better = true; better;) {
      better = false;
      auto const before = model;
      auto const try_one = [&](gpu::row_model const& tried) {
        if (double const l = loss(tried); l < least - least_gain) model = tried, least = l, better = true;
      };
      for (auto const& p : gpu::parameters())
        for (double const sign : {1.0, -1.0}) {
          auto tried = model;
          tried.*p.member = value_at(p, std::clamp(place_of(p, model.*p.member) + sign * step, 0.0, 1.0));
          try_one(tried);
        }
      auto on = model;
      for (auto const& p : gpu::parameters()) {
        double const u = 2 * place_of(p, model.*p.member) - place_of(p, before.*p.member);
        on.*p.member = value_at(p, std::clamp(u, 0.0, 1.0));
      }
      try_one(on);
    }
  return {model, least};
}

/// A row and its times.
struct subject {
  gpu::gemm_row const* row = nullptr;
  int multiprocessors = 0;
  std::vector<sample> samples = {};

  double loss(gpu::row_model const& model) const {
    gpu::estimator const estimate(*row, model);
    double sum = 0, weight = 0;
    for (auto const& s : samples) {
      sum += s.weight * robust(std::log(estimate(s.work, multiprocessors)) - s.log_time);
      weight += s.weight;
    }
    // Numbers of which the times say nothing stay where they are.
    double away = 0;
    static gpu::row_model const usual;
    for (auto const& p : gpu::parameters())
      if (p.member != &gpu::row_model::blocks)
        away += std::pow(place_of(p, model.*p.member) - place_of(p, usual.*p.member), 2);
    return sum / weight + 1e-3 * away;
  }

  gpu::row_model best() const {
    std::optional<gpu::row_model> best;
    double least = 0;
    for (double const blocks : {1, 2, 4, 8}) {
      gpu::row_model start;
      start.blocks = blocks;
      auto const [found, l] = search(start, 0.1, [&](gpu::row_model const& m) { return loss(m); });
      if (!best || l < least) best = found, least = l;
    }
    return *best;
  }
};

std::string row_of(std::string const& kernel) { return kernel.substr(kernel.find('.') + 1); }
bool is_ours(std::string const& kernel) { return kernel.starts_with("gpu."); }

timing const* find(measurement const& m, std::string const& row) {
  for (auto const& t : m.timings)
    if (is_ours(t.kernel) && row_of(t.kernel) == row) return &t;
  return nullptr;
}

// The others judge the fit.
bool is_fitted(measurement const& m) { return m.shape.set != "held_out"; }

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

/// The shapes of one type, as a choice among rows sees them.
class choice_loss {
 public:
  choice_loss(measurements const& m, dtype type, std::vector<subject> const& subjects) : subjects_(&subjects) {
    for (auto const& each : m.all) {
      auto const* const best = best_of(each);
      if (!is_fitted(each) || each.shape.p.dtype != type || best == nullptr) continue;
      auto const p = place(each.shape);
      auto& works = works_.emplace_back();
      auto& regrets = regrets_.emplace_back();
      for (auto const& s : subjects) {
        auto const* const t = find(each, gpu::row_name(*s.row));
        bool const takes_it = t != nullptr && (t->microseconds || t->why_not.starts_with("estimated"));
        double const ratio =
            takes_it ? t->microseconds.value_or(most_regret * *best->microseconds) / *best->microseconds : 0;
        regrets.push_back(takes_it ? std::log(std::clamp(ratio, 1.0, most_regret)) : -1);
        gpu::estimator const any_model(*s.row, {});
        works.push_back(takes_it ? work{gpu::work_of(*s.row, p), std::log(any_model.handicap(p))} : work{});
      }
      estimates_.emplace_back(subjects.size(), 0.0);
    }
    others_.resize(works_.size());
  }

  /// ln of the row's costs, from now on.
  void set(std::size_t row, gpu::row_model const& model) {
    gpu::estimator const estimate(*(*subjects_)[row].row, model);
    for (std::size_t i = 0; i < works_.size(); ++i)
      if (regrets_[i][row] >= 0) estimates_[i][row] = log_cost(estimate, i, row);
  }

  /// Only this row changes until the next call: what the others contribute to `value` stays.
  void vary(std::size_t row) {
    varied_ = row;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      auto& others = others_[i] = {};
      for (std::size_t r = 0; r < subjects_->size(); ++r)
        if (r != row && regrets_[i][r] >= 0) others.least = std::min(others.least, estimates_[i][r]);
      for (std::size_t r = 0; r < subjects_->size(); ++r) {
        if (r == row || regrets_[i][r] < 0) continue;
        double const weight = std::exp((others.least - estimates_[i][r]) / alike);
        others.weights += weight, others.regret += weight * regrets_[i][r];
      }
    }
  }

  /// With this model of the varied row, the mean of ln(time of the pick / time of the best), where rows whose estimates
  /// are nearly alike are picked with nearly the same probability, so that small changes of a model show.
  double value(gpu::row_model const& model) const {
    constexpr double far = 100;  // times `alike`, beyond which the lower one is picked
    gpu::estimator const estimate(*(*subjects_)[varied_].row, model);
    double sum = 0;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      auto const& others = others_[i];
      double weights = others.weights, regret = others.regret;
      if (regrets_[i][varied_] >= 0) {
        double const ahead = weights > 0 ? (others.least - log_cost(estimate, i, varied_)) / alike : 0;
        double const weight = std::exp(std::min(ahead, far));
        weights += weight, regret += weight * regrets_[i][varied_];
      }
      sum += weights > 0 ? regret / weights : 0;
    }
    return works_.empty() ? 0 : sum / static_cast<double>(works_.size());
  }

 private:
  static constexpr double most_regret = 2;  // a pick that is worse is wrong, however much
  static constexpr double alike = 0.03;

  double log_cost(gpu::estimator const& estimate, std::size_t i, std::size_t row) const {
    return std::log(estimate(works_[i][row].of_row, (*subjects_)[row].multiprocessors)) + works_[i][row].log_handicap;
  }

  std::vector<subject> const* subjects_;
  struct work {
    gpu::row_work of_row = {};
    double log_handicap = 0;
  };
  std::vector<std::vector<work>> works_;        // (problems, rows)
  std::vector<std::vector<double>> regrets_;    // (problems, rows); -1: does not take it
  std::vector<std::vector<double>> estimates_;  // (problems, rows)
  /// Rows but the varied one: the lowest ln of a cost, and sums over them, each e^(lower by `alike`).
  struct rows_together {
    double least = std::numeric_limits<double>::max(), weights = 0, regret = 0;
  };
  std::vector<rows_together> others_;  // (problems)
  std::size_t varied_ = 0;
};

/// Moves the models a little where that makes choices better: errors that matter lie where two rows are near each
/// other, which no row's own fit knows.
void choose_better(measurements const& m, dtype type, std::vector<subject> const& subjects,
                   std::vector<gpu::row_model>& models) {
  constexpr double own_fit = 0.1;  // how much a row's own error counts beside the choices
  choice_loss choice(m, type, subjects);
  for (std::size_t r = 0; r < subjects.size(); ++r) choice.set(r, models[r]);
  for (int pass = 0; pass < 8; ++pass)
    for (std::size_t r = 0; r < subjects.size(); ++r) {
      choice.vary(r);
      models[r] = search(models[r], 0.03, [&](gpu::row_model const& tried) {
                    return choice.value(tried) + own_fit * subjects[r].loss(tried);
                  }).first;
      choice.set(r, models[r]);
    }
}

}  // namespace

std::vector<fitted_row> fit(measurements const& m, std::vector<gpu::gemm_row const*> const& rows) {
  constexpr std::size_t least_samples = 6;
  std::vector<fitted_row> all;
  for (auto const type : {dtype::f32, dtype::f64}) {
    std::vector<subject> subjects;
    std::vector<gpu::row_model> models;
    for (auto const* row : rows) {
      if (row->dtype != type) continue;
      subject s{row, m.multiprocessors, {}};
      gpu::estimator const any_model(*row, {});
      for (auto const& each : m.all) {
        auto const* const best = best_of(each);
        auto const* const t = find(each, gpu::row_name(*row));
        if (!is_fitted(each) || best == nullptr || t == nullptr || !t->is_median()) continue;
        if (any_model.gives_way(each.shape.p)) continue;  // it would bend the model for what dispatch never asks it
        auto const p = place(each.shape);
        double const known = any_model.goes_first(p) ? 0.02 : 1;  // by itself, whatever its estimate
        s.samples.push_back({gpu::work_of(*row, p), std::log(*t->microseconds),
                             known * weight_of(*t->microseconds / *best->microseconds)});
      }
      if (s.samples.size() < least_samples) continue;
      models.push_back(s.best());
      subjects.push_back(std::move(s));
    }
    choose_better(m, type, subjects, models);
    for (std::size_t r = 0; r < subjects.size(); ++r) {
      auto const& s = subjects[r];
      std::vector<double> errors;
      gpu::estimator const estimate(*s.row, models[r]);
      for (auto const& each : s.samples)
        if (each.weight >= weight_of(2))
          errors.push_back(std::abs(std::log(estimate(each.work, m.multiprocessors)) - each.log_time));
      all.push_back({gpu::row_name(*s.row), models[r], static_cast<int>(s.samples.size()), part_of(errors, 0.5),
                     part_of(errors, 0.9)});
    }
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
                         return estimate.cost(p, multiprocessors);
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
