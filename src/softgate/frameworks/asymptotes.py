"""Limits of a derivative for large |x|, where its formula may be NaN: 0·inf or inf - inf.

Kernels return these limits; formulas in a framework's operators are completed with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from softgate.lower.evaluation import FLOAT64_OPERATIONS, evaluate_float64

if TYPE_CHECKING:
    from softgate.formula.graph import Node

FAR = np.append(np.ldexp(1.0, np.arange(1024)), math.inf)
"""All powers of two from 1 on in float64, and infinity."""
_OPERATIONS = {**FLOAT64_OPERATIONS, "fma": lambda x, y, z: x * y + z}


class Asymptote(NamedTuple):
    """From `start` outwards a derivative equals `limit`, or x if `limit` is None."""

    start: float
    limit: float | None


def values_at(root: Node, points: Any, parameters: Mapping[str, float]) -> Any:
    """Return the float64 values of a graph at `points`, in their shape."""
    values = evaluate_float64(root, {"x": points, **parameters}, _OPERATIONS)
    return np.broadcast_to(values, points.shape)


def asymptotes(
    root: Node,
    parameters: Mapping[str, float],
    kernel: Callable[[Any], Any] | None = None,
    slope: Node | None = None,
) -> list[Asymptote]:
    """Return the tails of `root` for each sign of x where it is NaN at a point of `FAR`.

    Also where its derivative `slope`, if passed, is NaN. The limits are those of `kernel`; without
    one, the last value of the formula that is not NaN, if there is one.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> asymptotes(x * f.exp(-x), {})
    [Asymptote(start=1024.0, limit=0.0)]
    """
    limits = []
    for side in (-1.0, 1.0):
        points = side * FAR
        values = values_at(root, points, parameters)
        undefined = np.isnan(values)
        if not undefined.any() and (
            slope is None or not np.isnan(values_at(slope, points, parameters)).any()
        ):
            continue
        if kernel is not None:
            end = _end(points, kernel(points))
        elif undefined.all():
            end = None
        else:
            filled = np.where(undefined, values[~undefined][-1], values)
            end = _constant_from(points, filled, filled[-1])
        if end is not None:
            limits.append(end)
    return limits


def _end(points: Any, values: Any) -> Asymptote | None:
    """Return the tail where `values` are constant or equal `points`; None if the last is NaN."""
    limit = float(values[-1])
    if math.isnan(limit):
        return None
    constant = _constant_from(points, values, limit)
    if math.isfinite(limit) or math.isfinite(constant.start) or limit != points[-1]:
        return constant
    identity = _constant_from(points, values, points)
    return Asymptote(identity.start, None) if math.isfinite(identity.start) else constant


def _constant_from(points: Any, values: Any, expected: Any) -> Asymptote:
    others = np.flatnonzero(values != expected)
    first = int(others[-1]) + 1 if others.size else 0
    return Asymptote(float(points[first]), float(np.ravel(expected)[-1]))
