// Callers at once: copies of the operands, a common start, a look at each C.
#include "harness/callers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/guard.hpp"

namespace tandem::harness {
namespace {

using clock = std::chrono::steady_clock;

constexpr int usual_calls = 24;
constexpr int calls_in_a_row = 8;  // of a device, which would be idle most of the time if each were looked at first
constexpr std::chrono::milliseconds usual_time(10);  // a scheduler's turn, so that callers meet on one core, too
constexpr std::chrono::seconds longest_time(1);

/// An operand of a caller's own, as aligned as any limits ask.
template <class T>
class copy {
 public:
  /// What is stored at `from`, times `factor`. Gaps hold NaN, which stays NaN.
  copy(T const* from, storage const& s, T factor) : copy(s) {
    for (std::size_t i = 0; i < count_; ++i) data_.get()[i] = factor * from[i];
  }
  explicit copy(storage const& s) : count_(static_cast<std::size_t>(s.span())) {
    constexpr std::size_t page = 4096;
    std::size_t const bytes = (count_ * sizeof(T) / page + 1) * page;
    data_.reset(static_cast<T*>(std::aligned_alloc(page, bytes)));
    if (!data_) throw std::bad_alloc();
  }

  void fill(T value) { std::fill_n(data_.get(), count_, value); }
  T* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  struct release {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::size_t count_;
  std::unique_ptr<T, release> data_;
};

/// What all callers have in common: when to begin, when to end, and the first thing that went wrong.
class meeting {
 public:
  explicit meeting(int callers) : callers_(callers), missing_(callers) {}

  int callers() const noexcept { return callers_; }

  /// Until all are there.
  void wait() {
    if (--missing_ == 0) begin_ = clock::now(), missing_ = -1;
    while (missing_ >= 0) std::this_thread::yield();
  }
  /// Whether a caller that has made so many calls is to make another.
  bool goes_on(int calls) const {
    if (stopped_) return false;
    auto const time = clock::now() - begin_;
    return time < usual_time || (calls < usual_calls && time < longest_time);
  }
  void stop(std::string why) {
    std::scoped_lock const lock(mutex_);
    if (!stopped_.exchange(true)) found_ = std::move(why);
  }
  std::string const& found() const { return found_; }

 private:
  int callers_;
  std::atomic<int> missing_;
  clock::time_point begin_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::string found_;
};

/// What a caller of a kernel of device memory has there: its operands, a C for each of its calls in a row, a stream.
template <class T>
class device_side {
 public:
  device_side(copy<T> const& a, copy<T> const& b, copy<T> const& c) : a_(a.bytes()), b_(b.bytes()) {
    gpu::copy_to_device(a_.data(), a.data(), a.bytes(), stream_.get());
    gpu::copy_to_device(b_.data(), b.data(), b.bytes(), stream_.get());
    for (int i = 0; i < calls_in_a_row; ++i) c_.emplace_back(c.bytes());
  }

  void write_c(copy<T> const& from) {
    for (auto& to : c_) gpu::copy_to_device(to.data(), from.data(), from.bytes(), stream_.get());
  }
  void read_c(copy<T> const& to, int which) {
    gpu::copy_to_host(to.data(), c_[static_cast<std::size_t>(which)].data(), to.bytes(), stream_.get());
  }
  /// The operands of a call of the row.
  void place(gemm_call& x, int which) const {
    x.a = a_.data(), x.b = b_.data(), x.c = c_[static_cast<std::size_t>(which)].data();
    x.stream = stream_.get();
  }

 private:
  gpu::stream stream_{false};  // who works on the default stream instead is not waited for
  gpu::device_buffer a_, b_;
  std::vector<gpu::device_buffer> c_;
};

/// One of them.
template <element T>
class caller {
 public:
  caller(candidate const& kernel, gemm_call const& alone, int which)
      : kernel_(kernel),
        alone_(alone),
        which_(which),
        a_(static_cast<T const*>(alone.a), storage_a(alone.test), factor_of_a(which)),
        b_(static_cast<T const*>(alone.b), storage_b(alone.test), factor_of_b(which)),
        c_(storage_c(alone.test)) {
    if (kernel.memory == memory::device) device_ = std::make_unique<device_side<T>>(a_, b_, c_);
  }

