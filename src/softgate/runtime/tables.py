"""Tables of an activation at all inputs of a format of at most 16 bits, correctly rounded.

Entries are from the float64 kernel. If its result is so close to a rounding boundary that its error
matters, the definition is evaluated with as many digits as needed (among subnormals x/2 may be a
tie, and x·Φ(x) is very close to it).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.catalogue import Entry
from softgate.formula.formats import (
    FLOAT32,
    Format,
    all_values,
    dtype_of,
    encode,
    near_tie,
    round_to,
    ulp,
)
from softgate.formula.graph import Node

from . import kernels

MARGIN = 2.0**-40
"""More than the float64 kernels' relative error, except near roots; far below a 16-bit ulp."""

Key = tuple[tuple[str, float], ...]


def truth_graph(entry: Entry, quantity: str) -> Node:
    """Return the definition of a quantity: the value, or its first or second derivative."""
    return entry.derivative(*["x"] * kernels.QUANTITIES.index(quantity))


@lru_cache(maxsize=128)
def table(entry: Entry, quantity: str, fmt: Format, parameters: Key) -> npt.NDArray[Any]:
    """Return the bit patterns of a quantity at all inputs: 65,536 of a 16-bit format, else 256."""
    bits = encode(rounded(entry, quantity, fmt, dict(parameters)), fmt)
    values = all_values(fmt)
    nan = np.isnan(values)
    signalling = bool(np.isinf(values).any())  # formats without infinities have quiet NaNs only
    quiet = 1 << (fmt.mantissa_bits - 1) if signalling else 0
    bits[nan] = np.flatnonzero(nan) | quiet  # the same NaN, made quiet
    bits.flags.writeable = False
    return bits


