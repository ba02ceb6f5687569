"""Each activation with its default parameters and with every tested value of each parameter."""

from __future__ import annotations

from softgate.runtime.activation import Activation


def parameter_sets(activation: Activation) -> list[dict[str, float]]:
    """The defaults, and each parameter at each of its tested values."""
    sets: list[dict[str, float]] = [{}]
    for parameter in activation.entry.parameters:
        sets += [{parameter.name: value} for value in parameter.tested]
    return sets


def named(activation: Activation, parameters: dict[str, float]) -> str:
    return "-".join([activation.name, *(f"{n}={v:g}" for n, v in parameters.items())])
