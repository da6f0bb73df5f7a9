// The environment, read once, at the first call: TANDEM_BACKEND and TANDEM_BLAS_TRACE.
#include "bindings/blas/call.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace tandem::blas {
namespace {

constexpr std::array<char const*, routine_count> names = {
    "cblas_sgemm", "cblas_dgemm", "cblas_saxpy", "cblas_daxpy", "sgemm_", "dgemm_", "saxpy_", "daxpy_",
};
std::array<std::atomic<std::uint64_t>, routine_count> counts;

char const* variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// Appended, so that a program's child processes add their counts.
void write_trace() {
  char const* const path = variable("TANDEM_BLAS_TRACE");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
  bool written = file != nullptr;
  for (int i = 0; written && i < routine_count; ++i)
    written = std::fprintf(file, "%s %llu\n", names[i], static_cast<unsigned long long>(counts[i].load())) > 0;
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written)
    std::fprintf(stderr, "tandem_blas: TANDEM_BLAS_TRACE=%s: %s\n", path == nullptr ? "" : path, std::strerror(errno));
}

struct environment {
  tandem::backend backend = tandem::backend::automatic;
  bool trace = false;
};

environment read_environment(routine first) {
  environment e;
  if (char const* const value = variable("TANDEM_BACKEND")) {
    std::string_view const name = value;
    if (name != "cpu" && name != "gpu") {
      char reason[200];
      std::snprintf(reason, sizeof reason, "TANDEM_BACKEND is '%s'; it may be cpu or gpu", value);
      end_program(first, reason);
    }
    e.backend = name == "cpu" ? backend::cpu : backend::gpu;
  }
  e.trace = variable("TANDEM_BLAS_TRACE") != nullptr;
  if (e.trace) std::atexit(write_trace);
  return e;
}

environment const& settings(routine first) {
  static environment const once = read_environment(first);
  return once;
}

}  // namespace

tandem::backend enter_with_care(routine which) {
  auto const& e = settings(which);
  if (e.trace)
    counts[static_cast<int>(which)].fetch_add(1, std::memory_order_relaxed);
  else
    backend_of_uncounted.store(static_cast<int>(e.backend), std::memory_order_relaxed);
  return e.backend;
}

void end_program(routine which, char const* reason) {
  std::fprintf(stderr, "tandem_blas: %s: %s\n", names[static_cast<int>(which)], reason);
  std::exit(-1);  // as cblas_xerbla ends
}

}  // namespace tandem::blas
