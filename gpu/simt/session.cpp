// A session holds the executor for its life and follows it with a monitor.
#include <tandem/simt/session.hpp>

#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/simt/monitor.hpp"

namespace tandem::simt {
namespace {

void require_sound(operand const& o) {
  auto const require = [&](bool sound, errc code, char const* what) {
    if (!sound)
      throw error(code, fmt::format("simt: operand '{}' of {} lines of {} elements of {} bytes, stride {}: {}", o.name,
                                    o.lines, o.length, o.element_size, o.stride, what));
  };
  require(o.lines >= 0 && o.length >= 0 && o.stride >= 0, errc::negative_size, "a number below zero");
  require(o.element_size > 0, errc::negative_size, "its elements have no size");
  require(o.data != nullptr || o.lines == 0 || o.length == 0, errc::null_data, "no data");
  require(o.lines <= 1 || o.stride == 0 || o.stride >= o.length, errc::leading_dimension, "its lines overlap");
}

}  // namespace

session::session(session_options options) {
  for (auto const& o : options.operands) require_sound(o);
  std::unique_lock lock(executor_mutex());
  if (is_watched()) throw error(errc::unsupported, "simt: this thread has a session already");
  monitor_ = std::make_unique<monitor>(std::move(options));
  watch_with(monitor_.get());
  lock.release();  // until the end
}

session::~session() {
  watch_with(nullptr);
  executor_mutex().unlock();
}

std::vector<finding> session::findings() const { return monitor_->findings(); }

simt::counts session::counts() const { return monitor_->counts(); }

}  // namespace tandem::simt
