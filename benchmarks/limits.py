"""Limits on ratios of times, checked at 1M elements on one thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softgate.studies.bench.inputs import DTYPES
from softgate.studies.bench.record import OURS, Bench, BenchRow

F32, F64, HALF = ("float32",), ("float64",), ("float16", "bfloat16")

# Activations, formats, then value's and backward's time as a share of torch's.
SHARES_OF_TORCH: tuple[tuple[tuple[str, ...], tuple[str, ...], float, float | None], ...] = (
    (("gelu",), F32, 0.80, 0.75),
    (("gelu_tanh",), F32, 0.30, 0.42),
    (("silu",), F32, 0.55, 0.75),
    (("elu",), F32, 0.20, 0.40),
    (("softplus",), F32, 0.30, 0.40),
    (("mish",), F32, 0.15, 0.40),
    # torch's backward of these two takes the output and skips the work: see `OF_VALUE`.
    (("sigmoid",), F32, 0.65, None),
    (("tanh",), F32, 0.20, None),
    (("gelu",), F64, 0.40, 0.40),
    (("gelu", "gelu_tanh", "tanh", "elu", "mish"), HALF, 0.45, 0.45),
    (("silu", "sigmoid"), HALF, 0.75, 0.75),
    (("relu", "leaky_relu"), DTYPES, 1.10, 1.10),
    (("relu6", "hard_tanh", "hard_sigmoid", "softshrink", "hardshrink"), DTYPES, 1.10, 1.10),
    (("identity",), DTYPES, 1.10, 1.10),
    (("hard_swish",), (*F32, *F64), 1.10, 1.10),
    (("hard_swish",), HALF, 1.05, 1.05),
    (("squared_relu", "softsign", "squareplus"), (*F32, *F64), 0.90, 0.90),
    (("squared_relu",), HALF, 0.90, 0.90),
    (("celu",), F32, 0.20, 0.40),
    (("selu",), F32, 0.30, 0.50),
    (("celu", "selu"), HALF, 0.45, 0.45),
    # torch's backward of these two takes what the value computed.
    (("log_sigmoid", "tanhshrink"), (*F32, *HALF), 0.35, None),
)

OF_VALUE = {("sigmoid", "float32"): 1.3, ("tanh", "float32"): 1.3}
"""Backward's time as a multiple of the value's, of softgate's kernels."""

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


COUNT = 1 << 20


@dataclass(frozen=True)
class Verdict:
    """One limit on one row."""

    row: BenchRow
    against: str
    limit: float
    measured: float
    aside: str = ""

    @property
    def holds(self) -> bool:
        return self.measured <= self.limit

    def __str__(self) -> str:
        row = self.row
        text = f"{row.function} {row.quantity}, {row.dtype}: {self.measured:.2f} x {self.against}"
        text += f", limit {self.limit:.2f}"
        return f"{text} ({self.aside})" if self.aside else text


def binds(row: BenchRow) -> bool:
    """Tell whether limits apply; elsewhere ratios are only reported."""
    usual = (COUNT, 1, "randn", "reused")
    return row.implementation == OURS and usual == (
        row.count, row.threads, row.inputs, row.buffers
    )  # fmt: skip


class Times:
    """Least times by function, implementation, quantity, dtype and inputs, where limits bind."""

    def __init__(self, bench: Bench) -> None:
        self.ns = {
            (row.function, row.implementation, row.quantity, row.dtype, row.inputs): row.least_ns
            for row in bench
            if (row.count, row.threads, row.buffers) == (COUNT, 1, "reused")
        }

    def of(self, row: BenchRow, implementation: str, inputs: str = "randn") -> float | None:
        return self.ns.get((row.function, implementation, row.quantity, row.dtype, inputs))

    def value(self, row: BenchRow) -> float | None:
        return self.ns.get((row.function, OURS, "value", row.dtype, "randn"))


def judge(bench: Bench) -> list[Verdict]:
    """Hold every limit against what was measured; where a time is missing there is no verdict."""
    times = Times(bench)
    return [
        Verdict(row, against, limit, measured, aside)
        for row in bench
        if binds(row)
        for against, limit, measured, aside in _limits(row, times)
        if measured is not None
    ]


def _limits(row: BenchRow, times: Times) -> Iterator[tuple[str, float, float | None, str]]:
    """Yield what a row is held against, the limit, what was measured and what to say beside it."""
    share = _SHARES.get((row.function, row.dtype, row.quantity))
    if share is not None:
        yield "torch", share, _ratio(row.least_ns, times.of(row, "torch")), ""
    of_value = OF_VALUE.get((row.function, row.dtype))
    if of_value is not None and row.quantity == "backward":
        yield "value", of_value, _ratio(row.least_ns, times.value(row)), ""
    if row.dtype == "float32" and row.function not in CANCELS_IN_JAX:
        yield "jax", OF_JAX_FLOAT32, _ratio(row.least_ns, times.of(row, "jax")), ""
    torchs = _ratio(times.of(row, "torch", "mix"), times.of(row, "torch"))
    aside = f"torch's own: {torchs:.2f}" if torchs else ""
    yield "randn", OF_RANDN, _ratio(times.of(row, OURS, "mix"), row.least_ns), aside


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def missed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the limits that do not hold, the furthest off first."""
    results = [verdict for verdict in verdicts if not verdict.holds]
    return sorted(results, key=lambda verdict: verdict.limit / verdict.measured)


def failed(bench: Bench) -> bool:
    """Tell whether a limit is missed, or a row in which one would bind has no time of ours."""
    return bool(missed(judge(bench))) or any(binds(row) and row.error for row in bench)


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


def _cell(row: BenchRow | None, theirs: dict[tuple[str, object], float | None]) -> str:
    under = theirs.get((row.function, row.setting)) if row else None
    return f"{row.least_ns / under:.2f}" if row and row.least_ns and under else "–"
