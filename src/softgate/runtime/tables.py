"""Tables of an activation at all 65,536 inputs of a 16-bit format, correctly rounded.

Entries are from the float64 kernel. If its result is so close to a rounding boundary that its error
matters, the definition is evaluated with as many digits as needed (among subnormals x/2 may be a
tie, and x·Φ(x) is very close to it).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula import rounding
from softgate.formula.derivative import derivative
from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Node

from . import kernels

MARGIN = 2.0**-40
"""More than the float64 kernels' relative error, except near roots; far below a 16-bit ulp."""

Key = tuple[tuple[str, float], ...]


def truth_graph(entry: Entry, quantity: str) -> Node:
    """Return the definition of a quantity: the value, or its first or second derivative."""
    root = entry.define()
    for _ in range(("value", "slope", "curvature").index(quantity)):
        root = derivative(root)
    return root


@lru_cache(maxsize=128)
def table(entry: Entry, quantity: str, fmt: Format, parameters: Key) -> npt.NDArray[np.uint16]:
    """Return the bit patterns of a quantity at all 65,536 inputs of a 16-bit format."""
    bits = rounding.encode16(rounded(entry, quantity, fmt, dict(parameters)), fmt)
    x = np.arange(1 << 16, dtype=np.uint16)
    nan = np.isnan(rounding.all16(fmt))
    bits[nan] = x[nan] | np.uint16(1 << (fmt.mantissa_bits - 1))  # the same NaN, made quiet
    bits.flags.writeable = False
    return bits


@lru_cache(maxsize=64)
def slopes32(entry: Entry, fmt: Format, parameters: Key) -> npt.NDArray[np.float32]:
    """Return float32 slopes at all inputs of a 16-bit format, for `backward`."""
    x = rounding.all16(fmt)
    with np.errstate(all="ignore"):  # signalling NaNs, 2·x of the largest x, subnormal slopes
        slopes = kernels.evaluate64(entry, "slope", x, dict(parameters)).astype(np.float32)
    slopes.flags.writeable = False
    return slopes


def rounded(
    entry: Entry, quantity: str, fmt: Format, parameters: dict[str, float]
) -> npt.NDArray[np.float64]:
    """Return a quantity at all 65,536 inputs, correctly rounded to `fmt`."""
    x = rounding.all16(fmt)
    with np.errstate(invalid="ignore"):  # NaN
        exact = kernels.evaluate64(entry, quantity, x, parameters)
        result = rounding.round_to(exact, fmt)
        doubtful = np.flatnonzero(rounding.near_tie(exact, fmt, MARGIN) & np.isfinite(x))
    if doubtful.size:
        root = truth_graph(entry, quantity)
        for i in doubtful:
            result[i] = _decide(root, float(x[i]), float(exact[i]), fmt, parameters)
        result = rounding.round_to(result, fmt)  # `_decide` ignores overflow
    return result


def _decide(root: Node, x: float, near: float, fmt: Format, parameters: dict[str, float]) -> float:
    from softgate.lower.mp import sign_of_difference

    unit = Fraction(float(rounding.ulp(np.float64(near), fmt)))
    below = Fraction(near) // unit
    tie = (below + Fraction(1, 2)) * unit
    side = sign_of_difference(root, tie, x=x, **parameters)
    if side == 0:  # an exact tie: to even
        side = 1 if below % 2 else -1
    result = float((below + (side > 0)) * unit)
    return result or float(np.copysign(0.0, near))


MOVES = (0.0, *(sign * 2.0**-k for k in (22, 19, 16, 15, 13) for sign in (1, -1)))
"""Relative changes of a parameter that are tried to break ties as the exact product does."""


@lru_cache(maxsize=256)
def exact_in_float32(entry: Entry, quantity: str, fmt: Format, parameters: Key) -> Key | None:
    """Return parameters with which the float32 kernel returns the table's bits at all inputs.

    With a slope of 0.01 some products are 10**-17 from a tie of the 16-bit format and round to that
    tie in float32 (or, among bfloat16's subnormals, to other ties). A slope changed by 2**-22
    (2**-15) breaks them correctly; all 65,536 results are compared. None if there are no such
    parameters.
    """
    expected = table(entry, quantity, fmt, parameters)
    for move in MOVES if parameters else MOVES[:1]:
        moved = parameters
        if move:  # rounded to one float32, so the kernel needs no second part
            with np.errstate(all="ignore"):  # a parameter beyond float32's range
                moved = tuple((n, float(np.float32(v * (1 + move)))) for n, v in parameters)
        symbolic = kernels.Specification(entry, quantity, fmt, FLOAT32, specialised=False)
        if _gives(symbolic, moved, expected):
            return moved
    return None


def _gives(
    specification: kernels.Specification, parameters: Key, expected: npt.NDArray[np.uint16]
) -> bool:
    """Return whether a kernel returns `expected` at all inputs that are not NaN."""
    x = np.arange(1 << 16, dtype=np.uint16)
    out = np.empty_like(x)
    packed = kernels.pack(specification.entry, dict(parameters), FLOAT32)
    run = kernels.compiled(specification)
    run(out.ctypes.data, x.ctypes.data, packed.ctypes.data, x.size)
    number = ~np.isnan(rounding.all16(specification.storage))
    return bool(np.array_equal(out[number], expected[number]))
