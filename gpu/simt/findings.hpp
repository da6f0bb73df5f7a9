// The defects of a session: noted by address while kernels run, told by line of source afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tandem/simt/session.hpp>

namespace tandem::simt {

/// Whether what is wrong are two places, `pc` and `other`, at which threads wait that should wait at one.
inline bool is_of_two_places(defect kind) {
  return kind == defect::barrier_divergence || kind == defect::warp_divergence;
}

class findings_list {
 public:
  /// The first defect of a kind at a pc (or two) is noted in full, later ones are counted; `detail` is only then asked
  /// for. `other` is the pc of who else had to do with it, 0 for nobody.
  template <class Detail>
  void note(defect kind, void const* kernel, std::uintptr_t pc, index3 block, index3 thread, std::uintptr_t other,
            Detail const& detail) {
    auto const [at, first] = index_.try_emplace({kind, kernel, pc, is_of_two_places(kind) ? other : 0}, list_.size());
    if (first) list_.push_back({kind, kernel, pc, other, block, thread, detail(), 0});
    ++list_[at->second].count;
  }

  /// Merged by kind, kernel and line, in the order in which they were noted.
  std::vector<finding> tell() const;

 private:
  struct entry {
    defect kind;
    void const* kernel;
    std::uintptr_t pc, other;
    index3 block, thread;
    std::string detail;
    std::uint64_t count;
  };
  struct key {
    defect kind;
    void const* kernel;
    std::uintptr_t pc, other;
    auto operator<=>(key const&) const = default;
  };
  std::vector<entry> list_;
  std::map<key, std::size_t> index_;
};

}  // namespace tandem::simt
