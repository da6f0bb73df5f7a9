// Line information by elfutils' libdw: of all its readers the one that is a small shared library on every distribution.
#include "gpu/simt/symbolize.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

namespace tandem::simt {
namespace {

struct free_memory {
  void operator()(void* p) const { std::free(p); }
};

class debug_information {
 public:
  debug_information() : dwfl_(dwfl_begin(&callbacks_)) { read_modules(); }
  ~debug_information() { dwfl_end(dwfl_); }
  debug_information(debug_information const&) = delete;
  debug_information& operator=(debug_information const&) = delete;

  Dwfl_Module* module_of(Dwarf_Addr address) {
    auto* module = dwfl_addrmodule(dwfl_, address);
    if (module == nullptr) {  // loaded since
      read_modules();
      module = dwfl_addrmodule(dwfl_, address);
    }
    return module;
  }

 private:
  void read_modules() {
    dwfl_report_begin_add(dwfl_);
    dwfl_linux_proc_report(dwfl_, getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }

  char* debug_path_ = nullptr;
  Dwfl_Callbacks callbacks_{.find_elf = dwfl_linux_proc_find_elf,
                            .find_debuginfo = dwfl_standard_find_debuginfo,
                            .section_address = nullptr,
                            .debuginfo_path = &debug_path_};
  Dwfl* dwfl_;
};

// libdw serves one thread at a time.
std::mutex reading;

debug_information& all_debug_information() {
  static debug_information one;
  return one;
}

/// Code of a function, and the function's entry.
struct function_code {
  Dwarf_Addr first, last;  ///< [first, last)
  Dwarf_Die function;
};

void collect_functions(Dwarf_Die scope, std::vector<function_code>& all) {
  Dwarf_Die die;
  for (int more = dwarf_child(&scope, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
    if (dwarf_tag(&die) == DW_TAG_namespace) collect_functions(die, all);
    if (dwarf_tag(&die) != DW_TAG_subprogram) continue;
    Dwarf_Addr base = 0, first = 0, last = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &first, &last)) > 0;)
      all.push_back({first, last, die});
  }
}

// In the order of their addresses, read once: libdw's own search goes through the whole unit for each address.
std::vector<function_code> const& functions_of(Dwarf_Die* unit) {
  static std::map<void const*, std::vector<function_code>> units;
  auto const [at, is_new] = units.try_emplace(unit->addr);
  if (is_new) {
    collect_functions(*unit, at->second);
    std::ranges::sort(at->second, {}, &function_code::first);
  }
  return at->second;
}

// The function around `address` and what it was inlined from, outermost first.
std::vector<Dwarf_Die> scopes_around(Dwarf_Die* unit, Dwarf_Addr address) {
  auto const& functions = functions_of(unit);
  auto const after = std::ranges::upper_bound(functions, address, {}, &function_code::first);
  if (after == functions.begin() || address >= std::prev(after)->last) return {};
  std::vector<Dwarf_Die> scopes = {std::prev(after)->function};
  for (bool deeper = true; deeper;) {
    deeper = false;
    Dwarf_Die die;
    for (int more = dwarf_child(&scopes.back(), &die); more == 0 && !deeper; more = dwarf_siblingof(&die, &die)) {
      auto const tag = dwarf_tag(&die);
      if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&die, address) > 0) {
        scopes.push_back(die);
        deeper = true;
      }
    }
  }
  return scopes;
}

// The index of addresses is the fast way, but clang leaves out a file's first functions if nothing is inlined into
// them, and for those libdw gives the file before.
Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr& bias) {
  auto* unit = dwfl_module_addrdie(module, address, &bias);
  if (unit != nullptr && dwarf_haspc(unit, address - bias) > 0) return unit;
  unit = nullptr;
  do unit = dwfl_module_nextcu(module, unit, &bias);
  while (unit != nullptr && dwarf_haspc(unit, address - bias) <= 0);
  return unit;
}

