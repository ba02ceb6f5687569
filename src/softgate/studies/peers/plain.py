"""The in-place formulas as functions of one array: `softgate.studies.peers.plain:gelu`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import formulas, formulas_piecewise
from .formulas import Array, Backward, Value

FORMULAS: dict[str, tuple[Value, Backward]] = {
    **{name: (value, formulas.BACKWARDS[name]) for name, value in formulas.VALUES.items()},
    **formulas_piecewise.FORMULAS,
}
"""Value and backward by the function's name."""


def __getattr__(name: str) -> Callable[[Array], Array]:
    """Return a formula's value as a function that makes its own output."""
    if name not in FORMULAS:
        raise AttributeError(f"there is no NumPy formula {name!r}: there are {', '.join(FORMULAS)}")
    value = FORMULAS[name][0]

    def function(x: Array) -> Array:
        out, work = np.empty_like(x), np.empty_like(x)
        value(x, out, work)
        return out

    return function
