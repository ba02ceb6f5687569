"""Findings of a diagnosis, and conditions under which it fails, such as `dead>5%`.

Every rule compares one figure with one threshold; the docstring of a rule states why that matters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from .record import Diagnosis, Finding, Site, Thresholds, UnobservedCalls

GATES = ("sigmoid", "hard_sigmoid", "Phi")
"""Functions from 0 to 1, which are gates if their values are factors."""
SCALED = "scaled gradient"
"""Gradients of a loss that a GradScaler multiplied. They may overflow: the scaler then skips the
step and continues with a smaller scale."""
SITE_FIGURES = ("dead", "trapped", "flat", "negative", "saturated")
"""Shares of a site's units or inputs; a condition applies to the worst site."""
FIGURES = (*SITE_FIGURES, "gradient_ratio", "nan", "unseen")
_CONDITION = re.compile(r"\s*(\w+)\s*([<>])\s*([^%\s]+)\s*(%?)\s*")


def findings(
    sites: Sequence[Site],
    ratio: float | None,
    unseen: Sequence[UnobservedCalls],
    steps: int,
    thresholds: Thresholds,
) -> tuple[Finding, ...]:
    """Return all findings; NaN and inf come first, since they invalidate the rest."""
    return (
        *_not_finite(sites),
        *(
            finding
            for site in sites
            for rule in (_dead, _trapped, _saturated)
            for finding in rule(site, thresholds)
        ),
        *_gradient(sites, ratio, thresholds),
        *_signal(sites, thresholds),
        *_unobserved(sites, unseen, steps),
    )


def percent(share: float) -> str:
    """Return a share in percent, to three digits."""
    return f"{100 * share:.3g} %"


def _not_finite(sites: Sequence[Site]) -> Iterator[Finding]:
    """Yield a finding on the first site with NaN or inf, from which they spread."""
    entries = [
        (values.first_step, index, site, values)
        for index, site in enumerate(sites)
        for values in site.not_finite
        # A few overflows are normal while a GradScaler searches for the largest scale.
        if not values.where.startswith(SCALED) or values.count > 0.1 * site.calls
    ]
    if not entries:
        return
    step, _, site, values = min(entries, key=lambda entry: entry[:2])
    others = len({entry[2].name for entry in entries}) - 1
    also = f", and at {others} other sites" if others else ""
    yield Finding(
        "not finite",
        site.name,
        float(sum(entry[3].count for entry in entries)),
        0.0,
        f"{values.where} at {site.name} ({site.function}) first in step {step} (the first step "
        f"is 0): {values.count:,} in total{also}",
        _advice_not_finite(values.where),
    )


def _advice_not_finite(where: str) -> str:
    if where.startswith("input"):
        return "check the data of that step and what computes this input"
    if where.startswith(SCALED):
        return (
            "a GradScaler skips such steps; more than one in ten means that no scale is small "
            "enough: compute this layer in float32 or bfloat16, or find what overflows"
        )
    return "lower the learning rate, clip gradients, or compute this layer in float32"


