"""y = W·hidden + b that saves the pre-activations and recomputes `hidden` for the gradient.

torch saves the activation's input for the activation and its output for W's gradient: two tensors
as wide as the hidden layer. The second is computed from the first with one more pass of an
element-wise kernel. All tensors are saved with `save_for_backward`, so hooks apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from . import gated as gated_calls
from .cpu_kernels import BoundActivation, run
from .dispatch import inside_functorch, path, plain
from .eager import partials, times_slope
from .operators import bind

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.gated import Gated


class Hidden(Protocol):
    """A hidden layer as a function of its pre-activations, and its gradient; differentiable."""

    def value(self, *inputs: Tensor) -> Tensor:
        """Return the hidden layer."""

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return the gradient of each input that needs one; `grad` may be overwritten."""

    def keeps_one(self) -> bool:
        """Return whether torch saves no more than one tensor for each input."""


class ActivatedHidden:
    """The hidden layer activation(h)."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation

    def value(self, *inputs: Tensor) -> Tensor:
        """Return activation(h)."""
        result: Tensor = self.activation(*inputs)
        return result

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return slope(h)·grad in one pass."""
        (h,) = inputs
        return (_times_slope(self.activation, h, grad) if needs[0] else None,)

    def overwrite(self, *inputs: Tensor) -> None:
        """Write activation(h) over h."""
        (h,) = inputs
        bound: BoundActivation = bind(self.activation, None, {})
        bound.in_place(h)

    def keeps_one(self) -> bool:
        """Return whether the slope is a function of the value, which the product saves anyway."""
        bound: BoundActivation = bind(self.activation, None, {})
        return bound.from_value


