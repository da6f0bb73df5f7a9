// By what the gpu backend chooses: the model of a row's time, the file that `tandem tune` leaves, and how it measures
// and fits. No GPU is needed: times are made up.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tandem/tandem.hpp>

#include "gpu/describe.hpp"
#include "gpu/model.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/tuning.hpp"
#include "tests/support.hpp"
#include "tools/tune/fit.hpp"
#include "tools/tune/sweep.hpp"

using namespace tandem;

namespace {

constexpr int multiprocessors = 132;

std::vector<gpu::gemm_row const*> all_rows() {
  auto const& table = gpu::device_rows();
  std::vector<gpu::gemm_row const*> rows;
  for (int i = 0; i < table.gemm_count; ++i) rows.push_back(&table.gemm[i]);
  return rows;
}

gpu::gemm_row const& row_named(std::string_view name) {
  for (auto const* row : all_rows())
    if (gpu::row_name(*row) == name) return *row;
  throw std::runtime_error(std::string(name));
}

gpu::model_table const& built_in() {
  static gpu::model_table const table(gpu::device_rows(), gpu::built_in_model);
  return table;
}

problem plain(std::int64_t m, std::int64_t n, std::int64_t k, dtype type) {
  tune::shape s;
  s.p.dtype = type;
  s.p.m = m, s.p.n = n, s.p.k = k, s.p.lda = k, s.p.ldb = s.p.ldc = n;
  return tune::place(s);
}

/// A clock for rows that take what `time` says of so many calls, and in turn a time by name, if one is given.
class made_up_clock : public tune::stopwatch {
 public:
  explicit made_up_clock(std::function<double(kernel const&, int)> time) : time_(std::move(time)) {}
  double in_a_row(kernel const& row, int of_row) override {
    ++calls[row.name];
    return time_(row, of_row);
  }
  std::vector<double> in_turn(std::span<kernel const* const> rows) override {
    std::vector<double> times;
    for (auto const* row : rows) {
      ++turns[row->name];
      times.push_back(times_in_turn.at(row->name));
    }
    return times;
  }
  std::map<std::string, int> calls, turns;
  std::map<std::string, double> times_in_turn;

 private:
  std::function<double(kernel const&, int)> time_;
};

/// A folder that goes with its owner.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem_tuning_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  std::string operator/(std::string const& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

gpu::tuning_key const here{"NVIDIA H200, compute capability 9.0", multiprocessors, "0.1.0", "00ff"};

gpu::row_models some_models() {
  gpu::row_model fast;
  fast.rate = 0.8125, fast.blocks = 4, fast.tail = 0.25;
  return {{"persistent.f32.128x256x8", fast}, {"small.f64.16x16x32", {}}};
}

bool same(gpu::row_model const& x, gpu::row_model const& y) {
  for (auto const& p : gpu::parameters())
    if (x.*p.member != y.*p.member) return false;
  return true;
}

}  // namespace

TEST_SUITE_BEGIN("tuning");

TEST_CASE("every row with a model is in the table, and its numbers are in their ranges") {
  int with_model[2] = {};
  for (auto const* row : all_rows())
    if (auto const* const model = gpu::built_in_model(gpu::row_name(*row))) {
      CAPTURE(gpu::row_name(*row));
      CHECK(gpu::is_valid(*model));
      ++with_model[row->dtype == dtype::f64 ? 1 : 0];
    }
  CHECK(with_model[0] > 0);
  CHECK(with_model[1] > 0);
}

TEST_CASE("an estimate is finite and positive, and no edge makes more work cheaper") {
  for (auto const* row : all_rows()) {
    auto const* const model = gpu::built_in_model(gpu::row_name(*row));
    if (model == nullptr) continue;
    CAPTURE(gpu::row_name(*row));
    gpu::estimator const estimate(*row, *model);
    // All of whose rows begin at multiples of 32 bytes: another alignment can be faster, and be fitted so.
    auto const aligned = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      auto const up = [](std::int64_t x) { return (x + 7) / 8 * 8; };
      auto p = plain(m, n, k, row->dtype);
      p.lda = up(p.lda), p.ldb = up(p.ldb), p.ldc = up(p.ldc);
      return p;
    };
    for (std::int64_t const m : {4, 16, 100, 1024, 8192})
      for (std::int64_t const n : {4, 16, 100, 1024, 8192})
        for (std::int64_t const k : {4, 16, 100, 1024, 100'000}) {
          CAPTURE(fmt::format("{}x{}x{}", m, n, k));
          double const once = estimate(aligned(m, n, k), multiprocessors);
          CHECK(std::isfinite(once));
          CHECK(once > 0);
          // A deeper k may be worth slices that the shallower one was not; what 8 times the work takes then is less.
          double const least = row->cut_k != nullptr ? 0.5 : 1;
          CHECK(estimate(aligned(2 * m, 2 * n, 2 * k), multiprocessors) >= least * once);
        }
  }
}