@lru_cache(maxsize=64)
def backward_table(entry: Entry, fmt: Format, parameters: Key) -> npt.NDArray[np.uint8]:
    """Return the bit patterns of slope(x)·grad, correctly rounded, at the index 256·x + grad.

    For formats of at most 8 bits. A zero is +0, NaN has one bit pattern.
    """
    values, numbers = all_values(fmt), dict(parameters)
    x, grad = (operand.ravel() for operand in np.meshgrid(values, values, indexing="ij"))
    with np.errstate(all="ignore"):  # NaN, 0·inf, and slopes that underflow
        slopes = kernels.evaluate64(entry, "slope", values, numbers)
        products = np.repeat(slopes, values.size) * grad
        if entry.piecewise_linear:
            products[np.repeat(slopes == 0, values.size)] = 0.0
        result = round_to(products, fmt)
        doubtful = near_tie(products, fmt, MARGIN) & np.isfinite(x)
    if doubtful.any():
        from softgate.lower.exact import signs_of_differences

        root = truth_graph(entry, "slope")
        rows = np.flatnonzero(doubtful.reshape(values.size, -1).any(axis=1))
        near = map(Fraction, slopes[rows].tolist())
        signs = signs_of_differences(root, values[rows].tolist(), near, **numbers)
        exact = np.zeros(values.size, np.bool_)
        exact[rows] = np.equal(signs, 0)
        # A slope of at most 24 digits times a factor is exact, and `result` is its rounding.
        with np.errstate(all="ignore"):  # slopes outside float32's range
            short = exact & (slopes == slopes.astype(np.float32))
        doubtful &= ~np.repeat(short, values.size)
        of_exact = doubtful & np.repeat(exact, values.size)
        for i in np.flatnonzero(of_exact):
            result[i] = fmt.round(Fraction(slopes[i // values.size]) * Fraction(grad[i]))
        rest = np.flatnonzero(doubtful & ~of_exact)
        result[rest] = _decide(root, x[rest], products[rest], fmt, numbers, grad[rest])
        result = round_to(result, fmt)
    bits = encode(result + 0.0, fmt)  # the sum replaces -0
    bits.flags.writeable = False
    return bits


@lru_cache(maxsize=64)
def factors32(entry: Entry, quantity: str, fmt: Format, parameters: Key) -> npt.NDArray[np.float32]:
    """Return a derivative in float32 at the 256 inputs of a format of at most 8 bits.

    For products with a float8 gradient, computed in float32 and rounded once. A slope such as
    1/4 - 2**-36 rounds to 1/4 in float32, and its products to ties: where the neighbouring float
    gives all products correctly rounded, it is returned instead. (There is none for a slope such as
    7/12, which is no float and has products that are ties.) None is subnormal, because XLA
    replaces those by 0, and 0·inf is NaN.
    """
    values, tiny = all_values(fmt), 2.0**FLOAT32.min_exponent
    with np.errstate(all="ignore"):  # NaN, 2·x of the largest x, subnormal slopes
        exact = kernels.evaluate64(entry, quantity, values, dict(parameters))
        subnormal = (exact != 0) & (np.abs(exact) < tiny)
        factors = np.where(subnormal, np.copysign(tiny, exact), exact).astype(np.float32)
        if quantity == "slope":
            bits = backward_table(entry, fmt, parameters).reshape(values.size, -1)
            expected = bits.view(dtype_of(fmt)).astype(np.float64)
            for toward in (-np.inf, np.inf):
                moved = np.nextafter(factors, np.float32(toward))
                better = ~_round_to(expected, factors, values, fmt)
                better &= _round_to(expected, moved, values, fmt)
                factors = np.where(better, moved, factors)
    factors.flags.writeable = False
    return factors


def _round_to(
    expected: npt.NDArray[np.float64],
    factors: npt.NDArray[np.float32],
    values: npt.NDArray[np.float64],
    fmt: Format,
) -> npt.NDArray[np.bool_]:
    """Return which factors give, times all finite values, a row of `expected`."""
    finite = np.isfinite(values)
    products = np.multiply.outer(factors, values[finite].astype(np.float32)).astype(np.float64)
    rounded = encode(round_to(products, fmt), fmt).view(dtype_of(fmt))
    same = np.equal(rounded.astype(np.float64), expected[:, finite])
    same |= np.isnan(expected[:, finite])
    return np.asarray(same.all(axis=1))


@lru_cache(maxsize=64)
def slopes32(entry: Entry, fmt: Format, parameters: Key) -> npt.NDArray[np.float32]:
    """Return float32 slopes at all inputs of a 16-bit format, for `backward`.

    Rounded again they are the slopes of the format: those that are halfway between two of its
    numbers only in float32 are moved to the side of the exact slope.
    """
    x = all_values(fmt)
    right = rounded(entry, "slope", fmt, dict(parameters))
    with np.errstate(all="ignore"):  # signalling NaNs, 2·x of the largest x, subnormal slopes
        slopes = _slopes32(kernels.evaluate64(entry, "slope", x, dict(parameters)), right, fmt)
    slopes.flags.writeable = False
    return slopes


def _slopes32(
    exact: npt.NDArray[np.float64], right: npt.NDArray[np.float64], fmt: Format
) -> npt.NDArray[np.float32]:
    """Return slopes in float32 that round to `right` in a format."""
    slopes = exact.astype(np.float32)
    moved = (round_to(slopes.astype(np.float64), fmt) != right) & ~np.isnan(right)
    slopes[moved] = np.nextafter(slopes[moved], right[moved].astype(np.float32))
    return slopes


def rounded(
    entry: Entry, quantity: str, fmt: Format, parameters: dict[str, float]
) -> npt.NDArray[np.float64]:
    """Return a quantity at all inputs of a format, correctly rounded to it."""
    x = all_values(fmt)
    with np.errstate(invalid="ignore"):  # NaN
        exact = kernels.evaluate64(entry, quantity, x, parameters)
        result = round_to(exact, fmt)
        doubtful = np.flatnonzero(near_tie(exact, fmt, MARGIN) & np.isfinite(x))
    if doubtful.size:
        root = truth_graph(entry, quantity)
        result[doubtful] = _decide(root, x[doubtful], exact[doubtful], fmt, parameters)
        result = round_to(result, fmt)  # `_decide` ignores overflow
    return result


def rounded_at(
    entry: Entry,
    quantity: str,
    fmt: Format,
    x: npt.NDArray[np.float64],
    exact: npt.NDArray[np.float64],
    parameters: dict[str, npt.NDArray[np.float64]],
) -> npt.NDArray[np.float64]:
    """Return `exact`, the float64 kernel's results at `x`, correctly rounded to a format.

    Each element has its own parameters.
    """
    with np.errstate(invalid="ignore"):  # NaN
        result = round_to(exact, fmt)
        doubtful = np.flatnonzero(near_tie(exact, fmt, MARGIN) & np.isfinite(x))
    columns = np.array([parameters[name][doubtful] for name in parameters]).T
    for values in np.unique(columns, axis=0):
        places = doubtful[(columns == values).all(axis=1)]
        numbers = dict(zip(parameters, values.tolist(), strict=True))
        root = truth_graph(entry, quantity)
        result[places] = _decide(root, x[places], exact[places], fmt, numbers)
    return round_to(result, fmt)  # `_decide` ignores overflow


def backward_at(
    entry: Entry,
    fmt: Format,
    x: npt.NDArray[np.float64],
    grad: npt.NDArray[np.float64],
    exact: npt.NDArray[np.float64],
    signs: npt.NDArray[np.float64],
    parameters: dict[str, npt.NDArray[np.float64]],
) -> npt.NDArray[np.float64]:
    """Return slope·grad for the float64 kernel's slopes `exact`, as kernels or `slopes32` give it.

    `signs` are the float64 kernel's products, for zeros.
    """
    with np.errstate(all="ignore"):
        slopes = _slopes32(exact, rounded_at(entry, "slope", fmt, x, exact, parameters), fmt)
        products = slopes * grad.astype(np.float32)
        if entry.piecewise_linear:  # kernels have slopes in two parts
            products = np.where(slopes == 0, 0, exact * grad).astype(np.float32)
        result = round_to(products.astype(np.float64), fmt)
        signed = (slopes != 0) & (fmt.bits > 8)
        return np.where(result == 0, np.where(signed, np.copysign(0.0, signs), 0.0), result)


def _decide(
    root: Node,
    x: npt.NDArray[np.float64],
    near: npt.NDArray[np.float64],
    fmt: Format,
    parameters: dict[str, float],
    factors: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Return root(x)·factor, which is about `near`, correctly rounded; it may exceed the range."""
    from softgate.lower.exact import signs_of_differences

    unit = ulp(near, fmt)
    below = np.floor(near / unit)
    ties = [Fraction(tie) for tie in ((below + 0.5) * unit).tolist()]  # exact: few digits
    if factors is not None:
        pairs = zip(ties, factors.tolist(), strict=True)
        ties = [tie / Fraction(factor) for tie, factor in pairs]
    side = np.array(signs_of_differences(root, x.tolist(), ties, **parameters))
    if factors is not None:
        side = np.where(factors > 0, side, -side)
    up = np.where(side == 0, below % 2 == 1, side > 0)  # an exact tie: to even
    return np.copysign((below + up) * unit, near)


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
    specification: kernels.Specification, parameters: Key, expected: npt.NDArray[Any]
) -> bool:
    """Return whether a kernel returns `expected` at all inputs that are not NaN."""
    x = np.arange(1 << 16, dtype=np.uint16)
    out = np.empty_like(x)
    packed = kernels.pack(specification.entry, dict(parameters), FLOAT32)
    run = kernels.compiled(specification)
    run(out.ctypes.data, x.ctypes.data, packed.ctypes.data, x.size)
    number = ~np.isnan(all_values(specification.storage))
    return bool(np.array_equal(out[number], expected[number]))
