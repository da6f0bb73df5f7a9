#!/bin/sh
# The SIMT executor's counts against Nsight Compute's counters, on a machine with a GPU and `ncu` on the PATH.
# usage: tests/gpu_counts.sh [COUNTS.json] (of `tandem count --json`; default: every kernel's, tests/golden/counts.json).
# OUT names a folder for the long output.
set -eu
counts=${1:-$(dirname "$0")/golden/counts.json}
program=$(dirname "$0")/../build/release/tests/gpu_counts
out=${OUT:-$(dirname "$0")/../build/release/gpu}
mkdir -p "$out"

# Base units: Kbyte are rounded. Only Tandem's kernels, which all live in one namespace.
status=0
ncu --clock-control none --csv --page raw --print-units base --kernel-name-base demangled --kernel-name regex:on_device \
  --metrics "$("$program" metrics)" --log-file "$out/ncu.csv" "$program" launch "$counts" >"$out/launch.log" 2>&1 || status=$?
if [ "$status" != 0 ]; then
  tail -n 20 "$out/launch.log" "$out/ncu.csv"
  echo "ncu FAILED ($status)"
  exit "$status"
fi

"$program" compare "$counts" "$out/ncu.csv" >"$out/counts.log" 2>&1 || status=$?
# How often which counter differs, the first that are wrong, and the summary.
sed -n 's/^\([a-zA-Z]*\) .*: \([^ ]*\) counted .*/\1 \2/p' "$out/counts.log" | sort | uniq -c
sed -n '/^WRONG/p' "$out/counts.log" | head -n 20
tail -n 1 "$out/counts.log"
exit "$status"
