"""Special values, and what a result must not depend on: place, length, stride, address, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula import rounding
from softgate.formula.formats import Format
from softgate.lower.decimal_arithmetic import limit_at_infinity

from ..accuracy import Reference
from ..subjects import Failure, Session
from .record import DIFFERS, NOT_TESTED, SAME, Dependence, Special

Array = npt.NDArray[Any]
LENGTHS = (1, 3, 8, 17, 33, 255)
STRIDES = (2, 3)
OFFSETS = (1, 3, 5)
MANY = 1 << 20
"""So many elements that every framework shares them out among its threads."""
FAR = 2.0**20
"""Where a function that is 0 from some point on is 0, and one that tends to it is not."""
FIXED = "the model is made for one length"
CLOSE_ULP = 4.0
"""A special result that is a number but 0 is right within this; its error is measured apart."""


def specials(reference: Reference, quantity: str, fmt: Format, session: Session) -> list[Special]:
    """Return the results at ±0, ±inf, NaN and the ends of the subnormal range."""
    x = _special_inputs(fmt)
    # As long as what was tried first: some frameworks compile anew for every length.
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
        return both.astype(rounding.dtype_of(fmt))


def _judged(reference: Reference, fmt: Format, x: float, y: float) -> Special:
    if np.isnan(x):
        sign = "-" if np.signbit(x) else ""
        return Special(f"{sign}nan", "nan", repr(y), bool(np.isnan(y)))
    expected, signed = _expected(reference, fmt, x)
    if np.isnan(expected):
        return Special(repr(x), "any: there is no limit", repr(y), True)
    rounded = float(rounding.round_to(np.float64(expected), fmt))
    unit = float(rounding.ulp(np.float64(rounded), fmt))
    right = y == rounded or abs(y - rounded) <= CLOSE_ULP * unit
    if y == 0 and signed:
        right = right and np.signbit(y) == np.signbit(expected)
    shown = repr(rounded) if rounded or signed else "0.0 of any sign"
    return Special(repr(x), shown, repr(y), bool(right))


def _expected(reference: Reference, fmt: Format, x: float) -> tuple[float, bool]:
    """Return the true result at a special input, and whether the sign of a zero there is known.

    A zero's sign is that of the values beside it; slopes that underflow may have either.
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
    """Tell where two arrays have the same bits, or both have a NaN."""
    unsigned = np.dtype(f"u{a.itemsize}")
    found: npt.NDArray[np.bool_] = a.view(unsigned) == b.view(unsigned)
    if not found.all():
        with np.errstate(invalid="ignore"):
            found |= np.isnan(a) & np.isnan(b)
    return found


class Behaviour:
    """Looks for what one quantity's results depend on, in one format."""

    def __init__(self, session: Session, quantity: str, x: Array, seed: int) -> None:
        self.session, self.quantity = session, quantity
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(x.size, min(x.size, 1000), replace=False))
        self.x = rng.permutation(x[chosen])
        self.whole = session.evaluate(quantity, self.x)

    def place(self, x: Array, y: Array) -> Dependence:
        """Compare the sample's own results with those of the same inputs at other places."""
        shift = x.size // 3 + 7
        moved = np.roll(self.session.evaluate(self.quantity, np.roll(x, shift)), -shift)
        return _outcome("place", x, y, [("moved", moved)])

    def length(self) -> Dependence:
        """Compare the results of short arrays with those of a long one."""
        if not self.session.information.lengths:
            return Dependence("length", NOT_TESTED, FIXED)
        return self._parts("length", ((n, {}) for n in LENGTHS))

    def stride(self) -> Dependence:
        """Compare the results of elements that lie apart."""
        if not self.session.information.strides:
            why = f"{self.session.information.framework} is handed contiguous memory only"
            return Dependence("stride", NOT_TESTED, why)
        steps = ((n, {"step": step}) for step in STRIDES for n in (7, 64, 333))
        return self._parts("stride", steps)

    def alignment(self) -> Dependence:
        """Compare the results of arrays that begin at odd addresses."""
        if not self.session.information.addresses:
            why = f"{self.session.information.framework} keeps arrays in memory of its own"
            return Dependence("alignment", NOT_TESTED, why)
        starts = ((n, {"offset": offset}) for offset in OFFSETS for n in (9, 64, 333))
        return self._parts("alignment", starts)

    def empty(self) -> Dependence:
        """Ask for no elements at all."""
        if not self.session.information.lengths:
            return Dependence("empty array", NOT_TESTED, FIXED)
        try:
            self.session.evaluate(self.quantity, self.x[:0])
        except Failure as error:
            return Dependence("empty array", DIFFERS, str(error))
        return Dependence("empty array", SAME)

    def threads(self, cores: int, one_core: Callable[[], Session] | None) -> Dependence:
        """Compare the results of one thread with those of several."""
        name = "thread count"
        if cores < 2:
            return Dependence(name, NOT_TESTED, "there is one core here")
        x = np.resize(self.x, MANY)
        many = self.session.evaluate(self.quantity, x)
        if self.session.set_threads(1):
            try:
                one = self.session.evaluate(self.quantity, x)
            finally:
                self.session.set_threads(cores)
        elif one_core is not None:
            one = one_core().evaluate(self.quantity, x)
        else:
            return Dependence(name, NOT_TESTED, "it cannot be set in this process")
        return _outcome(name, x, many, [("1 and several", one)])

    def _parts(self, on: str, ways: Iterator[tuple[int, dict[str, int]]]) -> Dependence:
        start = 0
        for length, how in ways:
            part = slice(start, start + length)
            found = self.session.evaluate(self.quantity, self.x[part], **how)
            outcome = _outcome(on, self.x[part], self.whole[part], [(_words(length, how), found)])
            if outcome.outcome == DIFFERS:
                return outcome
            start = (start + length + 1) % (self.x.size - max(LENGTHS))
        return Dependence(on, SAME)


def _words(length: int, how: dict[str, int]) -> str:
    return ", ".join([f"length {length}", *(f"{name} {value}" for name, value in how.items())])


def _outcome(on: str, x: Array, expected: Array, others: list[tuple[str, Array]]) -> Dependence:
    for words, found in others:
        apart = np.flatnonzero(~same(expected, found))
        if apart.size:
            i = int(apart[0])
            detail = (
                f"{apart.size:,} of {x.size:,} results ({words}), first f({float(x[i])!r}) = "
                f"{float(expected[i])!r} or {float(found[i])!r}"
            )
            return Dependence(on, DIFFERS, detail)
    return Dependence(on, SAME)


def probe(fmt: Format) -> Array:
    """Return a few inputs on which every activation must be able to work."""
    few = np.concatenate([[-2.5, -0.5, 0.25, 1.0, 3.0], np.linspace(-4, 4, 12)])
    return few.astype(rounding.dtype_of(fmt))
