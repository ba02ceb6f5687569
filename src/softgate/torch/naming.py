"""Which function a block means by a name: softgate's own names, then torch's, then anybody's.

A block lives in torch, so what torch or Hugging Face mean by a name goes before what others do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from .._activation import Activation
from .._gated import Gated
from .._names import UnknownName, get
from ..registry import activations, gated

_FIRST = ("torch", "huggingface", None)


def is_gated(activation: object) -> bool:
    """Tell whether a block with this activation needs a gate."""
    return isinstance(activation, Gated) or (isinstance(activation, str) and activation in gated())


def plain_activation(activation: str | Activation, **parameters: float) -> Activation:
    """Return the activation of a plain block by any known name."""
    if isinstance(activation, Activation):
        return activation.bind(**parameters)
    if is_gated(activation):
        name = getattr(activation, "name", activation)
        raise ValueError(f"{name!r} has two inputs, one of them a gate: use GatedFeedForward")
    _check_string(activation, "'gelu'")
    known = activations()
    if activation in known:
        return known[activation].bind(**parameters)
    for source in _FIRST:
        try:
            return get(activation, source, **parameters)
        except UnknownName:
            continue
    raise unknown("activation", activation, [*known, *gated()])


def gate_activation(activation: str | Gated | Activation, **parameters: float) -> Activation:
    """Return what a gated block applies to its gate."""
    if isinstance(activation, Activation):
        return activation.bind(**parameters)
    known = gated()
    if isinstance(activation, Gated):
        parameters = {**activation.parameters, **parameters}
        return activations()[activation.entry.act.name].bind(**parameters)
    _check_string(activation, "'swiglu'")
    if activation in known:
        return activations()[known[activation].entry.act.name].bind(**parameters)
    for name, function in known.items():
        if activation == function.entry.act.name:
            raise ValueError(f"{activation!r} has no gate: with one, it is {name!r}")
    error = unknown("gated activation", activation, known)
    if activation in activations():
        error.add_note(f"softgate.{activation} itself, not its name, is applied to a gate.")
    raise error


def unknown(what: str, given: str, known: Iterable[str]) -> ValueError:
    """Return the error that lists what is known and names the nearest."""
    known = list(known)
    near = get_close_matches(given.casefold(), known, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return ValueError(f"unknown {what} {given!r}; {meant}Known are: {', '.join(known)}")


def _check_string(activation: Any, such_as: str) -> None:
    if not isinstance(activation, str):
        raise TypeError(
            f"activation is {activation!r}, of type {type(activation).__name__}: expected a name, "
            f"such as {such_as}, or one of softgate's activations"
        )
