"""What the figures mean, in plain words: each finding with its numbers and a next step.

Every rule compares one figure with one threshold; the docstring of a rule says why that matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .record import Finding, NotFinite, Site, Unseen
from .stream import SCALED
from .thresholds import Thresholds

GATES = ("sigmoid", "hard_sigmoid", "Phi")
"""Functions from 0 to 1, which are gates where their values are factors."""


def findings(
    sites: Sequence[Site],
    ratio: float | None,
    unseen: Sequence[Unseen],
    steps: int,
    thresholds: Thresholds,
) -> tuple[Finding, ...]:
    """Return what is wrong, what breaks everything first."""
    found = [*_not_finite(sites)]
    for site in sites:
        found += _dead(site, thresholds)
        found += _trapped(site, thresholds)
        found += _saturated(site, thresholds)
    found += _flow(sites, ratio, thresholds)
    found += _signal(sites, thresholds)
    found += _blind(sites, unseen, steps)
    return tuple(found)


def percent(share: float) -> str:
    """Return a share as people write it."""
    return f"{100 * share:.3g} %"


def _not_finite(sites: Sequence[Site]) -> Iterator[Finding]:
    """Tell of NaN and inf, at length only where they were first: they spread."""
    entries = [
        (trouble.first_step, index, site, trouble)
        for index, site in enumerate(sites)
        for trouble in site.not_finite
        if not _by_design(site, trouble)
    ]
    if not entries:
        return
    step, _, site, trouble = min(entries, key=lambda entry: entry[:2])
    others = len({entry[2].name for entry in entries}) - 1
    also = f", and at {others} other sites" if others else ""
    yield Finding(
        "not finite",
        site.name,
        float(sum(entry[3].count for entry in entries)),
        0.0,
        f"{trouble.where} at {site.name} ({site.function}) first in step {step} (the first step "
        f"is 0): {trouble.count:,} in all{also}",
        _mend(trouble.where),
    )


def _by_design(site: Site, trouble: NotFinite) -> bool:
    """Tell whether a GradScaler was only looking for the largest scale that float16 bears."""
    return trouble.where.startswith(SCALED) and trouble.count <= 0.1 * site.calls


def _mend(where: str) -> str:
    if where.startswith("input"):
        return "look at the data of that step and at what computes this input"
    if where.startswith(SCALED):
        return (
            "a GradScaler skips such steps; more than one in ten means that no scale is small "
            "enough: compute this layer in float32 or bfloat16, or look for what overflows"
        )
    return "lower the learning rate, clip gradients, or compute this layer in float32"


def _dead(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Tell of units that are flat on every input: no gradient passes them, so they stay so."""
    share = max(site.dead, site.dead_lately)
    if site.inputs < thresholds.inputs or share <= thresholds.dead:
        return
    number = max(len(site.unit.dead), len(site.unit.dead_lately))
    lately = site.dead_lately > site.dead
    never, each = ("never fire", "any") if site.function == "relu" else ("are flat", "every")
    on = f"{each} input of the last quarter of the steps" if lately else f"{site.inputs:,} inputs"
    yield Finding(
        "dead",
        site.name,
        share,
        thresholds.dead,
        f"{percent(share)} of the units of {site.name} ({number} of {site.units}, {site.function}) "
        f"{never} on {on}: |slope| < {thresholds.flat:g}",
        _revive(site),
    )


def _revive(site: Site) -> str:
    if site.function == "relu":
        return (
            "lower the learning rate, look at biases, or try gelu or leaky_relu (`what_if` says "
            "what moves at once); see `softgate properties relu gelu leaky_relu`"
        )
    return (
        "lower the learning rate, look at biases, or normalise what goes into this layer; see "
        f"`softgate properties {_named(site)}`"
    )


def _named(site: Site) -> str:
    """Return the function as commands take it, a scale left out."""
    return site.function.rpartition("·")[2]


def _trapped(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Tell of units left of a minimum, where the slope pushes down what should rise."""
    if site.inputs < thresholds.inputs or site.trapped <= thresholds.trapped:
        return
    yield Finding(
        "trapped",
        site.name,
        site.trapped,
        thresholds.trapped,
        f"{percent(site.trapped)} of the units of {site.name} ({len(site.unit.trapped)} of "
        f"{site.units}, {site.function}) have a slope that is negative or flat on "
        f"{site.inputs:,} inputs: they lie left of the function's minimum",
        "lower the learning rate, or raise the biases of these units; `softgate properties "
        f"{_named(site)}` says where the minimum is",
    )


def _saturated(site: Site, thresholds: Thresholds) -> Iterator[Finding]:
    """Tell of values near bounds, where an activation passes hardly any gradient on.

    A gate may well be open or closed: what it multiplies has its own way.
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
        "start with smaller weights, normalise what goes into this layer, or lower the learning "
        "rate",
    )


def _flow(sites: Sequence[Site], ratio: float | None, thresholds: Thresholds) -> Iterator[Finding]:
    """Tell of a gradient that the first layer gets hardly any of, or far too much."""
    if ratio is None or math.isnan(ratio):
        return
    some = [site for site in sites if site.gradient_input is not None]
    between = (
        f"{some[0].gradient_input:.3g} at {some[0].name}, {some[-1].gradient_input:.3g} at "
        f"{some[-1].name}"
    )
    if ratio < thresholds.vanishing:
        yield Finding(
            "vanishing", some[0].name, ratio, thresholds.vanishing,
            f"the gradient vanishes: its norm is {between}, a factor of {ratio:.2g}",
            "use residual connections or normalisation, weights with the activation's gain "
            "(`softgate properties`), or an activation whose slope is near 1 (relu, gelu)",
        )  # fmt: skip
    if ratio > thresholds.exploding:
        yield Finding(
            "exploding", some[0].name, ratio, thresholds.exploding,
            f"the gradient explodes: its norm is {between}, a factor of {ratio:.2g}",
            "start with smaller weights, normalise, or clip gradients",
        )  # fmt: skip


def _signal(sites: Sequence[Site], thresholds: Thresholds) -> Iterator[Finding]:
    """Tell of a gain other than 1: what it is in every layer is a power of it in the last."""
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
                "start with weights of variance gain²/fan_in (`softgate properties` has the gain), "
                "or normalise",
            )  # fmt: skip


def _blind(sites: Sequence[Site], unseen: Sequence[Unseen], steps: int) -> Iterator[Finding]:
    """Tell of what nobody could look at: it must not look healthy."""
    for one in unseen:
        names = ", ".join(name or "the model itself" for name in one.names[:3])
        more = f" and {len(one.names) - 3} more" if len(one.names) > 3 else ""
        yield Finding(
            "unseen", one.names[0], float(len(one.names)), 0.0,
            f"{names}{more} could not be looked into: {one.why}", one.advice,
        )  # fmt: skip
    for site in sites:
        if not site.inputs:
            yield Finding(
                "nothing seen", site.name, 0.0, 0.0,
                f"{site.name} ({site.function}) was called {_times(site.calls)}, each with an "
                "empty tensor",
                "look at why nothing arrives there, or at the data",
            )  # fmt: skip
    if not sites:
        why = f"the model was called {_times(steps)}" if steps else "the model was never called"
        yield Finding(
            "nothing seen", None, 0.0, 0.0, f"no activation was seen: {why}",
            "call the model inside `with watch(model)`; what is written by hand is seen where a "
            "module of its own computes it, or where it calls an activation of torch's",
        )  # fmt: skip


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
