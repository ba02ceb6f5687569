"""Hold softgate's kernels to their limits: shares of the time that torch and jax.jit take.

    python benchmarks/kernels.py            the limits: 1M elements, 1 thread, all formats
    python benchmarks/kernels.py --quick    float32 and bfloat16 in a minute or two
    python benchmarks/kernels.py --full     64K, 1M and 16M elements, 1 and all threads

This defines what is timed and which limits apply; `softgate.bench` does the timing. Every
implementation is called as users call it, with output memory that is made once and reused. Exit
status is 0 unless --gate is given and a limit is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from limits import failed, judge, missed, shares

import softgate as sg
from softgate.runtime.machine import installed
from softgate.studies.bench.inputs import DTYPES
from softgate.studies.bench.record import Bench

PEERS = ("torch", "jax", "scipy")
PER_CELL_S = {"quick": 0.4, "usual": 1.2, "full": 0.8}
QUANTITIES = 2


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--quick", action="store_true", help="float32 and bfloat16, fewer rounds")
    how_much.add_argument("--full", action="store_true", help="all sizes and thread settings")
    parser.add_argument("--only", metavar="A,B", help="some activations; all by default")
    parser.add_argument("--dtype", metavar="A,B", help=f"some formats: {', '.join(DTYPES)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what was measured there")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--markdown", action="store_true", help="print the shares of torch's time")
    parser.add_argument("--gate", action="store_true", help="exit with 1 when a limit is missed")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> Bench:
    """Time randn beside all peers, then the mix of special values beside torch."""
    how = "quick" if options.quick else "full" if options.full else "usual"
    dtypes = options.dtype or (("float32", "bfloat16") if options.quick else DTYPES)
    functions = options.only.split(",") if options.only else list(sg.activations())
    sizes = ("64K", "1M", "16M") if options.full else ("1M",)
    threads = (1, "all") if options.full else (1,)
    formats = len(dtypes.split(",") if isinstance(dtypes, str) else dtypes)
    cells = len(functions) * QUANTITIES * formats * len(sizes) * len(threads)
    here = [peer for peer in PEERS if installed(peer)]
    settings: dict[str, Any] = {
        "dtype": dtypes, "size": sizes, "threads": threads, "seed": options.seed,
        "progress": progress,
    }  # fmt: skip
    budget_s = cells * PER_CELL_S[how]
    usual = sg.bench(functions, peers=here or "none", budget=budget_s, **settings)
    theirs = [peer for peer in here if peer == "torch"] or "none"
    mixed = sg.bench(functions, peers=theirs, inputs="mix", budget=budget_s / 3, **settings)
    return replace(
        usual,
        rows=usual.rows + mixed.rows,
        seconds=usual.seconds + mixed.seconds,
        warnings=tuple(dict.fromkeys(usual.warnings + mixed.warnings)),
    )


def progress(what: str, done: int, total: int) -> None:
    """Print on standard error what is being timed."""
    print(f"[{done:3}/{total}] {what}", file=sys.stderr)


def report(bench: Bench) -> str:
    """Return which limits hold."""
    verdicts = judge(bench)
    if not verdicts:
        return "No limit binds here: they do at 1M elements, 1 thread."
    bad = missed(verdicts)
    lines = [f"Limits: {len(verdicts) - len(bad)} of {len(verdicts)} hold."]
    return "\n".join([*lines, *(f"  ✗ {verdict}" for verdict in bad)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print it."""
    options = parse(arguments)
    bench = measure(options)
    print(bench)
    print(f"\n{shares(bench)}" if options.markdown else f"\n{report(bench)}")
    if options.json:
        options.json.write_text(bench.to_json(indent=1) + "\n", encoding="utf-8")
    return int(options.gate and failed(bench))


if __name__ == "__main__":
    sys.exit(main())