TEST_CASE("of a C of one line with a long k, the row for lines goes first") {
  auto const cost = [](std::string_view name, problem const& p) {
    gpu::estimator const estimate(row_named(name), gpu::row_model());
    return estimate.cost(p, multiprocessors) / estimate(p, multiprocessors);
  };
  for (auto const& line : {plain(1, 5000, 64, dtype::f32), plain(5000, 1, 64, dtype::f32)}) {
    CHECK(cost("gemv.f32.1x128x128", line) == 1);
    CHECK(cost("skinny.f32.8x128x64", line) == 1000);
  }
  CHECK(cost("skinny.f32.8x128x64", plain(1, 5000, 63, dtype::f32)) == 1);
  CHECK(cost("skinny.f32.8x128x64", plain(2, 5000, 64, dtype::f32)) == 1);
}

TEST_CASE("each strip that a row peels off costs what a strip does, or one that is a line") {
  auto const& row = row_named("peeled.f32.128x256x8");
  gpu::row_model model;
  gpu::estimator const before(row, model);
  model.line += 5, model.strip += 7;
  gpu::estimator const after(row, model);
  auto const more = [&](std::int64_t m, std::int64_t n) {
    auto const p = plain(m, n, 4096, dtype::f32);
    return after(p, multiprocessors) - before(p, multiprocessors);
  };
  CHECK(more(4097, 4097) == doctest::Approx(10));
  CHECK(more(4096, 4097) == doctest::Approx(5));
  CHECK(more(4104, 4104) == doctest::Approx(14));
  CHECK(more(4097, 4104) == doctest::Approx(12));
  CHECK(more(4096, 4096) == 0);
}

TEST_CASE("blocks that stay take whole tiles, and then a slice or a share of those left over") {
  auto const& row = row_named("persistent.f32.128x256x8");  // one block on a multiprocessor
  auto const work = [&](std::int64_t tiles, std::int64_t k) {
    return gpu::work_of(row, plain(128, 256 * tiles, k, dtype::f32));
  };
  auto const whole = work(264, 4096);
  CHECK(whole.blocks == 132);
  CHECK(whole.chunks == 2 * 512);
  CHECK(whole.stretches == 2);
  CHECK_FALSE(whole.is_cut);
  CHECK(whole.parts == 0);
  auto const sliced = work(132 + 33, 4096);  // a quarter of a tile each
  CHECK(sliced.is_cut);
  CHECK(sliced.chunks == 512 + 128);
  CHECK(sliced.stretches == 2);
  CHECK(sliced.parts == (132 + 33) * 128 * 256 * 4);
  auto const shared = work(132 + 50, 4096);  // which two slices each would make 100 parts for 132 blocks
  CHECK(shared.is_cut);
  CHECK(shared.chunks == 512 + 194);
  CHECK(shared.stretches == doctest::Approx(2 + 194. / 512));
  CHECK(shared.parts == (132 + 50) * 128 * 256 * 4);
}

TEST_CASE("blocks that run down C's rows take as long as the tiles that each has") {
  auto const& row = row_named("rank_k.f32.32x128x32");
  auto const work = [&](std::int64_t m, std::int64_t n) { return gpu::work_of(row, plain(m, n, 32, dtype::f32)); };
  auto const small = work(5 * 32, 7 * 128);
  CHECK(small.tiles == 5 * 7);
  CHECK(small.tiles_down == 1);
  auto const large = work(1563 * 32, 128);
  REQUIRE(large.tiles < 1563);
  CHECK(large.tiles_down == std::ceil(1563 / large.tiles));
  gpu::row_model model;
  model.call = model.round = model.chunk = 0, model.far = 2;
  gpu::estimator const estimate(row, model);
  auto once = large, twice = large;
  once.m = once.n = twice.m = twice.n = 0;  // no bytes
  twice.tiles_down *= 2;
  CHECK(estimate(twice, multiprocessors) == doctest::Approx(2 * estimate(once, multiprocessors)));
}

