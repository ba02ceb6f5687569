"""Measure float32 kernels at all 2**32 inputs and hold them to the bounds the catalogue states.

    python tools/exhaustive.py [gelu silu …] [--quantity slope] [--markdown]

About half a minute a function and quantity on two cores. Exit code 1 where a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time

import softgate as sg
from softgate.studies.accuracy.sweep import INPUTS, LargestError, largest_error


class Progress:
    """A line on stderr with the share of inputs done and the time left."""

    def __init__(self, label: str) -> None:
        self.label, self.start = label, time.monotonic()

    def __call__(self, done: int) -> None:
        left = (time.monotonic() - self.start) * (INPUTS - done) / done
        share = 100 * done / INPUTS
        if sys.stderr.isatty():
            print(f"\r{self.label}: {share:3.0f} %, {left:3.0f} s left ", end="", file=sys.stderr)


def row(name: str, quantity: str, largest: LargestError, bound: float, markdown: bool) -> str:
    cells = [
        name,
        quantity,
        f"{largest.max_ulp:.3f}",
        f"{bound:g}",
        f"{largest.worst!r}",
        "yes" if largest.max_ulp <= bound else "NO",
    ]
    if markdown:
        return "| " + " | ".join(cells) + " |"
    return "{:<14}{:<8}{:>9}{:>8}   {:<26}{}".format(*cells)


HEAD = ["activation", "quantity", "max ulp", "bound", "worst input", "holds"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="activation")
    parser.add_argument("--quantity", choices=["value", "slope"])
    parser.add_argument("--threads", type=int, default=sg.get_threads())
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    known = sg.activations()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; choose from: {', '.join(known)}")
    if arguments.markdown:
        print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    else:
        print("{:<14}{:<8}{:>9}{:>8}   {:<26}{}".format(*HEAD))
    broken = False
    for name in arguments.names or known:
        for quantity in [arguments.quantity] if arguments.quantity else ["value", "slope"]:
            progress = Progress(f"{name} {quantity}")
            largest = largest_error(
                known[name], quantity, threads=arguments.threads, progress=progress
            )
            bound = getattr(known[name].entry.bounds["float32"], quantity)
            broken |= not largest.max_ulp <= bound
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
            print(row(name, quantity, largest, bound, arguments.markdown), flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
