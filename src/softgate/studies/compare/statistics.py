"""Paired differences d, one per seed, and whether their signs may be chance.

If two arms do not differ, either could have given either result of a seed, so every d could as well
be -d. The test counts in what share of all sign flips |Σd| is at least what was seen: exact, and
without a word on how results are distributed. Its p, corrected by Holm over all comparisons of a
run, is the verdict. Intervals say how large a difference may be; they decide nothing.

A training run that diverged has no number, and leaving its seed out would favour the arm that it
happened to. Where one did, differences count by their ranks, |Σ±rank|, and a seed at which one arm
diverged and the other did not has the largest rank: the worst result is below every number, by more
than any two numbers differ. The rule looks at both arms alike, so it keeps the test exact. A run
that raised says nothing on the arm: its seed counts against whatever the others say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from types import ModuleType

Floats = NDArray[np.float64]
MOST_EXACT = 20
"""Up to so many seeds all 2^n sign flips are counted; beyond, `DRAWN` of them."""
DRAWN = 99_999
FEWEST_BCA = 10
"""From so many values on an interval is a bootstrap's, below it is Student's."""
RESAMPLES = 9_999
SEED = 0
INSTALL = "statistics of a comparison need {}: pip install 'softgate[compare]'"


@dataclass(frozen=True)
class BestPossible:
    """What a number of seeds can show at best: every seed agrees, and all other comparisons fail.

    `p` is before, `corrected` after Holm's correction; `needed` seeds could show something.
    """

    seeds: int
    comparisons: int
    alpha: float
    p: float
    corrected: float
    needed: int

    @property
    def enough(self) -> bool:
        """Whether a difference can be shown at all."""
        return self.corrected <= self.alpha

    def __str__(self) -> str:
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        shown = f"{seeds}: p >= {self.p:.3g}"
        if self.comparisons > 1:
            shown += f", {self.corrected:.3g} after correction for {self.comparisons} comparisons"
        if self.enough:
            return f"{shown}; a difference needs p <= {self.alpha:g}"
        return f"{shown}: no difference can be shown at {self.alpha:g}, {self.needed} seeds can"


@dataclass(frozen=True)
class SignFlips:
    """What a sign-flip test gives.

    Attributes
    ----------
    p : float
        The share of sign flips that are as far from 0.
    direction : {-1, 0, 1}
        Where the differences point to; 0 for nowhere.
    exact : bool
        Whether all flips were counted, or some drawn.
    by : {"values", "ranks"}
        What was summed: ranks where a seed has no number.
    """

    p: float
    direction: int
    exact: bool
    by: Literal["values", "ranks"]


@dataclass(frozen=True)
class Interval:
    """Where a mean lies, by Student's t or by a bootstrap (bias-corrected and accelerated)."""

    low: float
    high: float
    kind: Literal["t", "BCa"]


def best_possible(seeds: int, comparisons: int = 1, alpha: float = 0.05) -> BestPossible:
    """Return what `seeds` can show at best, after Holm's correction for so many comparisons.

    Examples
    --------
    >>> print(best_possible(5))
    5 seeds: p >= 0.0625: no difference can be shown at 0.05, 6 seeds can
    >>> best_possible(8, comparisons=5).corrected
    0.0390625
    """
    if seeds < 1 or comparisons < 1:
        raise ValueError(f"{seeds} seeds, {comparisons} comparisons: expected at least 1 of each")
    check_alpha(alpha)
    p = _least(seeds)
    needed = next(n for n in range(1, 2000) if min(1.0, comparisons * 2.0 ** (1 - n)) <= alpha)
    return BestPossible(seeds, comparisons, alpha, p, min(1.0, comparisons * p), needed)


def _least(seeds: int) -> float:
    return float(2.0 ** (1 - seeds)) if seeds <= MOST_EXACT else 1 / (DRAWN + 1)


