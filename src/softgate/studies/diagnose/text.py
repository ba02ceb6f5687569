"""The pictures of a diagnosis in words: what can be read from each, for whoever does not see it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .chart_data import DEAD, Block, Flow, Ridges
from .record import Diagnosis, Site
from .verdicts import percent

FEW = 8
"""So many are named; the others are counted."""

OUTPUTS = "Outputs over time"
UNITS = "Units by how often their slope is flat"
DEATHS = "Dead units over time"
GRADIENTS = "Gradients by site"


def listed(parts: Sequence[str], most: int = FEW) -> str:
    """Return a list in words that does not become too long.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(parts) - most
    return ", ".join(parts) if more <= 0 else f"{', '.join(parts[:most])} and {more} more"


def counted(number: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "site"), counted(1200, "site")
    ('1 site', '1,200 sites')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def broken(site: Site) -> str:
    """Return from when on a site had what is not finite; nothing where all was."""
    steps = [trouble.first_step for trouble in site.not_finite]
    return f"not finite at step {min(steps)}" if steps else ""


def ridges_say(found: Ridges) -> str:
    """Return where outputs are."""
    parts = [
        f"site {name} mean {site.mean:.3g}, sd {site.sd:.3g}{_also(broken(site))}"
        for name, site in zip(found.names, found.sites, strict=True)
    ]
    text = f"{OUTPUTS}, by site from the first to the last: {listed(parts)}."
    return text + (f" {reaching(found)}" if found.beyond else "")


def reaching(found: Ridges) -> str:
    """Return which sites' outputs lie beyond the edge of the picture."""
    return f"Outputs of {listed(found.beyond)} reach beyond the edge." if found.beyond else ""


def _also(text: str) -> str:
    return f", {text}" if text else ""


def units_say(labels: Sequence[str], blocks: Sequence[Block]) -> str:
    """Return how many units are dead where."""
    dead = [f"{b.count} at site {labels[b.row]}" for b in blocks if b.kind == DEAD]
    some = f"dead are {listed(dead)}" if dead else "0 are dead"
    return f"{UNITS}, {counted(len(labels), 'site')}: {some}."


def deaths_say(labels: Sequence[str], sites: Sequence[Site]) -> str:
    """Return how many units were dead at first and at last."""
    parts = [
        f"site {label} from {site.history[0].dead} to {site.history[-1].dead} of {site.units}"
        for label, site in zip(labels, sites, strict=True)
        if site.history
    ]
    return f"{DEATHS}: {listed(parts)}."


def flows_say(labels: Sequence[str], found: Sequence[Flow]) -> str:
    """Return the norms that leave sites."""
    parts = [f"{one.norm:.3g} at site {labels[one.row]}" for one in found if one.which == "input"]
    return f"{GRADIENTS}, norms by inputs: {listed(parts)}."


def silent(labels: Sequence[str], found: Sequence[Flow]) -> str:
    """Return where no gradient has a place on a logarithmic axis."""
    said = []
    for what, at in (
        ("0", [one for one in found if one.norm == 0]),
        ("no number", [one for one in found if not math.isfinite(one.norm)]),
    ):
        names = list(dict.fromkeys(labels[one.row] for one in at))
        if names:
            said.append(f"{what} at {listed(names)}")
    return f"Crosses among gradients: {'; '.join(said)}." if said else ""


def alternative(seen: Diagnosis) -> str:
    """Return all pictures of a diagnosis in a line."""
    dead = sum(len(site.unit.dead_lately) for site in seen.sites)
    units = sum(site.units for site in seen.sites)
    ratio = seen.gradient_ratio
    flow = "" if ratio is None else f"; gradient first/last {ratio:.3g}"
    sites = counted(len(seen.sites), "site")
    return (
        f"{seen.model}: outputs over time, units and gradients of {sites}; "
        f"{dead} of {units} units dead ({percent(dead / max(units, 1))}){flow}"
    )
