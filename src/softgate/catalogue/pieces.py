"""Piecewise-linear functions: slope, curvature and backward follow from the slopes of the pieces.

Which piece a corner belongs to, and so the slope there, is stated once, by the conditions. The
definition and the value are written out: the definition so that it shares no code with what it
checks, the value because signs of zeros and roundings near the corners differ among functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from softgate.blocks import KernelArithmetic, TwoFloat
from softgate.formula.graph import Node, Number

from .entry import DefinitionForm, Entry, ErrorBound, StableForm

EXACT = {"float32": ErrorBound(0.0, 0.0), "float64": ErrorBound(0.0, 0.0)}
"""The bounds of functions that never round."""


class Reciprocal(NamedTuple):
    """The slope 1/number."""

    number: TwoFloat


Slope = Number | TwoFloat | Reciprocal


class Slopes:
    """The slopes of the pieces: of the first whose condition holds, else `otherwise`.

    A condition compares x, or |x|, with a corner; it must be false at NaN.
    """

    def __init__(self, *pieces: tuple[Node, Slope], otherwise: Slope) -> None:
        self.pieces, self.otherwise = pieces, otherwise

    def select(self, f: KernelArithmetic, x: Node, result: Callable[[Slope], Node]) -> Node:
        """Return `result` of the slope of the piece; NaN propagates from `x`."""
        selected = f.keep_nan(x, result(self.otherwise))
        for condition, slope in reversed(self.pieces):
            selected = f.where(condition, result(slope), selected)
        return selected


def rounded(f: KernelArithmetic, slope: Slope) -> Node:
    """Return a slope as one float."""
    if isinstance(slope, Reciprocal):
        return f.reciprocal(slope.number).hi
    return slope.hi if isinstance(slope, TwoFloat) else f.lift(slope)


def times(f: KernelArithmetic, slope: Slope, factor: Node) -> Node:
    """Return slope·factor, and 0 where the slope is the constant 0; 0 has the sign +."""
    if isinstance(slope, Reciprocal):
        return f.divided(factor, slope.number)
    if isinstance(slope, TwoFloat):
        number = f.same_sign(slope)
        product = f.product(factor, number.hi)
        return product if number.lo is None else f.fma(factor, number.lo, product)
    if slope == 0:
        return f.lift(0)
    return factor if slope == 1 else f.product(factor, slope)


def pieces(
    *,
    name: str,
    formula: str,
    paper: str,
    definition: DefinitionForm,
    value: StableForm,
    slopes: Callable[..., Slopes],
    intervals: tuple[tuple[float, float], ...],
    bounds: Mapping[str, ErrorBound] = EXACT,
    **others: Any,
) -> Entry:
    """Return the entry of a piecewise-linear function; `others` are further fields of `Entry`."""

    def slope(f: KernelArithmetic, x: Node, **parameters: TwoFloat) -> Node:
        return slopes(f, x, **parameters).select(f, x, lambda slope: rounded(f, slope))

    def curvature(f: KernelArithmetic, x: Node, **parameters: TwoFloat) -> Node:
        return f.keep_nan(x, 0)

    def backward(f: KernelArithmetic, x: Node, grad: Node, **parameters: TwoFloat) -> Node:
        here = slopes(f, x, **parameters)
        if not here.pieces:
            # x is not read and may be NaN.
            return times(f, here.otherwise, grad)
        # A select, not a product with the slope: half the time in float16, and 0 times an infinite
        # grad would be NaN.
        return here.select(f, x, lambda slope: times(f, slope, grad))

    return Entry(
        name=name,
        formula=formula,
        paper=paper,
        definition=definition,
        value=value,
        slope=slope,
        curvature=curvature,
        backward=backward,
        intervals=intervals,
        bounds=bounds,
        piecewise_linear=True,
        **others,
    )
