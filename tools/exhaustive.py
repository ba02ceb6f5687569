"""Measure float32 kernels at all 2**32 inputs and hold them to the bounds the catalogue states.

    python tools/exhaustive.py [gelu silu …] [--quantity slope] [--markdown]

About half a minute a function and quantity on two cores. Exit code 1 where a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time

import softgate as sg
from softgate.studies.sweep import INPUTS, Sweep, sweep


class Progress:
    """A progress line on stderr: share of the sweep done, and time left."""

    def __init__(self, what: str) -> None:
        self.what, self.done, self.start, self.shown = what, 0, time.monotonic(), 0.0

    def __call__(self, inputs: int) -> None:
        self.done += inputs
        now = time.monotonic()
        if now - self.shown < 0.5 and self.done < INPUTS:
            return
        self.shown = now
        left = (now - self.start) * (INPUTS - self.done) / self.done
        share = 100 * self.done / INPUTS
        if sys.stderr.isatty():
            print(f"\r{self.what}: {share:3.0f} %, {left:3.0f} s left ", end="", file=sys.stderr)


def row(found: Sweep, bound: float, markdown: bool) -> str:
    cells = [
        found.activation,
        found.quantity,
        f"{found.max_ulp:.3f}",
        f"{bound:g}",
        f"{found.worst!r}",
        "yes" if found.max_ulp <= bound else "NO",
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
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if arguments.markdown:
        print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    else:
        print("{:<14}{:<8}{:>9}{:>8}   {:<26}{}".format(*HEAD))
    broken = False
    for name in arguments.names or known:
        entry = known[name].entry
        for quantity in [arguments.quantity] if arguments.quantity else ["value", "slope"]:
            progress = Progress(f"{name} {quantity}")
            found = sweep(entry, quantity, threads=arguments.threads, progress=progress)
            bound = getattr(entry.bounds["float32"], quantity)
            broken |= not found.max_ulp <= bound
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
            print(row(found, bound, arguments.markdown), flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
