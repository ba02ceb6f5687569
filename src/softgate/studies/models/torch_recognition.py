"""Which activation a module or a call computes, identified by its values, and what hides one.

Each kind of call is identified once for the life of the process.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from softgate.runtime.activation import Activation
from softgate.runtime.registry import activations, label

from ..identify import UNKNOWN, identify
from ..subjects import SubjectFailure
from .torch_calls import CallForm

MOST_REMEMBERED = 1024
"""Maximum number of cached results."""

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class RecognisedFunction:
    """The function that a call was identified as: scale·activation, and its name.

    For an elementwise function that is not in the catalogue, the name is empty and `activation` is
    None. `activation` is also None if the function has trainable parameters.
    """

    name: str
    activation: Any
    scale: float = 1.0


_recognised: dict[Any, RecognisedFunction | None] = {}


def recognise(function: Any) -> RecognisedFunction | None:
    """Return what a function of tensors computes, or None if it is not elementwise."""
    try:
        match = identify(function, framework="torch", dtype="float32")
        if match.function == UNKNOWN:
            return RecognisedFunction("", None) if is_elementwise(function) else None
    except (SubjectFailure, RuntimeError, TypeError, ValueError, IndexError):
        return None  # not a function of a vector
    activation = activations()[match.function].bind(**match.parameters)
    name = label(activation) if match.scale == 1 else f"{match.scale:.6g}·{label(activation)}"
    name = name if match.offset == 0 else f"{name}{match.offset:+.6g}"
    return RecognisedFunction(name, activation, match.scale)


def recognise_module(module: nn.Module) -> RecognisedFunction | None:
    """Return the activation that a module computes, or None if it is not one."""
    if not may_be_activation(module):
        return None
    activation = getattr(module, "activation", None)
    if isinstance(activation, Activation) and activation.nin == 1:
        return RecognisedFunction(label(activation), activation)
    result = _recognise_once(_configuration(module), _plain_copy(module))
    # A scale or an offset alone is not an activation.
    return None if getattr(result and result.activation, "name", "") == "identity" else result


def recognise_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], form: CallForm, plain: Function
) -> RecognisedFunction | None:
    """Return what a call of an activation computes; only its name if it has tensor parameters.

    `plain` is the call as a function of its input alone.
    """
    rest = [*args[: form.position], *args[form.position + 1 :]]
    rest += [value for key, value in kwargs.items() if key != form.keyword]
    if any(isinstance(value, Tensor) for value in rest):
        return RecognisedFunction(form.name, None)
    if rest and isinstance(rest[0], Activation) and not kwargs:
        return RecognisedFunction(label(rest[0]), rest[0])
    result = _recognise_once((function, *rest, *kwargs), plain)
    return result if result is not None and result.name else None


def _recognise_once(key: Any, function: Function) -> RecognisedFunction | None:
    """Recognise a function, or return the cached result of an equal key; the key None has none."""
    try:
        if key is not None and key in _recognised:
            return _recognised[key]
    except TypeError:  # a part of the key is not hashable
        key = None
    result = recognise(function)
    if key is not None:
        if len(_recognised) > MOST_REMEMBERED:
            _recognised.clear()
        _recognised[key] = result
    return result


def may_be_activation(module: nn.Module) -> bool:
    """Return whether a module is possibly an activation and may be called on test inputs."""
    if any(True for _ in module.children()) or any(True for _ in module.buffers()):
        return False
    package = type(module).__module__
    if package == "torch.nn.modules.activation":
        return not isinstance(module, nn.MultiheadAttention | nn.Softmax | nn.LogSoftmax)
    if package.startswith("torch.nn.modules"):
        return False
    # An activation may have a trainable scalar (PReLU, Swish), but not a matrix or an embedding.
    return all(parameter.numel() == 1 for parameter in module.parameters())


def _plain_copy(module: nn.Module) -> Function:
    """Return the forward of a copy of a module, in evaluation mode on the CPU."""
    twin = copy.copy(module)
    for name, value in vars(module).items():
        if isinstance(value, list | dict | set):  # the forward may store test inputs in them
            vars(twin)[name] = value.copy()
    twin.training = False
    twin._parameters = {
        name: None if value is None else nn.Parameter(value.detach().float().cpu())
        for name, value in module._parameters.items()
    }
    return without_hooks(twin)


def without_hooks(module: nn.Module) -> Function:
    """Return a module's forward as a function that calls no hooks and does not change its input."""

    def call(x: Tensor) -> Tensor:
        result: Tensor = module.forward(x.clone())
        return result

    return call


def _configuration(module: nn.Module) -> Any:
    """Return the class and the settings of a module; None if it has trainable parameters."""
    if any(True for _ in module.parameters()):
        return None
    settings = [item for item in vars(module).items() if not item[0].startswith("_")]
    return type(module), *(item for item in settings if item[0] != "training")


def is_elementwise(function: Function) -> bool:
    """Return whether a function is elementwise, differentiable and not linear.

    Reversed inputs, and a part of the inputs, must give the same values; a random function gives
    other values.
    """
    x = torch.linspace(-4.0, 4.0, 41).requires_grad_()
    with torch.enable_grad():
        y = function(x)
    if getattr(y, "shape", None) != x.shape or not y.requires_grad:
        return False
    (slope,) = torch.autograd.grad(y.sum(), x)
    with torch.no_grad():
        reverse, part = function(x.flip(0)).flip(0), function(x[3:12])
        same = torch.allclose(reverse, y, 1e-4, 1e-5) and torch.allclose(part, y[3:12], 1e-4, 1e-5)
        curved = float(slope.max() - slope.min()) > 1e-3
    return same and curved and bool(torch.isfinite(y).all())


class Unobservable(NamedTuple):
    """The reason why calls cannot be observed, and advice; reported as a finding."""

    why: str
    advice: str


SCRIPTED = Unobservable(
    "scripted modules run outside Python", "watch the modules they were scripted from"
)
RECURRENT = Unobservable(
    "the tanh and sigmoid of a recurrent layer are inside one torch function",
    "write the recurrence as a module that calls torch.tanh and torch.sigmoid",
)
QUANTISED = Unobservable(
    "quantised tensors are computed by fused functions", "watch the model before it is quantised"
)

_QUANTISED_ACTIVATIONS = ("ReLU", "ELU", "Hardswish", "Sigmoid", "LSTM", "GRU", "RNN")


def module_problem(module: nn.Module) -> Unobservable | None:
    """Return why the activations inside a module cannot be observed, or None."""
    if isinstance(module, torch.jit.ScriptModule):
        return SCRIPTED
    if isinstance(module, nn.RNNBase | nn.RNNCellBase):
        return RECURRENT
    package, name = type(module).__module__, type(module).__name__
    if package.startswith("torch.ao.nn") and "quantized" in package:
        return QUANTISED if any(part in name for part in _QUANTISED_ACTIVATIONS) else None
    return None