TEST_CASE("slices of k may take several rounds of blocks") {
  auto const& row = row_named("tensor_core.f64.32x128x16");                      // two blocks on a multiprocessor
  auto const sliced = gpu::work_of(row, plain(64, 48 * 128, 8192, dtype::f64));  // 96 tiles in five slices
  CHECK(sliced.is_cut);
  CHECK_FALSE(sliced.is_even);
  CHECK(sliced.chunks == 2 * 103);
  CHECK(sliced.stretches == 2);
  CHECK(sliced.parts == (96 * 5 + 96) * 32 * 128 * 8);
}

TEST_CASE("factors follow how an operand reaches shared memory, not its address alone") {
  auto const& row = row_named("tensor_core.f64.64x64x16");
  auto const work = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gpu::work_of(row, plain(m, n, k, dtype::f64));
  };
  // By vectors and at sectors; at vectors only; and all element by element, or copied, where one line ends within one.
  CHECK(work(64, 64, 64).form_a != work(64, 64, 62).form_a);
  CHECK(work(64, 64, 64).form_b != work(64, 62, 64).form_b);
  CHECK(work(64, 64, 63).form_b != work(64, 64, 64).form_b);
  CHECK(work(1024, 1023, 1024).copied > 0);
  CHECK(work(1024, 1024, 1024).copied == 0);

  CHECK_FALSE(work(64, 128, 64).overhang);
  CHECK(work(60, 128, 64).overhang);
  CHECK(work(60, 128, 64).filled_a == 60.0 / 64);
  gpu::row_model model;
  gpu::estimator const before(row, model);
  model.sector_a = 1.5, model.overhang = 1.25;
  gpu::estimator const after(row, model);
  auto const ratio = [&](std::int64_t m, std::int64_t k) {
    auto const p = plain(m, 4096, k, dtype::f64);
    return after(p, multiprocessors) / before(p, multiprocessors);
  };
  CHECK(ratio(4096, 4096) == 1);
  CHECK(ratio(4096, 4094) == doctest::Approx(1.5).epsilon(0.02));
  CHECK(ratio(4090, 4096) == doctest::Approx(1.25).epsilon(0.02));
}

TEST_CASE("where C is on its side, A and B are what the kernel takes for them") {
  for (char const* const name : {"skinny.f32.16x128x64", "persistent.f32.24x64x64"})
    for (std::int64_t const rows : {1, 16}) {
      auto const& row = row_named(name);
      auto const wide = plain(rows, 5001, 640, dtype::f32);
      auto const as_it_is = gpu::work_of(row, wide), on_its_side = gpu::work_of(row, gpu::turned(wide));
      CHECK(as_it_is.form_a != as_it_is.form_b);
      CHECK(on_its_side.form_a == as_it_is.form_a);
      CHECK(on_its_side.form_b == as_it_is.form_b);
      CHECK(on_its_side.filled_a == as_it_is.filled_a);
      CHECK(on_its_side.filled_b == as_it_is.filled_b);
      CHECK(on_its_side.tiles == as_it_is.tiles);
      CHECK(on_its_side.chunks == as_it_is.chunks);
      CHECK(on_its_side.stretches == as_it_is.stretches);
      CHECK(on_its_side.slices == as_it_is.slices);
      CHECK(on_its_side.parts == as_it_is.parts);
      CHECK(on_its_side.overhang == as_it_is.overhang);
      CHECK(as_it_is.unaligned_c == (rows > 1));
      CHECK(on_its_side.unaligned_c);  // rows of C as it lies in memory, 5001 elements apart
    }
}

TEST_CASE("what is read element by element costs its factor, in the orientation that it is for") {
  auto const& row = row_named("smem_tile.f32.32x32x32");
  gpu::row_model model;
  model.unaligned_a = 2, model.along_k_b = 3, model.unaligned_b = 1.25, model.both_b = 2;
  gpu::estimator const estimate(row, model);
  auto p = plain(4096, 4096, 4096, dtype::f32);
  double const aligned = estimate(p, multiprocessors);
  p.lda += 1;
  CHECK(estimate(p, multiprocessors) > 1.9 * aligned);
  p.lda -= 1, p.ldb += 1;
  CHECK(estimate(p, multiprocessors) > 1.2 * aligned);
  CHECK(estimate(p, multiprocessors) < 1.3 * aligned);
  p.ldb -= 1, p.trans_b = true;
  CHECK(estimate(p, multiprocessors) > 2.8 * aligned);
  CHECK(estimate(p, multiprocessors) < 3.2 * aligned);
  p.ldb += 1;
  CHECK(estimate(p, multiprocessors) > 7 * aligned);
}

