"""`properties`: range, smoothness, limits, gains and flat regions of activations, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softgate.records import exact_digits

from ..subjects.resolved import activation
from .record import PropertyTable as PropertyTable

MOST_DIGITS = 15


def properties(*functions: str | Callable[..., Any], digits: int = 4) -> PropertyTable:
    """Return the properties of activations, side by side.

    Parameters
    ----------
    *functions : str or callable
        The activations: "gelu", "elu:alpha=0.5", "torch.nn.functional.gelu", "file.py:function", or
        a callable. Each has its own record as its attribute `properties` too.
    digits : int
        Significant digits shown, up to 15; the record itself keeps all.

    Returns
    -------
    PropertyTable
        A record: printed, it has a row for each property.

    Examples
    --------
    >>> import softgate as sg
    >>> gelu, relu = sg.properties("gelu", "relu")
    >>> gelu.minimum.value, gelu.slope_roots
    (-0.169971207479903..., (-0.751791524693564...,))
    >>> relu.smoothness, relu.monotone, str(relu.level[0])
    ('C^0', 'non-decreasing', 'x <= 0')
    """
    if not functions:
        raise ValueError("no activations were given: name at least one, such as gelu")
    exact_digits.check(digits, 1, MOST_DIGITS)
    chosen = [activation(function) for function in functions]
    return PropertyTable(tuple(function.properties for function in chosen), digits)
