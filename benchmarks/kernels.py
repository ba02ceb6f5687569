"""Time softgate's kernels against torch, jax.jit, SciPy and a copy of the same bytes.

    python benchmarks/kernels.py            the bars: 1M elements, 1 thread, all formats
    python benchmarks/kernels.py --quick    float32 and bfloat16 in about a minute
    python benchmarks/kernels.py --full     64K, 1M and 16M elements, 1 and all threads

Everybody is called as users call it, on the same arrays, with output memory that is made once and
reused. Contestants take turns in every round, and the least time of many rounds counts. Each thread
setting has a process of its own. Exit status is 0 unless --gate is given and a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from cells import ACTIVATIONS, DTYPES, PEERS, QUANTITIES, SIZES, Cell, Row
from markdown import shares
from table import Report, console, failed

import softgate

CHILD = Path(__file__).with_name("child.py")

# Peers without `out` get back the memory they freed instead of fresh pages (glibc).
REUSE_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}

ROUNDS = {"64K": 100, "1M": 50, "16M": 5}
QUICK_ROUNDS = {"64K": 40, "1M": 15, "16M": 3}


@dataclass(frozen=True)
class Plan:
    """What to time and how long."""

    cells: list[Cell]
    budget_s: float
    rounds: dict[str, int]
    seed: int

    def effort(self) -> dict[str, Any]:
        return {"budget_s": self.budget_s, "least": self.rounds}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--quick", action="store_true", help="float32 and bfloat16, fewer rounds")
    how_much.add_argument("--full", action="store_true", help="all sizes and thread settings")
    known = known_activations()
    listed = ", ".join(known)
    parser.add_argument("--only", metavar="A,B", help=f"some activations: {listed}")
    parser.add_argument("--dtype", metavar="A,B", help=f"some formats: {', '.join(DTYPES)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what was measured there")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--markdown", action="store_true", help="print the shares of torch's time")
    parser.add_argument("--gate", action="store_true", help="exit with 1 when a bar is missed")
    options = parser.parse_args(arguments)
    options.only = _chosen(parser, "--only", options.only, known) or _with_peers()
    options.dtype = _chosen(parser, "--dtype", options.dtype, DTYPES)
    return options


def _with_peers() -> tuple[str, ...]:
    return tuple(name for name in ACTIVATIONS if name in softgate.activations())


def known_activations() -> tuple[str, ...]:
    """Return what the catalogue has, those with peers first."""
    return tuple(dict.fromkeys((*_with_peers(), *softgate.activations())))


def _chosen(
    parser: argparse.ArgumentParser, option: str, given: str | None, known: Sequence[str]
) -> tuple[str, ...]:
    chosen = tuple(filter(None, (given or "").replace(" ", "").split(",")))
    for name in chosen:
        if name not in known:
            parser.error(f"{option} {name}: expected some of {', '.join(known)}")
    return tuple(name for name in known if name in chosen)


def make_plan(options: argparse.Namespace) -> Plan:
    """Return the cells that the options ask for, in the order in which they are printed."""
    dtypes = options.dtype or (("float32", "bfloat16") if options.quick else DTYPES)
    cells = [
        Cell(activation, quantity, dtype, size, threads)
        for threads in (("1", "all") if options.full else ("1",))
        for size in (SIZES if options.full else ("1M",))
        for dtype in dtypes
        for activation in options.only
        for quantity in QUANTITIES
    ]
    if options.quick:
        return Plan(cells, 0.3, QUICK_ROUNDS, options.seed)
    return Plan(cells, 0.8 if options.full else 1.2, ROUNDS, options.seed)


def run(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield what the children say; one that dies costs the cell it was at, another takes over."""
    for threads in dict.fromkeys(cell.threads for cell in plan.cells):
        left = [cell for cell in plan.cells if cell.threads == threads]
        while left:
            status = yield from _run_child(plan, threads, left)
            if not left:
                break
            error = f"the process ended with status {status} in this cell"
            yield {"row": Row(left.pop(0), errors={"ours": error}).as_json()}


def _run_child(plan: Plan, threads: str, left: list[Cell]) -> Generator[dict[str, Any], None, int]:
    """Yield a child's messages and take the cells it has done off `left`; return its status."""
    job = {
        "threads": threads,
        "seed": plan.seed,
        "effort": plan.effort(),
        "cells": [asdict(cell) for cell in left],
    }
    environment = {**os.environ, **REUSE_FREED_MEMORY}
    if threads == "1":
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(job))
        child.stdin.close()
        started = False
        for line in child.stdout:
            started, message = True, json.loads(line)
            if "row" in message:
                left.pop(0)
            yield message
    if not started:
        raise SystemExit("the timing process did not start: what it said stands above")
    return child.returncode


def cpu_model() -> str:
    """Return the processor's name."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def collect(plan: Plan) -> tuple[list[Row], dict[str, Any]]:
    """Run the plan, with progress on standard error."""
    about: dict[str, Any] = {"cpu": cpu_model(), "threads": {}, "seed": plan.seed}
    rows: list[Row] = []
    start = monotonic()
    threads = ""
    for message in run(plan):
        if "about" in message:
            threads = plan.cells[len(rows)].threads
            about["versions"] = message["about"]["versions"]
            about["threads"][threads] = message["about"]["cores"]
            continue
        rows.append(Row.from_json(message["row"]))
        spent = f"{monotonic() - start:4.0f} s"
        print(f"[{len(rows):3}/{len(plan.cells)}] {spent}  {rows[-1].cell}", file=sys.stderr)
    about["seconds"] = round(monotonic() - start, 1)
    return rows, about


def describe(about: dict[str, Any]) -> str:
    """Return the machine and the versions in a few lines."""
    versions = about.get("versions", {})
    lines = [
        f"{about['cpu']}, {os.cpu_count()} cores; threads: "
        + ", ".join(f"{name} = {count}" for name, count in about["threads"].items()),
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"{about['seconds']:.0f} s, seed {about['seed']}; least time of many interleaved rounds, "
        "out reused; special: ours on tails, subnormals, inf, NaN over ours on randn",
    ]
    absent = [name for name in ACTIVATIONS if name not in softgate.activations()]
    if absent:
        lines.append(f"not in the catalogue, so not held to their bars: {', '.join(absent)}")
    missing = [name for name in PEERS if versions.get(name) == "not installed"]
    if missing:
        lines.append(f"not installed, so their columns are empty: {', '.join(missing)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print it."""
    options = parse(arguments)
    rows, about = collect(make_plan(options))
    screen = console()
    screen.print(describe(about), highlight=False, markup=False)
    if options.markdown:
        print(f"\n{shares(rows)}")
    else:
        Report(rows, screen).print()
    if options.json:
        document = {"about": about, "rows": [row.as_json() for row in rows]}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(options.gate and failed(rows))


if __name__ == "__main__":
    sys.exit(main())
