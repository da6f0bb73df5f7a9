#!/bin/sh
# On a machine with a GPU, nvcc and Nsight Compute: counts what single cp.async copies of a warp cost and writes
# tests/data/h200_async_access.csv, which tests/unit/simt_access.cpp compares the cost model with.
# usage: tests/calibrate/async_access.sh [OUTPUT.csv]
# NCU and NVCC name other tools, ARCH another chip.
set -eu
cd "$(dirname "$0")/../.."
output=${1:-tests/data/h200_async_access.csv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${NVCC:-nvcc}" -std=c++20 -O2 -arch="${ARCH:-sm_90}" -I. -o "$work/async_access" tests/calibrate/async_access.cu
"$work/async_access" --list >"$work/patterns.csv"
"$work/async_access"  # fails here if it fails without the profiler

# Counted by instrumented code: the hardware's counter of sectors, op_ld, sees some copies of 16 bytes in pieces.
sectors=smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum
wavefronts=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum
"${NCU:-ncu}" --clock-control none --cache-control none --metrics "$sectors,$wavefronts" --csv --page raw \
  "$work/async_access" >"$work/counters.csv"

# Joins by order of launch. Nsight Compute quotes every cell, and its second line holds the units.
awk -v sectors="$sectors" -v wavefronts="$wavefronts" '
  function cell(name) { if (!(name in column)) return ""; gsub(",", "", value[column[name]]); return value[column[name]] }
  NR == FNR { pattern[FNR] = $0; patterns = FNR; next }
  !/^"/ { next }
  { sub(/^"/, ""); sub(/"\r?$/, ""); n = split($0, value, "\",\"") }
  !header { for (i = 1; i <= n; ++i) column[value[i]] = i; header = 1; next }
  value[1] == "" { next }
  {
    if (!launches) print pattern[1] ",sectors,wavefronts"
    ++launches
    print pattern[launches + 1] "," cell(sectors) "," cell(wavefronts)
  }
  END { if (launches != patterns - 1) { print launches " launches, " patterns - 1 " patterns" >"/dev/stderr"; exit 1 } }
' "$work/patterns.csv" "$work/counters.csv" >"$work/joined.csv"
mv "$work/joined.csv" "$output"
wc -l "$output"