TEST_CASE("a model's numbers out of their ranges are not valid") {
  CHECK(gpu::is_valid({}));
  for (auto const& p : gpu::parameters()) {
    CAPTURE(p.name);
    for (double const bad : {std::nan(""), p.most * 1.01, p.least - 1}) {
      gpu::row_model m;
      m.*p.member = bad;
      CHECK_FALSE(gpu::is_valid(m));
    }
  }
  gpu::row_model half;
  half.blocks = 1.5;
  CHECK_FALSE(gpu::is_valid(half));
}

TEST_CASE("the file's place: TANDEM_TUNING, then the cache folder, then the home") {
  std::map<std::string, char const*> set;
  auto const path = [&] {
    return gpu::tuning_path([&](char const* name) { return set.contains(name) ? set[name] : nullptr; });
  };
  CHECK(path().empty());
  set["HOME"] = "/home/x";
  CHECK(path() == "/home/x/.cache/tandem/tuning.json");
  set["XDG_CACHE_HOME"] = "/cache";
  CHECK(path() == "/cache/tandem/tuning.json");
  set["TANDEM_TUNING"] = "mine.json";
  CHECK(path() == "mine.json");
  set["TANDEM_TUNING"] = "";
  CHECK(path() == "/cache/tandem/tuning.json");
}

TEST_CASE("what is written is read again, and nothing else stays in the folder") {
  folder const f;
  auto const path = f / "a/b/tuning.json";
  gpu::write_tuning(path, here, {});
  gpu::write_tuning(path, here, some_models());
  auto const read = gpu::read_tuning(path, here);
  CHECK(read.ignored == "");
  auto const expected = some_models();
  REQUIRE(read.models.size() == expected.size());
  for (auto const& [name, model] : expected) CHECK(same(read.models.at(name), model));
  int files = 0;
  for (auto const& entry : std::filesystem::directory_iterator(f / "a/b")) files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 1);
  CHECK_THROWS_AS(gpu::write_tuning(path + "/below_a_file.json", here, {}), std::runtime_error);
}

TEST_CASE("a file that does not fit is ignored, with the reason") {
  folder const f;
  auto const path = f / "tuning.json";
  auto const reason = [&](std::function<void(nlohmann::json&)> const& change) {
    gpu::write_tuning(path, here, some_models());
    nlohmann::json j = nlohmann::json::parse(std::ifstream(path));
    change(j);
    std::ofstream(path) << j;
    auto const read = gpu::read_tuning(path, here);
    CHECK(read.models.empty());
    return read.ignored;
  };
  CHECK(gpu::read_tuning(path, here).ignored == "not there");
  CHECK(gpu::read_tuning(f / ".", here).ignored == "cannot be read");
  std::ofstream(path) << "{ \"format\": 1,";
  CHECK(gpu::read_tuning(path, here).ignored.starts_with("not a tuning file: "));
  CHECK(reason([](auto& j) { j["format"] = 1; }) == "of format 1; this library reads 5");
  CHECK(reason([](auto& j) { j["device"] = "NVIDIA A100, compute capability 8.0"; }) ==
        "for NVIDIA A100, compute capability 8.0 with 132 multiprocessors; this is NVIDIA H200, compute capability 9.0 "
        "with 132");
  CHECK(reason([](auto& j) { j["multiprocessors"] = 114; }).find("with 114 multiprocessors") != std::string::npos);
  CHECK(reason([](auto& j) { j["library"] = "0.0.9"; }) == "for Tandem 0.0.9; this is 0.1.0");
  CHECK(reason([](auto& j) { j["kernels"] = "1"; }) == "for other kernels than this library's");
  CHECK(reason([](auto& j) { j["models"] = nlohmann::json::object(); }) == "has no models");
  auto const bad = [&](std::function<void(nlohmann::json&)> const& change) {
    return reason([&](auto& j) { change(j["models"]["small.f64.16x16x32"]); });
  };
  CHECK(bad([](auto& j) { j["rate"] = -1; }) == "not a tuning file: a number is out of its range");
  CHECK(bad([](auto& j) { j["rate"] = "fast"; }).starts_with("not a tuning file: "));
  CHECK(bad([](auto& j) { j.erase("round"); }).find("round") != std::string::npos);
}

