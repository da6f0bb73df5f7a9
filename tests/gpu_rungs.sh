#!/bin/sh
# The table of the rungs, on a machine with a GPU and `ncu` on the PATH: rates beside cuBLAS by `tandem bench`, and of
# each row's longest kernel what Nsight Compute says of it. Prints Markdown; docs/benchmarking.md says what it means.
# usage: tests/gpu_rungs.sh [SIZES: 1024,4096,4097,8192] [KERNELS: every f32 row] [DTYPE: f32]
# OUT names a folder for the long output. NCU_SIZES (default: SIZES) are those that are profiled.
set -eu
cd "$(dirname "$0")/.."
sizes=${1:-1024,4096,4097,8192}
type=${3:-f32}
kernels=${2:-gpu.*.$type.*}
out=${OUT:-build/release/gpu}/rungs_$type
mkdir -p "$out"
tandem=build/release/tandem

"$tandem" bench gemm --kernels "$kernels" --against cublas --dtype "$type" --m "$sizes" --json "$out/bench.json" \
  >"$out/bench.log"
sed -n '/^device/p; /^GPU clock/p; /^FMA peak/p; /^operands/p' "$out/bench.log" >&2

# A process a size: Nsight Compute repeats every kernel some ten times and keeps what it writes in memory meanwhile.
profiles=
for size in $(echo "${NCU_SIZES:-$sizes}" | tr , ' '); do
  for what in LaunchStats Occupancy SpeedOfLight SchedulerStats WarpStateStats ComputeWorkloadAnalysis; do
    printf -- '--section %s ' "$what"
  done >"$out/sections"
  # shellcheck disable=SC2046  # several words
  if ! ncu --clock-control none --csv --page raw --print-units base --kernel-name-base demangled $(cat "$out/sections") \
    --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed \
    --log-file "$out/ncu_$size.csv" \
    "$tandem" bench gemm --once --operands hot --kernels "$kernels" --against cublas --dtype "$type" --m "$size" \
    --json "$out/once_$size.json" >"$out/once_$size.log" 2>&1; then
    tail -n 20 "$out/once_$size.log" "$out/ncu_$size.csv" >&2
    echo "ncu FAILED at $size" >&2
    exit 1
  fi
  profiles="$profiles $out/once_$size.json $out/ncu_$size.csv"
done
# shellcheck disable=SC2086  # several words
python3 tests/gpu_rungs.py "$out/bench.json" $profiles
