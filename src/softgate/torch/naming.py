"""Which function a block means by a name: softgate's own names, then torch's, then anybody's."""

from __future__ import annotations

from .._activation import Activation
from ..blueprints import activation_of_block

_FIRST = ("torch", "huggingface")


def plain_activation(activation: str | Activation, **parameters: float) -> Activation:
    """Return the activation of a plain block by any known name."""
    return activation_of_block(activation, _FIRST, **parameters)
