#!/bin/sh
# On a machine with a GPU and Nsight Compute, after a build: counts the accesses of the kernels of tests/kernels and
# writes tests/data/h200_requests.csv, which tests/unit/simt_requests.cpp compares the executor's counts with.
# usage: tests/calibrate/requests.sh [OUTPUT.csv]
set -eu
cd "$(dirname "$0")/../.."
output=${1:-tests/data/h200_requests.csv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

metrics=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics=$metrics,smsp__inst_executed_op_shared_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
metrics=$metrics,smsp__inst_executed_op_shared_st.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
build/release/tests/launch_features >"$work/names"  # fails here if it fails without the profiler
ncu --clock-control none --csv --page raw --metrics "$metrics" build/release/tests/launch_features >"$work/ncu.csv"

# One line a feature: the sums over its kernels. Nsight Compute quotes every cell, and its second line holds the units.
awk -v metrics="$metrics" '
  NR == FNR { name[++features] = $0; next }
  !/^"/ { next }
  { sub(/^"/, ""); sub(/"\r?$/, ""); n = split($0, value, "\",\"") }
  !header { for (i = 1; i <= n; ++i) column[value[i]] = i; header = 1; next }
  value[1] == "" { next }
  value[column["Kernel Name"]] ~ /mark/ { ++at; next }
  { for (i = 1; i <= count; ++i) { v = value[column[metric[i]]]; gsub(",", "", v); sum[at, i] += v } }
  BEGIN { count = split(metrics, metric, ",") }
  END {
    if (at != features) { print at " marks, " features " features" >"/dev/stderr"; exit 1 }
    print "feature,global_load,global_load_sectors,global_store,global_store_sectors,shared_load,shared_load_wavefronts,shared_store,shared_store_wavefronts"
    for (f = 1; f <= features; ++f) {
      line = "\"" name[f] "\""
      for (i = 1; i <= count; ++i) line = line "," sum[f, i] + 0
      print line
    }
  }
' "$work/names" "$work/ncu.csv" >"$work/joined.csv"
mv "$work/joined.csv" "$output"
wc -l "$output"
