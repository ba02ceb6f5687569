"""Results at special values, and dependence on position, length, stride, alignment and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.formats import Format, dtype_of, round_to, ulp
from softgate.lower.decimal_evaluation import limit_at_infinity

from ..accuracy import Reference
from ..subjects import Session, SubjectFailure
from .record import DIFFERS, NOT_TESTED, SAME, Dependence, Special

Array = npt.NDArray[Any]
LENGTHS = (1, 3, 8, 17, 33, 255)
STRIDES = (2, 3)
OFFSETS = (1, 3, 5)
MANY = 1 << 20
"""Enough elements that every framework splits them among its threads."""
FAR = 2.0**20
"""An input where a function that is 0 from some point on is 0, and one that tends to 0 is not."""
FIXED = "the model has a fixed length"
CLOSE_ULP = 4.0
"""Tolerance of finite special results other than 0; their errors are measured separately."""


def specials(reference: Reference, quantity: str, fmt: Format, session: Session) -> list[Special]:
    """Return the results at ±0, ±inf, NaN and the ends of the subnormal range."""
    x = _special_inputs(fmt)
    # Padded to the length of the probe, because some frameworks recompile for each length.
    filled = np.concatenate([x, probe(fmt)[x.size :]])
    y = session.evaluate(quantity, filled)[: x.size].astype(np.float64)
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
    return [_judged(reference, fmt, float(a), float(b)) for a, b in zip(wide, y, strict=True)]


def _special_inputs(fmt: Format) -> Array:
    smallest, normal = 2.0**fmt.smallest_exponent, 2.0**fmt.min_exponent
    sizes = np.array([0.0, smallest, normal - smallest, np.inf, np.nan])
    both = np.stack([-sizes, sizes], axis=1).ravel()
    with np.errstate(invalid="ignore"):
        return both.astype(dtype_of(fmt))


def _judged(reference: Reference, fmt: Format, x: float, y: float) -> Special:
    if np.isnan(x):
        sign = "-" if np.signbit(x) else ""
        return Special(f"{sign}nan", "nan", repr(y), bool(np.isnan(y)))
    expected, signed = _expected(reference, fmt, x)
    if np.isnan(expected):
        return Special(repr(x), "any: there is no limit", repr(y), True)
    rounded = float(round_to(np.float64(expected), fmt))
    unit = float(ulp(np.float64(rounded), fmt))
    right = y == rounded or abs(y - rounded) <= CLOSE_ULP * unit
    if y == 0 and signed:
        right = right and np.signbit(y) == np.signbit(expected)
    shown = repr(rounded) if rounded or signed else "0.0 of any sign"
    return Special(repr(x), shown, repr(y), bool(right))


def _expected(reference: Reference, fmt: Format, x: float) -> tuple[float, bool]:
    """Return the exact result at a special input, and whether the sign of a zero is checked.

    A zero has the sign of the neighbouring values; zeros of slopes may have any sign.
    """
    value = reference.quantity == "value"
    if np.isinf(x):
        limit = limit_at_infinity(reference.root, int(np.sign(x)), reference.parameters).limit
        return limit, value and not reference.is_zero(float(np.copysign(FAR, x)))
    exact = _true(reference, fmt, x)
    if exact == 0 and value:
        beside = _true(reference, fmt, float(np.copysign(2.0**fmt.smallest_exponent, x)))
        return float(np.copysign(0.0, beside)), beside != 0
    return exact, value


def _true(reference: Reference, fmt: Format, x: float) -> float:
    place = np.array([x])
    return float(reference.against_arb(place, place, fmt).truth[0])


def same(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements with equal bits, or NaN in both arrays."""
    unsigned = np.dtype(f"u{a.itemsize}")
    equal: npt.NDArray[np.bool_] = a.view(unsigned) == b.view(unsigned)
    if not equal.all():
        with np.errstate(invalid="ignore"):
            equal |= np.isnan(a) & np.isnan(b)
    return equal


class Behaviour:
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


def probe(fmt: Format) -> Array:
    """Return a few ordinary inputs at which every activation is defined."""
    few = np.concatenate([[-2.5, -0.5, 0.25, 1.0, 3.0], np.linspace(-4, 4, 12)])
    return few.astype(dtype_of(fmt))
