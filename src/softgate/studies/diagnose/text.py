"""Alternative texts of the charts of a diagnosis, for screen readers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import counted
from .chart_data import DEAD, GradientNorm, Ridges, Segment
from .findings import percent
from .record import Diagnosis, Site

FEW = 8
"""The number of sites that are named; the others are counted."""

OUTPUTS = "Outputs over time"
UNITS = "Units by how often their slope is flat"
DEATHS = "Dead units over time"
GRADIENTS = "Gradients by site"


def listed(parts: Sequence[str], most: int = FEW) -> str:
    """Return a list of at most `most` parts, and the number of the others.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(parts) - most
    return ", ".join(parts) if more <= 0 else f"{', '.join(parts[:most])} and {more} more"


def broken(site: Site) -> str:
    """Return text on the first step with NaN or inf at a site; empty if there is none."""
    steps = [values.first_step for values in site.not_finite]
    return f"not finite at step {min(steps)}" if steps else ""


def describe_ridges(ridges: Ridges) -> str:
    """Return mean and standard deviation of the outputs of each site."""
    parts = [
        f"site {name} mean {site.mean:.3g}, sd {site.sd:.3g}"
        + (f", {broken(site)}" if site.not_finite else "")
        for name, site in zip(ridges.names, ridges.sites, strict=True)
    ]
    text = f"{OUTPUTS}, by site from the first to the last: {listed(parts)}."
    return text + (f" {reaching(ridges)}" if ridges.beyond else "")


def reaching(ridges: Ridges) -> str:
    """Return the sites whose outputs reach beyond the edge of the chart."""
    return f"Outputs of {listed(ridges.beyond)} reach beyond the edge." if ridges.beyond else ""


def describe_units(labels: Sequence[str], blocks: Sequence[Segment]) -> str:
    """Return the number of dead units of each site that has any."""
    dead = [f"{b.count} at site {labels[b.row]}" for b in blocks if b.kind == DEAD]
    return f"{UNITS}, {counted(len(labels), 'site')}: dead units: {listed(dead) or 'none'}."


def describe_deaths(labels: Sequence[str], sites: Sequence[Site]) -> str:
    """Return text on the number of dead units of each site at the first and last steps."""
    parts = [
        f"site {label} from {site.history[0].dead} to {site.history[-1].dead} of {site.units}"
        for label, site in zip(labels, sites, strict=True)
        if site.history
    ]
    return f"{DEATHS}: {listed(parts)}."


def describe_gradient_norms(labels: Sequence[str], norms: Sequence[GradientNorm]) -> str:
    """Return the norms of the gradients with respect to the inputs of sites."""
    parts = [f"{f.norm:.3g} at site {labels[f.row]}" for f in norms if f.which == "input"]
    return f"{GRADIENTS}, norms by inputs: {listed(parts)}."


def silent(labels: Sequence[str], norms: Sequence[GradientNorm]) -> str:
    """Return text on the sites with gradients that a logarithmic axis cannot show."""
    zero = dict.fromkeys(labels[gradient.row] for gradient in norms if gradient.norm == 0)
    broken = dict.fromkeys(
        labels[gradient.row] for gradient in norms if not math.isfinite(gradient.norm)
    )
    parts = [
        f"{value} at {listed(list(names))}"
        for value, names in (("0", zero), ("NaN or inf", broken))
        if names
    ]
    return f"Crosses among gradients: {'; '.join(parts)}." if parts else ""


def alternative(diagnosis: Diagnosis) -> str:
    """Return one line about all charts of a diagnosis."""
    dead = sum(len(site.unit.dead_lately) for site in diagnosis.sites)
    units = sum(site.units for site in diagnosis.sites)
    ratio = diagnosis.gradient_ratio
    gradient = "" if ratio is None else f"; gradient first/last {ratio:.3g}"
    sites = counted(len(diagnosis.sites), "site")
    return (
        f"{diagnosis.model}: outputs over time, units and gradients of {sites}; "
        f"{dead} of {units} units dead ({percent(dead / max(units, 1))}){gradient}"
    )
