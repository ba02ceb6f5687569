"""The data of a diagnosis's charts: outputs, units, dead units and gradients by site.

Sites are rows, from the first called to the last. Units are sorted within their row, so that a
layer of 4096 is drawn as exactly as one of 4: the width of a block is its share of the units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from os.path import commonprefix

from softgate.records.text import visible

from .record import Diagnosis, Histogram, Numbers, Site

ROWS, RIDGE_ROWS = 120, 12
"""Sites in a chart, at most."""
SLICES = 5
"""Histograms of a site that are drawn, at most."""
BINS = 32
"""Bins across a ridge, at least: half of those in a recorded histogram."""
TAIL = 0.005
"""The share of outputs that may be beyond each edge."""
REACH = 8.0
"""The reach of the axis, at most, as a multiple of that of the median site."""
FLAT = ("below 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "80 % and more")
"""Classes of units, by the share of inputs on which their slope is flat."""
LEAST_LETTERS = 10
"""Letters of a site's name beside a ridge, at least."""
DEAD, NEVER = "dead", "no finite input"
ALIVE = "none"
SHARES = ((0.0, ALIVE), (0.01, "up to 1 %"), (0.05, "to 5 %"), (0.2, "to 20 %"), (0.5, "to 50 %"),
          (1.0, "more"))  # fmt: skip
"""Classes of steps by the share of dead units: the largest share, and its name."""


@dataclass(frozen=True)
class Ridge:
    """A histogram of the outputs of some steps: heights from 0 to 1 over x."""

    row: int
    order: int
    """Index among those drawn of its site."""
    of: int
    """Number of those drawn of its site."""
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
    """Names of sites with more than a few outputs beyond the edges."""


@dataclass(frozen=True)
class Segment:
    """Neighbouring units or steps of one kind in a row, from `start` to `end`."""

    row: int
    start: float
    end: float
    kind: str
    count: int


@dataclass(frozen=True)
class GradientNorm:
    """The norm of a gradient at a site; `which` is output or input."""

    row: int
    which: str
    norm: float


