"""Which function a block means by a name: softgate's own names, then torch's, then anybody's.

A block lives in torch, so what torch or Hugging Face mean by a name goes before what others do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from .._activation import Activation
from .._names import UnknownName, get
from ..registry import activations

GATES = {
    "glu": "sigmoid",
    "reglu": "relu",
    "geglu": "gelu",
    "geglu_tanh": "gelu_tanh",
    "swiglu": "silu",
}
"""The gated activations, and what is applied to the gate."""

_FIRST = ("torch", "huggingface", None)


def plain_activation(activation: str | Activation, **parameters: float) -> Activation:
    """Return the activation of a plain block by any known name."""
    if isinstance(activation, Activation):
        return activation.bind(**parameters)
    _check_string(activation)
    known = activations()
    if activation in known:
        return known[activation].bind(**parameters)
    if activation in GATES:
        raise ValueError(
            f"{activation!r} has two inputs and needs a gate of its own: "
            f"use GatedFeedForward(…, activation={activation!r})"
        )
    for source in _FIRST:
        try:
            return get(activation, source, **parameters)
        except UnknownName:
            continue
    raise unknown("activation", activation, [*known, *GATES])


def gate_activation(activation: str | Activation) -> Activation:
    """Return what a gated block applies to its gate."""
    if isinstance(activation, Activation):
        return activation
    _check_string(activation)
    if activation in GATES:
        return activations()[GATES[activation]]
    for gated, gate in GATES.items():
        if activation == gate:
            raise ValueError(f"{activation!r} has no gate: with one, it is {gated!r}")
    error = unknown("gated activation", activation, GATES)
    if activation in activations():
        error.add_note(f"softgate.{activation} itself, not its name, is applied to a gate.")
    raise error


def unknown(what: str, given: str, known: Iterable[str]) -> ValueError:
    """Return the error that lists what is known and names the nearest."""
    known = list(known)
    near = get_close_matches(given.casefold(), known, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return ValueError(f"unknown {what} {given!r}; {meant}Known are: {', '.join(known)}")


def _check_string(activation: Any) -> None:
    if not isinstance(activation, str):
        raise TypeError(
            f"activation is {activation!r}, of type {type(activation).__name__}: expected a name, "
            "such as 'gelu', or one of softgate's activations, such as softgate.gelu"
        )
