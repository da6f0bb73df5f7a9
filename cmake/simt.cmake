# Kernels under a session (docs/simt.md): clang instruments their memory accesses, and an assembly pass in between gives
# the sanitizer's functions names of our own. Installed with the package, for kernels outside the library.
#
#   tandem_add_instrumented_kernels(<target> <source>...)
#
# compiles each source, a host file that includes <tandem/simt/words.hpp> and then kernel files, and links it into the
# target, whose include directories and definitions it takes. TANDEM_INSTRUMENTING_CXX is the clang++ used; without
# one the function stops with an error.
if(NOT TANDEM_INSTRUMENTING_CXX)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(TANDEM_INSTRUMENTING_CXX ${CMAKE_CXX_COMPILER} CACHE FILEPATH "clang++ that instruments kernels")
  else()
    find_program(TANDEM_INSTRUMENTING_CXX NAMES clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19
      DOC "clang++ that instruments kernels")
  endif()
endif()

function(tandem_add_instrumented_kernels target)
  if(NOT TANDEM_INSTRUMENTING_CXX)
    message(FATAL_ERROR "tandem_add_instrumented_kernels needs clang++; install it or set TANDEM_INSTRUMENTING_CXX")
  endif()
  set(flags -std=c++20 -O2 -gdwarf-5 -g1 -gdwarf-aranges -fPIC -fvisibility=hidden
    -fno-verbose-asm  # half of the assembly would be comments
    # The bits and the accesses of the source: no contraction, no merging of accesses into vectors, copies or fills.
    -ffp-contract=off -fno-vectorize -fno-slp-vectorize -fno-unroll-loops
    # nvcc takes a store to one type for one that may change another.
    -fno-strict-aliasing
    # A call at the end of a function returns into it, or its line would be lost; files are named from the project's root.
    -fno-optimize-sibling-calls -fdebug-compilation-dir=.
    # Code in the order of the source and each access in one place, by which the lanes of a warp meet again
    # (gpu/simt/warp_trace.hpp): no access is copied into the paths that lead to it, and those of two branches stay two.
    -Xclang -disable-lifetime-markers -mllvm -disable-block-placement -mllvm -disable-branch-fold
    -mllvm -jump-threading-threshold=0 -mllvm -disable-tail-duplicate -mllvm -disable-early-taildup
    -mllvm -enable-load-pre=false
    -mllvm -simplifycfg-sink-common=false -mllvm -simplifycfg-hoist-common=false
    # Every access and every basic block calls a hook.
    -fsanitize=thread -mllvm -tsan-instrument-read-before-write=1 -mllvm -tsan-instrument-func-entry-exit=0
    -fsanitize-coverage=bb,trace-pc,no-prune
    -DTANDEM_SIMT_INSTRUMENTED -Wall -Wextra -Wno-pass-failed -Wno-unknown-pragmas)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND flags -mavx2 -mfma)  # the instrumented kernels need a processor of 2013 or later
  endif()

  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(objects "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    # Sources of one name in several directories stay apart.
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${path})
    string(REPLACE "../" "__/" name ${name})
    set(base ${CMAKE_CURRENT_BINARY_DIR}/${target}.instrumented/${name})
    cmake_path(GET base PARENT_PATH directory)
    add_custom_command(OUTPUT ${base}.o
      COMMAND ${CMAKE_COMMAND} -E make_directory ${directory}
      COMMAND ${TANDEM_INSTRUMENTING_CXX} ${flags}
        "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/="
        "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
        -MD -MF ${base}.d -MQ ${base}.o -S ${path} -o ${base}.clang.s
      COMMAND awk -f ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/instrument.awk ${base}.clang.s > ${base}.s
      # No warnings: the assembler finds fault with the compiler's own table of files.
      COMMAND ${TANDEM_INSTRUMENTING_CXX} -Wa,--no-warn -c ${base}.s -o ${base}.o
      DEPENDS ${path} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/instrument.awk
      DEPFILE ${base}.d
      COMMENT "Instrumenting ${source}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${base}.o)
  endforeach()
  # Linked as files: a target of another directory does not see this one's custom commands.
  set(call 1)
  while(TARGET ${target}_instrumented_${call})
    math(EXPR call "${call} + 1")
  endwhile()
  add_custom_target(${target}_instrumented_${call} DEPENDS ${objects})
  add_dependencies(${target} ${target}_instrumented_${call})
  target_link_libraries(${target} PRIVATE ${objects})
endfunction()
