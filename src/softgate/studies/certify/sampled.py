"""Errors at chosen inputs: against the certified float64 kernel, or against arb one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import FLOAT64, Format

from .profile import Profile
from .reference import Truths
from .regions import Regions
from .tally import Part, Tally, errors

Array = npt.NDArray[Any]
MOST_DECISIONS = 5_000
"""Roundings that are decided one by one; what is more stays undecided, and is said to be."""
CHECKED = {16: 1024, 32: 4096}
"""Inputs at which the float64 kernel is held to arb before it is the truth, by a format's bits."""
MOST_MARGIN = 2.0**-7
"""A kernel whose own errors are more ulps than this is no truth for a format."""
BY_ARB = 20_000
"""Inputs that are measured one by one then."""
BALL_ULP = 2.0**-20
"""Far more than what a ball's middle, rounded to float64, may be off by in a narrower format."""


@dataclass(frozen=True)
class Sample:
    """What was found at the inputs of a sample."""

    tallies: list[Tally]
    profile: Profile
    inputs: int
    by_arb: bool
    margin: float


def measure(truths: Truths, regions: Regions, fmt: Format, x: Array, y: Array, seed: int) -> Sample:
    """Return what is found in each region, and along the number line."""
    by_arb = fmt is FLOAT64 or not _certified(truths, regions, fmt, x, seed)
    if by_arb and fmt is not FLOAT64 and x.size > BY_ARB:
        rng = np.random.default_rng(seed)
        kept = np.sort(rng.choice(x.size, BY_ARB, replace=False))
        x, y = x[kept], y[kept]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = x.astype(np.float64), y.astype(np.float64)
    part = _by_arb(truths, fmt, *wide) if by_arb else _by_kernel(truths, regions, fmt, *wide)
    where = regions.assign(part.x, part.truth)
    found = [_tally(truths, fmt, part[where == i]) for i in range(len(regions.names))]
    if not by_arb:  # the largest errors must not be the kernel's
        worst = np.array([tally.worst for tally in found if tally.inputs])
        truths.certify(worst if truths.scaled else worst[~regions.is_root(worst)])
    profile = Profile(fmt)
    profile.add(x.view(f"u{x.itemsize}"), part.error)
    margin = 2.0 ** -(80 - fmt.precision) if by_arb else truths.margin(fmt)
    return Sample(found, profile, x.size, by_arb, margin)


def _certified(truths: Truths, regions: Regions, fmt: Format, x: Array, seed: int) -> bool:
    """Hold the float64 kernel to arb at some of the inputs; tell whether it can be the truth."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        finite = x[np.isfinite(x)].astype(np.float64)
    if not truths.scaled:
        finite = finite[~regions.is_root(finite)]  # arb is the truth there
    rng = np.random.default_rng(seed + 5)
    truths.certify(rng.permutation(finite)[: CHECKED[fmt.bits]])
    return truths.margin(fmt) <= MOST_MARGIN


def _by_kernel(truths: Truths, regions: Regions, fmt: Format, x: Array, y: Array) -> Part:
    truth = truths.kernel(x)
    root = regions.is_root(x)
    if not truths.scaled and root.any():  # the kernel's own ulps blow up there
        truth[root] = truths.against_arb(x[root], y[root], fmt).truth
    truth = truths.at_kinks(x, y, truth, fmt)
    scale = truths.scale(x, truth)
    error = errors(x, y, truth, scale, fmt)
    if not truths.scaled:
        return Part(x, y, truth, error, error, truths.margin(fmt))
    own = errors(x, y, truth, np.abs(truth), fmt)
    ratio = rounding.ulp(scale, fmt) / rounding.ulp(truth, fmt)
    return Part(x, y, truth, error, own, truths.margin(fmt) * ratio)


def _by_arb(truths: Truths, fmt: Format, x: Array, y: Array) -> Part:
    truth, error = truths.kernel(x), np.full(x.size, np.nan)
    by_arb = np.isfinite(x) & ~np.isin(x, list(truths.kinks(fmt)))
    found = truths.against_arb(x[by_arb], y[by_arb], fmt)
    truth[by_arb], error[by_arb] = found.truth, found.error_ulp
    truth = truths.at_kinks(x, y, truth, fmt)
    own = errors(x, y, truth, np.abs(truth), fmt)
    error = np.where(by_arb, error, own)
    if fmt is not FLOAT64:
        return Part(x, y, truth, error, own, BALL_ULP)
    # A float64 truth is rounded itself: what equals it is right, but for ties among subnormals.
    tie = by_arb & (np.abs(truth) < 2.0 ** (FLOAT64.min_exponent + 1)) & (truth != 0) & (own <= 1)
    return Part(x, y, truth, error, own, np.where(tie, 1.0, 0.0))


def _tally(truths: Truths, fmt: Format, part: Part) -> Tally:
    tally = Tally()
    if part.x.size:
        tally.add(part, fmt)
        doubtful = np.flatnonzero(np.abs(part.own - 0.5) <= part.doubt)
        if 0 < doubtful.size <= MOST_DECISIONS:
            for i in doubtful.tolist():
                tally.rounded += truths.is_rounded(float(part.x[i]), float(part.y[i]), fmt)
            tally.undecided = 0
    return tally
