// CUDA's words for the host, so that a kernel file compiles as it stands. Everything here belongs to the namespace of
// one compilation, TANDEM_KERNEL_NAMESPACE: the linker must never merge what two compilations make of it.
// TANDEM_SIMT_INSTRUMENTED is set where clang instruments the file for a session (tandem/simt/session.hpp).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <tandem/simt/words/arithmetic.hpp>
#include <tandem/simt/words/atomics.hpp>
#include <tandem/simt/words/language.hpp>
#include <tandem/simt/words/launch.hpp>
#include <tandem/simt/words/memory.hpp>
#include <tandem/simt/words/mma.hpp>
#include <tandem/simt/words/threads.hpp>
#include <tandem/simt/words/vectors.hpp>
