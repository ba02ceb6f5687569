"""The bars: ratios of times that must stay below a number. They bind at 1M elements, one thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cells import DTYPES, Cell, Row

F32, F64, HALF = ("float32",), ("float64",), ("float16", "bfloat16")

# Activations, formats, then value's and backward's time as a share of torch's.
SHARES_OF_TORCH: tuple[tuple[tuple[str, ...], tuple[str, ...], float, float | None], ...] = (
    (("gelu",), F32, 0.80, 0.75),
    (("gelu_tanh",), F32, 0.30, 0.42),
    (("silu",), F32, 0.55, 0.75),
    (("elu",), F32, 0.20, 0.40),
    (("softplus",), F32, 0.30, 0.40),
    (("mish",), F32, 0.15, 0.40),
    # torch's backward of these two is handed the output and skips the work: see `OF_VALUE`.
    (("sigmoid",), F32, 0.65, None),
    (("tanh",), F32, 0.20, None),
    (("gelu",), F64, 0.40, 0.40),
    (("gelu", "gelu_tanh", "tanh", "elu", "mish"), HALF, 0.45, 0.45),
    (("silu", "sigmoid"), HALF, 0.75, 0.75),
    (("relu", "leaky_relu"), DTYPES, 1.10, 1.10),
    (("relu6", "hard_tanh", "hard_sigmoid", "softshrink", "hardshrink"), DTYPES, 1.10, 1.10),
    (("hard_swish",), (*F32, *F64), 1.10, 1.10),
    (("squared_relu", "softsign", "squareplus"), (*F32, *F64), 0.90, 0.90),
    (("celu",), F32, 0.20, 0.40),
    (("selu",), F32, 0.30, 0.50),
    (("celu", "selu"), HALF, 0.45, 0.45),
    # torch's backward of these two is handed what the value computed.
    (("log_sigmoid", "tanhshrink"), (*F32, *HALF), 0.35, None),
)

OF_VALUE = {("sigmoid", "float32"): 1.3, ("tanh", "float32"): 1.3}
"""Backward's time as a multiple of the value's, of our own kernels."""

OF_JAX_FLOAT32 = 1.10
"""No float32 cell may be slower than jax.jit by more than this."""

CANCELS_IN_JAX = ("squareplus", "tanhshrink")
"""x + sqrt(x² + 4) and x - tanh(x) as they stand: quick, and without a digit left where x is far
to the left, or near 0. Who computes less is not held against us."""

OF_RANDN = 1.30
"""The mix of special values as a multiple of randn, ours, all formats."""

_SHARES = {
    (activation, dtype, quantity): share
    for activations, dtypes, value, backward in SHARES_OF_TORCH
    for activation in activations
    for dtype in dtypes
    for quantity, share in (("value", value), ("backward", backward))
    if share is not None
}


@dataclass(frozen=True)
class Verdict:
    """One bar on one cell."""

    cell: Cell
    against: str
    limit: float
    measured: float
    aside: str = ""

    @property
    def holds(self) -> bool:
        return self.measured <= self.limit

    def __str__(self) -> str:
        text = f"{self.cell}: {self.measured:.2f} x {self.against}, bar {self.limit:.2f}"
        return f"{text} ({self.aside})" if self.aside else text


def binds(cell: Cell) -> bool:
    """Tell whether bars apply; elsewhere ratios are only reported."""
    return cell.size == "1M" and cell.threads == "1"


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Hold every bar against what was measured; where a time is missing there is no verdict."""
    by_cell = {row.cell: row for row in rows}
    return [
        Verdict(row.cell, against, limit, measured, aside)
        for row in rows
        if binds(row.cell)
        for against, limit, measured, aside in _bars(row, by_cell)
        if measured is not None
    ]


def _bars(row: Row, by_cell: dict[Cell, Row]) -> Iterator[tuple[str, float, float | None, str]]:
    """Yield what a row is held against, the limit, what was measured and what to say beside it."""
    cell = row.cell
    share = _SHARES.get((cell.activation, cell.dtype, cell.quantity))
    if share is not None:
        from_x = row.ratio("ours", "torch from x")
        aside = f"{from_x:.2f} x torch from x" if from_x else ""
        yield "torch", share, row.ratio("ours", "torch"), aside
    of_value = OF_VALUE.get((cell.activation, cell.dtype))
    if of_value is not None and cell.quantity == "backward":
        yield "value", of_value, backward_of_value(row, by_cell), ""
    if cell.dtype == "float32" and cell.activation not in CANCELS_IN_JAX:
        yield "jax", OF_JAX_FLOAT32, row.ratio("ours", "jax"), ""
    torchs = row.ratio("torch special", "torch")
    aside = f"torch's own: {torchs:.2f}" if torchs else ""
    yield "randn", OF_RANDN, row.ratio("ours special", "ours"), aside


def backward_of_value(row: Row, by_cell: dict[Cell, Row]) -> float | None:
    """Return our backward's time as a multiple of our value's in the same setting."""
    cell = row.cell
    value = by_cell.get(Cell(cell.activation, "value", cell.dtype, cell.size, cell.threads))
    ours, base = row.ns("ours"), value.ns("ours") if value else None
    return ours / base if ours is not None and base else None
