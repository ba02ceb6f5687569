"""What a diagnosis looks like, in places and numbers: outputs, units, deaths and gradients by site.

A figure and the report's page draw the same from here. Sites are rows from the first called to the
last. Units stand sorted within their row, so that a layer of 4096 is as exact as one of 4: what is
dead is a block whose width is its share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .record import Diagnosis, Histogram, Numbers, Site

ROWS, RIDGE_ROWS = 120, 12
"""Sites that a picture has at most."""
SLICES = 5
"""Moments of a site that its ridge shows."""
BINS = 32
"""Bins across a ridge, at least; half of what a watch keeps, so that most can be had."""
TAIL = 0.005
"""The share of outputs on each side that may lie beyond the edge."""
REACH = 8.0
"""How far the axis may reach, in those of the site in the middle."""
FLAT = ("below 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "80 % and more")
"""Shares of inputs on which a unit's slope is flat."""
LEAST_LETTERS = 10
"""Letters that a name has beside a ridge, however long its function's is."""
DEAD, NEVER = "dead", "no finite input"
ALIVE = "none"
SHARES = ((0.0, ALIVE), (0.01, "up to 1 %"), (0.05, "to 5 %"), (0.2, "to 20 %"), (0.5, "to 50 %"),
          (1.0, "more"))  # fmt: skip
"""Shares of units that are dead, each with the largest that it stands for."""


@dataclass(frozen=True)
class Ridge:
    """The outputs of some steps: heights from 0 to 1 above x."""

    row: int
    order: int
    """0 for the first that is shown of its site."""
    of: int
    """How many are shown of it."""
    first_step: int
    last_step: int
    x: tuple[float, ...]
    height: tuple[float, ...]


@dataclass(frozen=True)
class Ridges:
    """Outputs of sites over time."""

    sites: tuple[Site, ...]
    names: tuple[str, ...]
    low: float
    high: float
    ridges: tuple[Ridge, ...]
    beyond: tuple[str, ...]
    """Sites with outputs outside, more than a few."""


@dataclass(frozen=True)
class Block:
    """Neighbours of one kind in a row, from one place to another."""

    row: int
    start: float
    end: float
    kind: str
    count: int


@dataclass(frozen=True)
class Flow:
    """The norm of a gradient at a site; `which` is output or input."""

    row: int
    which: str
    norm: float


