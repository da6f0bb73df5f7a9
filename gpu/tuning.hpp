// The file that `tandem tune` leaves: the rows' models as measured on one card. docs/tuning.md has its format.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tandem/kernels.hpp>

#include "gpu/model.hpp"
#include "gpu/row.hpp"

namespace tandem::gpu {

/// Models by a row's name without its backend.
using row_models = std::map<std::string, row_model, std::less<>>;

/// What a file's models hold for, all of which must be as they were.
struct tuning_key {
  std::string device = {};  ///< name and compute capability: "NVIDIA H200, compute capability 9.0"
  int multiprocessors = 0;
  std::string library = {};  ///< Tandem's version
  std::string kernels = {};  ///< a hash of the rows' names
  bool operator==(tuning_key const&) const = default;
};

/// Of the current device and this library; without a device when there is none.
tuning_key this_key();
std::string hash_of(row_table const& table);

/// Where the file is: $TANDEM_TUNING, or tandem/tuning.json in $XDG_CACHE_HOME or ~/.cache. Empty: nowhere, since none
/// of these is set. `get` reads the environment.
std::string tuning_path(std::function<char const*(char const*)> const& get);

/// The models of a file, or why they are not used ("not there", "for NVIDIA A100, …; this is NVIDIA H200, …").
struct tuning_file {
  row_models models = {};
  std::string ignored = {};
};
tuning_file read_tuning(std::string const& path, tuning_key const& key);

/// Writes the file whole or not at all, and the folders on the way to it. Throws std::runtime_error.
void write_tuning(std::string const& path, tuning_key const& key, row_models const& models);

/// The rows of one table, ready to be estimated.
class model_table {
 public:
  /// `find` gives a row's model by its name, or nullptr.
  model_table(row_table const& table, std::function<row_model const*(std::string_view)> const& find);
  /// Microseconds; infinite where the row has no model.
  double cost(std::size_t row, problem const& p, int multiprocessors) const;

 private:
  std::vector<estimator> estimators_;
  std::vector<int> of_row_;  ///< -1: none
};

/// What the gpu backend goes by: the file's models where they fit this device, else the built-in ones. Read once, at
/// the first use.
model_table const& device_models();

}  // namespace tandem::gpu
