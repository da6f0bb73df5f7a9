// axpy: check, settle alpha = 0, choose a row, run it.
#include <tandem/axpy.hpp>

#include <cstdint>
#include <new>
#include <variant>

#include <fmt/format.h>
#include <tandem/error.hpp>
#include <tandem/kernel.hpp>

#include "dispatch/check.hpp"
#include "dispatch/select.hpp"

namespace tandem {
namespace {

/// What nearly every call is, said quickly: beside a short vector the checks that have messages would be felt.
template <class T>
bool is_plainly_right(vector_view<T const> const& x, vector_view<T> const& y) {
  constexpr std::uint64_t most = std::uint64_t{1} << 28;  // with it no product here leaves 64 bits
  auto const past_first = [](std::int64_t number) { return static_cast<std::uint64_t>(number) - 1; };
  auto const size = past_first(y.size()), stride_x = past_first(x.stride()), stride_y = past_first(y.stride());
  if ((size | stride_x | stride_y) >= most) return false;  // what is below 1 is beyond everything, too
  if (x.size() != y.size() || x.memory() != y.memory()) return false;
  auto const first_x = reinterpret_cast<std::uintptr_t>(x.data()), first_y = reinterpret_cast<std::uintptr_t>(y.data());
  if (first_x == 0 || first_y == 0 || (first_x | first_y) % sizeof(T) != 0) return false;
  auto const last_x = first_x + size * (stride_x + 1) * sizeof(T), last_y = first_y + size * (stride_y + 1) * sizeof(T);
  return last_x < first_y || last_y < first_x;
}

template <class T>
axpy_problem checked(bool is_right, double alpha, vector_view<T const> const& x, vector_view<T> const& y) {
  if (!is_right)
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

/// What a short vector on the host gets where the call leaves the kernel open.
template <class T>
struct at_once {
  host_axpy<T> call = nullptr;
  std::int64_t most = 0;

  at_once() {
    auto const* const row = dispatch::open_axpy(dtype_of<T>);
    auto const* const quick = row ? std::get_if<host_axpy<T>>(&row->axpy_at_once) : nullptr;
    if (quick) call = *quick, most = row->most_at_once;
  }
};

template <class T>
[[gnu::noinline]] void add_any(bool is_right, double alpha, vector_view<T const> const& x, vector_view<T> const& y,
                               axpy_options const& options) {
  auto const p = checked<T>(is_right, alpha, x, y);
  run(dispatch::select_axpy(p, options), p, {.stream = options.stream, .threads = 0});
}

template <class T>
void add(double alpha, vector_view<T const> const& x, vector_view<T> const& y, axpy_options const& options) {
  static at_once<T> const usual;
  bool const is_right = is_plainly_right<T>(x, y);
  if (!is_right || y.size() > usual.most || y.memory() != memory::host || !dispatch::is_open(options))
    return add_any<T>(is_right, alpha, x, y, options);
  auto const of_type = static_cast<T>(alpha);
  if (of_type != 0) usual.call(y.size(), of_type, x.data(), x.stride(), y.data(), y.stride());
}

template <class T>
void add_with(kernel const& row, double alpha, vector_view<T const> const& x, vector_view<T> const& y,
              axpy_options const& options, int threads) {
  auto const p = checked<T>(is_plainly_right<T>(x, y), alpha, x, y);
  dispatch::check_row(row, operation::axpy, dtype_of<T>, p.memory);
  run(row, p, {.stream = options.stream, .threads = threads});
}

}  // namespace

void axpy(double alpha, vector_view<float const> const& x, vector_view<float> const& y, axpy_options const& options) {
  add<float>(alpha, x, y, options);
}

void axpy(double alpha, vector_view<double const> const& x, vector_view<double> const& y, axpy_options const& options) {
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
