// JSON on the way in and out; what does not fit is ignored with a reason, never in part.
#include "gpu/tuning.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tandem/version.hpp>

#include "gpu/describe.hpp"
#include "gpu/runtime/device.hpp"

namespace tandem::gpu {
namespace {

constexpr int format_number = 5;

nlohmann::ordered_json to_json(row_model const& m) {
  nlohmann::ordered_json j;
  for (auto const& p : parameters()) j[p.name] = m.*p.member;
  return j;
}

row_model model_from(nlohmann::json const& j) {
  row_model m;
  for (auto const& p : parameters()) m.*p.member = j.at(p.name).get<double>();
  if (!is_valid(m)) throw std::runtime_error("a number is out of its range");
  return m;
}

std::string difference(tuning_key const& file, tuning_key const& here) {
  if (file.device != here.device || file.multiprocessors != here.multiprocessors)
    return fmt::format("for {} with {} multiprocessors; this is {} with {}", file.device, file.multiprocessors,
                       here.device, here.multiprocessors);
  if (file.library != here.library) return fmt::format("for Tandem {}; this is {}", file.library, here.library);
  return file.kernels != here.kernels ? "for other kernels than this library's" : "";
}

struct state {
  tuning_info info = {};
  row_models models = {};
};

state const& this_state() {
  static auto const& found = *new state([] {
    state s;
    s.info.path = tuning_path([](char const* name) -> char const* { return std::getenv(name); });
    if (auto const why = unavailable(); !why.empty())
      s.info.ignored = "no device: " + why;
    else if (s.info.path.empty())
      s.info.ignored = "no place for it: TANDEM_TUNING, XDG_CACHE_HOME and HOME are not set";
    else {
      auto read = read_tuning(s.info.path, this_key());
      s.models = std::move(read.models);
      s.info.ignored = std::move(read.ignored);
    }
    s.info.used = s.info.ignored.empty();
    s.info.models =
        s.info.used ? "measured on this device" : fmt::format("built in, measured on {}", built_in_device());
    return s;
  }());
  return found;
}

}  // namespace

std::string hash_of(row_table const& table) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (auto const* row = table.gemm; row != table.gemm + table.gemm_count; ++row)
    for (char const c : row_name(*row) + "\n") hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

tuning_key this_key() {
  auto const text = device_name();  // "NVIDIA H200, compute capability 9.0, driver 13.0, runtime 13.0"
  return {text.substr(0, text.find(", driver")), multiprocessors(), std::string(version()), hash_of(device_rows())};
}

std::string tuning_path(std::function<char const*(char const*)> const& get) {
  auto const set = [&](char const* name) {
    auto const* const value = get(name);
    return std::string(value != nullptr ? value : "");
  };
  if (auto const path = set("TANDEM_TUNING"); !path.empty()) return path;
  if (auto const folder = set("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tandem/tuning.json";
  auto const home = set("HOME");
  return home.empty() ? "" : home + "/.cache/tandem/tuning.json";
}

tuning_file read_tuning(std::string const& path, tuning_key const& key) {
  std::error_code status;
  if (!std::filesystem::exists(path, status)) return {{}, "not there"};
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, status)) return {{}, "cannot be read"};
  try {
    auto const j = nlohmann::json::parse(file);
    if (auto const format = j.at("format").get<int>(); format != format_number)
      return {{}, fmt::format("of format {}; this library reads {}", format, format_number)};
    tuning_key const of{j.at("device"), j.at("multiprocessors"), j.at("library"), j.at("kernels")};
    if (auto why = difference(of, key); !why.empty()) return {{}, std::move(why)};
    tuning_file t;
    for (auto const& [name, model] : j.at("models").items()) t.models.emplace(name, model_from(model));
    if (t.models.empty()) return {{}, "has no models"};
    return t;
  } catch (std::exception const& e) {
    return {{}, fmt::format("not a tuning file: {}", e.what())};
  }
}

void write_tuning(std::string const& path, tuning_key const& key, row_models const& models) {
  nlohmann::ordered_json j = {{"format", format_number},
                              {"device", key.device},
                              {"multiprocessors", key.multiprocessors},
                              {"library", key.library},
                              {"kernels", key.kernels}};
  auto& all = j["models"] = nlohmann::ordered_json::object();
  for (auto const& [name, model] : models) all[name] = to_json(model);

  std::filesystem::path const target(path);
  auto const beside = fmt::format("{}.{}.part", path, getpid());
  std::error_code status;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), status);
  std::ofstream file(beside);
  file << j.dump(1) << '\n';
  file.close();
  if (!file) {
    std::filesystem::remove(beside, status);
    throw std::runtime_error(fmt::format("{}: cannot be written", path));
  }
  std::filesystem::rename(beside, target, status);
  if (status) {
    auto const why = status.message();
    std::filesystem::remove(beside, status);
    throw std::runtime_error(fmt::format("{}: {}", path, why));
  }
}

model_table::model_table(row_table const& table, std::function<row_model const*(std::string_view)> const& find) {
  for (auto const* row = table.gemm; row != table.gemm + table.gemm_count; ++row) {
    auto const* const model = find(row_name(*row));
    of_row_.push_back(model != nullptr ? static_cast<int>(estimators_.size()) : -1);
    if (model != nullptr) estimators_.emplace_back(*row, *model);
  }
}

double model_table::cost(std::size_t row, problem const& p, int multiprocessors) const {
  int const at = of_row_[row];
  return at < 0 ? std::numeric_limits<double>::infinity()
                : estimators_[static_cast<std::size_t>(at)].cost(p, multiprocessors);
}

model_table const& device_models() {
  static auto const& table = *new model_table(device_rows(), [](std::string_view row) -> row_model const* {
    auto const& s = this_state();
    if (!s.info.used) return built_in_model(row);
    auto const found = s.models.find(row);
    return found == s.models.end() ? nullptr : &found->second;
  });
  return table;
}

}  // namespace tandem::gpu

namespace tandem {

tuning_info tuning() { return gpu::this_state().info; }

}  // namespace tandem
