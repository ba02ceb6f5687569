"""A certificate as one HTML page: tables, and charts of the error over the input.

The page loads nothing and runs no script. The horizontal axis is the number line in floats: steps
of a sixteenth of a binade where activations bend, of whole binades further out, so that tails, zero
and subnormals are all visible; the vertical one is the logarithm of the error in ulps.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from softgate.records.record import html_page
from softgate.records.text import escape

from ..accuracy.regions import NEAR, TAIL
from .text import ulps

if TYPE_CHECKING:
    from .record import Certificate, Measurement

WIDTH, HEIGHT, LEFT, TOP, BELOW = 960, 240, 56, 26, 34
LOW_ULP, HIGH_ULP = 1e-3, 1e9
TICKS = (1e-38, 1e-20, 1e-10, 1e-5, 0.01, 0.1, 1.0, 4.0, 10.0, 100.0, 1e5, 1e10, 1e20, 1e38)
LEGEND = (
    "Charts: the largest error of each step along the number line, in ulps. Red: NaN or inf where "
    "the truth is finite, or the other way round. Grey: no input was tried."
)
STYLE = """
:root { color-scheme: light dark; --bar: #2563a8; --bad: #b3261e; --line: #8888;
  --shade: #8881; }
@media (prefers-color-scheme: dark) { :root { --bar: #7fb0ea; --bad: #ff8a80; } }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 96em; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 2em 0 0.3em; }
p { max-width: 60em; margin: 0.3em 0; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12.5px; margin: 0.8em 0; }
caption { text-align: left; white-space: pre-line; padding: 0.3em 0; position: sticky; left: 0;
  max-width: min(60em, calc(100vw - 2em)); }
th, td { text-align: right; padding: 2px 10px 2px 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums; vertical-align: top; }
th:first-child { text-align: left; } th { font-weight: 600; } tbody th { font-weight: normal; }
svg { display: block; max-width: 100%; min-width: 760px; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
"""


def page(certificate: Certificate) -> str:
    """Return the whole page."""
    title = f"{certificate.subject} measured as {certificate.function}"
    grids = iter(certificate.grids())
    summary = next(grids)
    parts = [f"<div class=wide>{summary.html}</div>"]
    parts += [f"<p>{LEGEND}</p>"] if certificate.measurements else []
    for measurement in certificate.measurements:
        regions = next(grids)
        parts.append(_section(measurement) + f"<div class=wide>{regions.html}</div>")
    parts += [f"<div class=wide>{grid.html}</div>" for grid in grids]
    return html_page(title, f"<h1>Certificate</h1>{''.join(parts)}", STYLE)


def _section(measurement: Measurement) -> str:
    worst = measurement.worst
    heading = escape(f"{measurement.dtype} {measurement.quantity}")
    title = escape(
        f"At most {ulps(worst.max_ulp)} ulp, at {worst.worst!r}; {measurement.inputs:,} inputs"
        f"{', which are all' if measurement.exhaustive else ''}."
    )
    return f"<h2>{heading}</h2><p>{title}</p><div class=wide>{chart(measurement)}</div>"


def chart(measurement: Measurement) -> str:
    """Return the largest error of each step over the input, as an SVG."""
    steps = measurement.profile.max_ulp
    across = WIDTH / max(len(steps), 1)
    bars: dict[str, list[str]] = {"bar": [], "bad": []}
    for i, value in enumerate(steps):
        if value is not None:
            top, kind = _height(value), "bad" if math.isinf(value) else "bar"
            bars[kind].append(
                f"M{i * across:.1f} {HEIGHT}V{top:.1f}H{(i + 1) * across:.1f}V{HEIGHT}"
            )
    drawn = "".join(
        f'<path d="{"".join(parts)}" fill="var(--{kind})" shape-rendering="crispEdges"/>'
        for kind, parts in bars.items()
    )
    title = escape(f"Error in ulps over the input, {measurement.dtype} {measurement.quantity}")
    size = f'viewBox="0 0 {WIDTH + LEFT + 10} {HEIGHT + TOP + BELOW}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" {size} '
        f'width="{WIDTH + LEFT + 10}"><title>{title}</title>'
        f'<g transform="translate({LEFT} {TOP})">{_holes(steps, across)}{_scale(measurement)}'
        f"{drawn}{_borders(measurement, across)}{_numbers(measurement, across)}</g></svg>"
    )


def _height(value: float) -> float:
    """Return the y coordinate of an error; infinite errors are at the top."""
    if math.isinf(value):
        return 0.0
    bounded = min(max(value, LOW_ULP), HIGH_ULP)
    share = math.log(bounded / LOW_ULP) / math.log(HIGH_ULP / LOW_ULP)
    return HEIGHT - 1 - share * (HEIGHT - 13)


def _holes(steps: tuple[float | None, ...], across: float) -> str:
    """Return shaded steps where no input was tried."""
    return "".join(
        f'<rect x="{i * across:.1f}" y="0" width="{across:.1f}" height="{HEIGHT}" '
        f'fill="var(--shade)"/>'
        for i, value in enumerate(steps)
        if value is None
    )


def _scale(measurement: Measurement) -> str:
    """Return lines and numbers for the error, and the line of half an ulp."""
    parts = [_text(-6, 5, "inf", "end"), _text(-6, HEIGHT + 3, "≤10⁻³", "end")]
    for power in range(-1, 9, 2):
        down = _height(10.0**power)
        parts.append(
            f'<path d="M0 {down:.1f}H{WIDTH}" stroke="var(--line)" stroke-width="0.6"/>'
            + _text(-6, down + 4, _power(power), "end")
        )
    down = _height(0.5)
    parts.append(
        f'<path d="M0 {down:.1f}H{WIDTH}" stroke="currentColor" stroke-dasharray="5 4" '
        f'stroke-width="0.8"/>' + _text(WIDTH, down - 3, "½ ulp", "end")
    )
    if measurement.stated_ulp is not None:
        down = _height(measurement.stated_ulp)
        words = f"stated: {measurement.stated_ulp:g} ulp"
        parts.append(
            f'<path d="M0 {down:.1f}H{WIDTH}" stroke="var(--bad)" stroke-dasharray="2 3"/>'
            + _text(0, down - 3, words, "start")
        )
    return "".join(parts)


def _borders(measurement: Measurement, across: float) -> str:
    """Return the names of the regions over their parts of the axis, and lines between them."""
    edges = measurement.profile.edges
    cuts = [edges[0], -TAIL, -NEAR, NEAR, TAIL, edges[-1]]
    places = [_where(edges, cut) * across for cut in cuts]
    parts = [
        f'<path d="M{place:.1f} {-TOP + 4}V{HEIGHT}" stroke="currentColor" stroke-width="0.5" '
        f'stroke-dasharray="1 3"/>'
        for place in places[1:-1]
    ]
    names = ("left tail", "negative", "near zero", "positive", "right tail")
    parts += [
        _text((a + b) / 2, -TOP + 11, name, "middle")
        for name, a, b in zip(names, places, places[1:], strict=False)
    ]
    return "".join(parts)


def _numbers(measurement: Measurement, across: float) -> str:
    """Return the axis of inputs with as many numbers as fit, 0 and ±1 first."""
    edges = measurement.profile.edges
    places = [0.0] + [sign * tick for tick in (1.0, 10.0, *TICKS) for sign in (1.0, -1.0)]
    taken: list[float] = []
    parts = [f'<path d="M0 {HEIGHT}H{WIDTH}" stroke="currentColor"/>']
    for place in dict.fromkeys(places):
        if not edges[0] <= place <= edges[-1]:
            continue
        left = _where(edges, place) * across
        if any(abs(left - other) < 40 for other in taken):
            continue
        taken.append(left)
        parts.append(
            f'<path d="M{left:.1f} {HEIGHT}v5" stroke="currentColor"/>'
            + _text(left, HEIGHT + 17, _shown(place), "middle")
        )
    parts.append(_text(WIDTH, HEIGHT + 31, "input", "end"))
    return "".join(parts)


def _where(edges: tuple[float, ...], place: float) -> float:
    """Return the position of a number on the axis, in steps."""
    i = min(max(bisect_left(edges, place), 1), len(edges) - 1)
    low, high = edges[i - 1], edges[i]
    return i - 1 + (place - low) / (high - low)


def _shown(place: float) -> str:
    if place == 0 or 0.01 <= abs(place) <= 1000:
        return f"{place:g}".replace("-", "−")
    sign = "−" if place < 0 else ""
    return sign + _power(round(math.log10(abs(place))))


def _power(exponent: int) -> str:
    digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return "1" if exponent == 0 else f"10{digits}"


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