  void operator()(meeting& all) {
    int calls = 0;
    try {
      all.wait();
      while (all.goes_on(calls)) {
        auto const why = device_ ? calls_on_device(calls) : call_on_host(calls);
        if (!why.empty()) all.stop(name(all, calls) + why);
      }
    } catch (std::exception const& e) {  // the device's
      all.stop(name(all, calls) + e.what());
    }
  }

 private:
  // 1, -1, 2, -2, 4, ... and 1, 2, -2, -4, 1, ...: no two of the first four callers have an A, a B or a C in common.
  static T factor_of_a(int which) { return std::ldexp(which % 2 == 0 ? T(1) : T(-1), which / 2); }
  static T factor_of_b(int which) {
    constexpr T factors[] = {1, 2, -2, -4};
    return factors[which % 4];
  }

  std::string name(meeting const& all, int calls) const {
    if (all.callers() == 1) return fmt::format("call {} in a row: ", calls);
    return fmt::format("caller {} of {}, call {}: ", which_ + 1, all.callers(), calls);
  }

  /// The problem of a call by its number: all the rows or half of them.
  test_case test(int call) const {
    auto t = alone_.test;
    if (call % 2 == 0 || which_ % 2 == 0) return t;
    t.m = (t.m + 1) / 2;
    bool const taken = outside(kernel_.limits, t).empty() && (!kernel_.refuses || kernel_.refuses(t).empty());
    return taken ? t : alone_.test;
  }

  /// What is wrong about the next call; empty if nothing. Counts it.
  std::string call_on_host(int& calls) {
    gemm_call x = alone_;
    x.test = test(calls++);
    c_.fill(std::numeric_limits<T>::quiet_NaN());
    x.a = a_.data(), x.b = b_.data(), x.c = c_.data();
    auto const why = run(x);
    return why.empty() ? look(x.test) : why;
  }

  /// The same of several, none of which waits for the one before.
  std::string calls_on_device(int& calls) {
    c_.fill(std::numeric_limits<T>::quiet_NaN());
    device_->write_c(c_);
    int const first = calls;
    for (int i = 0; i < calls_in_a_row; ++i) {
      gemm_call x = alone_;
      x.test = test(calls++);
      device_->place(x, i);
      if (auto const why = run(x); !why.empty()) return why;
    }
    for (int i = calls_in_a_row - 1; i >= 0; --i) {  // the last first, before its stream is known to be done
      device_->read_c(c_, i);
      calls = first + i + 1;
      if (auto const why = look(test(first + i)); !why.empty()) return why;
    }
    return {};
  }

  std::string run(gemm_call const& x) const {
    try {
      int const code = kernel_.run(x);
      return code == 0 ? std::string() : fmt::format("returned {}", code);
    } catch (std::exception const& e) {
      return fmt::format("threw: {}", e.what());
    }
  }

  std::string look(test_case const& t) const {
    auto const c = storage_c(t);
    auto const* const right = static_cast<T const*>(alone_.c);
    T const factor = factor_of_a(which_) * factor_of_b(which_);
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        auto const at = c.by_rows ? i * c.ld + j : j * c.ld + i;
        T const got = c_.data()[at], wanted = factor * right[at];
        if (got != wanted) return fmt::format("C({}, {}) is {}, {} belongs there", i, j, got, wanted);
      }
    return {};
  }

  candidate const& kernel_;
  gemm_call const& alone_;
  int which_;
  copy<T> a_, b_, c_;
  std::unique_ptr<device_side<T>> device_;
};

template <element T>
std::string of_type(candidate const& kernel, gemm_call const& alone) {
  int const callers = alone.test.callers;
  meeting all(callers);
  std::vector<caller<T>> each;
  for (int which = 0; which < callers; ++which) each.emplace_back(kernel, alone, which);
  std::vector<std::thread> threads;
  for (auto& one : each) threads.emplace_back([&one, &all] { one(all); });
  for (auto& thread : threads) thread.join();
  if (kernel.memory == memory::device) try {
      gpu::synchronize();
    } catch (error const& e) {  // after a fault, which each caller met somewhere else
      throw error(e.code(), all.found().empty() ? e.what() : all.found());
    }
  return all.found();
}

}  // namespace

std::string call_at_once(candidate const& kernel, gemm_call const& alone) {
  return alone.test.dtype == dtype::f32 ? of_type<float>(kernel, alone) : of_type<double>(kernel, alone);
}

}  // namespace tandem::harness
