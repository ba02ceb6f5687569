"""Training: a network learns digits with a few activations, an example of `softgate compare`.

It takes seconds: few epochs, five seeds, one learning rate. Five seeds are too few to show a
difference, which the record's summary states; `softgate compare` with eight seeds can.
"""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any

from softgate.records.text import escape
from softgate.studies import Progress
from softgate.studies.compare.chart_data import styles
from softgate.studies.compare.plots import panels
from softgate.studies.compare.record import Comparison
from softgate.studies.compare.trial import DEFAULT_ACTIVATIONS as ARMS

from ..elements import Results, Section, coloured, figure, of_grid

if TYPE_CHECKING:
    from softgate.studies.compare.run import Update

TITLE = "Training"
SEEDS, EPOCHS, RATE = 5, 10, 1e-3


def training(progress: Progress | None = None) -> Comparison:
    """Train the network of the task digits with each activation and return the comparison."""
    from softgate.studies.compare.request import ComparisonRequest

    request = ComparisonRequest(
        "digits", activations=ARMS, seeds=SEEDS, lr=RATE, settings={"epochs": EPOCHS}
    )

    def report(update: Update) -> None:
        if progress is not None:
            progress("run", update.event.done, update.event.total)

    return request.plan().run(progress=report)


def section(results: Results) -> Section:
    """Return the comparison: summary, charts and tables."""
    record = results.take("training", Comparison)
    specs: dict[str, Any] = {}
    figures = ""
    for number, condition in enumerate(record.conditions):
        for name, panel in panels(record, condition).items():
            id = f"training-{number}-{name}"
            specs[id] = panel.spec
            figures += figure(id, panel.caption, panel.alternative, panel.spec)
    summary = "".join(f"<li>{escape(line)}</li>" for line in record.summary)
    tables = "".join(
        of_grid(grid, grid.title.removesuffix(f"\n{record.about}"))  # which the section starts with
        for grid in record.grids()[:-1]
    )
    about = f"{escape(record.about)}. " if record.about else ""
    body = (
        f"<p>{about}Trained with {_legend(record)}. For each seed, all activations start from the "
        "same weights and see the data in the same order, so that runs are compared seed by "
        "seed.</p>"
        f'<ul>{summary}</ul><div class="charts">{figures}</div>{tables}{_more(record)}'
    )
    return Section("training", TITLE, body, specs)


def _more(record: Comparison) -> str:
    """Return the command of a larger comparison."""
    command = join(["softgate", "compare", *record.arms, "--task", record.task, "--seeds", "8"])
    lead = "Longer runs, with more seeds and tuned learning rates"
    return f"<p>{lead}: <code>{escape(command)}</code></p>"


def _legend(record: Comparison) -> str:
    """Return the activations with their colours."""
    drawn = styles(record)
    return ", ".join(
        f'<span class="nowrap">{coloured(drawn[arm].colour)}{escape(arm)}</span>'
        for arm in record.arms
    )
