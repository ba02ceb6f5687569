"""The sign-flip test of paired differences d, one per seed, and intervals of means.

If two activations do not differ, every d could equally be -d. The p-value is the fraction of all
sign flips for which |Σd| is at least the observed one: exact, and without assumptions on the
distribution of results. Corrected by Holm over all comparisons of a run, it determines the verdict.
Intervals show how large a difference may be and do not affect the verdict.

A diverged run has no score, and leaving out its seed would favour its activation. If there is one,
the statistic is that of signed ranks, |Σ±rank|, where a seed at which only one activation diverged
has the largest rank: a diverged run is worse than any score, by more than any two scores differ.
The rule is symmetric in both activations, so the test stays exact. A run that raised gives no
information on its activation: its seed is counted against the direction of the other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from softgate.records.packages import require

if TYPE_CHECKING:
    from types import ModuleType

Floats = NDArray[np.float64]
MAX_EXACT = 20
"""Up to this number of seeds all 2^n sign flips are enumerated; beyond, `SAMPLED` are drawn."""
SAMPLED = 99_999
MIN_BCA = 10
"""From this number of values on intervals are bootstrapped; below, Student's t is used."""
RESAMPLES = 9_999
SEED = 0


@dataclass(frozen=True)
class MinimumPValue:
    """The least p-value possible with a number of seeds, when all of them agree.

    `p` is before, `corrected` after Holm's correction, if all other comparisons fail; `needed` is
    the number of seeds that can reach `alpha`.
    """

    seeds: int
    comparisons: int
    alpha: float
    p: float
    corrected: float
    needed: int

    @property
    def enough(self) -> bool:
        """Whether the level `alpha` can be reached."""
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
class SignFlipResult:
    """Result of a sign-flip test.

    Attributes
    ----------
    p : float
        Fraction of sign flips with a sum at least as far from 0.
    direction : {-1, 0, 1}
        Sign of the sum of differences.
    exact : bool
        Whether all flips were enumerated; if not, they were sampled.
    by : {"values", "ranks"}
        The statistic: ranks if a seed has no finite difference.
    """

    p: float
    direction: int
    exact: bool
    by: Literal["values", "ranks"]


@dataclass(frozen=True)
class ConfidenceInterval:
    """Confidence interval of a mean: Student's t, or bias-corrected accelerated bootstrap."""

    low: float
    high: float
    kind: Literal["t", "BCa"]


def attainable_p(seeds: int, comparisons: int = 1, alpha: float = 0.05) -> MinimumPValue:
    """Return the least p-value possible with `seeds`, after Holm's correction.

    Examples
    --------
    >>> print(attainable_p(5))
    5 seeds: p >= 0.0625: no difference can be shown at 0.05, 6 seeds can
    >>> attainable_p(8, comparisons=5).corrected
    0.0390625
    """
    if seeds < 1 or comparisons < 1:
        raise ValueError(f"{seeds} seeds, {comparisons} comparisons: expected at least 1 of each")
    check_alpha(alpha)
    p = float(2.0 ** (1 - seeds)) if seeds <= MAX_EXACT else 1 / (SAMPLED + 1)
    needed = next(n for n in range(1, 2000) if min(1.0, comparisons * 2.0 ** (1 - n)) <= alpha)
    return MinimumPValue(seeds, comparisons, alpha, p, min(1.0, comparisons * p), needed)


def count_comparisons(arms: int, conditions: int = 1, pairs: str = "baseline") -> int:
    """Return the number of comparisons of a run: with the baseline, or of all pairs.

    Examples
    --------
    >>> count_comparisons(6), count_comparisons(6, pairs="all")
    (5, 15)
    """
    return conditions * (arms - 1 if pairs == "baseline" else arms * (arms - 1) // 2)


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless `alpha` is between 0 and 1."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha = {alpha!r}: expected a number between 0 and 1, such as 0.05")


