// The one table: adding a backend is one line here, adding a kernel is one row in its backend's descriptor.
#include "dispatch/table.hpp"

#include <algorithm>

#include <tandem/kernels.hpp>

#include "cpu/descriptor.hpp"
#include "gpu/descriptor.hpp"
#include "gpu/simt/descriptor.hpp"
#include "reference/descriptors.hpp"

namespace tandem {
namespace dispatch {

std::vector<backend_descriptor const*> const& backends() {
  static auto const& all = *new std::vector<backend_descriptor const*>{
      &cpu::descriptor(),  &gpu::descriptor(),     &simt::descriptor(),  &reference::oracle(),
      &reference::eigen(), &reference::openblas(), &reference::cublas(),
  };
  return all;
}

backend_descriptor const& find_backend(tandem::backend id) {
  return **std::ranges::find(backends(), id, [](auto const* d) { return d->backend; });
}

std::string unavailable(kernel const& row) {
  auto const& all = backends();
  auto const owner = std::ranges::find(all, row.backend, [](auto const* d) { return d->backend; });
  if (owner != all.end() && (*owner)->unavailable)
    if (auto reason = (*owner)->unavailable(); !reason.empty()) return reason;
  return row.unavailable ? row.unavailable() : std::string();
}

}  // namespace dispatch

std::string kernel::technique() const {
  auto const first = name.find('.');
  if (first == std::string::npos) return name;
  return name.substr(first + 1, name.find('.', first + 1) - first - 1);
}

std::vector<kernel> const& kernel_table() {
  static auto const& rows = *new std::vector<kernel>([] {
    std::vector<kernel> all;
    for (auto const* d : dispatch::backends()) all.insert(all.end(), d->kernels.begin(), d->kernels.end());
    return all;
  }());
  return rows;
}

kernel const* find_kernel(std::string_view name) {
  auto const& rows = kernel_table();
  auto const found = std::ranges::find(rows, name, &kernel::name);
  return found == rows.end() ? nullptr : &*found;
}

std::vector<kernel_info> kernels() {
  std::vector<kernel_info> all;
  for (auto const& row : kernel_table()) {
    auto reason = dispatch::unavailable(row);
    bool const available = reason.empty();
    all.push_back({row.name, row.backend, row.dtype, available, std::move(reason), row.operation()});
  }
  return all;
}

std::vector<backend_info> backends() {
  std::vector<backend_info> all;
  for (auto const* d : dispatch::backends()) {
    auto reason = d->unavailable ? d->unavailable() : std::string();
    bool const available = reason.empty();
    all.push_back({d->backend, available, std::move(reason), available && d->version ? d->version() : std::string()});
  }
  return all;
}

}  // namespace tandem
