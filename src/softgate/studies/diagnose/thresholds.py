"""From where on a figure is a finding: every number that a verdict rests on, adjustable."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Thresholds:
    """What is counted, and from where on it is told.

    Attributes
    ----------
    flat : float
        A slope smaller than this, up or down, is flat.
    saturation : float
        A value so near one of an activation's bounds, as a share of its range, is saturated.
    inputs : int
        Of so many inputs at least must a unit have been flat before it is called dead or trapped.
    dead, trapped : float
        The share of a layer's units.
    saturated : float
        The share of a layer's values.
    vanishing, exploding : float
        The gradient's norm at the first layer, divided by that at the last.
    shrinking, growing : float
        The factor by which outputs change from one layer to the next, their geometric mean.
    """

    flat: float = 0.01
    saturation: float = 0.01
    inputs: int = 200
    dead: float = 0.01
    trapped: float = 0.01
    saturated: float = 0.5
    vanishing: float = 1e-3
    exploding: float = 1e3
    shrinking: float = 0.2
    growing: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not value >= 0:
                raise ValueError(
                    f"{field.name} = {value!r}: expected a number that is not negative"
                )
        if self.flat == 0 or self.saturation >= 0.5:
            raise ValueError(
                f"flat = {self.flat:g}, saturation = {self.saturation:g}: expected flat > 0 and "
                "saturation < 0.5"
            )
