#!/bin/sh
# What only a machine with a GPU can prove. `./run gpu` builds first.
#
#   tests/gpu.sh [STEP ...]   all of them, in this order, or those named:
#     tests     ctest with the GPU required, first what runs on it; TESTS: a regular expression of the tests' names
#     bits      each rung on the GPU against its SIMT run, bit for bit
#     counts    the executor's counts of memory accesses against Nsight Compute
#     check     `tandem check` with the GPU required
#     sanitize  compute-sanitizer over every row (gpu_sanitize.sh); TOOLS: those to run
#     rates     the rungs' rates beside cuBLAS
#     axpy      its rate beside cuBLAS
#
# OUT names a folder for the long output (build/release/gpu). Exits with 1 when a step failed.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build/release/gpu}
tandem=build/release/tandem
all="tests bits counts check sanitize rates axpy"

# run_ctest NAME [arguments of ctest]
run_ctest() {
  name=$1; shift
  result=0
  # A pattern may match tests on one side of the label alone; without one there have to be some on both.
  none=error
  [ -z "${TESTS:-}" ] || none=ignore
  TANDEM_REQUIRE=gpu,cublas ctest --test-dir build/release --output-on-failure --no-tests=$none \
    --output-junit "$(realpath "$out")/$name.xml" ${TESTS:+-R "$TESTS"} "$@" >"$out/$name.log" 2>&1 || result=$?
  grep -E 'Test +#|tests passed' "$out/$name.log" || true
  [ "$result" = 0 ] || grep -E 'ERROR|FAIL' -A6 "$out/$name.log" | sed -n 1,40p
  return "$result"
}

step_tests() {
  title "all tests, with the GPU required"
  run_ctest ctest_gpu -L gpu || status=1
  run_ctest ctest -LE gpu || status=1
  if [ -n "${TESTS:-}" ] && ! grep -qE 'Test +#' "$out/ctest_gpu.log" "$out/ctest.log"; then
    echo "no test's name matches '$TESTS'"
    status=1
  fi
}

step_bits() {
  title "each rung on the GPU against its SIMT run, bit for bit"
  TANDEM_REQUIRE=gpu build/release/tests/test_gpu_equals_simt >"$out/bits.log" || status=$?
  grep -E 'problems|Status' "$out/bits.log"
}

step_counts() {
  title "the executor's counts of memory accesses against Nsight Compute"
  if command -v ncu >/dev/null; then OUT=$out tests/gpu_counts.sh || status=$?; else echo "ncu is not there"; status=1; fi
}

step_check() {
  title "check, with the GPU required"
  "$tandem" check --kernels gpu,cublas,cpu --require gpu,cublas --json "$out/check.json" >"$out/check.log" 2>&1 || status=$?
  tail -n 40 "$out/check.log"
}

step_sanitize() {
  title "compute-sanitizer over every row"
  # shellcheck disable=SC2086  # TOOLS are several words
  OUT=$out tests/gpu_sanitize.sh ${TOOLS:-} || status=$?
}

step_rates() {
  title "rates beside cuBLAS"
  for type in f32 f64; do
    "$tandem" bench gemm --kernels gpu --against cublas --dtype "$type" --m 1024,1025,4096 --json "$out/bench_$type.json" \
      >"$out/bench_$type.log" || status=$?
    sed -n '/m x n/,$p' "$out/bench_$type.log"
  done
}

step_axpy() {
  title "axpy beside cuBLAS"
  "$tandem" bench axpy --kernels gpu --against cublas --n 1000000,100000000 >"$out/axpy.log" || status=$?
  sed -n '/GB.s/,$p' "$out/axpy.log"
}

title() { printf '\n== %s: %s\n' "$step" "$1"; }

# shellcheck disable=SC2086  # several words
[ $# -gt 0 ] || set -- $all
for step in "$@"; do
  case " $all " in
    *" $step "*) ;;
    *) echo "gpu.sh: there is no step '$step'; there are $all" >&2; exit 2 ;;
  esac
done

mkdir -p "$out"
"$tandem" --version
failed=
for step in "$@"; do
  status=0
  begin=$(date +%s)
  "step_$step"
  if [ "$status" = 0 ]; then verdict=passed; else verdict="FAILED ($status)" failed="$failed $step"; fi
  echo "$step: $verdict, $(($(date +%s) - begin)) s"
done
[ -z "$failed" ] || { printf '\nfailed:%s\n' "$failed"; exit 1; }
