// Every GPU row on streams: one call after the other, captured in graphs, on a stream that stands still, from several
// host threads, on every kind of stream; and that in steady state no call takes memory from the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <tandem/error.hpp>

#include "gpu/descriptor.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/gate.hpp"
#include "gpu/runtime/workspace.hpp"
#include "tests/kernels/early.hpp"
#include "tests/support.hpp"
#include "tests/unit/gpu_device_problem.hpp"
#include "tests/unit/gpu_taken_memory.hpp"

using namespace gpu_problems;
namespace gpu = tandem::gpu;

namespace {

void require(cudaError_t status) { REQUIRE_MESSAGE(status == cudaSuccess, cudaGetErrorString(status)); }

// Part of a tile; few tiles and a deep k, for rows that cut k or deal out its steps; thin either way; lines that no
// vector fits, and shares of tiles, for rows that copy operands into lines of their own; lines of whole vectors, of
// which they copy one; whole tiles and two strips; one row or one column, sliced beside a strided vector; a few steps
// of k; nothing to add up.
constexpr shape shapes[] = {{37, 29, 53, true, true, 1, 0, 3},
                            {17, 33, 5000, false, true, 0.75, -0.5, 1},
                            {3, 1700, 2100, true, false, 1, 1, 0},
                            {1600, 5, 900, false, false, -0.75, 0, 2},
                            {1501, 1503, 600, false, false, 1, 0, 2},
                            {1003, 1001, 150, true, true, 2, -0.5, 4},
                            {2304, 2304, 1000, false, false, -0.75, 1, 0},
                            {1409, 3077, 161, false, true, 1, 0, 1},
                            {1, 4099, 1030, false, false, 1, 0, 1},
                            {2050, 1, 777, true, true, -0.75, 1, 3},
                            {200, 1, 20001, false, false, 1, 0, 39},
                            {130, 141, 3, false, true, 1, 0, 2},
                            {141, 130, 8, true, false, -0.75, 1, 1},
                            {65, 70, 0, false, false, 1, -0.5, 2},
                            {65, 70, 9, false, true, 0, 2, 2}};

/// The shapes in device memory; they stay where they are, which rows that keep something by address have to bear.
template <class T>
std::deque<device_problem<T>> problems() {
  std::deque<device_problem<T>> all;
  for (auto const& s : shapes) all.emplace_back(s);
  return all;
}

template <class T>
std::vector<tandem::kernel const*> rows() {
  std::vector<tandem::kernel const*> all;
  for (auto const& row : gpu::descriptor().kernels)
    if (row.dtype == tandem::dtype_of<T>) all.push_back(&row);
  REQUIRE(all.size() > 1);
  return all;
}

/// The problems that a row takes, two at least; the others it refuses by an error.
template <class T>
std::vector<device_problem<T>*> taken_by(tandem::kernel const& row, std::deque<device_problem<T>>& all) {
  std::vector<device_problem<T>*> taken;
  for (auto& p : all) {
    if (p.taken_by(row)) {
      taken.push_back(&p);
      continue;
    }
    CAPTURE(row.name);
    CAPTURE(describe(p.of()));
    try {
      p.run(row, nullptr);
      FAIL("it was not refused");
    } catch (tandem::error const& e) {
      CHECK(e.code() == tandem::errc::unsupported);
    }
  }
  REQUIRE(taken.size() >= 2);
  return taken;
}

/// A plain call's result.
template <class T>
std::vector<T> plain(tandem::kernel const& row, device_problem<T>& p, int contents) {
  p.load(contents);
  p.run(row, nullptr);
  gpu::synchronize();
  return p.result();
}

class made_stream {
 public:
  explicit made_stream(unsigned flags = cudaStreamNonBlocking) { require(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~made_stream() { cudaStreamDestroy(stream_); }
  made_stream(made_stream const&) = delete;
  made_stream& operator=(made_stream const&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What a call enqueues, as a graph.
class captured_call {
 public:
  template <class F>
  captured_call(cudaStream_t stream, cudaStreamCaptureMode mode, F const& call) {
    require(cudaStreamBeginCapture(stream, mode));
    call();
    require(cudaStreamEndCapture(stream, &graph_));
    require(cudaGraphInstantiate(&replay_, graph_, 0));
  }
  ~captured_call() {
    cudaGraphExecDestroy(replay_);
    cudaGraphDestroy(graph_);
  }
  captured_call(captured_call const&) = delete;
  captured_call& operator=(captured_call const&) = delete;

  void replay(cudaStream_t stream) const { require(cudaGraphLaunch(replay_, stream)); }
  /// Kernels that it launches.
  std::size_t kernels() const {
    std::size_t count = 0;
    require(cudaGraphGetNodes(graph_, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    require(cudaGraphGetNodes(graph_, nodes.data(), &count));
    return static_cast<std::size_t>(std::ranges::count_if(nodes, [](cudaGraphNode_t node) {
      cudaGraphNodeType type;
      require(cudaGraphNodeGetType(node, &type));
      return type == cudaGraphNodeTypeKernel;
    }));
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
};

/// Matrices in device memory of which calls make each other: x, then y, are op(B) times the other or the other times
/// it.
template <class T>
class chain {
 public:
  chain(std::int64_t length, std::int64_t across, bool x_is_left) : length_(length), across_(across), left_(x_is_left) {
    std::mt19937 random(static_cast<unsigned>(length * 1009 + across));
    std::normal_distribution<double> normal(0, 1 / std::sqrt(static_cast<double>(length)));  // sums stay about 1
    fill(b_, length * length, [&] { return normal(random); });
    fill(first_, length * across, [&] { return normal(random); });
    for (auto* const to : {&b_, &first_}) copies_.emplace_back(to->size() * sizeof(T));
    for (int i = 0; i < 2; ++i) copies_.emplace_back(first_.size() * sizeof(T));
    gpu::copy_to_device(copies_[0].data(), b_.data(), copies_[0].size());
    gpu::copy_to_device(copies_[1].data(), first_.data(), copies_[1].size());
  }

  /// What is there after so many calls of the rows in turn. `apart`: each has ended before the next begins.
  std::vector<T> run(std::vector<tandem::kernel const*> const& rows, int calls, cudaStream_t stream, bool apart) {
    for (int i = 0; i < 2; ++i)
      require(cudaMemcpyAsync(x(i), copies_[1].data(), copies_[1].size(), cudaMemcpyDeviceToDevice, stream));
    for (int i = 0; i < calls; ++i) {
      multiply(*rows[static_cast<std::size_t>(i) % rows.size()], x(i % 2), x((i + 1) % 2), stream);
      if (apart) gpu::synchronize(stream);
    }
    std::vector<T> result(first_.size());
    gpu::copy_to_host(result.data(), x(calls % 2), copies_[1].size(), stream);
    return result;
  }

  bool taken_by(tandem::kernel const& row) {
    tandem::problem p{.dtype = tandem::dtype_of<T>, .memory = tandem::memory::device, .m = left_ ? across_ : length_};
    p.n = left_ ? length_ : across_, p.k = length_;
    p.a = left_ ? x(0) : copies_[0].data(), p.b = left_ ? copies_[0].data() : x(0), p.c = x(1);
    p.lda = p.k, p.ldb = p.ldc = p.n;
    return row.run && (!row.refuses || row.refuses(p).empty());
  }

 private:
  void fill(std::vector<T>& to, std::int64_t size, auto const& value) {
    to.resize(static_cast<std::size_t>(size));
    std::ranges::generate(to, [&] { return static_cast<T>(value()); });
  }
  T* x(int which) { return static_cast<T*>(copies_[static_cast<std::size_t>(2 + which)].data()); }
  void multiply(tandem::kernel const& row, T const* from, T* to, cudaStream_t stream) {
    auto const view = [](auto* data, std::int64_t rows, std::int64_t cols) {
      return tandem::matrix_view(data, rows, cols, cols, tandem::layout::row_major, tandem::memory::device);
    };
    auto const* const b = static_cast<T const*>(copies_[0].data());
    if (left_)
      gemm_with(row, view(from, across_, length_), view(b, length_, length_), view(to, across_, length_),
                {.stream = stream});
    else
      gemm_with(row, view(b, length_, length_), view(from, length_, across_), view(to, length_, across_),
                {.stream = stream});
  }

  std::int64_t length_, across_;
  bool left_;
  std::vector<T> b_, first_;
  std::deque<gpu::device_buffer> copies_;  // b, first, x, y
};

bool has_gpu() { return tandem::tests::has_backend(tandem::backend::gpu); }

}  // namespace

TEST_SUITE_BEGIN("gpu streams");

// Kernels may begin before the one before them has ended, so that a call might read what is not written yet, or write
// over what is still read.
TEST_CASE_TEMPLATE("a call waits for the calls before it, whatever rows they are of", T, float, double) {
  if (!has_gpu()) return;
  constexpr int calls = 9;
  auto const all = rows<T>();
  made_stream const stream;
  int chains = 0;
  for (auto const& [length, across] :
       {std::pair<std::int64_t, std::int64_t>{700, 1}, {64, 50}, {2000, 9}, {515, 515}, {260, 1100}})
    for (bool const x_is_left : {true, false}) {
      chain<T> one(length, across, x_is_left);
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t apart : {0, 1, 7}) {  // in the table
          std::vector const rows{all[i], all[(i + apart) % all.size()]};
          if (!one.taken_by(*rows[0]) || !one.taken_by(*rows[1])) continue;
          INFO(rows[0]->name, " and ", rows[1]->name, " of ", across, " by ", length, ", left: ", x_is_left);
          auto const wanted = one.run(rows, calls, stream.get(), true);
          CHECK(same_bits(one.run(rows, calls, stream.get(), false), wanted));
          ++chains;
        }
    }
  CHECK(chains > 10 * static_cast<int>(all.size()));
}

TEST_CASE_TEMPLATE("a kernel that does not wait for the one before it is found out", T, float, double) {
  if (!has_gpu()) return;
  made_stream const stream;
  chain<T> one(700, 90, true);
  for (bool const waits : {true, false}) {
    auto const row = tandem::tests::early_row(tandem::dtype_of<T>, waits);
    CAPTURE(row.name);
    auto const wanted = one.run({&row}, 9, stream.get(), true);
    CHECK(same_bits(one.run({&row}, 9, stream.get(), false), wanted) == waits);
  }
}

TEST_CASE_TEMPLATE("a captured call replays on other contents with a plain call's bits", T, float, double) {
  if (!has_gpu()) return;
  auto all = problems<T>();
  std::size_t most_kernels = 0;
  for (auto const* row : rows<T>()) {
    bool cuts_k = false;
    std::size_t most_of_row = 0;
    for (auto* const one : taken_by(*row, all)) {
      auto& p = *one;
      CAPTURE(row->name);
      CAPTURE(describe(p.of()));
      if (row->run) cuts_k = cuts_k || !row->plan(p.canonical()).levels.front().keeps_c;
      std::vector<T> const wanted[] = {plain(*row, p, 0), plain(*row, p, 1)};
      if (row->run) CHECK_FALSE(same_bits(wanted[0], wanted[1]));
      for (auto const mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
        made_stream const stream;
        captured_call const graph(stream.get(), mode, [&] { p.run(*row, stream.get()); });
        most_of_row = std::max(most_of_row, graph.kernels());
        for (int const contents : {1, 0}) {
          p.load(contents, stream.get());
          graph.replay(stream.get());
          CHECK(same_bits(p.result(stream.get()), wanted[contents]));
        }
      }
    }
    CAPTURE(row->name);
    CHECK(most_of_row >= (cuts_k ? 2 : 1));
    most_kernels = std::max(most_kernels, most_of_row);
  }
  CHECK(most_kernels >= 3);  // operands copied, multiplied, parts of tiles added up
}

TEST_CASE_TEMPLATE("operands that no call has seen before can be captured", T, float, double) {
  if (!has_gpu()) return;
  auto all = problems<T>();
  for (auto const* row : rows<T>()) {
    CAPTURE(row->name);
    auto& seen = *taken_by(*row, all).front();
    auto const wanted = plain(*row, seen, 0);
    device_problem<T> fresh(seen.of());
    made_stream const stream;
    captured_call const graph(stream.get(), cudaStreamCaptureModeGlobal, [&] { fresh.run(*row, stream.get()); });
    graph.replay(stream.get());
    CHECK(same_bits(fresh.result(stream.get()), wanted));
  }
}

TEST_CASE_TEMPLATE("a call returns while its stream stands still, and writes nothing before its turn", T, float,
                   double) {
  if (!has_gpu()) return;
  auto all = problems<T>();
  made_stream const beside, own;
  for (auto const* row : rows<T>())
    for (auto const stream : {own.get(), cudaStream_t{cudaStreamLegacy}}) {
      CAPTURE(row->name);
      CAPTURE(stream == own.get());
      auto const taken = taken_by(*row, all);
      std::vector<std::vector<T>> wanted;
      for (auto* const one : taken) {
        auto& p = *one;
        wanted.push_back(plain(*row, p, 0));
        p.run(*row, stream);  // whatever is made once for a stream
        gpu::synchronize(stream);
        p.load(0);
      }
      gpu::stream_gate gate(stream, std::chrono::seconds(10));
      for (auto* const one : taken) {
        auto& p = *one;
        p.run(*row, stream);
        CAPTURE(describe(p.of()));
        REQUIRE_FALSE(gate.expired());
        CHECK(same_bits(p.result(beside.get()), p.before()));
      }
      gate.open();
      gpu::synchronize(stream);
      REQUIRE_FALSE(gate.expired());
      for (std::size_t i = 0; i < taken.size(); ++i) {
        CAPTURE(describe(taken[i]->of()));
        CHECK(same_bits(taken[i]->result(), wanted[i]));
      }
    }
}

TEST_CASE("who waits for a stream that stands still is found out") {
  if (!has_gpu()) return;
  made_stream const stream;
  gpu::stream_gate gate(stream.get(), std::chrono::milliseconds(100));
  gpu::synchronize(stream.get());
  CHECK(gate.expired());
}

TEST_CASE_TEMPLATE("in steady state no call takes memory from the device", T, float, double) {
  if (!has_gpu()) return;
  auto all = problems<T>();
  made_stream const stream;
  for (auto const* row : rows<T>()) {
    CAPTURE(row->name);
    auto const taken = taken_by(*row, all);
    auto const call = [&](int i) { taken[static_cast<std::size_t>(i) % taken.size()]->run(*row, stream.get()); };
    for (int i = 0; i < static_cast<int>(2 * all.size()); ++i) call(i);
    gpu::synchronize(stream.get());
    CHECK(take_no_memory(100, stream.get(), call));
  }
}

TEST_CASE("calls that take memory from the device now and then are found out") {
  if (!has_gpu()) return;
  made_stream const stream;
  gpu::trim_workspaces();
  CHECK_FALSE(take_no_memory(100, stream.get(), [](int i) {
    if (i == 70) gpu::device_buffer const buffer(1);
  }));
  CHECK_FALSE(take_no_memory(100, stream.get(), [&](int i) {
    if (i == 70) gpu::workspace_memory const workspace(1, stream.get());
  }));
}

TEST_CASE_TEMPLATE("host threads with streams of their own get the bits of single calls", T, float, double) {
  if (!has_gpu()) return;
  constexpr int rounds = 5;
  auto const kernels = rows<T>();
  auto all = problems<T>();  // one for each thread
  std::vector<std::vector<std::vector<T>>> wanted(kernels.size());
  for (std::size_t r = 0; r < kernels.size(); ++r)
    for (auto& p : all) wanted[r].push_back(p.taken_by(*kernels[r]) ? plain(*kernels[r], p, 0) : std::vector<T>());
  std::vector<std::string> wrong(all.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < all.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        gpu::stream const stream;
        auto& p = all[t];
        for (std::size_t i = 0; i < rounds * kernels.size(); ++i) {
          auto const r = (i + t * 5) % kernels.size();  // not all of them on one row
          if (!p.taken_by(*kernels[r])) continue;
          p.load(0, stream.get());
          p.run(*kernels[r], stream.get());
          if (!same_bits(p.result(stream.get()), wanted[r][t])) wrong[t] += kernels[r]->name + " ";
        }
      } catch (std::exception const& e) {
        wrong[t] += e.what();
      }
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t t = 0; t < all.size(); ++t) {
    CAPTURE(describe(all[t].of()));
    CHECK(wrong[t] == "");
  }
}

TEST_CASE_TEMPLATE("every kind of stream gives the same bits", T, float, double) {
  if (!has_gpu()) return;
  auto all = problems<T>();
  made_stream const blocking(cudaStreamDefault), not_blocking(cudaStreamNonBlocking);
  int least = 0, greatest = 0;
  require(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t urgent = nullptr;
  require(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  std::pair<char const*, cudaStream_t> const streams[] = {{"null", nullptr},
                                                          {"legacy", cudaStreamLegacy},
                                                          {"per thread", cudaStreamPerThread},
                                                          {"blocking", blocking.get()},
                                                          {"not blocking", not_blocking.get()},
                                                          {"urgent", urgent}};
  for (auto const* row : rows<T>())
    for (auto* const one : taken_by(*row, all)) {
      auto& p = *one;
      auto const wanted = plain(*row, p, 0);
      for (auto const& [kind, stream] : streams) {
        p.load(0, stream);
        p.run(*row, stream);
        CAPTURE(row->name);
        CAPTURE(describe(p.of()));
        CAPTURE(kind);
        CHECK(same_bits(p.result(stream), wanted));
      }
    }
  cudaStreamDestroy(urgent);
}

// Rows that fetch through textures keep 1024 of them; then they wait for the device, once, and begin anew.
TEST_CASE_TEMPLATE("products of ever new memory", T, float, double) {
  if (!has_gpu()) return;
  constexpr std::int64_t size = 8, products = 1500, apart = 512 / sizeof(T);  // a row of C, so that every row takes it
  static_assert(size * size <= 2 * apart);
  std::vector<T> ones((products + 2) * apart, T(1)), c(size);
  gpu::device_buffer const memory(ones.size() * sizeof(T)), result(c.size() * sizeof(T));
  gpu::copy_to_device(memory.data(), ones.data(), memory.size());
  for (auto const* row : rows<T>()) {
    if (!row->run) continue;
    CAPTURE(row->name);
    gpu::copy_to_device(result.data(), std::vector<T>(c.size()).data(), result.size());
    gpu::stream const stream;
    for (std::int64_t i = 0; i < products; ++i) {
      auto const* const fresh = static_cast<T const*>(memory.data()) + i * apart;
      auto const rows = tandem::layout::row_major;
      auto const where = tandem::memory::device;
      gemm_with(*row, tandem::matrix_view<T const>(fresh, 1, size, size, rows, where),
                tandem::matrix_view<T const>(fresh, size, size, size, rows, where),
                tandem::matrix_view<T>(static_cast<T*>(result.data()), 1, size, size, rows, where),
                {.beta = 1, .stream = stream.get()});
    }
    gpu::copy_to_host(c.data(), result.data(), result.size(), stream.get());
    CHECK(std::ranges::count(c, T(size * products)) == size);
  }
}

TEST_SUITE_END();
