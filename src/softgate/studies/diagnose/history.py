"""What a site was like over time, in a bounded number of moments.

A moment covers some steps that follow each other. When there are too many, neighbours are joined,
and each covers twice as many steps: the memory does not grow with steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .histogram import Histogram

MOST = 32
"""Moments that are kept; when they are full, half as many are left."""

LATELY = 0.25
"""The share of steps, the last ones, that say what a unit is like now."""

Int64s = npt.NDArray[np.int64]


@dataclass
class Moment:
    """Some steps that follow each other."""

    first_step: int
    last_step: int
    steps: int
    """How many of them were looked at."""
    inputs: Int64s
    """Finite inputs of each unit."""
    flat: Int64s
    """Of these, how many where the slope is flat."""
    outputs: Histogram

    @property
    def dead(self) -> npt.NDArray[np.bool_]:
        """Which units were flat on every input."""
        found: npt.NDArray[np.bool_] = (self.flat >= self.inputs) & (self.inputs > 0)
        return found

    def __add__(self, later: Moment) -> Moment:
        same = self.last_step == later.first_step
        return Moment(
            self.first_step,
            later.last_step,
            self.steps + later.steps - same,
            self.inputs + later.inputs,
            self.flat + later.flat,
            self.outputs + later.outputs,
        )


class History:
    """The moments of one site."""

    def __init__(self, most: int = MOST) -> None:
        self.moments: list[Moment] = []
        self.most, self.size = most, 1

    def add(self, moment: Moment) -> None:
        """Add what was seen in one call."""
        last = self.moments[-1] if self.moments else None
        same = last is not None and last.last_step == moment.first_step
        if last is not None and (same or last.steps < self.size):
            self.moments[-1] = last + moment
            return
        if len(self.moments) >= self.most:
            self.size *= 2
            pairs = zip(self.moments[::2], self.moments[1::2], strict=True)
            self.moments = [a + b for a, b in pairs]
        self.moments.append(moment)

    def lately(self, inputs: int, share: float = LATELY) -> Moment | None:
        """Return the last moments that cover so much of the steps and of inputs, joined."""
        wanted = share * sum(moment.steps for moment in self.moments)
        found: Moment | None = None
        for moment in reversed(self.moments):
            enough = found is not None and found.steps >= wanted
            if enough and found is not None and found.inputs.max(initial=0) >= inputs:
                break
            found = moment if found is None else moment + found
        return found
