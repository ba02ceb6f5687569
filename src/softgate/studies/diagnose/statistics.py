"""Statistics of sites: sums of each unit, histograms over time, and the record made from them.

Sums are float64 and accumulate over calls. The number of histograms and periods is bounded, so
memory does not grow with steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from softgate.lower.native import FIELDS

from . import record
from .findings import SCALED, findings
from .measure import CallSums, Float64s
from .record import Thresholds
from .shapes import FunctionShape

HALF = 48
"""Bins of a histogram on each side of 0."""
NARROWEST, WIDEST = -60, 1000
"""Exponents of the width of bins."""
MOST_PERIODS = 32
"""Periods of a site; when they are full, neighbours are joined, and half of them are left."""
RECENT = 0.25
"""The share of steps, the last ones, that count as recent."""
DIGITS = 6

Int64s = npt.NDArray[np.int64]


@dataclass
class AdaptiveHistogram:
    """Counts of values in [i·2^k, (i+1)·2^k) for i from -HALF to HALF - 1.

    For a value outside, pairs of bins are joined and the width doubles. The bins of any two
    histograms therefore nest, and their counts can be added.
    """

    exponent: int
    counts: Int64s

    @classmethod
    def of(cls, values: Float64s) -> Self:
        """Return the histogram of finite values, with bins as narrow as possible."""
        largest = float(np.max(np.abs(values), initial=0.0))
        exponent = NARROWEST
        if largest > 0:
            # floor(largest/2^k) <= HALF - 1
            exponent = min(max(NARROWEST, math.frexp(largest / (HALF - 1))[1]), WIDEST)
        index = np.floor(np.ldexp(values, -exponent)).astype(np.int64)
        index = np.clip(index, -HALF, HALF - 1) + HALF
        return cls(exponent, np.bincount(index, minlength=2 * HALF).astype(np.int64))

    def widened(self, exponent: int) -> AdaptiveHistogram:
        """Return the histogram with wider bins."""
        counts = self.counts
        for _ in range(min(exponent - self.exponent, 2 * HALF)):
            pairs = counts.reshape(-1, 2).sum(axis=1)
            counts = np.zeros_like(counts)
            counts[HALF // 2 : HALF // 2 + HALF] = pairs
        return AdaptiveHistogram(exponent, counts)

    def __add__(self, other: AdaptiveHistogram) -> AdaptiveHistogram:
        if not other.counts.any() or not self.counts.any():
            return self if self.counts.any() else other
        exponent = max(self.exponent, other.exponent)
        return AdaptiveHistogram(
            exponent, self.widened(exponent).counts + other.widened(exponent).counts
        )


@dataclass
class Period:
    """Counts of consecutive steps; `steps` is the number of those that were observed."""

    first_step: int
    last_step: int
    steps: int
    inputs: Int64s
    """Finite inputs of each unit."""
    flat: Int64s
    """Inputs of each unit with a flat slope."""
    outputs: AdaptiveHistogram

    @property
    def dead(self) -> npt.NDArray[np.bool_]:
        """A mask of the units that were flat on every input."""
        mask: npt.NDArray[np.bool_] = (self.flat >= self.inputs) & (self.inputs > 0)
        return mask

    def __add__(self, later: Period) -> Period:
        same = self.last_step == later.first_step
        return Period(
            self.first_step,
            later.last_step,
            self.steps + later.steps - same,
            self.inputs + later.inputs,
            self.flat + later.flat,
            self.outputs + later.outputs,
        )


class History:
    """The periods of one site; they become longer as steps are added."""

    def __init__(self) -> None:
        self.periods: list[Period] = []
        self.size = 1

    def add(self, period: Period) -> None:
        """Add the period of one call."""
        last = self.periods[-1] if self.periods else None
        if last is not None and (last.last_step == period.first_step or last.steps < self.size):
            self.periods[-1] = last + period
            return
        if len(self.periods) >= MOST_PERIODS:
            self.size *= 2
            pairs = zip(self.periods[::2], self.periods[1::2], strict=True)
            self.periods = [a + b for a, b in pairs]
        self.periods.append(period)

    def recent(self, inputs: int) -> Period | None:
        """Return the last periods joined: at least `RECENT` of the steps and `inputs` inputs."""
        steps = RECENT * sum(period.steps for period in self.periods)
        joined: Period | None = None
        for period in reversed(self.periods):
            if joined is None:
                joined = period
            elif joined.steps >= steps and joined.inputs.max(initial=0) >= inputs:
                break
            else:
                joined = period + joined
        return joined


@dataclass
class SiteSums:
    """The sums of one site over all calls."""

    name: str
    function: str
    units: int
    dtype: str
    shape: FunctionShape
    multiplied: bool = False
    """Whether its value was a factor of a product."""
    calls: int = 0
    rows: int = 0
    sampled: int = 0
    """Elements in the histograms."""
    sums: Float64s | None = None
    history: History = field(default_factory=History)
    gradients: dict[str, tuple[int, float]] = field(default_factory=dict)
    """The number of norms and the sum of their squares, by "output" and "input"."""
    not_finite: dict[str, record.NotFinite] = field(default_factory=dict)

    @property
    def shift(self) -> Float64s | None:
        """The number subtracted from each unit's values before they are summed."""
        return None if self.sums is None else self.sums[0]

    def add(self, step: int, call: CallSums, sample: Float64s) -> None:
        """Add the sums of one call, made with the same shift, and a sample of its values."""
        if self.sums is None:
            self.sums = call.sums.copy()
        else:
            self.sums[1:] += call.sums[1:]
        self.calls += 1
        self.rows += call.rows
        self.sampled += sample.size
        for where, number in call.not_finite.items():
            self.add_not_finite(where, number, step)
        inputs, flat = (
            sums.astype(np.int64) for sums in (row(call.sums, "finite"), flats(call.sums))
        )
        self.history.add(Period(step, step, 1, inputs, flat, AdaptiveHistogram.of(sample)))

    def add_not_finite(self, where: str, count: int, step: int) -> None:
        """Add to the count of NaN and inf at `where`."""
        if count:
            old = self.not_finite.get(where, record.NotFinite(where, 0, step))
            self.not_finite[where] = record.NotFinite(where, old.count + count, old.first_step)

    def add_gradient(self, which: str, norm: float, step: int, scale: float = 1.0) -> None:
        """Add a gradient's norm, of a loss times `scale`; count it if it is not finite."""
        if math.isfinite(norm):
            passes, squares = self.gradients.get(which, (0, 0.0))
            self.gradients[which] = passes + 1, squares + (norm / scale) ** 2
        else:
            kind = "gradient" if scale == 1 else SCALED
            self.add_not_finite(f"{kind} of {which}", 1, step)

    def gradient(self, which: str) -> float | None:
        """Return the root mean square of the norms, or None if there are none."""
        passes, squares = self.gradients.get(which, (0, 0.0))
        return math.sqrt(squares / passes) if passes else None


