"""Tables that the site inserts into pages of docs/, where a page has `<!-- insert NAME -->`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import markdown_tables

import softgate as sg
from softgate.runtime.name_table import Names

FAMILY = ("gelu", "gelu_tanh", "gelu_sigmoid", "gelu_10")
CHOICES = ("relu", "leaky_relu", "elu", "tanh", "gelu", "gelu_tanh", "silu", "mish", "softplus")
LAYER = "In a feed-forward layer, one thread"
INSERT = re.compile(r"<!-- insert (\w+) -->")


def names_matrix() -> str:
    """Return what each library calls the functions of the GELU family."""
    records = [
        name
        for name in sg.names()
        if name.function in FAMILY or any(function in FAMILY for _, function in name.switches)
    ]
    grid = Names(tuple(records)).matrix()[0]
    columns = [row for row in grid.rows if row[0].split("\n")[0] in FAMILY]
    rows = [
        (library, *("<br>".join(map(_code, column[i].split("\n"))) for column in columns))
        for i, library in enumerate(grid.header)
    ]
    return table(("library", *(column[0].split("\n")[0] for column in columns)), rows)


def choosing() -> str:
    """Return the properties that matter for a choice, with times from docs/speed.md."""
    times = {row["function"]: row for row in markdown_tables.rows("speed.md", "float32", "value")}
    header = ("function", "smooth", "monotone", "slope < 0", "flat", "mean", "gain", "ns", "× relu")
    rows = []
    for name in CHOICES:
        p = sg.activations()[name].properties
        shares = (f"{share or 0:.1%}" for share in (p.negative_slope_share, p.small_slope_share))
        timed = times.get(name, {})
        ns, ratio = timed.get("softgate", "–"), timed.get("x relu", "–")
        rows.append(
            (f"[{name}](gallery.md)", p.smoothness, p.monotone, *shares, f"{p.mean:.3f}",
             f"{p.gain:.3f}", ns, ratio)
        )  # fmt: skip
    return table(header, rows)


def layer_share() -> str:
    """Return the activation's share of a training step."""
    rows = markdown_tables.rows("speed.md", LAYER, "Feed-forward layer, training step")
    columns = ("activation", "in", "layer ms", "activation ms", "share")
    return table(columns, ([row[column] for column in columns] for row in rows))


def memory() -> str:
    """Return the bytes that a layer keeps for its backward pass."""
    rows = markdown_tables.rows("speed.md", LAYER, "Memory and arithmetic")
    columns = ("activation", "in", "hidden", "saved for backward")
    return table(columns, ([row[column] for column in columns] for row in rows))


TABLES: dict[str, Callable[[], str]] = {
    "choosing": choosing,
    "layer_share": layer_share,
    "memory": memory,
    "names_matrix": names_matrix,
}


def inserted(text: str) -> str:
    """Return a page with its tables; raise ValueError for the name of an unknown table."""

    def content(match: re.Match[str]) -> str:
        if match[1] not in TABLES:
            raise ValueError(f"no table {match[1]!r}: choose from {', '.join(TABLES)}")
        return TABLES[match[1]]()

    return INSERT.sub(content, text)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as Markdown."""
    lines = [list(header)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
