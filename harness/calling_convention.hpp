// Whether a function keeps the registers that its caller may count on: kernels are written in assembly.
#pragma once

#include <string>

namespace tandem::harness {

/// A function to call in place of `function`, with the same arguments (up to 16 words of them on the stack), which
/// notes what that does not keep; or `function`, where the processor is none of which this knows the rules (x86-64 on
/// Linux). One at a time in a process: the last.
void* watched(void* function);

/// "did not keep rbx and r12", or "left the direction flag set", of all calls since it was asked; empty if all was
/// kept.
std::string unkept_registers();

}  // namespace tandem::harness
