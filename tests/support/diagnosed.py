"""Diagnoses of any shape for tests: many sites or units, some of them dead or not finite."""

from __future__ import annotations

import math

from softgate.reporting.sections.units import NetworkDiagnosis, UnitStudy
from softgate.studies.diagnose.record import (
    Diagnosis,
    Finding,
    Histogram,
    NotFinite,
    ReplacedSite,
    Site,
    Thresholds,
    UnitFigures,
    WhatIf,
)


def histogram(number: int, dead: int, spread: float = 1.0) -> Histogram:
    """Outputs of ten steps: a triangle of counts from -1/8 to 1, times `spread`."""
    counts = (2, *range(9, 1, -1))
    return Histogram(10 * number, 10 * number + 9, dead, -spread / 8, spread / 8, counts)


def site(
    name: str = "1",
    function: str = "gelu",
    units: int = 8,
    dead: int = 0,
    moments: int = 6,
    spread: float = 1.0,
    gradient: float | None = 0.1,
    broken: bool = False,
) -> Site:
    """The first `dead` units are dead; the others are flat the more often, the later they come."""
    flat = tuple(1.0 if i < dead else (i - dead) / units for i in range(units))
    zeros = (0.0,) * units
    which = tuple(range(dead))
    return Site(
        name=name, function=function, units=units, dtype="float32", calls=10 * moments,
        inputs=1000 * moments, flat=sum(flat) / units, negative=0.1, saturated=None, openness=0.5,
        mean=0.25, sd=spread, skew=0.5, activation_gain=0.9, layer_gain=1.1,
        gradient_output=gradient, gradient_input=None if gradient is None else gradient / 2,
        not_finite=(NotFinite("output", 3, 7),) if broken else (), sampled=1.0,
        unit=UnitFigures(flat, zeros, None, None, zeros, zeros, zeros, which, which, ()),
        history=tuple(histogram(i, min(dead, i), spread) for i in range(moments)),
    )  # fmt: skip


def diagnosis(*sites: Site, model: str = "network") -> Diagnosis:
    """The diagnosis of sites, with a finding for each that has dead units."""
    findings = tuple(
        Finding("dead", site.name, site.dead, 0.01,
                f"{site.name} has {len(site.unit.dead)} dead units",
                "lower the learning rate; see `softgate properties relu`")
        for site in sites if site.unit.dead
    )  # fmt: skip
    return Diagnosis(
        model=model, steps=60, observed_steps=60, every=1, thresholds=Thresholds(), sites=sites,
        gradient_ratio=1.5 if len(sites) > 1 else None, unseen=(), loss="", findings=findings,
    )  # fmt: skip


def what_if(model: str = "network") -> WhatIf:
    moved = ReplacedSite("1", "gelu", "relu", 8, 0.2, 0.0, 0.125, 0.01, 0.5)
    return WhatIf(model, "relu", 1, 0.1, "the loss", 0.5, 0.75, (moved,))


def study(title: str = "relu") -> UnitStudy:
    """What the report shows: two networks and what another activation would do."""
    sick = diagnosis(site("1", "relu", dead=2), site("3", "relu", dead=5, broken=True))
    well = diagnosis(site("1"), site("3", spread=2.0))
    return UnitStudy(
        "Two networks",
        (NetworkDiagnosis(title, sick, 0.9), NetworkDiagnosis("gelu", well, 0.95)),
        (what_if(),),
    )


def exploding(sites: int = 6) -> Diagnosis:
    """Outputs of the last site hide all others, and gradients are not numbers or nothing."""
    last = site("last", spread=1e6, gradient=math.inf)
    first = (site(f"layer.{i}.act", "relu", gradient=0.0 if i else 1.0) for i in range(sites - 1))
    return diagnosis(*first, last)