TEST_CASE("the key holds the device, its multiprocessors, the version and the kernels") {
  auto const key = gpu::this_key();
  CHECK(key.library == version());
  CHECK(key.kernels == gpu::hash_of(gpu::device_rows()));
  auto fewer = gpu::device_rows();
  --fewer.gemm_count;
  CHECK(gpu::hash_of(fewer) != key.kernels);
  CHECK((key.device.empty() == !gpu::unavailable().empty()));
  CHECK(key.device.find("driver") == std::string::npos);
}

TEST_CASE("the library and `tandem list` say what the choice goes by") {
  auto const info = tuning();
  CHECK(info.used == info.ignored.empty());
  CHECK(info.models.starts_with(info.used ? "measured on this device" : "built in"));
  if (!gpu::unavailable().empty()) CHECK(info.ignored == "no device: " + gpu::unavailable());

  folder const f;
  auto const path = f / "none.json";
  setenv("TANDEM_TUNING", path.c_str(), 1);
  auto const listed = tests::run_tandem("list");
  unsetenv("TANDEM_TUNING");
  REQUIRE(listed.exit_code == 0);
  auto const why = gpu::unavailable().empty() ? "not there" : "no device: " + gpu::unavailable();
  CHECK(listed.out.find(fmt::format("tuning file {}: not used, {}\n", path, why)) != std::string::npos);
}

TEST_CASE("on a device, a file that fits is used, and one of another device is ignored") {
  if (!tests::has_backend(backend::gpu)) return;
  folder const f;
  auto const path = f / "tuning.json";
  auto const listed = [&](gpu::tuning_key const& key) {  // in a process of its own: a process reads the file once
    gpu::write_tuning(path, key, some_models());
    setenv("TANDEM_TUNING", path.c_str(), 1);
    auto const result = tests::run_tandem("list");
    unsetenv("TANDEM_TUNING");
    return result.out;
  };
  auto key = gpu::this_key();
  CHECK(listed(key).find(fmt::format("measured on this device; tuning file {}: used\n", path)) != std::string::npos);
  key.device = "NVIDIA A100, compute capability 8.0";
  CHECK(listed(key).find(fmt::format("tuning file {}: not used, for NVIDIA A100", path)) != std::string::npos);
}

TEST_CASE("a row without a model is taken only when it is named") {
  gpu::row_table const& table = gpu::device_rows();
  gpu::model_table const models(table, [&](std::string_view row) -> gpu::row_model const* {
    return row == gpu::row_name(table.gemm[0]) ? gpu::built_in_model(row) : nullptr;
  });
  auto const p = plain(100, 100, 100, table.gemm[0].dtype);
  CHECK(std::isfinite(models.cost(0, p, 1)));
  CHECK(std::isinf(models.cost(1, p, 1)));
}

TEST_CASE("shapes: the same at every call, within their limits, none of them in both sets") {
  for (auto const type : {dtype::f32, dtype::f64}) {
    auto const fitted = tune::calibration_shapes(type), again = tune::calibration_shapes(type);
    auto const held_out = tune::held_out_shapes(type, 200);
    CHECK(fitted.size() >= 150);
    CHECK(held_out.size() == 200);
    REQUIRE(fitted.size() == again.size());
    int transposes[4] = {}, unaligned = 0;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      auto const &p = fitted[i].p, &q = again[i].p;
      CHECK((p.m == q.m && p.n == q.n && p.k == q.k && p.lda == q.lda && p.trans_a == q.trans_a));
      ++transposes[2 * p.trans_a + p.trans_b];
      unaligned += p.lda % 4 != 0;
      for (auto const& h : held_out) CHECK_FALSE((h.p.m == p.m && h.p.n == p.n && h.p.k == p.k));
    }
    for (int const count : transposes) CHECK(count > 20);
    CHECK(unaligned > 20);
    for (auto const& s : held_out) {
      auto const& p = s.p;
      CHECK(2e0 * double(p.m) * double(p.n) * double(p.k) <= 3e11);
      CHECK(p.lda >= (p.trans_a ? p.m : p.k));
      CHECK(p.ldb >= (p.trans_b ? p.k : p.n));
      CHECK(p.ldc >= p.n);
    }
  }
}

