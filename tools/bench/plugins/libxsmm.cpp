// libxsmm's static library as a shared object. Its functions are hidden there, so they are handed out by name.
#include <libxsmm.h>

#include <cstring>

extern "C" {

char const* tandem_plugin_about() { return "libxsmm " LIBXSMM_VERSION; }

/// nullptr for a name that is not here.
void* tandem_plugin_function(char const* name) {
  struct function {
    char const* name;
    void* address;
  };
  static function const all[] = {
      {"libxsmm_init", reinterpret_cast<void*>(&libxsmm_init)},
      {"libxsmm_get_target_arch", reinterpret_cast<void*>(&libxsmm_get_target_arch)},
      {"libxsmm_smmdispatch", reinterpret_cast<void*>(&libxsmm_smmdispatch)},
      {"libxsmm_dmmdispatch", reinterpret_cast<void*>(&libxsmm_dmmdispatch)},
      {"libxsmm_sgemm", reinterpret_cast<void*>(&libxsmm_sgemm)},
      {"libxsmm_dgemm", reinterpret_cast<void*>(&libxsmm_dgemm)},
  };
  for (auto const& f : all)
    if (std::strcmp(f.name, name) == 0) return f.address;
  return nullptr;
}

}  // extern "C"
