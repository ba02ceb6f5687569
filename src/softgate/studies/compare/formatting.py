"""How scores are written: in percent where they are shares, to the digits that seeds leave."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from .statistics import Interval
from .trainable import Measure

MOST_DECIMALS = 6
NONE = "-"


@dataclass(frozen=True)
class Numerals:
    """The notation of one measure."""

    measure: Measure
    decimals: int

    @classmethod
    def of(cls, measure: Measure, *spreads: Iterable[float | None]) -> Numerals:
        """Return a notation with two digits of each kind of spread, of those usual for it.

        Examples
        --------
        >>> Numerals.of(Measure("test accuracy", True, percent=True), [0.0043]).score(0.97128)
        '97.13'
        """
        factor = 100 if measure.percent else 1
        kinds = [[factor * one for one in kind if one is not None and one > 0] for kind in spreads]
        usual = [statistics.median(kind) for kind in kinds if kind]
        if not usual:
            return cls(measure, 2 if measure.percent else 4)
        wanted = 1 - math.floor(math.log10(min(usual)))
        return cls(measure, min(max(wanted, 0), MOST_DECIMALS))

    @property
    def factor(self) -> int:
        """What a score is multiplied by."""
        return 100 if self.measure.percent else 1

    @property
    def name(self) -> str:
        """What the score is, with its unit."""
        return f"{self.measure.name} in %" if self.measure.percent else self.measure.name

    def score(self, value: float | None) -> str:
        """Return a score, or what is in its unit."""
        return NONE if value is None else f"{self.factor * value:.{self.decimals}f}"

    def difference(self, value: float | None) -> str:
        """Return a difference, with its sign; 0 has none."""
        if value is None:
            return NONE
        shown = f"{self.factor * value:+.{self.decimals}f}"
        return shown[1:] if float(shown) == 0 else shown

    def size(self, value: float) -> str:
        """Return how large a difference is, with its unit."""
        shown = f"{self.factor * abs(value):.{self.decimals}f}"
        return f"{shown} points" if self.measure.percent else shown

    def between(self, found: Interval | None, *, signed: bool = False) -> str:
        """Return an interval."""
        if found is None:
            return NONE
        write = self.difference if signed else self.score
        return f"{write(found.low)} to {write(found.high)}"


def probability(p: float | None) -> str:
    """Return a p-value.

    Examples
    --------
    >>> probability(0.0078125), probability(1.0), probability(1.9e-6)
    ('0.00781', '1', '1.9e-06')
    """
    return NONE if p is None else f"{p:.3g}"


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["relu", "elu", "silu"])
    'relu, elu and silu'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
