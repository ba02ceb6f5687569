"""A cell is one thing timed, a row what was measured there. Plain data, as it goes through JSON.

This module imports no library: a child process reads its cells before any library starts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

ACTIVATIONS = (
    "gelu",
    "gelu_tanh",
    "gelu_sigmoid",
    "silu",
    "sigmoid",
    "tanh",
    "elu",
    "softplus",
    "mish",
    "relu",
    "leaky_relu",
    "relu6",
    "squared_relu",
    "celu",
    "selu",
    "log_sigmoid",
    "hard_sigmoid",
    "hard_tanh",
    "hard_swish",
    "softshrink",
    "hardshrink",
    "tanhshrink",
    "softsign",
    "squareplus",
    "identity",
)
"""Those that peers have too. Others are timed when asked for, against the copy alone."""

QUANTITIES = ("value", "backward")
DTYPES = ("float32", "float64", "float16", "bfloat16")
SIZES = {"64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24}
PEERS = ("torch", "jax", "scipy")


@dataclass(frozen=True)
class Cell:
    """One activation's value or backward, on one format, length and thread setting."""

    activation: str
    quantity: str
    dtype: str
    size: str = "1M"
    threads: str = "1"

    @property
    def count(self) -> int:
        return SIZES[self.size]

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == "1" else "all threads"
        return f"{self.activation} {self.quantity}, {self.dtype}, {self.size}, {threads}"


@dataclass(frozen=True)
class Time:
    """What a contestant took, per element: the least and the median of `calls` calls."""

    least_ns: float
    median_ns: float
    calls: int
    fresh_share: float
    """Fresh pages touched in a call, as a share of the output's bytes: 0 where it is reused."""


@dataclass
class Row:
    """A cell's times by contestant; `X special` is X on the mix of special values."""

    cell: Cell
    times: dict[str, Time] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    others_share: float | None = None
    """What other processes took of all cores meanwhile."""

    def ns(self, contestant: str) -> float | None:
        """Return the least time per element, or None where there is none."""
        time = self.times.get(contestant)
        return time.least_ns if time else None

    def ratio(self, over: str, under: str) -> float | None:
        """Return how many times as long `over` took as `under`."""
        a, b = self.ns(over), self.ns(under)
        return a / b if a is not None and b else None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Row:
        times = {name: Time(**time) for name, time in data["times"].items()}
        return cls(Cell(**data["cell"]), times, data["notes"], data["errors"], data["others_share"])
