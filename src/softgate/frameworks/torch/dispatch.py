"""Whether a tensor is computed by a kernel, through an operator, or by torch's operators.

Integer and boolean tensors are converted to torch's default floating-point format first, as in
torch's sigmoid and tanh, and in softgate with arrays, where the default is float64. relu, relu6 and
hard_tanh of integers return integers, as torch's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.compiler import is_dynamo_compiling

from . import private
from .cpu_kernels import DTYPES
from .decompositions import exporting, functionalizing, on_cpu
from .private import constant_when_compiled
from .registration import failures

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

PLAIN_NAMES = (private.dispatch_keys, private.forward_mode)
"""The capabilities without which no tensor is plain."""
_keys, _local, _PLAIN_KEYS, _PLAIN_MODES = private.dispatch_keys.get()
_forward_mode = private.forward_mode.get()


def plain(x: torch.Tensor) -> bool:
    """Return whether `x` is a plain CPU tensor and no mode, tracer or transform is active."""
    return (
        _keys(x).raw_repr() in _PLAIN_KEYS
        and _local().raw_repr() in _PLAIN_MODES
        and _forward_mode._current_level < 0
    )


def both_plain(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Return the same for two tensors, with one check for modes."""
    return _keys(y).raw_repr() in _PLAIN_KEYS and plain(x)


def all_plain(*tensors: torch.Tensor) -> bool:
    """Return the same for any number of tensors."""
    for x in tensors:  # a generator takes longer than a small tensor's kernel
        if _keys(x).raw_repr() not in _PLAIN_KEYS:
            return False
    return _local().raw_repr() in _PLAIN_MODES and _forward_mode._current_level < 0


def is_nested(x: torch.Tensor) -> bool:
    """Return whether a tensor is nested in the strided layout; jagged ones are not."""
    return x.is_nested and x.layout is torch.strided


def path(x: torch.Tensor) -> str:
    """Return "kernel" or "torch": whether kernels or torch's operators compute for `x`."""
    ours = on_cpu(x) and not exporting() and x.dtype in DTYPES and not functionalizing()
    if ours and failures:  # without operators kernels compute for plain tensors only
        ours = not is_dynamo_compiling() and plain(x)
    return "kernel" if ours else "torch"


def uses_torch(*tensors: torch.Tensor) -> bool:
    """Return whether torch's operators compute for these tensors."""
    device = tensors[0].device
    return any(path(x) == "torch" or x.device != device for x in tensors)


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