class GatedFunctionHidden:
    """The hidden layer function(gate, up) of a gated function."""

    def __init__(self, function: Gated) -> None:
        self.function = function

    def value(self, *inputs: Tensor) -> Tensor:
        """Return function(gate, up)."""
        result: Tensor = self.function(*inputs)
        return result

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return both partial derivatives times grad."""
        gate, up = inputs
        pair = self.function.backward(gate, up, grad)
        return tuple(x if needed else None for x, needed in zip(pair, needs, strict=True))

    def overwrite(self, *inputs: Tensor) -> None:
        """Write function(gate, up) over gate."""
        bind(self.function, None, {}).in_place(*inputs)

    def keeps_one(self) -> bool:
        """Return False: torch saves gate, up and the hidden layer."""
        return False


class GatedHidden:
    """The hidden layer activation(gate)·up: one kernel if the catalogue has that function."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation

    def value(self, *inputs: Tensor) -> Tensor:
        """Return activation(gate)·up."""
        gate, up = inputs
        if gate.dtype == up.dtype:
            if is_dynamo_compiling():
                named = gated_calls.constants_for(self.activation)
                if (
                    named is not None
                    and not gated_calls.composes(gate, up)
                    and not inside_functorch()
                ):
                    return torch.ops.softgate.gated(gate, up, *named, "")
            elif (bound := gated_calls.gated_with(self.activation)) is not None:
                return gated_calls.product(bound, gate, up)
        return _times(self.activation(gate), up)

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return slope(gate)·grad·up and activation(gate)·grad."""
        gate, up = inputs
        bound = gated_calls.gated_with(self.activation)
        if bound is not None and gate.dtype == up.dtype == grad.dtype and path(gate) == "kernel":
            if not needs[0]:
                return None, gated_calls.product(bound, gate, grad)
            if _alone(gate, grad) and plain(up):
                return tuple(bound.overwrite(grad, gate, up))
            return partials(bound, gate, up, grad)
        grad_up = _times(self.activation(gate), grad) if needs[1] else None
        if not needs[0]:
            return None, grad_up
        return _times_slope(self.activation, gate, _times(grad, up)), grad_up

    def overwrite(self, *inputs: Tensor) -> None:
        """Write activation(gate)·up over gate."""
        gate, up = inputs
        bound = gated_calls.gated_with(self.activation)
        if bound is not None:
            bound.in_place(gate, up)
        else:
            bind(self.activation, None, {}).in_place(gate)
            gate.mul_(up)

    def keeps_one(self) -> bool:
        """Return False: torch saves the gate, its value, up and their product."""
        return False


class RecomputedLinear(torch.autograd.Function):
    """W·dropout(hidden) + b that saves the pre-activations, not the hidden layer."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Hidden, p: float, weight: Tensor, bias: Tensor | None, *inputs: Tensor
    ) -> Tensor:
        """Return W·dropout(hidden) + b; the hidden layer is not saved."""
        value, mask = hidden.value(*inputs), None
        if p:
            value, mask = torch.native_dropout(value, p, train=True)
        _, _, of_weight, _, *of_inputs = ctx.needs_input_grad
        if of_weight or any(of_inputs):
            ctx.save_for_backward(weight if any(of_inputs) else None, mask, *inputs)
        ctx.hidden, ctx.p = hidden, p
        return F.linear(value, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Return the gradients that are needed, in operators that can be differentiated again."""
        _, _, of_weight, of_bias, *of_inputs = ctx.needs_input_grad
        rows = grad.reshape(-1, grad.shape[-1])
        grad_bias = rows.sum(0) if of_bias else None
        if not (of_weight or any(of_inputs)):
            return None, None, None, grad_bias, *(None for _ in of_inputs)
        weight, mask, *inputs = ctx.saved_tensors
        grad_weight, again = None, None
        if of_weight:
            again = _dropped(ctx.hidden.value(*inputs), mask, ctx.p)
            again = again.reshape(-1, again.shape[-1])
            grad_weight = rows.t() @ again
        grads: tuple[Any, ...] = (None,) * len(of_inputs)
        if any(of_inputs):
            # Reuse the memory of `again`, which has the same size: allocation takes time.
            out = None if torch.is_grad_enabled() or not plain(rows) else again
            grad_hidden = torch.mm(rows, weight, out=out).view(inputs[0].shape)
            grads = ctx.hidden.pull(_dropped(grad_hidden, mask, ctx.p), of_inputs, *inputs)
        return None, None, grad_weight, grad_bias, *grads


def _times_slope(activation: Activation, h: Tensor, grad: Tensor) -> Tensor:
    """Return slope(h)·grad, in place in `grad` if no graph is recorded."""
    if _alone(h, grad) and h.is_contiguous() and grad.is_contiguous():
        run(bind(activation, None, {}).runner("backward", h.dtype, "grad"), grad, h, grad)
        return grad
    if path(h) == "kernel":
        return times_slope(bind(activation, None, {}), h, grad)
    result: Tensor = activation.backward(h, grad)
    return result


def _times(x: Tensor, other: Tensor) -> Tensor:
    """Return x·other, in place in the temporary `x` if no graph is recorded."""
    return x.mul_(other) if _alone(x, other) else x * other


def _alone(x: Tensor, y: Tensor) -> bool:
    return not torch.is_grad_enabled() and plain(x) and plain(y) and x.dtype is y.dtype


def _dropped(x: Tensor, mask: Tensor | None, p: float) -> Tensor:
    """Return `x` after dropout; as in torch, the factor is first rounded to the dtype."""
    if mask is None:
        return x
    return x * mask.to(x.dtype).mul_(1 / (1 - p) if p < 1 else 0.0)


def linear(
    hidden: Hidden,
    inputs: tuple[Tensor, ...],
    weight: Tensor,
    bias: Tensor | None,
    dropout: float = 0.0,
) -> Tensor:
    """Return W·dropout(hidden) + b; save only the pre-activations if that reduces memory.

    Under compilers, tracers, functorch and forward mode `composed` is used: they choose what to
    save, or cannot trace the Function.
    """
    if not recomputes(hidden, dropout):
        return composed(hidden, inputs, weight, bias, dropout)
    device = weight.device.type
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return _recomputed(hidden, inputs, weight, bias, dropout)
    # Cast here, where autograd records it; inside, autocast would cache casts without a graph.
    low = torch.get_autocast_dtype(device)
    weight, bias = _cast(weight, low), None if bias is None else _cast(bias, low)
    with torch.autocast(device, enabled=False):
        return _recomputed(hidden, tuple(_cast(x, low) for x in inputs), weight, bias, dropout)


def recomputes(hidden: Hidden, dropout: float) -> bool:
    """Return whether `linear` saves only the pre-activations, and recomputes the hidden layer."""
    return torch.is_grad_enabled() and not watched() and (dropout > 0 or not hidden.keeps_one())


def composed(
    hidden: Hidden,
    inputs: tuple[Tensor, ...],
    weight: Tensor,
    bias: Tensor | None,
    dropout: float = 0.0,
) -> Tensor:
    """Return the same as a composition of operators, each of which saves its inputs."""
    value = hidden.value(*inputs)
    return F.linear(F.dropout(value, dropout) if dropout else value, weight, bias)


def _recomputed(
    hidden: Hidden, inputs: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None, dropout: float
) -> Tensor:
    result: Tensor = RecomputedLinear.apply(hidden, dropout, weight, bias, *inputs)
    return result


def watched() -> bool:
    """Return whether a compiler, tracer, functorch or forward mode observes the operators."""
    return (
        is_dynamo_compiling()
        or torch.compiler.is_exporting()
        or torch.jit.is_tracing()  # type: ignore[attr-defined]
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x if x.dtype is torch.float64 else x.to(dtype)
