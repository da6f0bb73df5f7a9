"""The table of the rungs from the bench's JSON and Nsight Compute's CSV files.

usage: gpu_rungs.py BENCH.json [ONCE.json NCU.csv]...

ONCE.json is what `tandem bench gemm --once --json` wrote under ncu, NCU.csv its `--csv --page raw` output. A launch of
`rung_marker` with i blocks precedes the launches of ONCE.json's entry i; of these the longest one is shown.
"""

import csv
import json
import re
import sys

# A unit is what binds a kernel from this share of its peak on; below, it is what the warps wait for.
BUSY = 80

STALLS = {
    "long_scoreboard": "global memory",
    "short_scoreboard": "shared memory's data",
    "mio_throttle": "the shared-memory queue",
    "lg_throttle": "the global-memory queue",
    "tex_throttle": "the texture queue",
    "math_pipe_throttle": "the arithmetic pipe",
    "barrier": "a barrier",
    "wait": "the instruction before",
    "dispatch_stall": "the dispatcher (register ports)",
    "no_instruction": "instructions",
    "imc_miss": "constants",
    "branch_resolving": "a branch",
    "membar": "a memory fence",
    "drain": "stores at the end",
    "sleeping": "a sleep",
    "gmma": "tensor cores",
    "misc": "miscellaneous",
}
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio$")
PIPE = re.compile(r"sm__(?:inst_executed_)?pipe_(fma|fmaheavy|fmalite|fp64|tensor)\w*\.avg\.pct_of_peak_sustained_active$")


def number(text):
    try:
        return float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None


def launches(path):
    """The launches of a CSV file, in order: dictionaries by column, without the line of units."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    if not lines or not lines[0].startswith('"ID"'):
        raise SystemExit(f"{path}: no table of ncu's in it")
    return [row for row in csv.DictReader(lines) if row["ID"]]


def longest_of_each(path):
    """marker -> (its longest launch, how many launches there are)"""
    found, marker = {}, None
    for row in launches(path):
        if "rung_marker" in row["Kernel Name"]:
            marker = int(re.search(r"\d+", row["Grid Size"]).group())
        elif marker is not None:
            best, count = found.get(marker, (None, 0))
            if best is None or duration(row) > duration(best):
                best = row
            found[marker] = (best, count + 1)
    return found


def duration(row):
    return number(row["gpu__time_duration.sum"]) or 0


def value(row, name, missing):
    got = number(row.get(name))
    if got is None:
        missing.add(name)
    return got


def units(row, missing):
    """Shares of their peaks, in percent, by the unit's name."""
    issue = value(row, "smsp__issue_active.avg.per_cycle_active", missing)
    pipes = [number(v) or 0 for k, v in row.items() if PIPE.match(k or "")]
    if not pipes:
        missing.add("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active or the like")
    return {
        "issue slots": None if issue is None else 100 * issue,
        "arithmetic pipe": max(pipes, default=None),
        "shared memory": value(row, "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", missing),
        "L1": value(row, "l1tex__throughput.avg.pct_of_peak_sustained_active", missing),
        "L2": value(row, "lts__throughput.avg.pct_of_peak_sustained_elapsed", missing),
        "DRAM": value(row, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", missing),
    }


def top_stall(row):
    """(reason, its share in percent of the warps that cannot issue), None where the file has no reasons"""
    stalls = {}
    for name, text in row.items():
        match = STALL.match(name or "")
        if match and match.group(1) not in ("selected", "not_selected"):
            stalls[match.group(1)] = number(text) or 0
    if not sum(stalls.values()):
        return None
    reason = max(stalls, key=stalls.get)
    return STALLS.get(reason, reason), 100 * stalls[reason] / sum(stalls.values())


def binds(row, missing):
    known = {name: share for name, share in units(row, missing).items() if share is not None}
    stall = top_stall(row)
    if not known or stall is None:
        return "?"
    name = max(known, key=known.get)
    if known[name] >= BUSY:
        return f"{name} {known[name]:.0f} %"
    return f"warps wait for {stall[0]} ({stall[1]:.0f} %); {name} {known[name]:.0f} %"


def profile(row, count, missing):
    get = lambda name: value(row, name, missing)
    static, dynamic = (get(f"launch__shared_mem_per_block_{kind}") for kind in ("static", "dynamic"))
    limits = [get(f"launch__occupancy_limit_{what}") for what in ("blocks", "registers", "shared_mem", "warps")]
    registers, warps = get("launch__registers_per_thread"), get("sm__warps_active.avg.pct_of_peak_sustained_active")
    text = lambda x: "?" if x is None else f"{x:.0f}"
    kib = lambda x: "?" if x is None else f"{x / 1024:.1f}"
    return [
        text(registers),
        f"{kib(static)} + {kib(dynamic)}",
        "?" if None in limits else text(min(limits)),
        text(warps),
        binds(row, missing) + (f" (1 of {count} launches)" if count > 1 else ""),
    ]


def main(bench_path, *profiles):
    with open(bench_path) as file:
        bench = json.load(file)
    known, missing = {}, set()
    for once, ncu in zip(profiles[::2], profiles[1::2]):
        found = longest_of_each(ncu)
        with open(once) as file:
            for entry in json.load(file):
                if entry["marker"] not in found:
                    raise SystemExit(f"{ncu}: nothing behind marker {entry['marker']}, {entry['kernel']}")
                known[entry["kernel"], entry["m"], entry["n"], entry["k"]] = found[entry["marker"]]

    for size in dict.fromkeys((row["m"], row["n"], row["k"]) for row in bench["rows"]):
        rows = [row for row in bench["rows"] if (row["m"], row["n"], row["k"]) == size]
        print(f"\n{size[0]} x {size[1]} x {size[2]}, {rows[0]['dtype']}, {bench['device_operands']} operands\n")
        print("| row | TFLOP/s | % of FMA peak | % of cuBLAS | registers | shared memory, KiB (static + dynamic) "
              "| blocks a multiprocessor | % of warps | what binds it |")
        print("|---|---|---|---|---|---|---|---|---|")
        for row in rows:
            if "wrong" in row:
                print(f"| `{row['kernel']}` | wrong | | | | | | | {row['wrong']} |")
                continue
            peer = next((r for name, r in row["ratio_to"].items() if name.startswith("cublas")), None)
            launch = known.get((row["kernel"], *size))
            cells = profile(*launch, missing) if launch else [""] * 5
            share = "" if peer is None else f"{100 * peer:.0f}"
            print(f"| `{row['kernel']}` | {row['gflops'] / 1000:.2f} | {row['percent_of_fma_peak']:.0f} | {share} | "
                  + " | ".join(cells) + " |")
    for name in sorted(missing):
        print(f"gpu_rungs.py: ncu gave no {name}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2 or len(sys.argv) % 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
