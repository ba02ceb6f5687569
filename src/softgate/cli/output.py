"""How every command prints a record: for a terminal, for a pipe, as CSV or as JSON.

In a terminal a grid wider than the window is cut between columns, the labels repeated, so that no
line wraps. A pipe gets all columns as plain aligned text, without colour and without cuts.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from softgate.runtime.records import Grid, Record


def formats(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `--json` and `--csv`, as `as_json` and `as_csv`."""
    command = click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")(command)


def check_formats(as_json: bool, as_csv: bool) -> None:
    """Refuse two formats at once, before anything is computed."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv are two formats: give one.")


def emit(record: Record, as_json: bool = False, as_csv: bool = False) -> None:
    """Print a record on stdout in the format asked for."""
    check_formats(as_json, as_csv)
    if as_json:
        click.echo(record.to_json(indent=2))
    elif as_csv:
        header, rows = record.table()
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
    else:
        show(record.grids())


def show(grids: Iterable[Grid]) -> None:
    """Print grids: cut to the window in a terminal, else whole."""
    if not sys.stdout.isatty():
        click.echo("\n\n".join(map(str, grids)))
        return
    from rich.console import Console

    console = Console(highlight=False, width=get_terminal_size().columns)
    for i, grid in enumerate(grids):
        for k, part in enumerate(cut(grid, console.width)):
            if i or k:
                console.print()
            console.print(styled(part), soft_wrap=True)


def cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the grid in parts of whole columns that fit into `width`, the labels in each."""
    cells = (grid.header, *grid.rows)
    again = replace(grid, title=grid.title.partition("\n")[0])
    widths = [max(len(line) for row in cells for line in row[i].split("\n"))
              for i in range(len(grid.header))]  # fmt: skip
    labels = tuple(range(grid.labels))
    taken = labels
    for i in range(grid.labels, len(grid.header)):
        wide = sum(widths[k] + 2 for k in (*taken, i)) - 2 > width
        if wide and taken != labels:
            yield _pick(grid, taken)
            grid, taken = again, labels
        taken = (*taken, i)
    yield _pick(grid, taken)


def _pick(grid: Grid, columns: tuple[int, ...]) -> Grid:
    header, *rows = (tuple(row[i] for i in columns) for row in (grid.header, *grid.rows))
    return replace(grid, header=header, rows=tuple(rows))


def styled(grid: Grid) -> Any:
    """Return a grid's text, what heads it set apart."""
    from rich.text import Text

    lines = str(grid).split("\n")
    rule = next(i for i, line in enumerate(lines) if line and not line.strip("- "))
    text = Text("\n".join(lines[:rule]), style="bold")
    text.append("\n" + lines[rule], style="dim not bold")
    return text.append("\n" + "\n".join(lines[rule + 1 :]), style="not bold")