def rows(seen: Diagnosis, most: int = ROWS) -> tuple[Site, ...]:
    """Return sites in their order: all, or those with findings first and others evenly between."""
    sites = seen.sites
    if len(sites) <= most:
        return sites
    found = {finding.site for finding in seen.findings}
    evenly = [round(i * (len(sites) - 1) / (most - 1)) for i in range(most)]
    worst = sorted(
        (i for i, site in enumerate(sites) if site.name in found),
        key=lambda i: -max(sites[i].dead, sites[i].dead_lately),
    )
    ends = [0, len(sites) - 1]
    kept = list(dict.fromkeys([*ends, *worst[: most // 2], *evenly]))[:most]
    return tuple(sites[i] for i in sorted(kept))


def names(sites: Sequence[Site]) -> tuple[str, ...]:
    """Return short names: what all have in common before and after is left out.

    Examples
    --------
    >>> from types import SimpleNamespace as site
    >>> names([site(name="encoder.layer.0.act"), site(name="encoder.layer.1.act")])
    ('0', '1')
    """
    parts = [site.name.split(".") for site in sites]
    least = min(map(len, parts), default=1) - 1
    before = _common(parts, least)
    after = _common([part[::-1] for part in parts], least - before)
    short = tuple(".".join(part[before : len(part) - after]) for part in parts)
    return short if len(sites) > 1 else tuple(site.name for site in sites)


def fitted(name: str, most: int) -> str:
    """Return a name of so many letters: its layer's number and its end, what is between left out.

    Examples
    --------
    >>> fitted("encoder.layer.11.intermediate.act_fn", 16)
    'layer.11…act_fn'
    """
    if len(name) <= most:
        return name
    parts = name.split(".")
    number = max((i for i, part in enumerate(parts[:-1]) if part.isdigit()), default=0)
    head = ".".join(parts[max(number - 1, 0) : number + 1]) if number else ""
    room = most - len(head) - 1
    return f"{head}…{parts[-1][-room:] if room > 0 else ''}"


def labels(found: Ridges, most: int) -> tuple[str, ...]:
    """Return names with what their sites compute, as they stand beside ridges."""
    functions = list(map(function_name, found.sites))
    return tuple(
        f"{fitted(name, max(most - len(function) - 1, LEAST_LETTERS))} {function}"
        for name, function in zip(found.names, functions, strict=True)
    )


def _common(parts: Sequence[Sequence[str]], most: int) -> int:
    for i in range(most):
        if len({part[i] for part in parts}) > 1:
            return i
    return max(most, 0)


def function_name(site: Site) -> str:
    """Return what a site computes without its scale and its parameters: the name of its colour.

    Examples
    --------
    >>> from types import SimpleNamespace as site
    >>> function_name(site(function="-2·leaky_relu(negative_slope=0.1)"))
    'leaky_relu'
    """
    found = re.search(r"[A-Za-z_]\w*", site.function.rpartition("·")[2])
    return found.group() if found else site.function


def ridges(seen: Diagnosis) -> Ridges:
    """Return outputs over time.

    Heights are the root of density, so that tails are seen, each ridge's to its own peak: where
    outputs spread, those of the first steps would leave nothing of the last.
    """
    sites = rows(seen, RIDGE_ROWS)
    called = names(sites)
    shown = [_spread(site.history) for site in sites]
    ends = [_ends(moments) for moments in shown]
    low, high = _domain([end for end in ends if end is not None])
    drawn: list[Ridge] = []
    for row, (moments, end) in enumerate(zip(shown, ends, strict=True)):
        for order, moment in enumerate(moments):
            width = max(_width(end, low, high), moment.width)
            bins = _bins(moment, width)
            top = max((h for _, h in bins), default=1.0)
            inside = [(x, h / top) for x, h in bins if low - width < x < high + width]
            x, height = _outline(inside)
            drawn.append(
                Ridge(row, order, len(moments), moment.first_step, moment.last_step, x, height)
            )
    beyond = tuple(
        name
        for name, end in zip(called, ends, strict=True)
        if end is not None and (end[0] < low or end[1] > high)
    )
    return Ridges(sites, called, low, high, tuple(drawn), beyond)


def _spread(history: Sequence[Histogram]) -> list[Histogram]:
    """Return the first, the last, and some evenly between."""
    last = len(history) - 1
    if last < SLICES:
        return list(history)
    return [history[round(i * last / (SLICES - 1))] for i in range(SLICES)]


def _ends(moments: Iterable[Histogram]) -> tuple[float, float] | None:
    """Return between what most outputs lie; None where none was finite."""
    bins = sorted(
        (moment.low + i * moment.width, moment.low + (i + 1) * moment.width, count)
        for moment in moments
        for i, count in enumerate(moment.counts)
        if count
    )
    sums = list(accumulate(count for *_, count in bins))
    if not sums:
        return None
    low = next(one[0] for one, total in zip(bins, sums, strict=True) if total > TAIL * sums[-1])
    high = next(
        one[1] for one, total in zip(bins, sums, strict=True) if total >= (1 - TAIL) * sums[-1]
    )
    return low, high


def _domain(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the axis: wide enough for most, and not for one site that hides all others."""
    if not ends:
        return -1.0, 1.0
    reaches = sorted(max(abs(low), abs(high)) for low, high in ends)
    reach = REACH * reaches[len(reaches) // 2]
    low = max(min(0.0, *(end[0] for end in ends)), -reach)
    high = min(max(0.0, *(end[1] for end in ends)), reach)
    if not high - low > 1e-9:  # outputs that are all the same
        return -1.0, 1.0
    room = 0.03 * (high - low)
    return low - room, high + room


def _width(end: tuple[float, float] | None, low: float, high: float) -> float:
    """Return a power of two: bins narrow enough for what one site has between the edges."""
    inside = 0.0 if end is None else min(end[1], high) - max(end[0], low)
    return float(2.0 ** math.floor(math.log2(max(inside, (high - low) / BINS) / BINS)))


def _outline(points: list[tuple[float, float]]) -> tuple[Numbers, Numbers]:
    """Return a line that begins and ends on the ground, also where an edge cuts it."""
    if not points:
        return (), ()
    ends = [(points[0][0], 0.0)] if points[0][1] else []
    ends_at = [(points[-1][0], 0.0)] if points[-1][1] else []
    x, height = zip(*ends, *points, *ends_at, strict=True)
    return x, height


def _bins(moment: Histogram, width: float) -> list[tuple[float, float]]:
    """Return middles and heights of bins of a width that holds the moment's whole."""
    each, first = round(width / moment.width), round(moment.low / moment.width)
    total = sum(moment.counts)
    if not total:
        return []
    joined: dict[int, int] = {}
    for i, count in enumerate(moment.counts, first):
        joined[i // each] = joined.get(i // each, 0) + count
    filled = range(min(joined) - 1, max(joined) + 2)
    density = 1 / (total * width)
    return [((i + 0.5) * width, math.sqrt(joined.get(i, 0) * density)) for i in filled]


def units(sites: Sequence[Site]) -> list[Block]:
    """Return each site's units, the flattest first, as blocks from 0 to 1."""
    found: list[Block] = []
    for row, site in enumerate(sites):
        dead = {*site.unit.dead, *site.unit.dead_lately}
        kinds = [DEAD if i in dead else _kind(share) for i, share in enumerate(site.unit.flat)]
        start = 0
        for kind in (DEAD, *reversed(FLAT), NEVER):
            count = kinds.count(kind)
            if count:
                end = start + count
                found.append(Block(row, start / site.units, end / site.units, kind, count))
                start = end
    return found


def _kind(share: float) -> str:
    if math.isnan(share):
        return NEVER
    return FLAT[min(int(share * len(FLAT)), len(FLAT) - 1)]


def deaths(seen: Diagnosis, sites: Sequence[Site]) -> list[Block]:
    """Return the steps of each site by how many of its units were dead then.

    Nothing where there is one moment only, or where moments have so few inputs that units are flat
    on all of them by chance.
    """
    found: list[Block] = []
    for row, site in enumerate(sites):
        moments = site.history
        each = site.inputs / max(len(moments), 1)
        if len(moments) < 2 or each < seen.thresholds.inputs:
            continue
        starts = [*(moment.first_step for moment in moments), moments[-1].last_step + 1]
        for moment, (start, end) in zip(moments, pairwise(starts), strict=True):
            share = moment.dead / site.units
            kind = next(name for most, name in SHARES if share <= most)
            last = found[-1] if found else None
            if last is not None and (last.row, last.kind, last.count) == (row, kind, moment.dead):
                found[-1] = Block(row, last.start, end, kind, moment.dead)
            else:
                found.append(Block(row, start, end, kind, moment.dead))
    return found


def flows(sites: Sequence[Site]) -> list[Flow]:
    """Return what arrives at each site from the loss, and what leaves it; none where none did."""
    return [
        Flow(row, which, norm)
        for row, site in enumerate(sites)
        for which, norm in (("output", site.gradient_output), ("input", site.gradient_input))
        if norm is not None
    ]


def decades(found: Iterable[Flow]) -> tuple[int, int] | None:
    """Return the powers of ten around all norms that have a logarithm; None where there is none."""
    logs = [math.log10(one.norm) for one in found if 0 < one.norm < math.inf]
    if not logs:
        return None
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return low, max(high, low + 1)


def base(ridge: Ridge) -> float:
    """Return where a ridge stands in its row, from 0 on top to 1: the last one in front, below."""
    return 0.92 if ridge.of == 1 else 0.45 + 0.47 * ridge.order / (ridge.of - 1)


def tall(ridge: Ridge) -> float:
    """Return the height of a ridge's highest place, in rows."""
    return 0.85 if ridge.of == 1 else 0.43
