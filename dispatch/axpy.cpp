// axpy: check, settle alpha = 0, choose a row, run it.
#include <tandem/axpy.hpp>

#include <tandem/kernel.hpp>

#include "dispatch/check.hpp"
#include "dispatch/select.hpp"

namespace tandem {
namespace {

template <class T>
axpy_problem checked(double alpha, vector_view<T const> x, vector_view<T> y) {
  dispatch::check_axpy({x.data(), x.size(), x.stride(), x.memory()}, {y.data(), y.size(), y.stride(), y.memory()},
                       dtype_of<T>);
  return {.dtype = dtype_of<T>,
          .memory = y.memory(),
          .n = y.size(),
          .alpha = static_cast<double>(static_cast<T>(alpha)),
          .x = x.data(),
          .stride_x = x.stride(),
          .y = y.data(),
          .stride_y = y.stride()};
}

void run(kernel const& row, axpy_problem const& p, execution const& how) {
  if (p.n != 0 && p.alpha != 0) row.run_axpy(p, how);
}

template <class T>
void add(double alpha, vector_view<T const> x, vector_view<T> y, axpy_options const& options) {
  auto const p = checked<T>(alpha, x, y);
  dispatch::request const wanted{operation::axpy, dtype_of<T>, p.memory, options.backend, options.kernel, nullptr};
  auto const& row = dispatch::select(wanted);
  run(row, p, {.stream = options.stream, .threads = 0});
}

template <class T>
void add_with(kernel const& row, double alpha, vector_view<T const> x, vector_view<T> y, axpy_options const& options,
              int threads) {
  auto const p = checked<T>(alpha, x, y);
  dispatch::check_row(row, operation::axpy, dtype_of<T>, p.memory);
  run(row, p, {.stream = options.stream, .threads = threads});
}

}  // namespace

void axpy(double alpha, vector_view<float const> x, vector_view<float> y, axpy_options const& options) {
  add<float>(alpha, x, y, options);
}

void axpy(double alpha, vector_view<double const> x, vector_view<double> y, axpy_options const& options) {
  add<double>(alpha, x, y, options);
}

void axpy_with(kernel const& row, double alpha, vector_view<float const> x, vector_view<float> y,
               axpy_options const& options, int threads) {
  add_with<float>(row, alpha, x, y, options, threads);
}

void axpy_with(kernel const& row, double alpha, vector_view<double const> x, vector_view<double> y,
               axpy_options const& options, int threads) {
  add_with<double>(row, alpha, x, y, options, threads);
}

}  // namespace tandem
