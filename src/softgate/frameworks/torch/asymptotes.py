"""What a derivative is at ±inf, far out, at -0 and at NaN, where its graph may be something else.

Far out a definition may be 0·inf or inf - inf; a choice by comparison forgets -0 and NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from softgate.lower.float64 import OPERATIONS, evaluate

if TYPE_CHECKING:
    from softgate.formula.graph import Node
    from softgate.runtime.activation import Activation

Form = Callable[..., torch.Tensor]
QUANTITIES = ("value", "slope", "curvature")
FAR = np.ldexp(1.0, np.arange(1024))
"""Powers of two, to the end of float64."""


NEAR = np.ldexp(1.0, np.arange(-30, 61))
"""Where a definition is looked at: what cancels in float64 there does so the sooner in float32."""
LOST = 2.0**-40
_OPERATIONS = {**OPERATIONS, "fma": lambda x, y, z: x * y + z}


def loses(activation: Activation, order: int, root: Node, parameters: dict[str, float]) -> bool:
    """Tell whether a definition loses digits, or overflows on the way, beside the kernel."""
    intervals = [np.linspace(*interval, 1001) for interval in activation.entry.intervals]
    points = np.concatenate([-NEAR, NEAR, *intervals])
    true = _kernel(activation, order, points, parameters)
    found = np.broadcast_to(evaluate(root, {"x": points, **parameters}), points.shape)
    with np.errstate(invalid="ignore"):
        return bool((np.abs(found - true) > LOST * np.abs(true)).any())


def _kernel(activation: Activation, order: int, points: Any, parameters: dict[str, float]) -> Any:
    method = activation if order == 0 else getattr(activation, QUANTITIES[order])
    return method(points, arithmetic=None, **parameters)


class End(NamedTuple):
    """Beyond `start`, away from 0, a derivative is `limit`; x itself where `limit` is None."""

    start: float
    limit: float | None


class Edges(NamedTuple):
    """Where a form differs from what it should return."""

    ends: tuple[End, ...] = ()
    zero_slope: float | None = None
    """The slope at 0 of a value whose sign at -0 the form loses."""
    loses_nan: bool = False


def edges(
    activation: Activation,
    order: int,
    root: Node,
    slope: Node | None,
    parameters: dict[str, float],
) -> Edges:
    """Return where `root`, a derivative, differs from the kernels at ±inf, far out, -0 and NaN.

    Far out only on sides on which `root`, or the `slope` that autograd would make of it, is NaN
    somewhere. Beyond the curvature, for which there are no kernels, the graph itself tells the
    limit, as far out as it is a number.
    """

    def at(node: Node, points: Any) -> Any:
        values = evaluate(node, {"x": points, **parameters}, _OPERATIONS)
        return np.broadcast_to(values, points.shape)

    ends = []
    for side in (-1.0, 1.0):
        points = side * np.append(FAR, math.inf)
        defined = at(root, points)
        undefined = np.isnan(defined).any()
        if not undefined and (slope is None or not np.isnan(at(slope, points)).any()):
            continue
        if order < len(QUANTITIES):
            true = _kernel(activation, order, points, parameters)
        else:
            numbers = defined[~np.isnan(defined)]
            true = np.where(np.isnan(defined), numbers[-1], defined)
        end = _end(points, true)
        if end is not None:
            ends.append(end)
    if order >= len(QUANTITIES):
        return Edges(tuple(ends))
    special = np.array([-0.0, math.nan])
    (zero, nan), (true_zero, true_nan) = (
        at(root, special),
        _kernel(activation, order, special, parameters),
    )
    zero_slope = None
    if order == 0 and true_zero == 0 and np.signbit(true_zero) and not np.signbit(zero):
        zero_slope = abs(float(_kernel(activation, 1, special[:1], parameters)[0]))
    return Edges(tuple(ends), zero_slope, bool(np.isnan(true_nan) and not np.isnan(nan)))


def _end(points: Any, true: Any) -> End | None:
    """Return from where on a derivative is constant, or x; None where it is neither."""
    limit = float(true[-1])
    if math.isnan(limit):
        return None
    for expected, named in ((np.full_like(points, limit), limit), (points, None)):
        others = np.flatnonzero(true != expected)
        first = int(others[-1]) + 1 if others.size else 0
        if first < points.size - 1 or (named is not None and math.isfinite(limit)):
            return End(float(points[first]), named)
    return End(float(points[-1]), limit)


def limited(form: Form, edges: Edges) -> Form:
    """Return a form that is right at the edges, and so is what autograd makes of it.

    Beyond an end the form itself receives 0: the gradient of a choice is NaN where that of the
    operand that is not chosen is.
    """
    if edges == Edges():
        return form

    def whole(x: torch.Tensor, *parameters: float) -> torch.Tensor:
        far = [_beyond(x, end.start) for end in edges.ends]
        inside = x
        for beyond in far:
            inside = torch.where(beyond, 0.0, inside)
        result = form(inside, *parameters)
        for beyond, (_, limit) in zip(far, edges.ends, strict=True):
            value = x if limit is None else limit
            if limit == 0 and math.copysign(1.0, limit) < 0:
                value = -inside  # torch.jit.trace takes the constants -0.0 and 0.0 for the same
            result = torch.where(beyond, value, result)
        if edges.zero_slope is not None:
            result = torch.where(x == 0, x * edges.zero_slope, result)
        return torch.where(torch.isnan(x), x, result) if edges.loses_nan else result

    return whole


def _beyond(x: torch.Tensor, start: float) -> torch.Tensor:
    if abs(start) > torch.finfo(x.dtype).max:
        return x == math.copysign(math.inf, start)
    return x <= start if start < 0 else x >= start
