"""The same network trained with several activations, and what that shows."""

from __future__ import annotations

from html import escape
from shlex import join
from typing import Any

from softgate.runtime.records import Grid
from softgate.studies.compare.chart_data import styles
from softgate.studies.compare.record import Comparison

from ..chart import coloured
from ..comparison_charts import charts
from ..section import Found, Section
from ..table import of_grid

TITLE = "Training"


def section(found: Found) -> Section:
    """Return the section."""
    record = found.take("training", Comparison)
    specs: dict[str, Any] = {}
    figures = ""
    for number, condition in enumerate(record.conditions):
        for id, (spec, drawn) in charts(record, condition, f"training-{number}").items():
            specs[id] = spec
            figures += drawn
    said = "".join(f"<li>{escape(line)}</li>" for line in record.summary)
    tables = "".join(of_grid(grid, _caption(grid, record)) for grid in record.grids()[:-1])
    body = (
        f"<p>{_about(record)}Trained with {_arms(record)}, from the same weights and with the data "
        "in the same order at each seed, so that runs are compared seed by seed.</p>"
        f'<ul>{said}</ul><div class="charts">{figures}</div>{tables}{_more(record)}'
    )
    return Section("training", TITLE, body, specs)


def _about(record: Comparison) -> str:
    return f"{escape(record.about)}. " if record.about else ""


def _caption(grid: Grid, record: Comparison) -> str:
    """Return a table's title without what the section has said."""
    return grid.title.removesuffix(f"\n{record.about}")


def _more(record: Comparison) -> str:
    """Return how to go further."""
    command = join(["softgate", "compare", *record.arms, "--task", record.task, "--seeds", "8"])
    return (
        f"<p>Longer, with more seeds and tuned learning rates: <code>{escape(command)}</code></p>"
    )


def _arms(record: Comparison) -> str:
    """Return the arms with their colours: the legend of the charts."""
    drawn = styles(record)
    return ", ".join(
        f'<span class="nowrap">{coloured(drawn[arm].colour)}{escape(arm)}</span>'
        for arm in record.arms
    )