def _dead(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield a finding on units that are flat on every input: without gradients they stay flat."""
    share = max(site.dead, site.recently_dead)
    if site.inputs < thresholds.inputs or share <= thresholds.dead:
        return
    number = max(len(site.unit.dead), len(site.unit.recently_dead))
    lately = site.recently_dead > site.dead
    inputs = "inputs in the last quarter of the steps" if lately else f"{site.inputs:,} inputs"
    flat = "do not fire on any of the" if site.function == "relu" else "are flat on all of the"
    yield Finding(
        "dead",
        site.name,
        share,
        thresholds.dead,
        f"{percent(share)} of the units at site {site.name} ({number} of {site.units}, "
        f"{site.function}) {flat} {inputs}: |slope| < {thresholds.flat:g}",
        "lower the learning rate, check biases, or try gelu or leaky_relu (`what_if` shows the "
        "immediate effect); see `softgate properties relu gelu leaky_relu`"
        if site.function == "relu"
        else "lower the learning rate, check biases, or normalise the input of this layer; see "
        f"`softgate properties {_function_argument(site)}`",
    )


def _function_argument(site: Site) -> str:
    """Return the function as commands take it, without a scale."""
    return site.function.rpartition("·")[2]


def _trapped(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield a finding on units left of the minimum, where the slope has the wrong sign."""
    if site.inputs < thresholds.inputs or site.trapped <= thresholds.trapped:
        return
    yield Finding(
        "trapped",
        site.name,
        site.trapped,
        thresholds.trapped,
        f"{percent(site.trapped)} of the units at site {site.name} ({len(site.unit.trapped)} of "
        f"{site.units}, {site.function}) have a slope that is negative or flat on "
        f"{site.inputs:,} inputs: they lie left of the function's minimum",
        "lower the learning rate, or raise the biases of these units; `softgate properties "
        f"{_function_argument(site)}` prints where the minimum is",
    )


def _saturated(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield a finding on values near bounds, where slopes and thus gradients are small.

    Gates may be saturated: gradients also flow through the other factor.
    """
    if site.saturated is None or site.saturated <= thresholds.saturated:
        return
    if site.multiplied and site.function in GATES:
        return
    yield Finding(
        "saturated",
        site.name,
        site.saturated,
        thresholds.saturated,
        f"{percent(site.saturated)} of the outputs of {site.name} ({site.function}) lie within "
        f"{percent(thresholds.saturation)} of its range from a bound",
        "start with smaller weights, normalise the input of this layer, or lower the learning rate",
    )


def _gradient(
    sites: Sequence[Site], ratio: float | None, thresholds: Thresholds
) -> Iterator[Finding]:
    """Yield a finding if gradients vanish or explode between the last and the first site."""
    if ratio is None or math.isnan(ratio):
        return
    first, *_, last = (site for site in sites if site.gradient_input is not None)
    norms = (
        f"its norm is {first.gradient_input:.3g} at {first.name}, {last.gradient_input:.3g} at "
        f"{last.name}, a factor of {ratio:.2g}"
    )
    if ratio < thresholds.vanishing:
        yield Finding(
            "vanishing", first.name, ratio, thresholds.vanishing,
            f"the gradient vanishes: {norms}",
            "use residual connections or normalisation, weights with the activation's gain "
            "(`softgate properties`), or an activation whose slope is near 1 (relu, gelu)",
        )  # fmt: skip
    if ratio > thresholds.exploding:
        yield Finding(
            "exploding", first.name, ratio, thresholds.exploding,
            f"the gradient explodes: {norms}",
            "start with smaller weights, normalise, or clip gradients",
        )  # fmt: skip


def _signal(sites: Sequence[Site], thresholds: Thresholds) -> Iterator[Finding]:
    """Yield a finding if the mean gain per layer is far from 1, as gains multiply over layers."""
    gains = [site.layer_gain for site in sites if site.layer_gain]
    if len(gains) < 3:
        return
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    for kind, bad, limit in (
        ("shrinking", mean < thresholds.shrinking, thresholds.shrinking),
        ("growing", mean > thresholds.growing, thresholds.growing),
    ):
        if bad:
            yield Finding(
                kind, None, mean, limit,
                f"outputs change by a factor of {mean:.3g} from one activation to the next "
                f"({len(gains)} factors, their geometric mean): 1 would keep them",
                "start with weights of variance gain²/fan_in (see `softgate properties`), or "
                "normalise",
            )  # fmt: skip


def _unobserved(
    sites: Sequence[Site], unseen: Sequence[UnobservedCalls], steps: int
) -> Iterator[Finding]:
    """Yield findings on what could not be observed, which may have problems."""
    for group in unseen:
        names = ", ".join(name or "the model itself" for name in group.names[:3])
        more = f" and {len(group.names) - 3} more" if len(group.names) > 3 else ""
        yield Finding(
            "unseen", group.names[0], float(len(group.names)), 0.0,
            f"{names}{more} could not be observed: {group.why}", group.advice,
        )  # fmt: skip
    for site in sites:
        if not site.inputs:
            yield Finding(
                "nothing seen", site.name, 0.0, 0.0,
                f"{site.name} ({site.function}) was called {_times(site.calls)}, each with an "
                "empty tensor",
                "check the data, and why no rows reach this activation",
            )  # fmt: skip
    if not sites:
        why = f"the model was called {_times(steps)}" if steps else "the model was never called"
        yield Finding(
            "nothing seen", None, 0.0, 0.0, f"no activation was observed: {why}",
            "call the model inside `with watch(model)`; an activation written by hand is observed "
            "if a module computes only that, or if it calls an activation of torch",
        )  # fmt: skip


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


@dataclass(frozen=True)
class FailCondition:
    """A limit on one figure; see `condition`."""

    figure: str
    above: bool
    limit: float
    text: str

    def failure(self, diagnosis: Diagnosis) -> str | None:
        """Return a message if the figure is beyond the limit, or None.

        NaN is beyond every limit. A condition on activations or gradients also fails if none were
        observed.
        """
        sites = diagnosis.sites
        if self.figure not in ("nan", "unseen") and not any(site.inputs for site in sites):
            return f"{self.text}: no activation was observed"
        if self.figure == "gradient_ratio" and all(site.gradient_input is None for site in sites):
            return f"{self.text}: no gradient was observed"
        value, where = self._value(diagnosis)
        beyond = value is not None and (value > self.limit if self.above else value < self.limit)
        if value is None or not (beyond or math.isnan(value)):
            return None
        shown = percent(value) if self.figure in SITE_FIGURES else f"{value:.3g}"
        return f"{self.text}: {self.figure} is {shown}{where}"

    def _value(self, diagnosis: Diagnosis) -> tuple[float | None, str]:
        """Return the figure and where it was measured; None if there is no such figure."""
        if self.figure == "gradient_ratio":
            return diagnosis.gradient_ratio, ""
        if self.figure == "nan":
            counts = (values.count for site in diagnosis.sites for values in site.not_finite)
            return float(sum(counts)), ""
        if self.figure == "unseen":
            return float(sum(len(group.names) for group in diagnosis.unseen)), ""
        worst, where = None, ""
        for site in diagnosis.sites:
            value = getattr(site, self.figure)
            if self.figure == "dead":
                value = max(value, site.recently_dead)
            if value is None:
                continue
            further = worst is None or (value > worst if self.above else value < worst)
            if further or math.isnan(value):
                worst, where = value, f" at {site.name} ({site.function}, {site.inputs:,} inputs)"
        return worst, where


def condition(text: str) -> FailCondition:
    """Return the condition of a text such as `dead>5%`; raise ValueError if it cannot be read.

    Examples
    --------
    >>> condition("dead>5%").limit
    0.05
    >>> condition("gradient_ratio<1e-3").above
    False
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"can't interpret the condition {text!r}: write one such as dead>5%")
    figure, sign, number, percent_sign = match.groups()
    if figure not in FIGURES:
        near = get_close_matches(figure, FIGURES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(FIGURES)}"
        raise ValueError(f"{text!r}: unknown figure {figure!r}; {hint}")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ValueError(f"{text!r}: the limit {number!r} is not a finite number: write dead>5%")
    if figure in SITE_FIGURES and not percent_sign and limit > 1:
        raise ValueError(
            f"{text!r}: {figure} is a share, at most 1: write {figure}{sign}{number}% or "
            f"{figure}{sign}{limit / 100:g}"
        )
    return FailCondition(figure, sign == ">", limit / 100 if percent_sign else limit, text.strip())
