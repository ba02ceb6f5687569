"""Which function a block means by a name: softgate's own names, then torch's, then anybody's."""

from __future__ import annotations

from softgate.frameworks.block_arguments import (
    activation_of_block,
    function_of_block,
    gate_activation,
    is_gated,
)
from softgate.runtime.activation import Activation
from softgate.runtime.gated import Gated

_FIRST = ("torch", "huggingface")


def function(name: str, **parameters: float) -> Activation | Gated:
    """Return what a name means, plain or gated."""
    return function_of_block(name, _FIRST, **parameters)


def plain_activation(activation: str | Activation, **parameters: float) -> Activation:
    """Return the activation of a plain block by any known name."""
    return activation_of_block(activation, _FIRST, **parameters)


def gate(activation: str | Gated | Activation, **parameters: float) -> Activation:
    """Return what a gated block applies to its gate."""
    return gate_activation(activation, _FIRST, **parameters)


def needs_gate(activation: object) -> bool:
    """Tell whether a block with this activation is a gated one."""
    return is_gated(activation, _FIRST)
