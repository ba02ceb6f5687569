"""Which activations reproduce expected outputs: one function for all, or chosen individually."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from ..models.arrays import Arrays, aligned, difference
from .record import ModelVariant
from .runners import ModelRunner

NEAREST, INDIVIDUAL = 8, 3
"""The numbers of functions that are tried for all activations, and for one activation."""
MOST_RUNS = 400
SHOWN = 8
"""The most variants in the record."""
GAIN = 0.95
"""An individual change is kept if it reduces the sum of squares below this share; smaller
reductions may be rounding."""
LISTED = 6
"""The most individual changes in the name of a variant."""


@dataclass
class _Search:
    """Runs variants of a model and keeps their distances from the expected outputs."""

    runner: ModelRunner
    wanted: Arrays
    pairs: list[tuple[str, str]]
    progress: Callable[[str, int, int], None] | None

    def __post_init__(self) -> None:
        self.tried: list[ModelVariant] = []
        self.failed: dict[str, None] = {}
        self.runs = 0

    def measure(self, change: str, outputs: Arrays) -> tuple[float, float]:
        """Record a variant; return its largest relative difference and its sum of squares."""
        relative = ulps = total = 0.0
        for name, other in self.pairs:
            wanted = aligned(outputs[name], self.wanted[other]) if name in outputs else None
            if wanted is None:
                return inf, inf
            apart = difference(outputs[name], wanted)
            relative, ulps = max(relative, apart.relative), max(ulps, apart.ulps)
            with np.errstate(all="ignore"):
                gap = outputs[name].astype(np.float64) - wanted.astype(np.float64)
                total += float(np.nansum(gap * gap))
        self.tried.append(ModelVariant(change, relative, ulps))
        return relative, total

    def run(self, change: str, replacements: Mapping[int, Activation]) -> tuple[float, float]:
        """Run a variant; return (inf, inf) if it cannot be run."""
        if self.runs >= MOST_RUNS:
            return inf, inf
        self.runs += 1
        if self.progress is not None:
            self.progress(change, self.runs, MOST_RUNS)
        try:
            outputs = self.runner.run(replacements).outputs
        except ValueError as error:
            self.failed[str(error)] = None
            return inf, inf
        return self.measure(change, outputs)


def search(
    runner: ModelRunner,
    outputs: Arrays,
    wanted: Arrays,
    tolerance: float,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[tuple[ModelVariant, ...], list[str]]:
    """Return the variants of a model that were run, the nearest first, and notes."""
    from . import paired

    study = _Search(runner, wanted, paired(outputs, wanted), progress)
    start, total = study.measure("", outputs)
    if start > tolerance:
        best = _replace_all(study)
        if best > tolerance:
            _replace_individually(study, tolerance, total)
    ranked = sorted(study.tried, key=lambda variant: variant.relative)
    notes = [f"a variant could not be run: {reason}" for reason in list(study.failed)[:1]]
    if study.runs >= MOST_RUNS:
        notes.append(f"{MOST_RUNS} variants were run; there are more")
    return tuple(ranked[:SHOWN]), notes


def _replace_all(study: _Search) -> float:
    """Replace all activations of one function by others; return the least distance."""
    scanned = study.runner.activations
    best = inf
    for function in dict.fromkeys(a.label for a in scanned):
        places = [i for i, a in enumerate(scanned) if a.label == function]
        for new in nearest(scanned[places[0]].unscaled, NEAREST):
            relative, _ = study.run(f"{function} -> {label(new)}", dict.fromkeys(places, new))
            best = min(best, relative)
    return best


def _replace_individually(study: _Search, tolerance: float, total: float) -> None:
    """Replace single activations in the order of execution, each by what reduces the distance."""
    scanned = study.runner.activations
    chosen: dict[int, Activation] = {}
    for i in range(len(scanned)):
        for new in nearest(scanned[i].unscaled, INDIVIDUAL):
            trial = {**chosen, i: new}
            relative, square = study.run(_description(study, trial), trial)
            if square < GAIN * total:
                total, chosen = square, trial
            if relative <= tolerance:
                return


def _description(study: _Search, chosen: Mapping[int, Activation]) -> str:
    """Return individual changes as text: path: function -> function."""
    scanned = study.runner.activations
    parts = [f"{scanned[i].path}: {scanned[i].label} -> {label(f)}" for i, f in chosen.items()]
    more = f", and {len(parts) - LISTED} more" if len(parts) > LISTED else ""
    return ", ".join(parts[:LISTED]) + more


def nearest(function: Activation, count: int) -> list[Activation]:
    """Return the functions of the catalogue with the smallest differences from a function.

    Examples
    --------
    >>> [f.name for f in nearest(activations()["gelu"], 3)]
    ['gelu_10', 'gelu_tanh', 'gelu_sigmoid']
    """
    x = np.linspace(-8, 8, 321)
    y = np.asarray(function(x))
    others = [a for a in activations().values() if not a.entry.special_case_of]
    apart = {a.name: float(np.max(np.abs(np.asarray(a(x)) - y))) for a in others}
    ranked = sorted(others, key=lambda a: apart[a.name])
    return [a for a in ranked if label(a) != label(function)][:count]
