#!/bin/sh
# What only a machine with a GPU can prove: the whole suite and a check with the GPU required, compute-sanitizer over a
# sample, and the rungs' rates beside cuBLAS. `./run gpu` builds first. OUT names a folder for the long output.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build/release/gpu}
mkdir -p "$out"
tandem=build/release/tandem
failed=0
step() { printf '\n== %s\n' "$1"; }
verdict() { if [ "$1" = 0 ]; then echo "passed"; else echo "FAILED ($1)"; failed=1; fi; }

"$tandem" --version
step "all tests, with the GPU required"
status=0
TANDEM_REQUIRE=gpu,cublas ctest --test-dir build/release --output-on-failure --output-junit "$PWD/$out/ctest.xml" \
  >"$out/ctest.log" 2>&1 || status=$?
grep -E 'Test +#|tests passed' "$out/ctest.log"
[ "$status" = 0 ] || grep -E 'ERROR|FAIL' -A6 "$out/ctest.log" | sed -n 1,40p
verdict "$status"

step "each rung on the GPU against its SIMT run, bit for bit"
status=0
TANDEM_REQUIRE=gpu build/release/tests/test_gpu_equals_simt >"$out/bits.log" || status=$?
grep -E 'problems|Status' "$out/bits.log"
verdict "$status"

step "the executor's counts of memory accesses against Nsight Compute"
if command -v ncu >/dev/null; then
  status=0
  OUT=$out tests/gpu_counts.sh || status=$?
  verdict "$status"
else
  echo "ncu is not there"; failed=1
fi

step "check, with the GPU required"
status=0
"$tandem" check --kernels gpu,cublas,cpu --require gpu,cublas --json "$out/check.json" >"$out/check.log" 2>&1 || status=$?
tail -n 40 "$out/check.log"
verdict "$status"

step "compute-sanitizer on a sample"
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck; do
    status=0
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$tandem" check --kernels gpu --against '' \
      --m 1,33,129 --n 31,130 --k 1,17 >"$out/$tool.log" 2>&1 || status=$?
    printf '%s: %s\n' "$tool" "$(grep SUMMARY "$out/$tool.log" | tail -n 1)"
    verdict "$status"
  done
else
  echo "compute-sanitizer is not there"; failed=1
fi

step "rates beside cuBLAS"
for type in f32 f64; do
  "$tandem" bench gemm --kernels gpu --against cublas --dtype "$type" --m 1024,1025,4096 --json "$out/bench_$type.json" \
    | tee "$out/bench_$type.log" | sed -n '/m x n/,$p'
done
step "axpy beside cuBLAS"
"$tandem" bench axpy --kernels gpu --against cublas --n 1000000,100000000 | sed -n '/GB.s/,$p'

exit "$failed"
