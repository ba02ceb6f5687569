"""A definition in NumPy's float64: for magnitudes; the last bits may be wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softgate.formula.graph import Node

from .interpret import ARITHMETIC, Operations, interpret

Float64s = npt.NDArray[np.float64]


def evaluate(
    root: Node, inputs: Mapping[str, float | Float64s], operations: Operations | None = None
) -> Float64s:
    """Return `root` at these inputs, arrays of one shape or numbers."""
    with np.errstate(all="ignore"):
        return np.asarray(interpret(root, operations or OPERATIONS, _number, inputs), np.float64)


def _number(value: Any) -> Any:
    return np.float64(value) if isinstance(value, Fraction | float) else value


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a scalar function vectorised; NumPy has no erf."""
    return np.vectorize(function, otypes=[np.float64])


ERFC = _each(math.erfc)

OPERATIONS: Operations = {
    **ARITHMETIC,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "where": np.where,
    "pi": lambda: np.pi,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "erf": _each(math.erf),
    "erfc": ERFC,
    "Phi": lambda x: ERFC(-np.sqrt(0.5) * x) / 2,
    "phi": lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
}