def count_comparisons(arms: int, conditions: int = 1, pairs: str = "baseline") -> int:
    """Return how many comparisons a run makes: with the baseline, or of all pairs.

    Examples
    --------
    >>> count_comparisons(6), count_comparisons(6, pairs="all")
    (5, 15)
    """
    return conditions * (arms - 1 if pairs == "baseline" else arms * (arms - 1) // 2)


def check_alpha(alpha: float) -> None:
    """Raise ValueError for what is no level of a test."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha = {alpha!r}: expected a number between 0 and 1, such as 0.05")


def judge(gains: Sequence[float]) -> SignFlips | None:
    """Return the test of what an arm gained at each seed; None where nothing is known.

    Parameters
    ----------
    gains : sequence of float
        Above 0 where the arm did better; inf where only the other arm diverged, -inf where only
        this one did, 0 where both did; NaN where one of them raised.

    Examples
    --------
    >>> judge([0.3, 0.1, 0.2, 0.4, 0.2]).p
    0.0625
    >>> judge([0.3, 0.1, 0.2, 0.4, 0.2, float("inf")]).p
    0.03125
    """
    given = np.asarray(gains, np.float64)
    unknown = np.isnan(given)
    if unknown.all():
        return None
    if np.isfinite(given).all():
        return _sign_flips(given, "values")
    if not unknown.any():
        return _sign_flips(_signed_ranks(given), "ranks")
    for against, claimed in ((-np.inf, 1), (np.inf, -1)):
        found = _sign_flips(_signed_ranks(np.where(unknown, against, given)), "ranks")
        if found.direction == claimed:
            return found
    return SignFlips(1.0, 0, True, "ranks")


def _signed_ranks(gains: Floats) -> Floats:
    ranks: Floats = library("scipy.stats").rankdata(np.abs(gains))
    return np.sign(gains) * ranks


def _sign_flips(differences: Floats, by: Literal["values", "ranks"]) -> SignFlips:
    """Return the test of Σd. A difference of 0 has no sign, and no flip changes the sum by it."""
    signed = differences[differences != 0]
    if not signed.size:
        return SignFlips(1.0, 0, True, by)
    exact = signed.size <= MOST_EXACT
    # All signs turned, |Σ| is the same: half of the flips are enough, the first sign stays. scipy
    # wants two values or more, and zeros do no harm.
    rest = np.pad(signed[1:], (0, max(0, 3 - signed.size)))
    found = library("scipy.stats").permutation_test(
        (rest,),
        partial(_distance, signed[0]),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=2**rest.size if exact else DRAWN,
        batch=2**14,
        random_state=np.random.default_rng(SEED),
    )
    return SignFlips(float(found.pvalue), int(np.sign(signed.sum())), exact, by)


def _distance(first: float, rest: Floats, axis: int) -> Any:
    return np.abs(first + rest.sum(axis=axis))


def holm(ps: Sequence[float], alpha: float) -> tuple[list[float], list[bool]]:
    """Return corrected p and whether each stands at `alpha`, for any number of comparisons."""
    if not ps:
        return [], []
    stands, corrected, _, _ = library("statsmodels.stats.multitest").multipletests(
        list(ps), alpha=alpha, method="holm"
    )
    return [float(p) for p in corrected], [bool(one) for one in stands]


def interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Return where the mean lies; None for a single value and for values that are all the same.

    Where there are too few different values for a bootstrap's correction, it is Student's.
    """
    data = np.asarray(values, np.float64)
    if data.size < 2 or np.ptp(data) == 0:
        return None
    if data.size >= FEWEST_BCA:
        found = _bootstrap(data, level)
        if math.isfinite(found.low) and math.isfinite(found.high):
            return found
    reach = library("scipy.stats").t.ppf((1 + level) / 2, data.size - 1)
    reach *= data.std(ddof=1) / math.sqrt(data.size)
    return Interval(float(data.mean() - reach), float(data.mean() + reach), "t")


def _bootstrap(data: Floats, level: float) -> Interval:
    import warnings

    stats = library("scipy.stats")
    with warnings.catch_warnings():
        # It says so where the correction is not defined, and returns NaN, which is looked at.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (data,),
            np.mean,
            confidence_level=level,
            n_resamples=RESAMPLES,
            method="BCa",
            random_state=np.random.default_rng(SEED),
        ).confidence_interval
    return Interval(float(found.low), float(found.high), "BCa")


def improvement(arm: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the probability of improvement: the share of pairs of runs in which `arm` is above.

    Every run of one with every run of the other, whatever their seeds; equal ones count half. This
    is P(X > Y) of Agarwal et al. 2021 (arXiv:2108.13264). A run that diverged is -inf; one that
    raised is left out by the caller. None where there is nothing to pair.

    Examples
    --------
    >>> improvement([0.9, 0.8], [0.8, 0.7])
    0.875
    """
    if not arm or not other:
        return None
    above = np.asarray(arm)[:, None] > np.asarray(other)
    level = np.asarray(arm)[:, None] == np.asarray(other)
    return float(above.mean() + level.mean() / 2)


def library(name: str) -> ModuleType:
    """Return a module of scipy or statsmodels, or say how it is installed."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        raise ImportError(INSTALL.format(package), name=package) from error
