// Which of a kernel's forms a problem takes: what is decided on the host, once a launch, is a template argument.
#pragma once

namespace TANDEM_KERNEL_NAMESPACE {

/// f.operator()<values...>().
template <bool... values, class F>
void with_constants(F const& f) {
  f.template operator()<values...>();
}

/// The values become template arguments, in their order.
template <bool... values, class F, class... Rest>
void with_constants(F const& f, bool first, Rest... rest) {
  if (first)
    with_constants<values..., true>(f, rest...);
  else
    with_constants<values..., false>(f, rest...);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