def sign_flip_test(gains: Sequence[float]) -> SignFlipResult | None:
    """Return the sign-flip test of an activation's gains; None if all are unknown.

    Parameters
    ----------
    gains : sequence of float
        By seed; above 0 if the activation is better; inf if only the other one diverged, -inf if
        only this one did, 0 if both did; NaN if either raised.

    Examples
    --------
    >>> sign_flip_test([0.3, 0.1, 0.2, 0.4, 0.2]).p
    0.0625
    >>> sign_flip_test([0.3, 0.1, 0.2, 0.4, 0.2, float("inf")]).p
    0.03125
    """
    differences = np.asarray(gains, np.float64)
    unknown = np.isnan(differences)
    if unknown.all():
        return None
    if np.isfinite(differences).all():
        return _sign_flips(differences, "values")
    if not unknown.any():
        return _sign_flips(_signed_ranks(differences), "ranks")
    for against, direction in ((-np.inf, 1), (np.inf, -1)):
        test = _sign_flips(_signed_ranks(np.where(unknown, against, differences)), "ranks")
        if test.direction == direction:
            return test
    return SignFlipResult(1.0, 0, True, "ranks")


def _signed_ranks(gains: Floats) -> Floats:
    ranks: Floats = library("scipy.stats").rankdata(np.abs(gains))
    return np.sign(gains) * ranks


def _sign_flips(differences: Floats, by: Literal["values", "ranks"]) -> SignFlipResult:
    """Return the test of Σd; a difference of 0 is unchanged by a flip and left out."""
    signed = differences[differences != 0]
    if not signed.size:
        return SignFlipResult(1.0, 0, True, by)
    exact = signed.size <= MAX_EXACT
    # |Σ| is the same with all signs flipped, so the first sign is kept and half of the flips are
    # enough. scipy needs two values or more; zeros change nothing.
    rest = np.pad(signed[1:], (0, max(0, 3 - signed.size)))
    result = library("scipy.stats").permutation_test(
        (rest,),
        lambda others, axis: np.abs(signed[0] + others.sum(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=2**rest.size if exact else SAMPLED,
        batch=2**14,
        random_state=np.random.default_rng(SEED),
    )
    return SignFlipResult(float(result.pvalue), int(np.sign(signed.sum())), exact, by)


def holm(ps: Sequence[float], alpha: float) -> tuple[list[float], list[bool]]:
    """Return Holm-corrected p-values, and whether each is significant at `alpha`."""
    if len(ps) < 2:  # nothing to correct, and statsmodels takes a second to import
        return list(ps), [p <= alpha for p in ps]
    significant, corrected, _, _ = library("statsmodels.stats.multitest").multipletests(
        list(ps), alpha=alpha, method="holm"
    )
    return [float(p) for p in corrected], [bool(rejected) for rejected in significant]


def interval(values: Sequence[float], level: float = 0.95) -> ConfidenceInterval | None:
    """Return a confidence interval of the mean; None for fewer than two or all equal values.

    Student's t is also used if there are too few different values for the bootstrap's correction.
    """
    data = np.asarray(values, np.float64)
    if data.size < 2 or np.ptp(data) == 0:
        return None
    if data.size >= MIN_BCA:
        bootstrap = _bootstrap(data, level)
        if math.isfinite(bootstrap.low) and math.isfinite(bootstrap.high):
            return bootstrap
    reach = library("scipy.stats").t.ppf((1 + level) / 2, data.size - 1)
    reach *= data.std(ddof=1) / math.sqrt(data.size)
    return ConfidenceInterval(float(data.mean() - reach), float(data.mean() + reach), "t")


def _bootstrap(data: Floats, level: float) -> ConfidenceInterval:
    import warnings

    stats = library("scipy.stats")
    with warnings.catch_warnings():
        # Warns and returns NaN if the correction is not defined; the caller checks for NaN.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        bounds = stats.bootstrap(
            (data,),
            np.mean,
            confidence_level=level,
            n_resamples=RESAMPLES,
            method="BCa",
            random_state=np.random.default_rng(SEED),
        ).confidence_interval
    return ConfidenceInterval(float(bounds.low), float(bounds.high), "BCa")


def improvement(arm: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the probability of improvement: the fraction of pairs of runs in which `arm` is above.

    Every run of one is paired with every run of the other; ties count half. This is P(X > Y) of
    Agarwal et al. 2021 (arXiv:2108.13264). A diverged run is -inf; the caller leaves out runs that
    raised. None if either has no runs.

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
    """Return a module of scipy or statsmodels; raise ImportError with how to install it."""
    from importlib import import_module

    require(name.partition(".")[0], purpose="a comparison")
    return import_module(name)
