"""Measure float64 kernels against arb balls at 200,000 stratified points a function and quantity.

    python tools/against_arb.py [gelu silu …] [--points 200000] [--markdown]

Some ten seconds a function and quantity on two cores. Exit code 1 where a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import softgate as sg
from softgate.formula.formats import FLOAT64
from softgate.studies import accuracy
from softgate.studies.accuracy import samples

SLICE = 5_000
CONTRACT_ULP = 4.0
Task = tuple[str, str, dict[str, float], int, int]


def measure(task: Task) -> tuple[float, float, int, int]:
    """Return the largest error, where, how many bad signs and zeros, and the number of points."""
    name, quantity, parameters, points, first = task
    activation = sg.activations()[name]
    x = samples.stratified(FLOAT64, activation.entry.intervals, points, seed=11)
    x = np.random.default_rng(12).permutation(x[np.isfinite(x)])[first : first + SLICE]
    method = activation if quantity == "value" else activation.slope
    values = dict(activation.check_parameters(parameters))
    computed = method(x, **parameters)
    errors = accuracy.Reference(activation.entry, quantity, values).against_arb(
        x, computed, FLOAT64
    )
    bad = int(errors.wrong_sign.sum() + errors.early_zero.sum())
    return errors.max_ulp, errors.worst, bad, x.size


def cases(names: list[str]) -> list[tuple[str, dict[str, float]]]:
    """Every activation at its defaults and at each tested value of each parameter."""
    results: list[tuple[str, dict[str, float]]] = []
    for name in names:
        results.append((name, {}))
        for parameter in sg.activations()[name].entry.parameters:
            results += [(name, {parameter.name: value}) for value in parameter.tested]
    return results


HEAD = ["activation", "quantity", "points", "max ulp", "bound", "worst input", "holds"]
LINE = "{:<26}{:<8}{:>9}{:>9}{:>8}   {:<26}{}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="activation")
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    known = sg.activations()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if arguments.markdown:
        print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    else:
        print(LINE.format(*HEAD))
    broken = False
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for name, parameters in cases(arguments.names or list(known)):
            for quantity in ("value", "slope"):
                starts = range(0, arguments.points, SLICE)
                tasks = [(name, quantity, parameters, arguments.points, s) for s in starts]
                cells, holds = judge(tasks[0], list(pool.map(measure, tasks)))
                broken |= not holds
                markdown = "| " + " | ".join(cells) + " |"
                print(markdown if arguments.markdown else LINE.format(*cells), flush=True)
    return int(broken)


def judge(task: Task, parts: list[tuple[float, float, int, int]]) -> tuple[list[str], bool]:
    """Return the cells of a row, and whether the bound holds."""
    name, quantity, parameters, *_ = task
    worst, where, *_ = max(parts)
    stated = getattr(sg.activations()[name].entry.bounds["float64"], quantity)
    bound = CONTRACT_ULP if parameters else stated
    holds = worst <= bound and not sum(part[2] for part in parts)
    label = " ".join([name, *(f"{n}={v:g}" for n, v in parameters.items())])
    points = sum(part[3] for part in parts)
    verdict = "yes" if holds else "NO"
    return [
        label,
        quantity,
        str(points),
        f"{worst:.3f}",
        f"{bound:g}",
        f"{where!r}",
        verdict,
    ], holds


if __name__ == "__main__":
    sys.exit(main())