// An access that the compiler made of those of several branches has line 0; code is in the order of the source, so that
// the last of the branches stands before it.
int line_at_or_before(Dwarf_Die* unit, Dwarf_Line* line) {
  int number = 0;
  dwarf_lineno(line, &number);
  if (number != 0) return number;
  Dwarf_Lines* all = nullptr;
  std::size_t count = 0;
  Dwarf_Addr address = 0;
  dwarf_lineaddr(line, &address);
  dwarf_getsrclines(unit, &all, &count);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const row = dwarf_onesrcline(all, i);
    Dwarf_Addr at = 0;
    int candidate = 0;
    if (dwarf_lineaddr(row, &at) != 0 || at > address) break;
    if (dwarf_lineno(row, &candidate) == 0 && candidate != 0) number = candidate;
  }
  return number;
}

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  char const* const name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return name == nullptr ? "" : name;
}

std::string file_name(char const* path) {
  std::string name = path == nullptr ? "" : path;
  return name.starts_with("./") ? name.substr(2) : name;
}

std::string demangle(char const* symbol) {
  int status = 0;
  std::unique_ptr<char, free_memory> const name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
  return status == 0 ? name.get() : symbol;
}

// "void a::(anonymous namespace)::b<c::d>::f<g>(h)" -> "f<g>"
std::string without_scope(std::string full) {
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  for (auto at = full.find(anonymous); at != full.npos; at = full.find(anonymous)) full.erase(at, anonymous.size());
  std::size_t begin = 0, end = full.size();
  int depth = 0;
  for (std::size_t i = 0; i < full.size() && end == full.size(); ++i) {
    char const c = full[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(') end = i;
    if (c == ' ' || (c == ':' && full.compare(i, 2, "::") == 0)) begin = i + (c == ' ' ? 1 : 2);
  }
  return full.substr(begin, end - begin);
}

}  // namespace

std::vector<place> lines_of(void const* pc) {
  std::lock_guard const alone(reading);
  auto const address = reinterpret_cast<Dwarf_Addr>(pc) - 1;
  auto* const module = all_debug_information().module_of(address);
  if (module == nullptr) return {};
  Dwarf_Addr bias = 0;
  auto* const unit = unit_of(module, address, bias);
  auto* const line = unit == nullptr ? nullptr : dwarf_getsrc_die(unit, address - bias);
  if (line == nullptr) return {};

  place here;
  here.file = file_name(dwarf_linesrc(line, nullptr, nullptr));
  here.line = line_at_or_before(unit, line);
  std::vector<place> lines;
  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  dwarf_getsrcfiles(unit, &files, &file_count);
  auto scopes = scopes_around(unit, address - bias);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto const tag = dwarf_tag(&*scope);
    if (tag == DW_TAG_lexical_block) continue;
    here.function = name_of(&*scope);
    lines.push_back(here);
    if (tag == DW_TAG_subprogram) return lines;
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, number = 0;
    dwarf_formudata(dwarf_attr(&*scope, DW_AT_call_file, &attribute), &file);
    dwarf_formudata(dwarf_attr(&*scope, DW_AT_call_line, &attribute), &number);
    here.file = file_name(file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr);
    here.line = static_cast<int>(number);
  }
  if (lines.empty()) lines.push_back(here);
  return lines;
}

place source_line(void const* pc) {
  auto const lines = lines_of(pc);
  for (auto const& line : lines)
    if (line.line != 0 && line.file.find("include/tandem/simt/") == std::string::npos) return line;
  return lines.empty() ? place{} : lines.front();
}

std::string function_name(void const* address) {
  std::lock_guard const alone(reading);
  auto* const module = all_debug_information().module_of(reinterpret_cast<Dwarf_Addr>(address));
  char const* const symbol =
      module == nullptr ? nullptr : dwfl_module_addrname(module, reinterpret_cast<Dwarf_Addr>(address));
  return symbol == nullptr ? "?" : without_scope(demangle(symbol));
}

std::string variable_name(char const* symbol) {
  auto const full = demangle(symbol);
  auto const scope = full.rfind("::");
  return scope == std::string::npos ? full : full.substr(scope + 2);
}

}  // namespace tandem::simt