TEST_CASE("rows for tensor cores have no finite cost where the device runs code without them") {
  for (auto const code : {+[] { return 75; }, +[] { return 90; }, +[] { return 100; }}) {
    int rows = 0;
    for (auto const& row : gpu::describe(gpu::device_rows(), {.backend = backend::gpu,
                                                             .device = true,
                                                             .flop_budget = 1e12,
                                                             .run = {},
                                                             .run_axpy = {},
                                                             .code_version = code,
                                                             .multiprocessors = [] { return multiprocessors; },
                                                             .models = built_in})) {
      if (row.technique() != "tensor_core") continue;
      CAPTURE(row.name);
      CHECK(std::isfinite(row.cost(plain(1000, 1000, 1000, row.dtype))) == (code() >= 90));
      ++rows;
    }
    CHECK(rows == 10);
  }
}

TEST_CASE("a sweep gives hopeless rows up, does not call those that must be, and times the best again") {
  struct made_up {
    char const* name;
    double estimate, time;
  };
  constexpr made_up all[] = {{"gpu.best.f32", 10, 12},   {"gpu.near.f32", 11, 12.5},        {"gpu.slow.f32", 12, 40},
                             {"gpu.lost.f32", 15, 99},   {"gpu.never.f32", 201, 9999},      {"gpu.refuses.f32", 1, 1},
                             {"gpu.unknown.f32", 0, 20}, {"gpu.no_model.f32", INFINITY, 21}};
  std::vector<kernel> rows;
  for (auto const& each : all) {
    kernel k;
    k.name = each.name;
    if (each.estimate > 0) k.cost = [e = each.estimate](problem const&) { return e; };
    if (k.name == "gpu.refuses.f32") k.refuses = [](problem const&) { return std::string("k too small"); };
    rows.push_back(std::move(k));
  }
  rows.push_back({});
  rows.back().name = "gpu.other.f64", rows.back().dtype = dtype::f64;
  std::vector<kernel const*> pointers;
  for (auto const& row : rows) pointers.push_back(&row);

  tune::shape s;
  s.p.m = s.p.n = s.p.k = s.p.lda = s.p.ldb = s.p.ldc = 8;
  made_up_clock clock([&](kernel const& row, int) {
    for (auto const& each : all)
      if (row.name == each.name) return each.time;
    return 0.0;
  });
  auto const timings = tune::sweep(s, pointers, clock);
  auto& calls = clock.calls;
  CHECK(clock.turns.empty());
  std::map<std::string, tune::timing> by_name;
  for (auto const& t : timings) by_name[t.kernel] = t;
  CHECK(by_name.size() == std::size(all));
  CHECK(by_name["gpu.best.f32"].microseconds == 12);
  CHECK(by_name["gpu.unknown.f32"].microseconds == 20);
  CHECK(by_name["gpu.no_model.f32"].microseconds == 21);
  CHECK(by_name["gpu.lost.f32"].single);
  CHECK(by_name["gpu.lost.f32"].microseconds == 99);
  CHECK(calls["gpu.lost.f32"] == 2);
  CHECK(calls["gpu.never.f32"] == 0);
  CHECK(by_name["gpu.never.f32"].why_not == "estimated at 201 us");
  CHECK(by_name["gpu.refuses.f32"].why_not == "k too small");
  CHECK(calls["gpu.near.f32"] > calls["gpu.slow.f32"] + 3);
}

TEST_CASE("a sweep's batches are as long as calls turn out to be short, whatever the first one took") {
  kernel row;
  row.name = "gpu.small.f32";
  tune::shape s;
  s.p.m = s.p.n = s.p.k = s.p.lda = s.p.ldb = s.p.ldc = 8;
  bool is_first = true;
  std::vector<kernel const*> const rows = {&row};
  made_up_clock clock([&](kernel const&, int calls) {
    double const of_batch = 3;
    return std::exchange(is_first, false) ? 300 : 2 + of_batch / calls;
  });
  auto const timings = tune::sweep(s, rows, clock);
  REQUIRE(timings.size() == 1);
  CHECK(timings.front().microseconds.value() == doctest::Approx(2.03).epsilon(0.001));
}

