// The parent's side: shared memory, a socket, a clock. The child's side: map, run, answer.
#include "harness/sandbox.hpp"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/gate.hpp"
#include "harness/callers.hpp"
#include "harness/constant.hpp"
#include "harness/device_operands.hpp"
#include "harness/floating_control.hpp"

namespace tandem::harness {
namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void fail(char const* what) { throw std::system_error(errno, std::generic_category(), what); }

std::size_t page_size() {
  static auto const size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// A call as it goes through the socket: no strings, no pointers.
struct request {
  enum { load, run } what = load;
  tandem::dtype dtype = tandem::dtype::f32;
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  std::int64_t offsets[3] = {};
  bool trans_a = false, trans_b = false, b_is_a = false;
  tandem::layout layouts[3] = {};
  double alpha = 1, beta = 0;
  harness::fill fill = harness::fill::integer;
  std::uint64_t seed = 0;
  std::size_t bytes[3] = {}, begin[3] = {};
  bool at_end[3] = {};
  int threads = 0, callers = 0;
  bool own_stream = false, conjugated = false;
  surroundings amid = {};

  test_case test() const {
    test_case t;
    t.dtype = dtype;
    t.m = m, t.n = n, t.k = k;
    t.trans_a = trans_a, t.trans_b = trans_b;
    t.b_is_a = b_is_a;
    t.threads = threads, t.callers = callers;
    t.layout_a = layouts[0], t.layout_b = layouts[1], t.layout_c = layouts[2];
    t.lda = lda, t.ldb = ldb, t.ldc = ldc;
    t.offset_a = offsets[0], t.offset_b = offsets[1], t.offset_c = offsets[2];
    t.alpha = alpha, t.beta = beta;
    t.fill = fill;
    t.seed = seed;
    return t;
  }
};

/// The answer: this, then the texts.
struct answer {
  call_status status = call_status::finished;
  int code = 0;
  double seconds = 0;
  bool last = false;  ///< the child ends after it, because its device can no longer be used
  std::size_t reason = 0, defects = 0, damage = 0, disturbed = 0;  ///< bytes
};

/// Where a fatal signal struck, and what the child was about; the child writes it, the parent reads it.
struct last_words {
  int callers;  ///< that were calling again and again; 0: it called once
  void* address;
  bool wrote;
  bool constant;  ///< the address was that of the thread's constant (constant.hpp)
  bool nowhere;   ///< the machine does not say where: a misaligned vector, or an address that none can be
  bool told;
};

/// False when the other end is gone.
bool send_all(int to, void const* data, std::size_t bytes) {
  auto const* from = static_cast<char const*>(data);
  while (bytes > 0) {
    auto const n = send(to, from, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) from += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

/// False when the other end is gone.
bool receive_all(int from, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    auto const n = read(from, to, bytes);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) to += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

/// What of the floating-point environment loading a kernel and calling it have to leave as it was: rounding, flushing,
/// precision, traps; not the flags.
class environment {
 public:
  environment() noexcept
      : rounding_(std::fegetround()), control_(floating_control::read()), x87_(floating_control::read_x87()) {}

  /// What is not as it was, put right again; empty if nothing.
  std::string restore() const {
    std::string changed;
    if (auto const now = floating_control::read(); now != control_) {
      changed =
          fmt::format("left {}'s control bits at {:#06x}, which were {:#06x}", floating_control::name, now, control_);
      floating_control::write(control_);
    }
    if (auto const now = std::fegetround(); now != rounding_) {
      if (changed.empty()) changed = fmt::format("left the rounding mode at {:#x}, which was {:#x}", now, rounding_);
      std::fesetround(rounding_);
    }
    if (auto const now = floating_control::read_x87(); now != x87_) {
      if (changed.empty())
        changed = fmt::format("left the x87's control word at {:#06x}, which was {:#06x}", now, x87_);
      floating_control::write_x87(x87_);
    }
    return changed;
  }

 private:
  int rounding_;
  std::uint64_t control_;
  std::uint16_t x87_;
};

// Of the child only.
last_words* words = nullptr;

/// Whether the access that struck was a store; false where the machine does not say.
bool was_store([[maybe_unused]] mcontext_t const& machine) {
#if defined(__x86_64__)
  constexpr greg_t write_access = 2;
  return (machine.gregs[REG_ERR] & write_access) != 0;
#else
  return false;
#endif
}

extern "C" void note_fault(int signal, siginfo_t* info, void* context) {
  words->address = info->si_addr;
  words->wrote = was_store(static_cast<ucontext_t*>(context)->uc_mcontext);
  words->nowhere = info->si_code == SI_KERNEL;
  auto const page = ~std::uintptr_t{page_size() - 1};
  words->constant = constant_page != nullptr && (reinterpret_cast<std::uintptr_t>(info->si_addr) & page) ==
                                                    reinterpret_cast<std::uintptr_t>(constant_page);
  words->told = true;
  std::signal(signal, SIG_DFL);  // the access is repeated, and ends the process
}

void watch_faults(last_words* where) {
  words = where;
  static std::array<std::byte, 1 << 16> stack;
  stack_t const alternative{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = note_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int const signal : {SIGSEGV, SIGBUS}) sigaction(signal, &action, nullptr);
  // Handlers of the program that judges would speak for the kernel.
  for (int const signal : {SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
}

/// Whether faults are still noted by what was set up for it. A handler of the kernel's own would hide that it reads
/// where it must not.
bool are_faults_watched() {
  for (int const signal : {SIGSEGV, SIGBUS}) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction != note_fault) return false;
  }
  return true;
}

/// Memory that malloc gives out holds large numbers, not the zeros of fresh pages, so that reading it shows.
void spoil_fresh_memory() {
#ifdef __GLIBC__
  mallopt(M_PERTURB, 0x80);  // bytes of 0x7f: 3.4e38 as a float, 1.4e306 as a double
#endif
}

}  // namespace

struct sandbox::state {
  candidate const& kernel;
  double time_limit;
  int memory = -1;  // the regions, one after the other, each max_region long
  int output = -1;  // what the child prints
  last_words* words = nullptr;
  std::byte* window = nullptr;               // where the child maps the regions; reserved, never mapped by the parent
  std::array<std::span<std::byte>, 3> view;  // the parent's mappings
  std::array<std::size_t, 3> bytes = {};     // of the regions of the next call
  pid_t child = -1;
  int socket = -1;
  int starts = 0;
  bool opened = false;
  // The child's.
  std::optional<device_operands> device;
  int waited = 0;                     // calls in a row, in which the kernel waited for its stream
  std::optional<environment> before;  // all of the kernel's code, its library's beginning too

  state(candidate const& k, double limit) : kernel(k), time_limit(limit) {
    memory = memfd_create("operands", MFD_CLOEXEC);
    output = memfd_create("output", MFD_CLOEXEC);
    if (memory < 0 || output < 0 || fcntl(output, F_SETFL, O_APPEND) != 0) fail("memfd_create");
    if (ftruncate(memory, static_cast<off_t>(3 * max_region)) != 0) fail("ftruncate");
    void* const shared = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void* const all = mmap(nullptr, window_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED || all == MAP_FAILED) fail("mmap");
    words = static_cast<last_words*>(shared);
    window = static_cast<std::byte*>(all);
  }

  ~state() {
    end();
    for (auto const part : view)
      if (!part.empty()) munmap(part.data(), part.size());
    munmap(window, window_size());
    munmap(words, page_size());
    close(memory);
    close(output);
  }

  // A call on a stream of its own finds the stream held up, so that what it does elsewhere shows: until it returns, or
  // for so long; not with a C that takes long to look at, nor for kernels that wait for it time and again (some wait
  // once, while they are loaded).
  static constexpr std::chrono::milliseconds held_up{100};
  static constexpr std::size_t most_held_up = std::size_t{1} << 26;
  static constexpr int most_waits = 5;

  // Each region with room on both sides that stays unmapped: what an index of 32 bits that overflows can reach.
  static constexpr std::size_t margin = std::size_t{1} << 35;
  static constexpr std::size_t window_size() { return 3 * (max_region + margin) + margin; }
  std::byte* base(std::size_t operand) const { return window + margin + operand * (max_region + margin); }
  static off_t offset(std::size_t operand) { return static_cast<off_t>(operand * max_region); }

  void start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    std::memset(words, 0, sizeof *words);
    child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      close(ends[0]);
      serve(ends[1]);
    }
    close(ends[1]);
    socket = ends[0];
    ++starts;
  }

  /// How the child ended; kills it if it has not.
  int end() {
    if (child < 0) return 0;
    close(std::exchange(socket, -1));
    int status = 0;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    child = -1;
    return status;
  }

  /// The last line that the child printed; empty when it printed nothing.
  std::string last_line() const {
    std::string text(4096, '\0');
    auto const size = lseek(output, 0, SEEK_END);
    auto const from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
    auto const n = pread(output, text.data(), text.size(), from);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return text.substr(text.find_last_of('\n') + 1);
  }

  call_outcome exchange(request const& question) {
    if (ftruncate(output, 0) != 0) fail("ftruncate");
    if (child < 0) start();
    double const flop =
        2.0 * static_cast<double>(question.m) * static_cast<double>(question.n) * static_cast<double>(question.k);
    // Callers stop after a while, each within one more call.
    double const calls = 1 + 2 * question.callers;
    double const limit = time_limit + calls * std::max(0.0, flop) / 2e7;
    call_outcome out;
    if (!send_all(socket, &question, sizeof question)) return died();
    pollfd wait{socket, POLLIN, 0};
    auto const until = clock::now() + std::chrono::duration<double>(limit);
    for (;;) {
      auto const left = std::chrono::duration<double, std::milli>(until - clock::now()).count();
      // Not at the socket alone: a process that the kernel started keeps it open when the child has died.
      constexpr double look = 50;  // ms
      int const ready = poll(&wait, 1, static_cast<int>(std::clamp(left + 1, 0.0, look)));
      if (ready > 0) break;
      if (ready < 0 && errno != EINTR) fail("poll");
      if (ready == 0 && has_ended()) {
        if (poll(&wait, 1, 0) > 0) break;  // its answer came first
        return died();
      }
      if (ready == 0 && left <= 0) {
        out.status = call_status::hung;
        out.reason = fmt::format("not finished after {:.3g} s{}", limit, while_called());
        end();
        return out;
      }
    }
    answer a;
    if (!receive_all(socket, &a, sizeof a)) return died();
    out.status = a.status;
    out.code = a.code;
    out.seconds = a.seconds;
    for (auto const& [text, size] : {std::pair(&out.reason, a.reason), std::pair(&out.defects, a.defects),
                                     std::pair(&out.damage, a.damage), std::pair(&out.disturbed, a.disturbed)}) {
      text->resize(size);
      if (!receive_all(socket, text->data(), size)) return died();
    }
    if (a.last) end();
    return out;
  }

  /// Of an end that came while callers called.
  std::string while_called() const {
    if (words->callers == 1) return ", called again and again";
    return words->callers > 1 ? fmt::format(", with {} callers at once", words->callers) : std::string();
  }

  /// Whether the child has ended, which can still be waited for.
  bool has_ended() const {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == child;
  }

  /// How the child ended; nothing if it goes on. Its end of the socket closes a moment before it can be waited for, and
  /// a kill would hide how it ended.
  std::optional<int> wait_for_end() const {
    auto const until = clock::now() + std::chrono::duration<double>(time_limit);
    for (;;) {
      int status = 0;
      auto const found = waitpid(child, &status, WNOHANG);
      if (found == child) return status;
      if ((found < 0 && errno != EINTR) || clock::now() > until) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  call_outcome died() {
    call_outcome out;
    auto const ended = wait_for_end();
    if (!ended) {
      out.status = call_status::hung;
      out.reason = "closed what it answers by, and did not end" + while_called();
      end();
      return out;
    }
    int const status = *ended;
    child = -1;
    close(std::exchange(socket, -1));
    out.status = call_status::died;
    out.exited = WIFEXITED(status);
    out.reason = WIFSIGNALED(status)
                     ? fmt::format("died of signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                     : fmt::format("ended its process with exit code {}", WEXITSTATUS(status));
    out.reason += while_called();
    if (words->told && words->nowhere) {
      out.reason += ": an instruction that needs aligned memory, or an address that none can be";
    } else if (words->told && words->constant) {
      out.reason += ": it wrote to an argument that it gets by its address";
    } else if (words->told) {
      auto const* const at = static_cast<std::byte*>(words->address);
      out.wrote = words->wrote;
      std::ptrdiff_t nearest = margin;
      for (std::size_t i = 0; i < 3; ++i) {
        if (words->callers > 0) break;  // their operands lie elsewhere
        auto const distance = at - base(i);
        auto const away =
            distance < 0 ? -distance : std::max<std::ptrdiff_t>(0, distance - static_cast<std::ptrdiff_t>(bytes[i]));
        if (away >= nearest) continue;
        nearest = away;
        out.touched = static_cast<int>(i);
        out.touched_at = distance;
      }
      if (out.touched < 0) out.reason += fmt::format(" at address {}", words->address);
    }
    if (auto const line = last_line(); !line.empty()) out.reason += fmt::format("; it printed \"{}\"", line);
    return out;
  }

  // ---- the child ----

  [[noreturn]] void serve(int other) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    watch_faults(words);
    spoil_fresh_memory();
    before.emplace();
    std::array<std::size_t, 3> mapped = {};
    request r;
    while (receive_all(other, &r, sizeof r)) {
      answer a;
      std::string reason, defects, damage, disturbed;
      try {
        if (r.what == request::load) {
          reason = kernel.open ? kernel.open() : std::string();
          a.status = reason.empty() ? call_status::finished : call_status::refused;
        } else {
          map(r, mapped);
          run(r, a, reason, defects, damage);
          if (r.callers > 0 && a.status == call_status::finished) run_at_once(r, a, reason, disturbed);
        }
      } catch (std::exception const& e) {
        a.status = call_status::threw;
        reason = e.what();
      } catch (...) {
        a.status = call_status::threw;
        reason = "threw something that is no std::exception";
      }
      a.reason = reason.size(), a.defects = defects.size(), a.damage = damage.size(), a.disturbed = disturbed.size();
      std::string message(reinterpret_cast<char const*>(&a), sizeof a);
      message += reason + defects + damage + disturbed;
      if (!send_all(other, message.data(), message.size()) || a.last) break;
    }
    _exit(0);
  }

  void map(request const& r, std::array<std::size_t, 3>& mapped) const {
    for (std::size_t i = 0; i < 3; ++i) {
      if (mapped[i] == r.bytes[i]) continue;
      if (mapped[i] > 0 && mmap(base(i), mapped[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
                                -1, 0) == MAP_FAILED)
        fail("mmap");
      if (r.bytes[i] > 0 && mmap(base(i), r.bytes[i], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                                 memory, offset(i)) == MAP_FAILED)
        fail("mmap");
      mapped[i] = r.bytes[i];
    }
  }

  /// In every other call A and B, which it has no business to write, cannot be: not even for a moment.
  void protect(request const& r, int how) const {
    if (r.seed % 2 != 0 || kernel.memory == memory::device) return;
    for (std::size_t i = 0; i < 2; ++i)
      if (r.bytes[i] > 0 && mprotect(base(i), r.bytes[i], how) != 0) fail("mprotect");
  }

  void run(request const& r, answer& a, std::string& reason, std::string& defects, std::string& damage) {
    gemm_call call;
    call.test = r.test();
    call.memory = kernel.memory;
    call.threads = r.threads;
    call.conjugated = r.conjugated;
    std::array<std::byte*, 3> at{base(0), base(1), base(2)};
    bool const on_device = kernel.memory == memory::device;
    if (on_device) {
      if (!device) device.emplace();
      for (auto const i : stored_operands(call.test)) at[i] = device->place(i, {base(i), r.bytes[i]}, r.at_end[i]);
      if (r.own_stream) call.stream = device->stream();
    }
    call.a = at[0] + r.begin[0];
    call.b = r.b_is_a ? call.a : at[1] + r.begin[1];
    call.c = at[2] + r.begin[2];

    std::optional<gpu::stream_gate> gate;
    bool const holds_up = waited < most_waits && r.bytes[2] <= most_held_up;
    if (call.stream != nullptr && holds_up) gate.emplace(call.stream, held_up);
    protect(r, PROT_READ);
    std::optional<surrounded> amid(r.amid);
    environment const at_call;
    auto const begin = clock::now();
    try {
      a.code = kernel.run(call);
      if (a.code != 0) {
        a.status = call_status::threw;
        reason = fmt::format("returned {}", a.code);
      }
    } catch (kernel_defect const& e) {
      defects = e.what();
    } catch (error const& e) {
      a.status = e.code() == errc::unsupported ? call_status::refused : call_status::threw;
      reason = e.what();
    } catch (std::exception const& e) {
      a.status = call_status::threw;
      reason = e.what();
    }
    a.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    auto changed = at_call.restore();
    amid.reset();
    protect(r, PROT_READ | PROT_WRITE);
    if (on_device) {
      if (gate) defects += before_its_turn(r, *gate);
      collect(r, call, a, reason, damage);
    }
    if (on_device) a.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    auto const note = [&damage](std::string const& what) { damage += (damage.empty() ? "" : "; ") + what; };
    if (changed.empty()) changed = before->restore();
    if (!changed.empty()) note(changed);
    if (!are_faults_watched()) {
      note("left a handler of its own for SIGSEGV or SIGBUS");
      watch_faults(words);
    }
  }

  /// After a call that finished, whose C is in its region.
  void run_at_once(request const& r, answer& a, std::string& reason, std::string& disturbed) const {
    gemm_call alone;
    alone.test = r.test();
    alone.memory = kernel.memory;
    alone.a = base(0) + r.begin[0], alone.b = base(1) + r.begin[1], alone.c = base(2) + r.begin[2];
    alone.threads = r.threads;
    words->callers = r.callers;
    try {
      disturbed = call_at_once(kernel, alone);
    } catch (error const& e) {
      a.last = e.code() == errc::device;
      a.status = a.last ? call_status::died : call_status::threw;
      reason = e.what() + while_called();
    }
    words->callers = 0;
  }

  /// What a call has done while its stream was held up; empty if nothing. Lets the stream go on.
  std::string before_its_turn(request const& r, gpu::stream_gate& gate) {
    bool changed = false;
    try {
      changed = !gate.expired() && device->changed(2, {base(2), r.bytes[2]});
    } catch (error const&) {  // comes out of `collect` again
    }
    waited = gate.expired() ? waited + 1 : 0;
    bool const early = changed && !gate.expired();
    gate.open();
    return early ? "wrote C before its turn: what came before it on its stream was not done" : "";
  }

  /// Waits for the device and brings the operands back. After a fault no call of this process can use the device.
  void collect(request const& r, gemm_call const& call, answer& a, std::string& reason, std::string& damage) {
    try {
      gpu::synchronize(call.stream);
      for (auto const i : stored_operands(call.test))
        if (auto const found = device->collect(i, {base(i), r.bytes[i]}); !found.empty())
          damage += (damage.empty() ? "" : "; ") + found;
    } catch (error const& e) {
      a.status = call_status::died;
      a.last = true;
      reason = e.what();
    }
  }
};

sandbox::sandbox(candidate const& kernel, double time_limit) : state_(std::make_unique<state>(kernel, time_limit)) {}
sandbox::~sandbox() = default;

std::string sandbox::open() {
  request r;
  r.what = request::load;
  auto const out = state_->exchange(r);
  switch (out.status) {
    case call_status::finished: state_->opened = true; return {};
    case call_status::refused: return out.reason;
    case call_status::threw: throw std::invalid_argument(out.reason);
    case call_status::died:
    case call_status::hung: break;
  }
  throw std::runtime_error(fmt::format("loading {}: {}", state_->kernel.name, out.reason));
}

std::span<std::byte> sandbox::region(std::size_t operand, std::size_t bytes) {
  auto& view = state_->view[operand];
  if (bytes > max_region)
    throw std::invalid_argument(fmt::format("an operand of {} bytes is larger than {}", bytes, max_region));
  if (bytes > view.size()) {
    if (!view.empty()) munmap(view.data(), view.size());
    view = {};
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, state_->memory,
                            state::offset(operand));
    if (data == MAP_FAILED) throw std::bad_alloc();
    view = {static_cast<std::byte*>(data), bytes};
  }
  state_->bytes[operand] = bytes;
  return view.first(bytes);
}

std::vector<extent> sandbox::present(std::size_t operand) const {
  std::vector<extent> parts;
  off_t const first = state::offset(operand);
  off_t const last = first + static_cast<off_t>(state_->bytes[operand]);
  for (off_t at = first; at < last;) {
    off_t const begin = lseek(state_->memory, at, SEEK_DATA);
    if (begin < 0 || begin >= last) break;  // ENXIO: nothing more
    off_t const end = std::min(last, lseek(state_->memory, begin, SEEK_HOLE));
    parts.push_back({static_cast<std::size_t>(begin - first), static_cast<std::size_t>(end - begin)});
    at = end;
  }
  return parts;
}

void sandbox::release() {
  for (std::size_t i = 0; i < 3; ++i) {
    if (state_->view[i].empty()) continue;
    munmap(state_->view[i].data(), state_->view[i].size());
    state_->view[i] = {};
    if (fallocate(state_->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, state::offset(i),
                  static_cast<off_t>(max_region)) != 0)
      fail("fallocate");
  }
}

call_outcome sandbox::call(call_arguments const& arguments) {
  if (state_->child < 0 && state_->opened) {  // a fresh child loads the kernel first
    request r;
    r.what = request::load;
    if (auto out = state_->exchange(r); out.status != call_status::finished) return out;
  }
  request r;
  r.what = request::run;
  auto const& t = arguments.test;
  r.dtype = t.dtype;
  r.m = t.m, r.n = t.n, r.k = t.k;
  r.lda = t.lda, r.ldb = t.ldb, r.ldc = t.ldc;
  r.offsets[0] = t.offset_a, r.offsets[1] = t.offset_b, r.offsets[2] = t.offset_c;
  r.trans_a = t.trans_a, r.trans_b = t.trans_b;
  r.b_is_a = t.b_is_a;
  r.layouts[0] = t.layout_a, r.layouts[1] = t.layout_b, r.layouts[2] = t.layout_c;
  r.alpha = t.alpha, r.beta = t.beta;
  r.fill = t.fill;
  r.seed = t.seed;
  for (std::size_t i = 0; i < 3; ++i) {
    r.bytes[i] = state_->bytes[i];
    r.begin[i] = arguments.begin[i];
    r.at_end[i] = arguments.at_end[i];
  }
  r.threads = arguments.threads, r.callers = t.callers;
  r.own_stream = arguments.own_stream, r.conjugated = arguments.conjugated;
  r.amid = arguments.amid;
  return state_->exchange(r);
}

void sandbox::restart() { state_->end(); }
int sandbox::starts() const noexcept { return state_->starts; }

}  // namespace tandem::harness
