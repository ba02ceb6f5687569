"""Calls on torch tensors over NumPy's memory: operators, autograd, torch.compile.

Where torch has an operator that writes into memory given to it, that is what is timed: eager code
runs the same kernel. What it lacks goes through autograd, backward alone, from what the value kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...subjects.backends.torch import from_tensor, to_tensor
from ..loading import loaded
from ..peer import Peer
from ..timed_call import ALLOCATES, Array, Contestant, Task

AUTOGRAD = "through autograd: the backward alone, from what the value kept"


def start(threads: int) -> str:
    """Set torch's threads."""
    torch.set_num_threads(threads)
    return ""


def make(peer: Peer, task: Task) -> Contestant:
    """Return the call of torch's operator, or of a function of tensors."""
    if peer.implementation == "torch" and peer.usual and task.reused:
        from .. import torch_operators as operators

        maker = operators.CALLS[task.quantity].get(peer.function)
        if maker is not None:
            note = operators.NOTES[task.quantity].get(peer.function)
            tensors = (to_tensor(array) for array in (task.x, task.grad, task.out))
            return Contestant(maker(*tensors), read, () if note is None else (note,))
    function = loaded(peer)
    if peer.implementation == "torch.compile":
        import torch._functorch.config as functorch

        torch._dynamo.reset()  # a recompilation for another shape or format would be a dynamic one
        functorch.donated_buffer = False  # else what the value kept serves one backward only
        function = torch.compile(function, fullgraph=True)
    return of_function(function, task)


def of_function(function: Callable[[Any], Any], task: Task) -> Contestant:
    """Return the call of a function of tensors, or of its backward."""
    x = to_tensor(task.x)
    allocates = (ALLOCATES,) if task.reused else ()
    if task.quantity == "value":
        return Contestant(lambda: function(x), read, allocates, x)
    leaf, grad = x.requires_grad_(), to_tensor(task.grad)
    y = function(leaf)

    def backward() -> Any:
        return torch.autograd.grad(y, leaf, grad, retain_graph=True)[0]

    return Contestant(backward, read, (AUTOGRAD, *allocates), grad)


def read(tensor: Any) -> Array:
    """Return a tensor's numbers."""
    return np.asarray(from_tensor(tensor))