TEST_CASE("a sweep calls rows that are near each other in turn where calls are long, and believes only that") {
  constexpr char const* names[] = {"gpu.best.f32", "gpu.near.f32", "gpu.slow.f32"};
  std::vector<kernel> rows(3);
  std::vector<kernel const*> pointers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].name = names[i];
    pointers.push_back(&rows[i]);
  }
  tune::shape s;
  s.p.m = s.p.n = s.p.k = s.p.lda = s.p.ldb = s.p.ldc = 8;
  made_up_clock clock([&](kernel const& row, int) {
    return row.name == names[0] ? 60.0 : row.name == names[1] ? 77.0 : 79.0;
  });
  clock.times_in_turn = {{names[0], 80}, {names[1], 78}};
  auto const timings = tune::sweep(s, pointers, clock);
  REQUIRE(timings.size() == 3);
  CHECK(timings[0].microseconds == 80);
  CHECK(timings[1].microseconds == 78);
  CHECK(timings[2].microseconds == 79);
  CHECK(clock.turns[names[0]] >= 5);
  CHECK(clock.turns[names[1]] == clock.turns[names[0]]);
  CHECK(clock.turns[names[2]] == 0);
}

TEST_CASE("a file of measurements is read as it was written; others are refused") {
  folder const f;
  tune::measurements m{"a device", 7, "0.1.0", {}};
  for (auto const& s : tune::held_out_shapes(dtype::f64, 20))
    m.all.push_back(
        {s, {{"gpu.x.f64", 12.5, false, {}}, {"gpu.y.f64", 99.0, true, {}}, {"gpu.z.f64", {}, false, "why"}}});
  tune::write_measurements(m, f / "m.json");
  auto const read = tune::read_measurements(f / "m.json");
  REQUIRE(read.all.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    auto const &x = m.all[i], &y = read.all[i];
    CHECK(y.shape.set == "held_out");
    CHECK(y.shape.p.dtype == dtype::f64);
    CHECK((x.shape.p.m == y.shape.p.m && x.shape.p.trans_b == y.shape.p.trans_b && x.shape.p.ldc == y.shape.p.ldc));
    CHECK(x.shape.offsets.b == y.shape.offsets.b);
    REQUIRE(y.timings.size() == 3);
    CHECK(y.timings[0].is_median());
    CHECK(y.timings[0].microseconds == 12.5);
    CHECK((y.timings[1].single && !y.timings[1].is_median()));
    CHECK(y.timings[2].why_not == "why");
  }
  CHECK_THROWS_AS(tune::read_measurements(f / "none.json"), std::runtime_error);
  std::ofstream(f / "m.json") << R"({"format": 9})";
  CHECK_THROWS_WITH(tune::read_measurements(f / "m.json"), doctest::Contains("format 9"));
}

namespace {

/// What a row of this model would have taken on the shapes.
tune::measurements measured_by(char const* row, gpu::row_model const& model, std::vector<tune::shape> const& shapes) {
  tune::measurements m{"made up", multiprocessors, std::string(version()), {}};
  gpu::estimator const estimate(row_named(row), model);
  for (auto const& s : shapes)
    m.all.push_back({s, {{std::string("gpu.") + row, estimate(tune::place(s), multiprocessors), false, {}}}});
  return m;
}

/// The first shapes that are fitted to which the row leaves, or does not leave, to the row for lines.
std::vector<tune::shape> shapes_of(char const* row, std::size_t count, bool left = false) {
  gpu::estimator const estimate(row_named(row), {});
  auto shapes = tune::calibration_shapes(dtype::f32);
  std::erase_if(shapes, [&](tune::shape const& s) { return estimate.gives_way(s.p) != left; });
  REQUIRE(shapes.size() >= count);
  shapes.resize(count);
  return shapes;
}

}  // namespace

TEST_CASE("held-out shapes judge a fit and have no part in it, nor has what a row leaves to another") {
  char const* const name = "small.f32.32x32x32";
  auto const held_out = tune::held_out_shapes(dtype::f32, 20), lines = shapes_of(name, 20, true);
  auto const fitted_to = [&](double factor, std::vector<tune::shape> const& others) {
    auto m = measured_by(name, {}, shapes_of(name, 60));
    for (auto& each : measured_by(name, {}, others).all) {
      *each.timings[0].microseconds *= factor;
      m.all.push_back(std::move(each));
    }
    auto const fitted = tune::fit(m, {&row_named(name)});
    REQUIRE(fitted.size() == 1);
    CHECK(fitted[0].shapes == 60);
    return fitted[0].model;
  };
  auto const plain = fitted_to(1, {});
  CHECK(same(plain, fitted_to(100, held_out)));
  CHECK(same(plain, fitted_to(100, lines)));
}

