"""What a derivative is far out, where its definition may be 0·inf or inf - inf and no number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...lower.float64 import evaluate

if TYPE_CHECKING:
    from ..._activation import Activation
    from ...graph import Node

Form = Callable[..., torch.Tensor]
QUANTITIES = ("value", "slope", "curvature")
FAR = np.ldexp(1.0, np.arange(1024))
"""Powers of two, to the end of float64."""


NEAR = np.ldexp(1.0, np.arange(-30, 61))
"""Where a definition is looked at: what cancels in float64 there does so the sooner in float32."""
LOST = 2.0**-40


def loses(activation: Activation, order: int, root: Node, parameters: dict[str, float]) -> bool:
    """Tell whether a definition loses digits, or overflows on the way, beside the kernel."""
    points = np.concatenate([-NEAR, NEAR])
    true = _kernel(activation, order, points, parameters)
    found = np.broadcast_to(evaluate(root, {"x": points, **parameters}), points.shape)
    with np.errstate(invalid="ignore"):
        return bool((np.abs(found - true) > LOST * np.abs(true)).any())


def _kernel(activation: Activation, order: int, points: Any, parameters: dict[str, float]) -> Any:
    method = activation if order == 0 else getattr(activation, QUANTITIES[order])
    return method(points, arithmetic=None, **parameters)


def settled(
    activation: Activation, order: int, root: Node, parameters: dict[str, float]
) -> list[tuple[float, float]]:
    """Return pairs (start, limit): beyond `start`, away from 0, a derivative is `limit`.

    Only of sides on which the definition is no number somewhere. There the kernels say what it is;
    beyond the curvature, which is their last, the definition does, as far out as it is a number.
    """
    found = []
    for side in (-1.0, 1.0):
        points = side * np.append(FAR, math.inf)
        defined = evaluate(root, {"x": points, **parameters})
        defined = np.broadcast_to(defined, points.shape)
        if not np.isnan(defined).any():
            continue
        if order < len(QUANTITIES):
            true = _kernel(activation, order, points, parameters)
        else:
            numbers = defined[~np.isnan(defined)]
            true = np.where(np.isnan(defined), numbers[-1], defined)
        limit = float(true[-1])
        if math.isnan(limit):
            continue
        others = np.flatnonzero(true != limit)
        first = 0 if not others.size else int(others[-1]) + 1
        found.append((float(points[first]), limit))
    return found


def limited(form: Form, ends: list[tuple[float, float]]) -> Form:
    """Return a form that is `limit` beyond each start.

    There the form itself is given 0: what autograd makes of a choice is NaN, where the one not
    taken is.
    """
    if not ends:
        return form

    def whole(x: torch.Tensor, *parameters: float) -> torch.Tensor:
        far = [_beyond(x, start) for start, _ in ends]
        inside = x
        for beyond in far:
            inside = torch.where(beyond, 0.0, inside)
        result = form(inside, *parameters)
        for beyond, (_, limit) in zip(far, ends, strict=True):
            result = torch.where(beyond, limit, result)
        return result

    return whole


def _beyond(x: torch.Tensor, start: float) -> torch.Tensor:
    if abs(start) > torch.finfo(x.dtype).max:
        return x == math.copysign(math.inf, start)
    return x <= start if start < 0 else x >= start
