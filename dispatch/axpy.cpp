// axpy: check, settle alpha = 0, choose a row, run it.
#include <tandem/axpy.hpp>

#include <cstdint>
#include <new>

#include <fmt/format.h>
#include <tandem/error.hpp>
#include <tandem/kernel.hpp>

#include "dispatch/check.hpp"
#include "dispatch/select.hpp"

namespace tandem {
namespace {

/// What nearly every call is, said quickly: beside a short vector the checks that have messages would be felt.
template <class T>
bool is_plainly_right(vector_view<T const> x, vector_view<T> y) {
  constexpr std::int64_t most = std::int64_t{1} << 28;  // with it no product here leaves 64 bits
  auto const is_usual = [](std::int64_t number) { return 0 < number && number <= most; };
  if (x.size() != y.size() || x.memory() != y.memory() || !is_usual(y.size())) return false;
  if (!is_usual(x.stride()) || !is_usual(y.stride())) return false;
  auto const first_x = reinterpret_cast<std::uintptr_t>(x.data()), first_y = reinterpret_cast<std::uintptr_t>(y.data());
  if (first_x == 0 || first_y == 0 || (first_x | first_y) % sizeof(T) != 0) return false;
  auto const bytes = [](auto const& v) {
    return static_cast<std::uintptr_t>((v.size() - 1) * v.stride() + 1) * sizeof(T);
  };
  return first_x + bytes(x) <= first_y || first_y + bytes(y) <= first_x;
}

template <class T>
axpy_problem checked(double alpha, vector_view<T const> x, vector_view<T> y) {
  if (!is_plainly_right(x, y))
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

// Where there is no memory for what an error says either, it says nothing.
[[noreturn]] void throw_no_memory(kernel const& row, axpy_problem const& p) {
  try {
    throw error(errc::out_of_memory, fmt::format("{}: no memory for threads, of {} elements", row.name, p.n));
  } catch (std::bad_alloc const&) {
    throw error(errc::out_of_memory, "");
  }
}

void run(kernel const& row, axpy_problem const& p, execution const& how) {
  try {
    if (p.n != 0 && p.alpha != 0) row.run_axpy(p, how);
  } catch (std::bad_alloc const&) {
    throw_no_memory(row, p);
  }
}

template <class T>
void add(double alpha, vector_view<T const> x, vector_view<T> y, axpy_options const& options) {
  auto const p = checked<T>(alpha, x, y);
  run(dispatch::select_axpy(p, options), p, {.stream = options.stream, .threads = 0});
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
