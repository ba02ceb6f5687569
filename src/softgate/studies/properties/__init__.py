"""Properties of several activations side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from softgate.lower import decimals
from softgate.runtime.activation import Activation
from softgate.runtime.records import Cell, Grid, Record
from softgate.runtime.registry import activations

from .record import Properties, side_by_side

MOST_DIGITS = 15


@dataclass(frozen=True)
class PropertyTable(Record):
    """The properties of some activations; iterating gives one record for each."""

    schema: ClassVar[str] = "softgate.property_table"

    functions: tuple[Properties, ...]
    digits: int

    def __iter__(self) -> Iterator[Properties]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __getitem__(self, which: int) -> Properties:
        return self.functions[which]

    def grids(self) -> tuple[Grid, ...]:
        """Return a row for each property and a column for each activation."""
        return (side_by_side(self.functions, self.digits),)

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return rows of function, property and value, with all digits."""
        header, _ = self.functions[0].table()
        return header, [row for properties in self.functions for row in properties.table()[1]]


def properties(*functions: Activation | str, digits: int = 4) -> PropertyTable:
    """Return what activations are like, side by side: all of it computed.

    Parameters
    ----------
    *functions : Activation or str
        Which ones. One alone has them as its attribute `properties` too.
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


def named(given: Activation | str) -> Activation:
    """Return an activation, itself or by its name here or in a framework."""
    if isinstance(given, Activation):
        return given
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is a {type(given).__name__}: expected an activation or a name")
    found = activations().get(given)
    if found is None:
        from softgate.runtime.names import get

        found = get(given)
        if not isinstance(found, Activation):
            raise ValueError(
                f"{given!r} takes two arrays: expected a function of one, such as gelu"
            )
    return found