TEST_CASE("`tandem tune --fit` takes the shapes of several files, which must be of one device") {
  folder const f;
  auto m = measured_by("small.f32.32x32x32", {}, shapes_of("small.f32.32x32x32", 50));
  tune::write_measurements(m, f / "one.json");
  m.all.resize(20);
  for (auto& each : m.all) each.shape.set = "file";
  tune::write_measurements(m, f / "two.json");
  m.device = "another";
  tune::write_measurements(m, f / "other.json");

  auto const both = tests::run_tandem("tune --fit " + (f / "one.json") + "," + (f / "two.json"));
  CHECK(both.exit_code == 0);
  CHECK(both.out.find("small.f32.32x32x32      70") != std::string::npos);
  CHECK(both.out.find("calibration f32: 50 shapes, 100.0 %") != std::string::npos);
  CHECK(both.out.find("file f32: 20 shapes, 100.0 %") != std::string::npos);
  auto const mixed = tests::run_tandem("tune --fit " + (f / "one.json") + "," + (f / "other.json"));
  CHECK(mixed.exit_code == 2);
  CHECK(mixed.err.find("other.json: of another with 132 multiprocessors") != std::string::npos);
}

TEST_CASE("a fit finds what made the times, and the choice by it is right") {
  std::map<std::string, gpu::row_model> planted;
  auto const plant = [&](char const* row, gpu::row_model const& m) { planted[row] = m; };
  plant("persistent.f32.128x256x8", {.rate = 0.8, .alone = 1, .blocks = 1, .call = 4, .second = 5, .round = 4});
  plant("split_k.f32.32x32x128", {.rate = 0.45, .alone = 0.7, .blocks = 2, .call = 4, .second = 2, .round = 1});
  plant("small.f32.32x32x32", {.rate = 0.5, .alone = 0.4, .blocks = 4, .call = 2.5, .round = 0.5, .unaligned_a = 1.5});
  std::vector<gpu::gemm_row const*> rows;
  tune::measurements m{"made up", multiprocessors, "0.1.0", {}};
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.01);
  for (auto const& shapes : {tune::calibration_shapes(dtype::f32), tune::held_out_shapes(dtype::f32, 200)})
    for (auto const& s : shapes) {
      tune::measurement each{s, {}};
      for (auto const& [name, model] : planted)
        each.timings.push_back(
            {"gpu." + name,
             gpu::estimator(row_named(name), model)(tune::place(s), multiprocessors) * std::exp(noise(random)),
             false,
             {}});
      m.all.push_back(std::move(each));
    }
  for (auto const& each : planted) rows.push_back(&row_named(each.first));
  auto const fitted = tune::fit(m, rows);
  REQUIRE(fitted.size() == planted.size());
  for (auto const& f : fitted) {
    CAPTURE(f.name);
    CHECK(gpu::is_valid(f.model));
    CHECK(f.median_error < 0.03);
    // Beyond what it was fitted to. By themselves the numbers need not be found: several can explain a time.
    auto const huge = plain(12000, 11000, 9000, dtype::f32);
    double const planted_time = gpu::estimator(row_named(f.name), planted[f.name])(huge, multiprocessors);
    CHECK(gpu::estimator(row_named(f.name), f.model)(huge, multiprocessors) ==
          doctest::Approx(planted_time).epsilon(0.03));
  }
  auto const chosen = tune::choices(m, "held_out", dtype::f32, tune::rated(rows, fitted, multiprocessors));
  CHECK(chosen.size() == 200);
  CHECK(tune::share_within(chosen, 1.05) > 0.93);
  CHECK(tune::percentile(chosen, 0.5) >= 1);

  // A wrong model is seen to choose badly.
  auto wrong = fitted;
  for (auto& f : wrong)
    if (f.name.starts_with("small")) f.model.rate = 1.2, f.model.call = 0.5, f.model.near = 4, f.model.far = 2;
  CHECK(tune::share_within(tune::choices(m, "held_out", dtype::f32, tune::rated(rows, wrong, multiprocessors)), 1.05) <
        0.8);
}

TEST_CASE("`tandem tune` needs a device, and says so") {
  if (gpu::unavailable().empty()) return tests::skip("a device is there");
  auto const result = tests::run_tandem("tune --seconds 1");
  CHECK(result.exit_code == 3);
  CHECK(result.err == fmt::format("tandem tune: gpu: {}\n", gpu::unavailable()));
}

TEST_SUITE_END();
