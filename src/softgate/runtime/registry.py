"""All activations and gated activations of the catalogue, each constructed once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from softgate.catalogue import entries
from softgate.catalogue.gated import GATED

from .activation import Activation
from .gated import Gated

if TYPE_CHECKING:
    from softgate.studies.properties.record import Properties


@cache
def activations() -> dict[str, Activation]:
    """Return every activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.activations()["gelu"] is sg.gelu
    True
    """
    return {name: Activation(entry) for name, entry in entries().items()}


def label(activation: Activation) -> str:
    """Return the name with the parameters that differ from the defaults, as commands accept it.

    Examples
    --------
    >>> import softgate as sg
    >>> label(sg.elu), label(sg.elu.bind(alpha=0.5))
    ('elu', 'elu:alpha=0.5')
    """
    usual, user = activations().get(activation.name), activation.entry.user
    defaults = dict(user.defaults) if user else usual.parameters if usual else {}
    changed = [f"{n}={v!r}" for n, v in activation.parameters.items() if defaults.get(n) != v]
    return f"{activation.name}:{','.join(changed)}" if changed else activation.name


def study(activation: Activation) -> Properties:
    """Return the properties of an activation, under the name that commands accept."""
    from softgate.studies.properties import measure

    return measure.study(activation.entry, activation.parameters, label(activation))


@cache
def gated() -> dict[str, Gated]:
    """Return every gated activation by its name.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.gated()["swiglu"] is sg.swiglu
    True
    """
    return {entry.name: Gated(entry) for entry in GATED}


@cache
def functions() -> dict[str, Activation | Gated]:
    """Return every function by its name: activations, then gated ones."""
    return {**activations(), **gated()}