def row(sums: Float64s, name: str) -> Float64s:
    """Return one of the `FIELDS` for all units."""
    values: Float64s = sums[1 + FIELDS.index(name)]
    return values


def flats(sums: Float64s) -> Float64s:
    """Return the number of inputs of each unit with a flat slope."""
    return row(sums, "rising_little") - row(sums, "falling_steeply")


def moments(sums: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return mean, standard deviation and skew of each unit, from sums of powers."""
    with np.errstate(all="ignore"):
        mean, square, cube = (
            row(sums, name) / row(sums, "finite") for name in ("first", "second", "third")
        )
        sd = np.sqrt(np.maximum(square - mean**2, 0.0))
        # For equal values the difference consists of rounding errors.
        sd = np.where(sd <= 1e-7 * np.abs(mean), 0.0, sd)
        skew = np.where(sd > 0, (cube - 3 * mean * square + 2 * mean**3) / sd**3, 0.0)
    return mean + sums[0], sd, skew


def diagnosis(
    observed: Iterable[SiteSums],
    thresholds: Thresholds,
    *,
    model: str,
    steps: int,
    every: int,
    unseen: Sequence[record.UnobservedCalls] = (),
    loss: str = "",
    trained: bool = True,
) -> record.Diagnosis:
    """Return the record of the observed sites, in the order of their first calls.

    If weights did not change (`trained` is False), units are judged by all inputs alone, not also
    by recent ones.
    """
    sums = [site for site in observed if site.sums is not None]
    squares = [_mean_square(site) for site in sums]
    before = [None, *squares][: len(squares)]
    least = thresholds.inputs if trained else None
    sites = tuple(_site(*parts, least) for parts in zip(sums, squares, before, strict=True))
    ratio = _gradient_ratio(sites)
    return record.Diagnosis(
        model=model,
        steps=steps,
        observed_steps=-(-steps // every),
        every=every,
        thresholds=thresholds,
        sites=sites,
        gradient_ratio=ratio,
        unseen=tuple(unseen),
        loss=loss if any(site.gradient_output is not None for site in sites) else "",
        findings=findings(sites, ratio, unseen, steps, thresholds),
    )


def _site(site: SiteSums, square: float, before: float | None, least: int | None) -> record.Site:
    """Return the record of one site.

    `square` and `before` are the mean squares of its outputs and of those of the site before;
    `least` is how many recent inputs decide whether a unit is dead, None for all inputs.
    """
    sums = site.sums
    assert sums is not None
    total = max(float(row(sums, "finite").sum()), 1.0)
    mean, sd, skew = _pooled(sums)
    inputs = float(row(sums, "input_square").sum()) / total
    return record.Site(
        name=site.name,
        function=site.function,
        units=site.units,
        dtype=site.dtype,
        calls=site.calls,
        inputs=site.rows,
        flat=float(flats(sums).sum()) / total,
        negative=float(row(sums, "falling").sum()) / total,
        saturated=float(row(sums, "saturated").sum()) / total if site.shape.bounded else None,
        openness=float(row(sums, "openness").sum()) / total if site.shape.gate else None,
        mean=mean,
        sd=sd,
        skew=skew,
        activation_gain=math.sqrt(square / inputs) if inputs > 0 else None,
        layer_gain=math.sqrt(square / before) if before else None,
        gradient_output=site.gradient("output"),
        gradient_input=site.gradient("input"),
        not_finite=tuple(site.not_finite.values()),
        sampled=site.sampled / max(site.rows * site.units, 1),
        unit=_units(site, sums, least),
        history=tuple(map(_histogram, site.history.periods)),
        multiplied=site.multiplied,
    )


def _units(site: SiteSums, sums: Float64s, least: int | None) -> record.UnitFigures:
    count, flat = row(sums, "finite"), flats(sums)
    mean, sd, skew = moments(sums)
    dead = (flat >= count) & (count > 0)
    # Slope below `flat` on every input: gradients are small or have the wrong sign.
    trapped = row(sums, "rising_little") >= count
    trapped &= site.shape.valley & (row(sums, "falling") > 0) & ~dead
    recent = None if least is None else site.history.recent(least)
    with np.errstate(all="ignore"):
        return record.UnitFigures(
            flat=_rounded(flat / count),
            negative=_rounded(row(sums, "falling") / count),
            saturated=_rounded(row(sums, "saturated") / count) if site.shape.bounded else None,
            openness=_rounded(row(sums, "openness") / count) if site.shape.gate else None,
            mean=_rounded(mean),
            sd=_rounded(sd),
            skew=_rounded(skew),
            dead=_indices(dead),
            recently_dead=_indices(dead if recent is None else recent.dead),
            trapped=_indices(trapped),
        )


def _pooled(sums: Float64s) -> tuple[float, float, float]:
    """Return mean, standard deviation and skew of all outputs, from the moments of each unit."""
    used = row(sums, "finite") > 0
    if not used.any():
        return math.nan, math.nan, math.nan
    sums = sums[:, used]
    means, sds, skews = moments(sums)
    weight = row(sums, "finite") / row(sums, "finite").sum()
    mean = float((weight * means).sum())
    offset = means - mean
    variance = float((weight * (sds**2 + offset**2)).sum())
    third = float((weight * (skews * sds**3 + 3 * offset * sds**2 + offset**3)).sum())
    return mean, math.sqrt(variance), third / variance**1.5 if variance > 0 else 0.0


def _mean_square(site: SiteSums) -> float:
    assert site.sums is not None
    mean, sd, _ = _pooled(site.sums)
    return mean**2 + sd**2 if math.isfinite(mean) else 0.0


def _gradient_ratio(sites: Sequence[record.Site]) -> float | None:
    """Return the gradient's norm at the first site that has one over that at the last."""
    norms = [site.gradient_input for site in sites if site.gradient_input is not None]
    if len(norms) < 2:
        return None
    return norms[0] / norms[-1] if norms[-1] > 0 else math.nan


def _histogram(period: Period) -> record.Histogram:
    counts = period.outputs.counts
    used = np.flatnonzero(counts)
    first, last = (int(used[0]), int(used[-1])) if used.size else (HALF, HALF)
    width = math.ldexp(1.0, period.outputs.exponent)
    return record.Histogram(
        first_step=period.first_step,
        last_step=period.last_step,
        dead=int(period.dead.sum()),
        low=(first - HALF) * width,
        width=width,
        counts=tuple(int(n) for n in counts[first : last + 1]),
    )


def _rounded(values: Float64s) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values.tolist())


def _indices(units: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(units))
