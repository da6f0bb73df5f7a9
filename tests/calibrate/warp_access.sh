#!/bin/sh
# On a machine with a GPU, nvcc and Nsight Compute: counts what single accesses of a warp cost and writes
# tests/data/h200_warp_access_random.csv, which tests/unit/simt_access.cpp compares the cost model with.
# usage: tests/calibrate/warp_access.sh [OUTPUT.csv]
# NCU and NVCC name other tools, ARCH another chip, METRICS the counters to ask for.
set -eu
cd "$(dirname "$0")/../.."
output=${1:-tests/data/h200_warp_access_random.csv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${NVCC:-nvcc}" -std=c++20 -O2 -arch="${ARCH:-sm_90}" -o "$work/warp_access" tests/calibrate/warp_access.cu
"$work/warp_access" --list >"$work/patterns.csv"
"$work/warp_access"  # fails here if it fails without the profiler

wavefronts=l1tex__data_pipe_lsu_wavefronts_mem_shared_op
conflicts=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op
sectors=l1tex__t_sectors_pipe_lsu_mem_global_op
# Few enough for one pass. inst_executed shows that a launch makes the one access that it should.
metrics=${wavefronts}_ld.sum,${wavefronts}_st.sum,${conflicts}_ld.sum,${conflicts}_st.sum,${sectors}_ld.sum,${sectors}_st.sum
metrics=$metrics,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum
# Counted by instrumented code in a second pass: what the source view calls wavefronts, and how many are ideal.
metrics=$metrics,memory_l1_wavefronts_shared,memory_l1_wavefronts_shared_ideal
"${NCU:-ncu}" --clock-control none --cache-control none --metrics "${METRICS:-$metrics}" --csv --page raw \
  "$work/warp_access" >"$work/counters.csv"

# Joins by order of launch. Nsight Compute quotes every cell, and its second line holds the units.
awk -v wavefronts="$wavefronts" -v conflicts="$conflicts" -v sectors="$sectors" '
  function cell(name) { if (!(name in column)) return ""; gsub(",", "", value[column[name]]); return value[column[name]] }
  NR == FNR { pattern[FNR] = $0; patterns = FNR; next }
  !/^"/ { next }
  { sub(/^"/, ""); sub(/"\r?$/, ""); n = split($0, value, "\",\"") }
  !header { for (i = 1; i <= n; ++i) column[value[i]] = i; header = 1; next }
  value[1] == "" { next }
  {
    if (!launches) print pattern[1] ",wavefronts,conflicts,sectors,instructions,source_wavefronts,source_ideal"
    ++launches
    split(pattern[launches + 1], p, ",")
    op = p[3] == "load" ? "_ld.sum" : "_st.sum"
    if (p[2] == "shared")
      print pattern[launches + 1] "," cell(wavefronts op) "," cell(conflicts op) ",," \
        cell("smsp__inst_executed_op_shared" op) "," cell("memory_l1_wavefronts_shared") "," \
        cell("memory_l1_wavefronts_shared_ideal")
    else
      print pattern[launches + 1] ",,," cell(sectors op) ",,,"
  }
  END { if (launches != patterns - 1) { print launches " launches, " patterns - 1 " patterns" >"/dev/stderr"; exit 1 } }
' "$work/patterns.csv" "$work/counters.csv" >"$work/joined.csv"
mv "$work/joined.csv" "$output"
wc -l "$output"
