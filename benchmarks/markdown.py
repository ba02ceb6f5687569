"""The shares of torch's time as a Markdown table, for the README and the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from cells import DTYPES, Row


def shares(rows: Sequence[Row], peer: str = "torch") -> str:
    """Return a table of ours over the peer's time: value / backward, a column for each format."""
    by_cell = {
        (row.cell.activation, row.cell.dtype, row.cell.quantity): row
        for row in rows
        if (row.cell.size, row.cell.threads) == ("1M", "1")
    }
    dtypes = [name for name in DTYPES if any(name == dtype for _, dtype, _ in by_cell)]
    lines = [f"| time / {peer}'s | " + " | ".join(dtypes) + " |"]
    lines.append("| --- |" + " --- |" * len(dtypes))
    for activation in dict.fromkeys(name for name, _, _ in by_cell):
        cells = [_cell(by_cell, activation, dtype, peer) for dtype in dtypes]
        lines.append(f"| {activation} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(by_cell: dict[tuple[str, str, str], Row], activation: str, dtype: str, peer: str) -> str:
    parts = []
    for quantity in ("value", "backward"):
        row = by_cell.get((activation, dtype, quantity))
        ratio = row.ratio("ours", peer) if row else None
        parts.append("–" if ratio is None else f"{ratio:.2f}")
    return " / ".join(parts)
