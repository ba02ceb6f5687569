"""Integer and boolean tensors: computed in torch's default floating-point format.

As in torch's sigmoid and tanh, and in softgate with arrays, where the default is float64. relu,
relu6 and hard_tanh of integers return integers, as torch's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from .decompositions import constant_when_compiled

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

_INTEGER = ("hard_tanh", "relu", "relu6")


def is_integer(x: Any) -> bool:
    """Return whether `x` is a tensor of integers or booleans."""
    if not isinstance(x, torch.Tensor) or x.is_quantized:
        return False
    return not (x.dtype.is_floating_point or x.dtype.is_complex)


def as_floats(*operands: Any) -> tuple[Any, ...]:
    """Return operands with integer tensors converted to the default dtype.

    If one is a tensor of floats, all are unchanged: as in torch, the result has its dtype.
    """
    tensors = [x for x in operands if isinstance(x, torch.Tensor)]
    if not all(is_integer(x) for x in tensors):
        return operands
    dtype = torch.get_default_dtype()
    return tuple(x.to(dtype) if isinstance(x, torch.Tensor) else x for x in operands)


def integer_value(
    activation: Activation, quantity: str, x: torch.Tensor, parameters: Mapping[str, float]
) -> torch.Tensor | None:
    """Return the value of integers as integers, or None if the result is a float."""
    name = (
        _integer_function(activation) if quantity == "value" and x.dtype is not torch.bool else ""
    )
    if name == "relu":
        return F.relu(x)
    if name == "relu6":
        return F.relu6(x)
    if name == "hard_tanh":
        values = {**activation.parameters, **parameters}
        return F.hardtanh(x, values["low"], values["high"])
    return None


@constant_when_compiled
def _integer_function(activation: Activation) -> str:
    """Return the name of a function of the catalogue that returns integers for integers, or ""."""
    from softgate.runtime.registry import activations

    known = activations().get(activation.name)
    same = known is not None and known.entry.definition is activation.entry.definition
    return activation.name if same and activation.name in _INTEGER else ""
