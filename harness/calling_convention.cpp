// The stub between caller and function, in assembly: what a compiler makes of C++ keeps the registers itself.
#include "harness/calling_convention.hpp"

#if defined(__x86_64__)

#include <array>
#include <atomic>

extern "C" {
__attribute__((visibility("hidden"))) void* tandem_harness_function = nullptr;
__attribute__((visibility("hidden"))) std::atomic<unsigned> tandem_harness_unkept = 0;
void tandem_harness_watched_call();
}

// The arguments on the stack are copied, whether there are as many or not, and the registers compared with what was
// pushed: rbx, rbp and r12 to r15 belong to the caller, and the direction flag is clear on return (System V's
// application binary interface for AMD64, 3.2.1). The frame is one that exceptions pass.
asm(R"(
    .text
    .hidden tandem_harness_watched_call
    .globl tandem_harness_watched_call
    .type tandem_harness_watched_call, @function
tandem_harness_watched_call:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register 6
    pushq %rbx
    .cfi_offset 3, -24
    pushq %r12
    .cfi_offset 12, -32
    pushq %r13
    .cfi_offset 13, -40
    pushq %r14
    .cfi_offset 14, -48
    pushq %r15
    .cfi_offset 15, -56
    subq $136, %rsp
    .set word, 0
    .rept 16
    movq 16 + word(%rbp), %r11
    movq %r11, word(%rsp)
    .set word, word + 8
    .endr
    call *tandem_harness_function(%rip)
    xorl %r11d, %r11d
    cmpq 168(%rsp), %rbx
    je 1f
    orl $1, %r11d
1:  leaq 176(%rsp), %r10
    cmpq %r10, %rbp
    je 1f
    orl $2, %r11d
1:  cmpq 160(%rsp), %r12
    je 1f
    orl $4, %r11d
1:  cmpq 152(%rsp), %r13
    je 1f
    orl $8, %r11d
1:  cmpq 144(%rsp), %r14
    je 1f
    orl $16, %r11d
1:  cmpq 136(%rsp), %r15
    je 1f
    orl $32, %r11d
1:  pushfq
    popq %r10
    testl $0x400, %r10d
    jz 1f
    orl $64, %r11d
    cld
1:  lock orl %r11d, tandem_harness_unkept(%rip)
    addq $136, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .size tandem_harness_watched_call, . - tandem_harness_watched_call
)");

namespace tandem::harness {

void* watched(void* function) {
  tandem_harness_function = function;
  return reinterpret_cast<void*>(tandem_harness_watched_call);
}

std::string unkept_registers() {
  constexpr std::array names{"rbx", "rbp", "r12", "r13", "r14", "r15"};
  unsigned const unkept = tandem_harness_unkept.exchange(0);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((unkept >> i & 1) != 0) text += (text.empty() ? "did not keep " : " and ") + std::string(names[i]);
  if ((unkept >> names.size() & 1) != 0) text += std::string(text.empty() ? "" : "; ") + "left the direction flag set";
  return text;
}

}  // namespace tandem::harness

#else

namespace tandem::harness {

void* watched(void* function) { return function; }
std::string unkept_registers() { return {}; }

}  // namespace tandem::harness

#endif
