// A session holds the executor for its life and follows it with a monitor.
#include <tandem/simt/session.hpp>

#include "gpu/simt/monitor.hpp"

namespace tandem::simt {

session::session(session_options options) {
  executor_mutex().lock();
  try {
    monitor_ = std::make_unique<monitor>(std::move(options));
  } catch (...) {
    executor_mutex().unlock();
    throw;
  }
  before_ = watch_with(monitor_.get());
}

session::~session() {
  watch_with(before_);
  executor_mutex().unlock();
}

std::vector<finding> session::findings() const { return monitor_->findings(); }

simt::counts session::counts() const { return monitor_->counts(); }

}  // namespace tandem::simt
