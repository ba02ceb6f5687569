"""Output of the commands: records for a terminal or a pipe, as CSV or as JSON, and files.

In a terminal, or if COLUMNS is set, a grid wider than the window is split between columns, with
its labels repeated, so that no line wraps. A pipe gets all columns as plain aligned text.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, Self

import click

from softgate.records.text import CONTROL, visible

if TYPE_CHECKING:
    from softgate.records.record import Grid, Record


Format = Literal["text", "json", "csv"]
NARROWEST = 16
"""The least width of a column whose cells are wrapped."""


def formats(
    *extensions: str, charts: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds `--json`, `--csv` and `-o` to a command.

    With `charts`, pictures are charts of a record, for which vl-convert must be installed. The
    command receives the format of stdout as `form` and the files to write as `output`. Both
    formats together and a file that cannot be written are usage errors before it runs.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def formatted(*, as_json: bool, as_csv: bool, output: tuple[str, ...], **rest: Any) -> Any:
            if as_json and as_csv:
                raise click.UsageError("--json and --csv exclude each other: pass one of them.")
            form = "json" if as_json else "csv" if as_csv else "text"
            return command(**rest, form=form, output=checked_files(output, extensions, charts))

        as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV.")
        as_json = click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
        return output_option(*extensions)(as_json(as_csv(formatted)))

    return decorate


def output_option(*extensions: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option `-o`, which may be repeated; the extension selects the format."""
    known = ", ".join(f".{kind}" for kind in extensions)
    return click.option(
        "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", multiple=True,
        help=f"Write a file, in the format of its extension: {known}. May be repeated.",
    )  # fmt: skip


def checked_files(
    files: Iterable[str], extensions: Iterable[str], charts: bool = True
) -> tuple[Path, ...]:
    """Return the paths of output files; raise if one has another extension or cannot be written.

    Called before anything is computed. For the picture of a chart, vl-convert must be installed.
    """
    from softgate.records.files import PICTURES, check_writable, file_format, output_path

    paths = tuple(output_path(file, extensions, "-o") for file in files)
    if charts and any(file_format(path) in PICTURES for path in paths):
        from softgate.plotting.vega import library

        library()
    for path in paths:
        check_writable(path)
    return paths


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text without control characters, which names and messages of users may contain."""
    click.echo(visible(text), err=err, nl=nl)


def emit(record: Record, form: Format = "text", output: Iterable[Path] = ()) -> None:
    """Write a record to files, then print it on stdout: as JSON, as CSV, or as text.

    It is printed even if a file cannot be written.
    """
    try:
        save(record, output)
    finally:
        _print(record, form)


def _print(record: Record, form: Format) -> None:
    if form == "json":
        echo_json(record.to_dict())
    elif form == "csv":
        echo(record.to_csv(), nl=False)
    else:
        show(record.grids())


def echo_json(content: Mapping[str, Any]) -> None:
    """Print JSON, with escapes for control characters and if stdout is not UTF-8."""
    utf8 = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(content, indent=2, ensure_ascii=not utf8, allow_nan=False)
    click.echo(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def save(record: Record, output: Iterable[Path]) -> None:
    """Write a record to files, and print their names on stderr."""
    for path in output:
        record.save(path)
        echo(f"Wrote {path}", err=True)


def window_width() -> int | None:
    """Return the width of lines: a terminal's or COLUMNS; None in a pipe, for whole tables."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return get_terminal_size().columns
    return None


def echo_wrapped(text: str, *, err: bool = False) -> None:
    """Print a text, each line wrapped to the width of the window."""
    echo("\n".join(wrap_lines(text, window_width())), err=err)


def show(grids: Iterable[Grid]) -> None:
    """Print grids: split and wrapped to the width of the window, or whole in a pipe."""
    width = window_width()
    parts = [
        part if width is None else wrapped(part, width)
        for grid in grids
        for part in ([grid] if width is None or fits_wrapped(grid, width) else cut(grid, width))
    ]
    if not sys.stdout.isatty():
        echo("\n\n".join(map(str, parts)))
        return
    from rich.console import Console

    console = Console(highlight=False, width=width)
    for i, part in enumerate(parts):
        if i:
            console.print()
        console.print(styled(part), soft_wrap=True)