def rows(diagnosis: Diagnosis, most: int = ROWS) -> tuple[Site, ...]:
    """Return at most `most` sites in order: the first and last, the worst, evenly spaced others."""
    sites = diagnosis.sites
    if len(sites) <= most:
        return sites
    problems = {finding.site for finding in diagnosis.findings}
    evenly = [round(i * (len(sites) - 1) / (most - 1)) for i in range(most)]
    worst = sorted(
        (i for i, site in enumerate(sites) if site.name in problems),
        key=lambda i: -max(sites[i].dead, sites[i].recently_dead),
    )
    ends = [0, len(sites) - 1]
    chosen = list(dict.fromkeys([*ends, *worst[: most // 2], *evenly]))[:most]
    return tuple(sites[i] for i in sorted(chosen))


def names(sites: Sequence[Site]) -> tuple[str, ...]:
    """Return short names, without the common prefix and suffix of all names.

    Examples
    --------
    >>> from types import SimpleNamespace as site
    >>> names([site(name="encoder.layer.0.act"), site(name="encoder.layer.1.act")])
    ('0', '1')
    """
    parts = [visible(site.name, one_line=True).split(".") for site in sites]
    least = min(map(len, parts), default=1) - 1
    ends = [len(commonprefix(p)) for p in (parts, [p[::-1] for p in parts])]  # noqa: RUF071 (lists)
    before = min(ends[0], least)
    after = min(ends[1], least - before)
    short = tuple(".".join(part[before : len(part) - after]) for part in parts)
    return short if len(sites) > 1 else tuple(".".join(part) for part in parts)


def fitted(name: str, most: int) -> str:
    """Return a name of at most `most` letters: the number of its layer, and its end.

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


def labels(ridges: Ridges, most: int) -> tuple[str, ...]:
    """Return the labels of rows of ridges: names of sites and of their functions."""
    functions = list(map(function_name, ridges.sites))
    return tuple(
        f"{fitted(name, max(most - len(function) - 1, LEAST_LETTERS))} {function}"
        for name, function in zip(ridges.names, functions, strict=True)
    )


def function_name(site: Site) -> str:
    """Return the name of a site's function, without scale and parameters.

    Examples
    --------
    >>> from types import SimpleNamespace as site
    >>> function_name(site(function="-2·leaky_relu(negative_slope=0.1)"))
    'leaky_relu'
    """
    match = re.search(r"[A-Za-z_]\w*", site.function.rpartition("·")[2])
    return match.group() if match else site.function


def ridges(diagnosis: Diagnosis) -> Ridges:
    """Return outputs over time.

    Heights are square roots of densities, so that tails are visible, relative to the peak of each
    ridge: with a common scale, wide distributions would be flat beside narrow ones.
    """
    sites = rows(diagnosis, RIDGE_ROWS)
    short = names(sites)
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
        for name, end in zip(short, ends, strict=True)
        if end is not None and (end[0] < low or end[1] > high)
    )
    return Ridges(sites, short, low, high, tuple(drawn), beyond)


def _spread(history: Sequence[Histogram]) -> list[Histogram]:
    """Return the first, the last, and some evenly spaced between."""
    last = len(history) - 1
    if last < SLICES:
        return list(history)
    return [history[round(i * last / (SLICES - 1))] for i in range(SLICES)]


def _ends(moments: Iterable[Histogram]) -> tuple[float, float] | None:
    """Return the range of outputs without a share `TAIL` at each end; None if none was finite."""
    bins = sorted(
        (moment.low + i * moment.width, moment.low + (i + 1) * moment.width, count)
        for moment in moments
        for i, count in enumerate(moment.counts)
        if count
    )
    sums = list(accumulate(count for *_, count in bins))
    if not sums:
        return None
    totals = list(zip(bins, sums, strict=True))
    low = next(left for (left, *_), total in totals if total > TAIL * sums[-1])
    high = next(right for (_, right, _), total in totals if total >= (1 - TAIL) * sums[-1])
    return low, high


def _domain(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the range of the axis: that of all sites, up to `REACH` times the median site's."""
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
    """Return the width of bins: a power of two, narrow enough for a site's range in the axis."""
    inside = 0.0 if end is None else min(end[1], high) - max(end[0], low)
    return float(2.0 ** math.floor(math.log2(max(inside, (high - low) / BINS) / BINS)))


def _outline(points: list[tuple[float, float]]) -> tuple[Numbers, Numbers]:
    """Return a line that begins and ends at height 0, also at an edge of the chart."""
    if not points:
        return (), ()
    ends = [(points[0][0], 0.0)] if points[0][1] else []
    ends_at = [(points[-1][0], 0.0)] if points[-1][1] else []
    x, height = zip(*ends, *points, *ends_at, strict=True)
    return x, height


def _bins(moment: Histogram, width: float) -> list[tuple[float, float]]:
    """Return centres and heights of bins of a width, a multiple of the histogram's."""
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


def units(sites: Sequence[Site]) -> list[Segment]:
    """Return each site's units, the flattest first, as blocks from 0 to 1."""
    blocks: list[Segment] = []
    for row, site in enumerate(sites):
        dead = {*site.unit.dead, *site.unit.recently_dead}
        kinds = [DEAD if i in dead else _kind(share) for i, share in enumerate(site.unit.flat)]
        start = 0
        for kind in (DEAD, *reversed(FLAT), NEVER):
            if count := kinds.count(kind):
                end = start + count
                blocks.append(Segment(row, start / site.units, end / site.units, kind, count))
                start = end
    return blocks


def _kind(share: float) -> str:
    if math.isnan(share):
        return NEVER
    return FLAT[min(int(share * len(FLAT)), len(FLAT) - 1)]


def deaths(diagnosis: Diagnosis, sites: Sequence[Site]) -> list[Segment]:
    """Return the steps of each site by the number of its units that were dead then.

    Empty for a site with one histogram only, or with so few inputs in each that units are flat on
    all of them by chance.
    """
    blocks: list[Segment] = []
    for row, site in enumerate(sites):
        moments = site.history
        each = site.inputs / max(len(moments), 1)
        if len(moments) < 2 or each < diagnosis.thresholds.inputs:
            continue
        starts = [*(moment.first_step for moment in moments), moments[-1].last_step + 1]
        for moment, (start, end) in zip(moments, pairwise(starts), strict=True):
            share = moment.dead / site.units
            kind = next(name for most, name in SHARES if share <= most)
            last = blocks[-1] if blocks else None
            if last is not None and (last.row, last.kind, last.count) == (row, kind, moment.dead):
                blocks[-1] = Segment(row, last.start, end, kind, moment.dead)
            else:
                blocks.append(Segment(row, start, end, kind, moment.dead))
    return blocks


def gradient_norms(sites: Sequence[Site]) -> list[GradientNorm]:
    """Return the recorded gradient norms with respect to outputs and inputs of each site."""
    return [
        GradientNorm(row, which, norm)
        for row, site in enumerate(sites)
        for which, norm in (("output", site.gradient_output), ("input", site.gradient_input))
        if norm is not None
    ]


def decades(gradients: Iterable[GradientNorm]) -> tuple[int, int] | None:
    """Return the powers of ten around all positive finite norms; None if there are none."""
    logs = [math.log10(g.norm) for g in gradients if 0 < g.norm < math.inf]
    if not logs:
        return None
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return low, max(high, low + 1)


def base(ridge: Ridge) -> float:
    """Return the base of a ridge in its row, from 0 at the top to 1; the last is the lowest."""
    return 0.92 if ridge.of == 1 else 0.45 + 0.47 * ridge.order / (ridge.of - 1)


def tall(ridge: Ridge) -> float:
    """Return the height of a ridge's peak, in rows."""
    return 0.85 if ridge.of == 1 else 0.43
