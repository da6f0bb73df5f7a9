// A table of planted bugs: one text in one file of the sources, and what stands there instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::mutants {

/// A planted bug. In the table it is a block of lines:
///
///     mutant gemm.beta_per_panel
///     file cpu/gemm.cpp
///     unit cpu
///     kernel cpu.avx2.f32.6x16
///     what Every panel of k applies beta, not only the first.
///     witness f32:nn:7x9x513:beta=2
///     - pc == 0 ? o.beta : T(1)
///     + o.beta
///
/// The lines that begin with "- " are, joined, the text that has to occur once in the file; those with "+ " are the
/// text instead. '#' begins a comment; an empty line means nothing.
struct mutant {
  std::string id;
  std::string file;     ///< relative to the sources
  std::string unit;     ///< what it is built with: a file of tests/mutants/units
  std::string compile;  ///< the sources to compile, with a space between them, where `file` is a header: all that may
                        ///< bring a copy of the function in question, of which a linker takes any; empty: the unit's
  std::string kernel;   ///< the row that is judged; of a bug in the harness, the subject that shows it
  std::string rung;     ///< of a bug in the harness, the rung that shows it
  std::string test;     ///< of a bug in the harness that no kernel shows, the test that does, with its arguments
  std::string what;     ///< what is wrong, in a sentence
  std::string seen;     ///< where it really happened; empty where nowhere that we know of
  std::string witness;  ///< a problem on which it is wrong, as `harness::parse_case` reads it
  std::string before;   ///< the problem that has to run before it, if one has to
  int tries = 1;        ///< how often the witness may have to run
  std::string from, to;
  int line = 0;  ///< of the table, where the block begins
};

/// The mutants of a table. Throws std::invalid_argument, "kernels.txt:12: …", for a line that is none of the above, a
/// mutant without an id, file, unit, description or text, one whose text is unchanged, and an id that occurs twice.
std::vector<mutant> parse_table(std::string_view text, std::string_view name);

/// `source` with the bug in it. Throws std::runtime_error unless the mutant's text occurs in it exactly once.
std::string planted(mutant const& m, std::string_view source);

/// The whole of a file. Throws std::runtime_error where it cannot be read.
std::string read_file(std::string const& path);

}  // namespace tandem::mutants
