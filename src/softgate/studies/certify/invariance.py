"""Whether results depend on position, length, stride, alignment and the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..subjects import Session, SubjectFailure
from .record import DIFFERS, NOT_TESTED, SAME, Dependence

Array = npt.NDArray[Any]
LENGTHS = (1, 3, 8, 17, 33, 255)
STRIDES = (2, 3)
OFFSETS = (1, 3, 5)
MANY = 1 << 20
"""Enough elements that every framework splits them among its threads."""
FIXED = "the model has a fixed length"


def same(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements with equal bits, or NaN in both arrays."""
    unsigned = np.dtype(f"u{a.itemsize}")
    equal: npt.NDArray[np.bool_] = a.view(unsigned) == b.view(unsigned)
    if not equal.all():
        with np.errstate(invalid="ignore"):
            equal |= np.isnan(a) & np.isnan(b)
    return equal


class InvarianceChecks:
    """Checks whether one quantity's results in one format depend on more than the input."""

    def __init__(self, session: Session, quantity: str, x: Array, seed: int) -> None:
        self.session, self.quantity = session, quantity
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(x.size, min(x.size, 1000), replace=False))
        self.x = rng.permutation(x[chosen])
        self.whole = session.evaluate(quantity, self.x)

    def place(self, x: Array, y: Array) -> Dependence:
        """Compare the sample's results with those of the same inputs at other positions."""
        shift = x.size // 3 + 7
        moved = np.roll(self.session.evaluate(self.quantity, np.roll(x, shift)), -shift)
        return _outcome("place", x, y, moved, "moved")

    def length(self) -> Dependence:
        """Compare the results of short arrays with those of a long one."""
        if not self.session.information.lengths:
            return Dependence("length", NOT_TESTED, FIXED)
        return self._parts("length", ((n, {}) for n in LENGTHS))

    def stride(self) -> Dependence:
        """Compare the results of strided with those of contiguous arrays."""
        if not self.session.information.strides:
            why = f"{self.session.information.framework} takes contiguous memory only"
            return Dependence("stride", NOT_TESTED, why)
        steps = ((n, {"step": step}) for step in STRIDES for n in (7, 64, 333))
        return self._parts("stride", steps)

    def alignment(self) -> Dependence:
        """Compare the results of unaligned with those of aligned arrays."""
        if not self.session.information.addresses:
            why = f"{self.session.information.framework} copies arrays into its own memory"
            return Dependence("alignment", NOT_TESTED, why)
        starts = ((n, {"offset": offset}) for offset in OFFSETS for n in (9, 64, 333))
        return self._parts("alignment", starts)

    def empty(self) -> Dependence:
        """Return whether the subject accepts an empty array."""
        if not self.session.information.lengths:
            return Dependence("empty array", NOT_TESTED, FIXED)
        try:
            self.session.evaluate(self.quantity, self.x[:0])
        except SubjectFailure as error:
            return Dependence("empty array", DIFFERS, str(error))
        return Dependence("empty array", SAME)

    def threads(self, cores: int, one_core: Callable[[], Session] | None) -> Dependence:
        """Compare the results of one thread with those of several threads."""
        name = "thread count"
        if cores < 2:
            return Dependence(name, NOT_TESTED, "this machine has one core")
        x = np.resize(self.x, MANY)
        many = self.session.evaluate(self.quantity, x)
        if self.session.set_threads(1):
            try:
                single = self.session.evaluate(self.quantity, x)
            finally:
                self.session.set_threads(cores)
        elif one_core is not None:
            single = one_core().evaluate(self.quantity, x)
        else:
            return Dependence(
                name, NOT_TESTED, "the number of threads cannot be set in this process"
            )
        return _outcome(name, x, many, single, "1 and several")

    def _parts(self, on: str, calls: Iterator[tuple[int, dict[str, int]]]) -> Dependence:
        start = 0
        for length, layout in calls:
            part = slice(start, start + length)
            results = self.session.evaluate(self.quantity, self.x[part], **layout)
            label = ", ".join(
                f"{name} {value}" for name, value in ({"length": length} | layout).items()
            )
            outcome = _outcome(on, self.x[part], self.whole[part], results, label)
            if outcome.outcome == DIFFERS:
                return outcome
            start = (start + length + 1) % (self.x.size - max(LENGTHS))
        return Dependence(on, SAME)


def _outcome(on: str, x: Array, expected: Array, results: Array, label: str) -> Dependence:
    apart = np.flatnonzero(~same(expected, results))
    if not apart.size:
        return Dependence(on, SAME)
    i = int(apart[0])
    detail = (
        f"{apart.size:,} of {x.size:,} results ({label}), first f({float(x[i])!r}) = "
        f"{float(expected[i])!r} or {float(results[i])!r}"
    )
    return Dependence(on, DIFFERS, detail)
