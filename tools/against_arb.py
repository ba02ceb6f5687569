"""Search for the largest float64 errors of every activation, with arb as judge, and keep them.

    python tools/against_arb.py [gelu silu …] [--rounds 200] [--searches 4] [--seed 0]

The worst inputs, at default parameters, are in tests/catalogue/worst_inputs.json; larger errors
replace them. A bound of the catalogue is 1.1 times the largest error, rounded up to a tenth. Exit
code 1 where a bound is broken. 200 rounds examine 5·10^7 inputs, in a quarter of a minute a
quantity. One search may miss a narrow interval with the largest errors, so that several start from
samples of their own.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np

import softgate as sg
from softgate.formula.formats import FLOAT64
from softgate.runtime.activation import Activation
from softgate.studies.accuracy import Reference, samples
from softgate.studies.accuracy.climb import climb
from softgate.studies.accuracy.regions import Regions, marks, roots_of

FILE = Path(__file__).resolve().parent.parent / "tests/catalogue/worst_inputs.json"
SAMPLE = 20_000
LINE = "{:<16}{:<11}{:>9}{:>8}{:>8}   {}"


def largest_error(
    activation: Activation, quantity: str, known: str | None, rounds: int, seed: int
) -> tuple[float, float]:
    """Return the largest error in ulps and its input; `known` is an input to start from."""
    entry, parameters = activation.entry, activation.parameters
    places = marks(entry, tuple(parameters.items()))
    reference = Reference(entry, quantity, parameters, places["breaks"])
    regions = Regions(FLOAT64, roots_of(places, quantity))
    x = samples.stratified(FLOAT64, entry.intervals, SAMPLE, seed)
    starts = [] if known is None else [float.fromhex(known)]
    x = np.unique(np.append(x[np.isfinite(x) & (x != 0)], starts))
    x = x[~np.isin(x, list(reference.kinks(FLOAT64)))]
    evaluate = activation if quantity == "value" else partial(getattr(activation, quantity))
    errors = reference.against_arb(x, evaluate(x), FLOAT64)
    worst = climb(evaluate, reference, regions, errors, seed, rounds)
    return worst.max_ulp, worst.worst


def main() -> int:
    """Search, print a line a quantity, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="activation")
    parser.add_argument("--missing", action="store_true", help="only those not searched yet")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--searches", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known = sg.activations()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    print(LINE.format("activation", "quantity", "max ulp", "bound", "needed", "worst input"))
    broken = False
    for name in arguments.names or known:
        if arguments.missing and name in recorded:
            continue
        for quantity in ("value", "slope", "curvature"):
            before = recorded.setdefault(name, {}).get(quantity, {})
            seeds = range(arguments.seed, arguments.seed + arguments.searches)
            error, x = max(
                largest_error(known[name], quantity, before.get("x"), arguments.rounds, seed)
                for seed in seeds
            )
            if not error < before.get("error_ulp", -1.0):
                recorded[name][quantity] = {"x": x.hex(), "error_ulp": round(error, 6)}
                FILE.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
            bound = getattr(known[name].entry.bounds["float64"], quantity, None)
            needed = np.ceil(11 * recorded[name][quantity]["error_ulp"] - 1e-9) / 10
            broken |= bound is not None and not error <= bound
            cells = f"{error:.4f}", f"{bound}", f"{needed:g}", x.hex()
            print(LINE.format(name, quantity, *cells), flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
