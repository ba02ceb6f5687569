"""Units that die, trap or saturate: a network watched while it learns, or the reader's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from re import sub
from typing import Any

from softgate.studies.diagnose import chart_data, text
from softgate.studies.diagnose.record import Diagnosis, Finding
from softgate.studies.diagnose.what_if import WhatIf

from ..diagnosis_charts import charts, legend
from ..section import Found, Section
from ..studies.units import UnitStudy, Watched
from ..table import notes, of_grid

TITLE = "Units"
SAID = 3
"""Findings of one kind that are told; the others are counted."""
LONG = 16
"""A table with more rows than this is folded."""


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("units", UnitStudy)
    specs: dict[str, Any] = {}
    figures: dict[str, str] = {}
    all_seen = [one.seen for one in record.watched]
    for number, one in enumerate(record.watched):
        for id, (spec, drawn) in charts(one.seen, f"units-{number}", one.title, all_seen).items():
            specs[id], figures[id] = spec, drawn
    body = (
        f"<p>{_coded(record.about)}</p>"
        + notes(record.notes)
        + "".join(_words(one) for one in record.watched)
        + (_pictures(record, figures) if figures else "")
        + "".join(_table(one) for one in record.watched if one.seen.sites)
        + _exchanged(record.exchanged)
    )
    return Section("units", TITLE, body, specs)


def _pictures(record: UnitStudy, figures: Mapping[str, str]) -> str:
    drawn = "".join(figures[id] for id in sorted(figures, key=_place))
    return (
        f"<h3>By site</h3><p>{escape(_legend(record))}</p>{legend(_kinds(record))}"
        f'<div class="charts">{drawn}</div>'
    )


def _place(id: str) -> tuple[int, int]:
    """Return where a figure stands: the same picture of two networks side by side."""
    _, number, kind = id.split("-")
    return ["outputs", "units", "deaths", "gradients"].index(kind), int(number)


def _kinds(record: UnitStudy) -> set[str]:
    """Return which shades there are."""
    found: set[str] = set()
    for one in record.watched:
        sites = chart_data.rows(one.seen)
        blocks = chart_data.units(sites) + chart_data.deaths(one.seen, sites)
        found |= {block.kind for block in blocks}
    return found


def _legend(record: UnitStudy) -> str:
    """Return how to read the charts, and what does not fit on their axes."""
    flat = record.watched[0].seen.thresholds.flat
    legend_text = (
        "Sites stand in rows, the first one called on top. Outputs: the height is the root of "
        "their density, to its own peak; the first steps stand behind and are pale. A unit is "
        f"flat where its slope is below {flat:g}, up or down, and dead where it is so on every "
        "input, or on every one of the last quarter of the steps."
    )
    for one in record.watched:
        sites = chart_data.rows(one.seen)
        for more in (
            text.reaching(chart_data.ridges(one.seen)),
            text.silent(chart_data.names(sites), chart_data.flows(sites)),
        ):
            legend_text += f" {one.title}: {more}" if more else ""
    return legend_text


def _words(one: Watched) -> str:
    """Return what was found, in text."""
    head = f"<h3>{escape(one.title)}: {escape(_summary(one))}</h3>"
    if not one.seen.findings:
        return head
    return head + f"<ul>{''.join(_findings(one.seen.findings))}</ul>"


def _summary(one: Watched) -> str:
    kinds = list(dict.fromkeys(finding.kind for finding in one.seen.findings))
    found = f"found: {', '.join(kinds)}" if kinds else "nothing found"
    right = "" if one.right is None else f", {100 * one.right:.1f} % right on what was held back"
    return f"{text.counted(len(one.seen.sites), 'site')}, {found}{right}"


def _findings(findings: Iterable[Finding]) -> Iterable[str]:
    """Yield findings of one kind and one advice together, so that a deep network is not a wall."""
    for advice, group in groupby(findings, key=lambda finding: finding.advice):
        some = list(group)
        texts = "".join(f"{_coded(finding.text)}.<br>" for finding in some[:SAID])
        more = len(some) - SAID
        rest = f"And {text.counted(more, 'site')} more.<br>" if more > 0 else ""
        yield f"<li>{texts}{rest}→ {_coded(advice)}.</li>"


def _coded(text: str) -> str:
    """Return text for HTML, what stands in `…` set as code."""
    return sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _table(one: Watched) -> str:
    drawn = of_grid(_sites(one.seen), f"{one.title}: sites, {_flow(one.seen)}")
    if len(one.seen.sites) <= LONG:
        return drawn
    folded = f"{text.counted(len(one.seen.sites), 'site')} in numbers"
    return f"<details><summary>{escape(folded)}</summary>{drawn}</details>"


def _sites(seen: Diagnosis) -> Any:
    return seen.grids()[0]


def _flow(seen: Diagnosis) -> str:
    ratio = seen.gradient_ratio
    of = f" (of {seen.loss})" if seen.loss else ""
    flow = "" if ratio is None else f", gradient first/last {ratio:.3g}{of}"
    return f"{seen.looked_at:,} of {seen.steps:,} steps looked at{flow}"


def _exchanged(found: Iterable[WhatIf]) -> str:
    """Return what other activations would do, untrained: outputs first, then deaths."""
    tables = ""
    for one in found:
        (grid,) = one.grids()
        drawn = of_grid(grid)
        if len(one.sites) > LONG:
            said = escape(grid.title)
            drawn = f"<p>{said}</p><details><summary>By site</summary>{drawn}</details>"
        tables += drawn
    if not tables:
        return ""
    return (
        "<h3>What if it had another activation, without training?</h3><p>Two things happen: the "
        "layers behind get what they were not trained for, which shows at once in outputs and "
        "loss, and units may be dead, which shows only in further training.</p>" + tables
    )
