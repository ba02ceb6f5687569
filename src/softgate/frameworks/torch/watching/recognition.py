"""Which activation a module or a call computes: asked once for each kind of call, by its values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from softgate.runtime.activation import Activation
from softgate.runtime.registry import label

from .functions import Use

MOST_KEPT = 1024
"""Kinds of calls whose function is remembered."""

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Known:
    """What an activation was found to be, by its values."""

    answer: str
    """Its name; empty where it is a function of each element, and none that is known."""
    activation: Any
    scale: float = 1.0


_recognised: dict[Any, Known | None] = {}
"""What calls of one kind compute, for as long as the process lives."""


class Recognition:
    """Answers from what was asked before, in this process; asks `identify` where nothing was."""

    def __init__(self, identify: Callable[[Function], Known | None]) -> None:
        self._identify = identify

    def of_module(self, module: nn.Module) -> Known | None:
        """Return what a module computes where it is an activation, else None."""
        if not may_be_activation(module):
            return None
        own = getattr(module, "activation", None)
        if isinstance(own, Activation):
            return Known(label(own), own)
        found = self._once(_configuration(module), _twin(module))
        # A factor or a sum alone is no activation, whatever its numbers.
        return None if getattr(found and found.activation, "name", "") == "identity" else found

    def of_call(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        use: Use,
        again: Function,
    ) -> Known | None:
        """Return what a call of an activation computes; of one that is learnt, its name."""
        rest = [*args[: use.position], *args[use.position + 1 :]]
        rest += [value for key, value in kwargs.items() if key != use.keyword]
        if any(isinstance(value, Tensor) for value in rest):
            return Known(use.name, None)
        if rest and isinstance(rest[0], Activation) and not kwargs:
            return Known(label(rest[0]), rest[0])
        found = self._once((function, *rest, *kwargs), again)
        return found if found is not None and found.answer else None

    def _once(self, key: Any, call: Function) -> Known | None:
        """Recognise a call, the first time that one of its key is seen; None is no key."""
        try:
            kept = key is not None and key in _recognised
        except TypeError:  # a key that cannot be one, as a list cannot
            key, kept = None, False
        if kept:
            return _recognised[key]
        found = self._identify(call)
        if key is not None:
            if len(_recognised) > MOST_KEPT:
                _recognised.clear()
            _recognised[key] = found
        return found


def may_be_activation(module: nn.Module) -> bool:
    """Tell whether a module may be called on numbers of ours to see what it computes."""
    if any(True for _ in module.children()) or any(True for _ in module.buffers()):
        return False
    home = type(module).__module__
    if home == "torch.nn.modules.activation":
        return not isinstance(module, nn.MultiheadAttention | nn.Softmax | nn.LogSoftmax)
    if home.startswith("torch.nn.modules"):
        return False
    # A learnt number (PReLU, Swish) is no hindrance; a matrix or an embedding is no activation.
    return all(parameter.numel() == 1 for parameter in module.parameters())


def _twin(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return what a module computes of numbers of ours: on the CPU, not random, nobody told."""
    twin = copy.copy(module)
    for name, value in vars(module).items():
        if isinstance(value, list | dict | set):  # what it keeps of our numbers is not the model's
            vars(twin)[name] = value.copy()
    twin.training = False
    twin._parameters = {
        name: None if value is None else nn.Parameter(value.detach().float().cpu())
        for name, value in module._parameters.items()
    }
    return unhooked(twin)


def unhooked(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return what a module computes, nobody else being told, its input left as it is."""

    def call(x: Tensor) -> Tensor:
        result: Tensor = module.forward(x.clone())
        return result

    return call


def _configuration(module: nn.Module) -> Any:
    """Return what tells apart modules of one class; None where it has learnt numbers."""
    if any(True for _ in module.parameters()):
        return None
    own = [item for item in vars(module).items() if not item[0].startswith("_")]
    return type(module), *(item for item in own if item[0] != "training")


def of_each_element(call: Function) -> bool:
    """Tell whether a function takes each element by itself, has a slope, and is no straight line.

    Elements in another order, or fewer of them, must give the same values; drawing random numbers
    does not.
    """
    x = torch.linspace(-4.0, 4.0, 41).requires_grad_()
    with torch.enable_grad():
        y = call(x)
    if getattr(y, "shape", None) != x.shape or not y.requires_grad:
        return False
    (slope,) = torch.autograd.grad(y.sum(), x)
    with torch.no_grad():
        turned, few = call(x.flip(0)).flip(0), call(x[3:12])
        same = torch.allclose(turned, y, 1e-4, 1e-5) and torch.allclose(few, y[3:12], 1e-4, 1e-5)
        bent = float(slope.max() - slope.min()) > 1e-3
    return same and bent and bool(torch.isfinite(y).all())
