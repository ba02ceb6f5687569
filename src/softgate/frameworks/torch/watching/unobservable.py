"""What runs where nobody can look, and why: it must not pass for healthy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..memory import has_memory

SCRIPTED = "scripted modules run outside Python"
RECURRENT = "the tanh and sigmoid of a recurrent layer are inside one function of torch's"
QUANTISED = "quantised numbers are computed by functions that do several things at once"
COMPLEX = "a complex number is neither positive nor negative"
SPARSE = "a sparse or nested tensor has no rows of units"
WRAPPED = "a tensor that wraps others has no numbers of its own"
WITHOUT_NUMBERS = "a tensor without memory has no numbers"
TRANSFORMED = "torch.func calls the model with tensors that stand for others"
ELSEWHERE = "another thread than the one that began to watch called the model"

NEXT_STEPS = {
    SCRIPTED: "watch the modules they were scripted from",
    RECURRENT: "write the recurrence as a module that calls torch.tanh and torch.sigmoid",
    QUANTISED: "watch the model before it is quantised",
    COMPLEX: "look at real and imaginary parts in a module of their own",
    SPARSE: "watch the model on dense tensors",
    WRAPPED: "watch the model before it is distributed or its tensors are wrapped",
    WITHOUT_NUMBERS: "watch the model on a device that has its numbers",
    TRANSFORMED: "also call the model itself, on the same inputs, inside the watch",
    ELSEWHERE: "begin to watch in the thread that calls the model",
}
"""What to do about each."""

_QUANTISED_ACTIVATIONS = ("ReLU", "ELU", "Hardswish", "Sigmoid", "LSTM", "GRU", "RNN")


def of_module(module: nn.Module) -> str | None:
    """Return why nobody can look into a module, None where one can."""
    if isinstance(module, torch.jit.ScriptModule):
        return SCRIPTED
    if isinstance(module, nn.RNNBase | nn.RNNCellBase):
        return RECURRENT
    home, name = type(module).__module__, type(module).__name__
    if home.startswith("torch.ao.nn") and "quantized" in home:
        return QUANTISED if any(part in name for part in _QUANTISED_ACTIVATIONS) else None
    return None


def of_operand(x: Any) -> str | None:
    """Return why nobody can count what an activation is applied to, None where one can."""
    if not isinstance(x, Tensor):
        return None
    reasons = (
        (torch._C._are_functorch_transforms_active(), TRANSFORMED),
        (x.is_complex(), COMPLEX),
        (x.is_quantized, QUANTISED),
        (x.layout is not torch.strided or x.is_nested, SPARSE),
        (wraps_others(x), WRAPPED),
        (x.layout is torch.strided and not has_memory(x), WITHOUT_NUMBERS),
    )
    return next((why for holds, why in reasons if holds), None)


def countable(x: Any) -> bool:
    """Tell whether an operand is a tensor of floats in memory, and not one that functorch wraps."""
    return (
        isinstance(x, Tensor)
        and x.is_floating_point()
        and x.layout is torch.strided
        and not x.is_nested
        and not wraps_others(x)
        and has_memory(x)
        and not torch._C._are_functorch_transforms_active()
    )


def wraps_others(x: Tensor) -> bool:
    """Tell whether a tensor is of a class that keeps its numbers in other tensors."""
    return type(x) is not Tensor and is_traceable_wrapper_subclass(x)


class Unseen:
    """Names of what was called and not seen, by the reason."""

    MOST_NAMES = 1000

    def __init__(self) -> None:
        self.names: dict[str, dict[str, None]] = {}

    def note(self, why: str | None, name: str) -> None:
        """Remember that something was not seen, where there is a reason to say so."""
        if why is None:
            return
        names = self.names.setdefault(why, {})
        if len(names) < self.MOST_NAMES:
            names[name] = None
