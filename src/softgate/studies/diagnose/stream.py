"""What was counted at one site: float64 sums for each unit, added to call after call."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from softgate.lower.column_sums import FIELDS

from .histogram import Histogram
from .history import History, Moment

Float64s = npt.NDArray[np.float64]

SCALED = "scaled gradient"
"""What is called so may leave its format: a GradScaler skips the step and takes a smaller scale."""


@dataclass
class Trouble:
    """NaN or inf at one place: how many, and in which step first."""

    count: int
    first_step: int


@dataclass
class Flow:
    """Norms of gradients at one end of a site."""

    passes: int = 0
    squares: float = 0.0

    @property
    def norm(self) -> float | None:
        """The root of the mean square of the norms, None where none was seen."""
        return math.sqrt(self.squares / self.passes) if self.passes else None


@dataclass
class Stream:
    """One site's sums."""

    name: str
    function: str
    units: int
    dtype: str
    bounded: bool
    """Whether the activation has a least and a greatest value."""
    gate: bool
    """Whether value/x says how open a gate is."""
    valley: bool
    """Whether it falls somewhere and rises elsewhere."""
    multiplied: bool = False
    """Whether its value was a factor of something."""
    calls: int = 0
    rows: int = 0
    sampled: int = 0
    """Elements that histograms were made from."""
    sums: Float64s | None = None
    history: History = field(default_factory=History)
    flows: dict[str, Flow] = field(default_factory=dict)
    troubles: dict[str, Trouble] = field(default_factory=dict)

    @property
    def shift(self) -> Float64s | None:
        """What is taken from each unit's values before they are summed."""
        return None if self.sums is None else self.sums[0]

    def add(self, step: int, rows: int, sums: Float64s, sample: Float64s) -> None:
        """Add the sums of one call, made with the same shift, and some of its values."""
        if self.sums is None:
            self.sums = sums.copy()
        else:
            self.sums[1:] += sums[1:]
        self.calls += 1
        self.rows += rows
        self.sampled += sample.size
        inputs = row(sums, "finite").astype(np.int64)
        self.history.add(
            Moment(step, step, 1, inputs, flat(sums).astype(np.int64), Histogram.of(sample))
        )

    def trouble(self, what: str, count: int, step: int) -> None:
        """Count numbers that are none."""
        if count:
            self.troubles.setdefault(what, Trouble(0, step)).count += count

    def flowed(self, which: str, norm: float, step: int, scale: float = 1.0) -> None:
        """Add a gradient's norm, of a loss times `scale`; of one that is no number, count it."""
        if math.isfinite(norm):
            flow = self.flows.setdefault(which, Flow())
            flow.passes += 1
            flow.squares += (norm / scale) ** 2
        else:
            kind = "gradient" if scale == 1 else SCALED
            self.trouble(f"{kind} of {which}", 1, step)


def row(sums: Float64s, name: str) -> Float64s:
    """Return one of the sums, of all units."""
    found: Float64s = sums[1 + FIELDS.index(name)]
    return found


def flat(sums: Float64s) -> Float64s:
    """Return how often each unit's slope was flat."""
    return row(sums, "rising_little") - row(sums, "falling_steeply")


def moments(
    count: Float64s, first: Float64s, second: Float64s, third: Float64s
) -> tuple[Float64s, Float64s, Float64s]:
    """Return mean, standard deviation and skew from sums of the first three powers."""
    with np.errstate(all="ignore"):
        mean = first / count
        variance = np.maximum(second / count - mean**2, 0.0)
        sd = np.sqrt(variance)
        # Sums of numbers that do not differ leave a rest of rounding errors, and no spread.
        sd = np.where(sd <= 1e-7 * np.abs(mean), 0.0, sd)
        central = third / count - 3 * mean * second / count + 2 * mean**3
        skew = np.where(sd > 0, central / sd**3, 0.0)
    return mean, sd, skew
