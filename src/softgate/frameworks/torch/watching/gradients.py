"""What flows back through an activation: the norms of the gradients behind and before it.

A hook on the node that autograd made for the call sees both. Where a call is several nodes, or the
node has several inputs, the input's own hook says the second; if the input is used elsewhere too
that is the gradient of all its uses.

A GradScaler multiplies the loss, and with it all gradients; while a loss that it scaled is gone
back from, that number is known, and passed on with each norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

SAFE = (1e-14, 1e14)
"""Norms between these are right in float32: no square was lost below or above."""

Heard = Callable[[str, float, float], None]
"""Told "output" or "input", a norm, and what the loss was multiplied by."""


def norm(grad: Tensor) -> float:
    """Return the norm, in float64 where squares would leave float32."""
    with torch.no_grad(), torch._C.DisableTorchFunction():
        quick = float(torch.linalg.vector_norm(grad, dtype=_wide(grad)))
        if SAFE[0] < quick < SAFE[1] or grad.dtype is torch.float64:
            return quick
        return float(torch.linalg.vector_norm(grad.double()))


def _wide(grad: Tensor) -> torch.dtype | None:
    return torch.float32 if grad.dtype in (torch.float16, torch.bfloat16) else None


class Gradients:
    """The hooks on autograd's graph that are not called yet; all are gone when it is closed."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: list[Any] = []
        self._scale = 1.0

    def listen(self, x: Tensor, y: Tensor, source: Any, heard: Heard) -> None:
        """Hear of the gradients of a call y = f(x); `source` is the node that `x` came from."""
        node = y.grad_fn
        if node is None or node is source:
            return
        following = [next_node for next_node, _ in node.next_functions if next_node is not None]
        alone = len(following) == 1 and (following[0] is source or x is y)

        def at_node(inputs: Any, outputs: Any) -> None:
            self._tell("output", outputs[0], heard)
            if alone:
                self._tell("input", inputs[0], heard)

        def at_input(grad: Tensor) -> None:
            self._tell("input", grad, heard)

        self._waiting.append(node.register_hook(at_node))
        if not alone and x.requires_grad and x is not y:
            self._waiting.append(x.register_hook(at_input))

    def _tell(self, which: str, grad: Tensor | None, heard: Heard) -> None:
        if grad is None or self.closed:
            return
        heard(which, norm(grad), self._scale)

    def scaled(self, loss: Tensor, scale: float) -> None:
        """Know of a loss that was multiplied by a number before it is gone back from."""
        node = loss.grad_fn
        if node is None or scale == 1:
            return

        def begins(_: Any) -> None:
            self._scale = scale
            # At the end of this backward pass; the next may be of a loss that nobody scaled.
            torch.autograd.Variable._execution_engine.queue_callback(self._ends)

        self._waiting.append(node.register_prehook(begins))

    def _ends(self) -> None:
        self._scale = 1.0

    def forget(self) -> None:
        """Drop what belongs to graphs that are no longer there."""
        self._waiting = [handle for handle in self._waiting if handle.hooks_dict_ref() is not None]

    def close(self) -> None:
        """Remove all hooks."""
        self.closed = True
        for handle in self._waiting:
            handle.remove()
        self._waiting.clear()