def wrap_lines(text: str, width: int | None) -> list[str]:
    """Return the lines of a text, no longer than `width` where spaces allow it."""
    if width is None:
        return text.split("\n")
    return [
        part
        for line in text.split("\n")
        for part in wrap(
            line, width, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            break_long_words=False, break_on_hyphens=False,
        ) or [""]
    ]  # fmt: skip


def fits_wrapped(grid: Grid, width: int) -> bool:
    """Return whether a grid of text fits into `width` if its wide columns are wrapped."""
    widths = column_widths(grid)
    least = sum(min(column, NARROWEST) for column in widths)
    return grid.text and least + 2 * (len(widths) - 1) <= width


def wrapped(grid: Grid, width: int) -> Grid:
    """Return a grid with its texts, and the cells of its widest columns, wrapped to `width`."""
    title, closing = ("\n".join(wrap_lines(text, width)) for text in (grid.title, grid.closing))
    widths = column_widths(grid)
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    header, *rows = (
        tuple("\n".join(_wrap_cell(cell, widths[i])) for i, cell in enumerate(row))
        for row in (grid.header, *grid.rows)
    )
    return replace(grid, title=title, header=header, rows=tuple(rows), closing=closing)


def _wrap_cell(text: str, width: int) -> list[str]:
    """Return the lines of a cell: broken at spaces, after the separators of a path, or anywhere."""
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        current = ""
        for piece in re.findall(r"\s+|\S+?(?:[/(]|\.(?!\d)|(?=\s)|$)", line):
            if current.strip() and len(current) + len(piece.rstrip()) > width:
                lines.append(current.rstrip())
                current = indent
            current += piece.lstrip() if current == indent else piece
            while len(current.rstrip()) > width:
                lines.append(current[:width])
                current = indent + current[width:]
        lines.append(current.rstrip())
    return lines


def column_widths(grid: Grid) -> list[int]:
    """Return the width of each column."""
    cells = (grid.header, *grid.rows)
    return [
        max(len(line) for row in cells for line in row[i].split("\n"))
        for i in range(len(grid.header))
    ]


def cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the grid in parts of whole columns that fit into `width`, each with the labels."""
    again = replace(grid, title="")
    widths = column_widths(grid)
    labels = tuple(range(grid.labels))
    taken = labels
    for i in range(grid.labels, len(grid.header)):
        wide = sum(widths[k] + 2 for k in (*taken, i)) - 2 > width
        if wide and taken != labels:
            yield replace(_pick(grid, taken), closing="")
            grid, taken = again, labels
        taken = (*taken, i)
    yield _pick(grid, taken)


def _pick(grid: Grid, columns: tuple[int, ...]) -> Grid:
    header, *rows = (tuple(row[i] for i in columns) for row in (grid.header, *grid.rows))
    return replace(grid, header=header, rows=tuple(rows))


def styled(grid: Grid) -> Any:
    """Return a grid as rich text, with its title and header in bold."""
    from rich.text import Text

    lines = str(grid).split("\n")
    rule = next(i for i, line in enumerate(lines) if line and not line.strip("- "))
    text = Text("\n".join(lines[:rule]), style="bold")
    text.append("\n" + lines[rule], style="dim not bold")
    return text.append("\n" + "\n".join(lines[rule + 1 :]), style="not bold")


class ProgressLine:
    """Progress on stderr: in a terminal one line, redrawn in place; in a pipe a line now and then.

    Parameters
    ----------
    redraw_s, print_s : float
        Least seconds between two updates in a terminal, and between two lines in a pipe.
    """

    def __init__(self, redraw_s: float = 0.0, print_s: float = 5.0) -> None:
        self.terminal = sys.stderr.isatty()
        self.start, self._shown = time.monotonic(), float("-inf")
        self._interval_s = redraw_s if self.terminal else print_s

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show the running step, how many steps are done, and the seconds so far."""
        self.show(f"[{done}/{total}] {time.monotonic() - self.start:.0f} s  {label}")

    def show(self, text: str, *, now: bool = False) -> None:
        """Show a text; without `now`, only if the interval since the last one has passed."""
        elapsed = time.monotonic()
        if not now and elapsed - self._shown < self._interval_s:
            return
        self._shown = elapsed
        if self.terminal:
            width = get_terminal_size().columns - 1
            click.echo(f"\r\033[K{visible(text, one_line=True)[:width]}", nl=False, err=True)
        else:
            echo(text, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line from a terminal."""
        if self.terminal:
            click.echo("\r\033[K", nl=False, err=True)
