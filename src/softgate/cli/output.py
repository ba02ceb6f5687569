"""Output of the commands: records for a terminal or a pipe, as CSV or as JSON, and picture files.

In a terminal a grid wider than the window is split between columns, with its labels repeated, so
that no line wraps. A pipe gets all columns as plain aligned text, without colour.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Literal, Self

import click

if TYPE_CHECKING:
    from softgate.runtime.records import Grid, Record


Format = Literal["text", "json", "csv"]


def formats(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `--json` and `--csv` to a command; its argument `form` is the format.

    Both options together are a usage error, raised before anything is computed.
    """

    @wraps(command)
    def formatted(*, as_json: bool, as_csv: bool, **arguments: Any) -> Any:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv are two formats: give one.")
        return command(**arguments, form="json" if as_json else "csv" if as_csv else "text")

    formatted = click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV.")(
        formatted
    )
    return click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")(
        formatted
    )


def picture_file(option: str, file: str) -> Path:
    """Return the path of a picture; raise if it cannot be written or vl-convert is missing."""
    from softgate.plotting.plot_spec import file_format
    from softgate.plotting.vega import library

    file_format(Path(file))
    library()
    return writable_file(option, file)


def writable_file(option: str, file: str) -> Path:
    """Return the path of a file; raise a usage error if it cannot be written.

    The file is opened before anything is computed, since os.access misses some reasons.
    """
    path = Path(file)
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{option} {file}: there is no folder {path.parent}.")
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.UsageError(
            f"{option} {path}: it cannot be written ({error.strerror}); name another file."
        ) from None
    if not existed:
        path.unlink()
    return path


def emit(record: Record, form: Format = "text") -> None:
    """Print a record on stdout: as JSON, as CSV, or as text."""
    if form == "json":
        click.echo(record.to_json(indent=2))
    elif form == "csv":
        header, rows = record.table()
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
    else:
        show(record.grids())


def show(grids: Iterable[Grid]) -> None:
    """Print grids: split to the width of a terminal, or whole in a pipe."""
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
    """Yield the grid in parts of whole columns that fit into `width`, each with the labels."""
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
    """Return a grid as rich text, with its heading in bold."""
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
        """Show a text, unless the last one was shown a moment ago and this one may wait."""
        elapsed = time.monotonic()
        if not now and elapsed - self._shown < self._interval_s:
            return
        self._shown = elapsed
        if self.terminal:
            width = get_terminal_size().columns - 1
            click.echo(f"\r\033[K{text[:width]}", nl=False, err=True)
        else:
            click.echo(text, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line from a terminal."""
        if self.terminal:
            click.echo("\r\033[K", nl=False, err=True)
