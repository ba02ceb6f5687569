"""All activations of the catalogue, each made once."""

from __future__ import annotations

from functools import cache

from ._activation import Activation
from .catalogue import entries


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
