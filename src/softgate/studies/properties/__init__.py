"""`properties`: range, smoothness, limits, gains and flat regions of activations, side by side."""

from __future__ import annotations

from softgate.lower import decimals
from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations

from .record import PropertyTable as PropertyTable

MOST_DIGITS = 15


def properties(*functions: Activation | str, digits: int = 4) -> PropertyTable:
    """Return the properties of activations, side by side.

    Parameters
    ----------
    *functions : Activation or str
        The activations. Each has its own record as its attribute `properties` too.
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
    ('C^0', 'never falls', 'x <= 0')
    """
    if not functions:
        raise ValueError("no activations were given: name at least one, such as gelu")
    decimals.check(digits, 1, MOST_DIGITS)
    chosen = [named(function) for function in functions]
    return PropertyTable(tuple(activation.properties for activation in chosen), digits)


def named(function: Activation | str) -> Activation:
    """Return an activation, itself or by its name here or in a framework."""
    if isinstance(function, Activation):
        return function
    if not isinstance(function, str):
        raise TypeError(
            f"{function!r} is a {type(function).__name__}: expected an activation or a name"
        )
    activation = activations().get(function)
    if activation is not None:
        return activation
    from softgate.runtime.names import get

    meaning = get(function)
    if not isinstance(meaning, Activation):
        raise ValueError(f"{function!r} takes two arrays: expected a function of one, such as gelu")
    return meaning
