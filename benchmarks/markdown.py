"""The shares of torch's time as a Markdown table, for the README and the documentation."""

from __future__ import annotations

from bars import binds

from softgate.studies.bench.inputs import DTYPES
from softgate.studies.bench.record import Bench, Row


def shares(bench: Bench, peer: str = "torch") -> str:
    """Return a table of ours over the peer's time: value / backward, a column for each format."""
    ours = {(row.function, row.dtype, row.quantity): row for row in bench if binds(row)}
    theirs = {
        (row.function, row.setting): row.least_ns for row in bench if row.implementation == peer
    }
    dtypes = [name for name in DTYPES if any(name == dtype for _, dtype, _ in ours)]
    lines = [f"| time / {peer}'s | " + " | ".join(dtypes) + " |"]
    lines.append("| --- |" + " --- |" * len(dtypes))
    for function in dict.fromkeys(name for name, _, _ in ours):
        cells = [
            " / ".join(
                _cell(ours.get((function, dtype, quantity)), theirs)
                for quantity in ("value", "backward")
            )
            for dtype in dtypes
        ]
        if any(part != "– / –" for part in cells):
            lines.append(f"| {function} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: Row | None, theirs: dict[tuple[str, object], float | None]) -> str:
    under = theirs.get((row.function, row.setting)) if row else None
    return f"{row.least_ns / under:.2f}" if row and row.least_ns and under else "–"
