"""What a derivative is far out, where its formula may be 0·inf or inf - inf and no number.

Derivatives that kernels have are right there; this is for the others, in any framework.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from softgate.lower.float64 import evaluate

if TYPE_CHECKING:
    from softgate.formula.graph import Node

FAR = np.ldexp(1.0, np.arange(1024))
"""Powers of two, to the end of float64."""


def ends(root: Node, parameters: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return pairs (start, limit): at `start` and beyond, away from 0, a derivative is `limit`.

    Only of sides on which the formula is no number somewhere: the limit is the last number there.

    Examples
    --------
    >>> from softgate.formula.arithmetic import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> ends(x * f.exp(-x), {})
    [(1024.0, 0.0)]
    """
    found = []
    for side in (-1.0, 1.0):
        points = side * np.append(FAR, math.inf)
        values = np.broadcast_to(evaluate(root, {"x": points, **parameters}), points.shape)
        numbers = np.flatnonzero(~np.isnan(values))
        if numbers.size in (0, points.size):
            continue
        limit = float(values[numbers[-1]])
        others = np.flatnonzero(~np.isnan(values) & (values != limit))
        first = int(others[-1]) + 1 if others.size else 0
        found.append((float(points[first]), limit))
    return found
