#!/bin/sh
# compute-sanitizer over every GPU row (tests/sanitize/rows.cpp has the products): one line a tool with the number of
# errors; exits with 1 when there is one. Before that each tool has to report the kernel that is planted for it.
#
#   tests/gpu_sanitize.sh [TOOL ...]   memcheck racecheck initcheck synccheck (all of them)
#
# OUT names a folder for the logs, JOBS how many processes share the rows (12), each with some GB of the device's memory.
# One row by itself: compute-sanitizer --tool racecheck build/release/tests/gpu_sanitize gpu.naive.f32.32x8
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build/release/gpu}/sanitize
jobs=${JOBS:-12}
program=build/release/tests/gpu_sanitize
command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not there" >&2; exit 1; }
mkdir -p "$out"
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck

options() {
  case $1 in
    memcheck) echo "--padding 512 --track-stream-ordered-races all" ;;
    racecheck | initcheck | synccheck) ;;
    *) echo "gpu_sanitize.sh: there is no tool '$1'; there are memcheck, racecheck, initcheck and synccheck" >&2; exit 2 ;;
  esac
}
for tool in "$@"; do options "$tool" >/dev/null; done

# errors LOG ...: what the tool counted, over all logs.
errors() { sed -n 's/^=* *[A-Z]* *SUMMARY: \([0-9]*\) .*/\1/p' "$@" | awk '{sum += $1} END {print sum + 0}'; }

status=0
for tool in "$@"; do
  begin=$(date +%s)
  under="compute-sanitizer --tool $tool $(options "$tool") --error-exitcode 9"
  $under "$program" planted "$tool" >"$out/$tool.planted.log" 2>&1 || true
  if [ "$(errors "$out/$tool.planted.log")" = 0 ]; then
    echo "$tool: does not see the error that is planted for it; its log: $out/$tool.planted.log"
    status=1
    continue
  fi
  rm -f "$out/$tool".[0-9]*.log
  ended=0
  seq 0 $((jobs - 1)) | xargs -P "$jobs" -I{} sh -c "$under $program {}/$jobs >'$out/$tool.{}.log' 2>&1" || ended=$?
  summaries=$(cat "$out/$tool".[0-9]*.log | grep -c 'SUMMARY: ' || true)
  found=$(errors "$out/$tool".[0-9]*.log)
  rows=$(cat "$out/$tool".[0-9]*.log | grep -c ': [0-9]* calls$' || true)
  verdict=passed
  if [ "$ended" != 0 ] || [ "$summaries" != "$jobs" ] || [ "$found" != 0 ] || [ "$rows" = 0 ]; then
    verdict="FAILED; the logs: $out/$tool.*.log"
    status=1
  fi
  echo "$tool: $found errors in $rows rows, $summaries of $jobs processes at their end, $(($(date +%s) - begin)) s: $verdict"
  [ "$verdict" = passed ] || grep -hE '^gpu_sanitize: |^=+ (Error|Invalid|Uninit|Race|Barrier|Warning)' "$out/$tool".[0-9]*.log | sort | uniq -c | sort -rn | head -n 10
done
exit "$status"
