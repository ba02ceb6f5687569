"""The tables of a comparison: scores, differences with verdicts, and how rates were chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..machine import in_bytes
from ..records import Grid
from .difference import Difference
from .numerals import NONE, counted, probability

if TYPE_CHECKING:
    from .record import Comparison
    from .summary import Summary


def summary_grid(record: Comparison) -> Grid:
    """Return a row for each arm under each condition."""
    columns = ["arm", "mean", *_kinds(record, [one.interval for one in record.summaries])]
    columns += ["sd", "median"]
    if any(one.finished < one.runs for one in record.summaries):
        columns.append("finished")
    columns += ["lr", "dead", "gradient", "step ms", "× step", "memory", "parameters"]
    if len({one.flops for one in record.summaries}) > 1:
        columns.append("FLOPs")
    header, labels = _headed(record, columns)
    rows = tuple(_summary_row(one, record, header) for one in record.summaries)
    side = "more" if record.measure.higher else "less"
    seeds = counted(len(record.seeds), "seed")
    title = f"{record.task}: {record.numerals.name} ({side} is better), {seeds}"
    if record.about:
        title += f"\n{record.about}"
    return Grid(title, header, rows, labels=labels)
