"""Feed-forward blocks that save or allocate less memory than torch's layers.

With gradients, `linear` computes y = W·hidden + b, saves the pre-activations and recomputes
`hidden`. torch saves the activation's input for the activation and its output for W's gradient: two
tensors as wide as the hidden layer. The second is computed from the first with one more pass of an
element-wise kernel. All tensors are saved with `save_for_backward`, so hooks apply.

Without gradients, `compute_in_slabs` computes tokens in slabs with one reused buffer: the hidden
layer of all tokens never exists as a whole. That of a slab is still in the cache when the
activation and the second product read it, and its memory is allocated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_dynamo_compiling

from ..block_arguments import with_gate
from . import huge_pages, private
from .compiled import key_for
from .cpu_kernels import DTYPES
from .dispatch import all_plain, path, plain, uses_torch
from .eager import partials, times_slope
from .operators import bind
from .private import constant_when_compiled

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation

SLAB_TOKENS = 512
"""Most tokens in a slab on one thread: enough for the products, few for the hidden layer's memory.

Twice as many on several threads, which wait for each other after each product and activation."""


class HiddenLayer:
    """The hidden layer function(h) or function(gate, up) of its pre-activations; differentiable."""

    def __init__(self, function: Activation) -> None:
        self.function: Any = function

    def value(self, *inputs: Tensor) -> Tensor:
        """Return the hidden layer."""
        result: Tensor = self.function(*inputs)
        return result

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return the gradient of each input that needs one; `grad` may be overwritten."""
        if len(inputs) == 1:
            return (_times_slope(self.function, *inputs, grad) if needs[0] else None,)
        if uses_torch(*inputs) or any(x.dtype is not grad.dtype for x in inputs):
            pair = self.function.backward(*inputs, grad)
            return tuple(x if needed else None for x, needed in zip(pair, needs, strict=True))
        bound = bind(self.function, None, {})
        if all(needs) and not torch.is_grad_enabled() and all_plain(grad, *inputs):
            results = (grad, huge_pages.empty_like(grad))
            bound.overwrite("backward", results, *inputs, grad)
            return results
        return partials(bound, inputs, grad, needs)

    def overwrite(self, *inputs: Tensor) -> None:
        """Write the hidden layer over the first of plain, contiguous tensors of one dtype."""
        bind(self.function, None, {}).overwrite("value", inputs[:1], *inputs)

    def keeps_one(self) -> bool:
        """Return whether torch saves no more than one tensor for each input.

        That is so where the gradient needs only the value, which the product saves anyway.
        """
        return bind(self.function, None, {}).from_output


class GatedHiddenLayer(HiddenLayer):
    """The hidden layer activation(gate)·up: one kernel if the catalogue has that function."""

    def value(self, *inputs: Tensor) -> Tensor:
        """Return activation(gate)·up."""
        gate, up = inputs
        result: Tensor
        if gate.dtype == up.dtype:
            if is_dynamo_compiling():
                known = _operator_of(self.function)
                if known is not None and not uses_torch(gate, up):
                    key, values = known
                    result = torch.ops.softgate.evaluate_two(gate, up, key, [0, 0], values, "")
                    return result
            elif (function := _with_gate(self.function)) is not None:
                result = function(gate, up)
                return result
        return _times(self.function(gate), up)

    def pull(self, grad: Tensor, needs: Sequence[bool], *inputs: Tensor) -> tuple[Any, ...]:
        """Return slope(gate)·grad·up and activation(gate)·grad."""
        gate, up = inputs
        function = _with_gate(self.function)
        if function is not None and gate.dtype == up.dtype == grad.dtype:
            return HiddenLayer(function).pull(grad, needs, *inputs)
        grad_up = _times(self.function(gate), grad) if needs[1] else None
        if not needs[0]:
            return None, grad_up
        return _times_slope(self.function, gate, _times(grad, up)), grad_up

    def overwrite(self, *inputs: Tensor) -> None:
        """Write activation(gate)·up over gate."""
        gate, up = inputs
        function = _with_gate(self.function)
        if function is not None:
            HiddenLayer(function).overwrite(gate, up)
        else:
            HiddenLayer(self.function).overwrite(gate)
            gate.mul_(up)

    def keeps_one(self) -> bool:
        """Return False: torch saves the gate, its value, up and their product."""
        return False


_with_gate = lru_cache(maxsize=256)(with_gate)


@constant_when_compiled
def _operator_of(activation: Activation) -> tuple[str, list[float]] | None:
    """Return how an operator refers to the catalogue's activation(a)·b; None if there is none.

    torch.compile cannot call a function that it has not found in the user's objects.
    """
    function = _with_gate(activation)
    if function is None:
        return None
    bound = bind(function, None, {})
    return key_for(bound), bound.values


class RecomputedLinear(torch.autograd.Function):
    """W·dropout(hidden) + b that saves the pre-activations, not the hidden layer."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: HiddenLayer,
        p: float,
        weight: Tensor,
        bias: Tensor | None,
        *inputs: Tensor,
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
        bind(activation, None, {}).overwrite("backward", (grad,), h, grad)
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
    hidden: HiddenLayer,
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
    autocast: AbstractContextManager[Any] = nullcontext()
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        # Cast here, where autograd records it; inside, autocast would cache casts without a graph.
        low = torch.get_autocast_dtype(device)
        weight, bias = _cast(weight, low), None if bias is None else _cast(bias, low)
        inputs = tuple(_cast(x, low) for x in inputs)
        autocast = torch.autocast(device, enabled=False)
    with autocast:
        result: Tensor = RecomputedLinear.apply(hidden, dropout, weight, bias, *inputs)
    return result


def recomputes(hidden: HiddenLayer, dropout: float) -> bool:
    """Return whether `linear` saves only the pre-activations, and recomputes the hidden layer."""
    return torch.is_grad_enabled() and not is_traced() and (dropout > 0 or not hidden.keeps_one())


def composed(
    hidden: HiddenLayer,
    inputs: tuple[Tensor, ...],
    weight: Tensor,
    bias: Tensor | None,
    dropout: float = 0.0,
) -> Tensor:
    """Return the same as a composition of operators, each of which saves its inputs."""
    value = hidden.value(*inputs)
    return F.linear(F.dropout(value, dropout) if dropout else value, weight, bias)


def is_traced() -> bool:
    """Return whether a compiler, tracer, functorch or forward mode observes the operators."""
    return (
        is_dynamo_compiling()
        or torch.compiler.is_exporting()
        or torch.jit.is_tracing()
        or private.transformed.get()()
        or private.forward_mode.get()._current_level >= 0
    )


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x if x.dtype is torch.float64 else x.to(dtype)


def slab_count(x: Tensor, linears: Sequence[nn.Linear]) -> int:
    """Return the number of slabs in which a block is computed, 1 if all tokens are one.

    More than 1 only if no gradient is needed, no mode, tracer or transform is active, and all
    tensors are plain ones of one dtype.
    """
    if is_traced() or x.dim() < 2:
        return 1
    most = SLAB_TOKENS if torch.get_num_threads() == 1 else 2 * SLAB_TOKENS
    if x.numel() < 2 * most * x.shape[-1]:
        return 1
    tensors = (x, *_parameters(linears))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return 1
    known = (Tensor, nn.Parameter)  # a subclass may override the products
    if not all(type(tensor) in known and tensor.dtype is x.dtype for tensor in tensors):
        return 1
    if not all_plain(*tensors) or torch.is_autocast_enabled("cpu"):
        return 1
    if x.dtype not in DTYPES or x.dtype.itemsize == 1 or x.shape[-1] != linears[0].in_features:
        return 1
    return -(-x.numel() // (most * x.shape[-1]))


def _parameters(linears: Iterable[nn.Linear]) -> list[Tensor]:
    tensors: list[Tensor | None] = [t for layer in linears for t in (layer.weight, layer.bias)]
    return [tensor for tensor in tensors if tensor is not None]


def compute_in_slabs(
    hidden: HiddenLayer, x: Tensor, firsts: Sequence[nn.Linear], last: nn.Linear, slabs: int
) -> Tensor:
    """Return last(hidden(first(x), …)), computed in a number of slabs of about equal size."""
    rows = x.reshape(-1, x.shape[-1])
    size = -(-rows.shape[0] // slabs)
    buffers = [x.new_empty(size, layer.out_features) for layer in firsts]
    result = huge_pages.advise(x.new_empty(rows.shape[0], last.out_features))
    for part, out in zip(rows.split(size), result.split(size), strict=True):
        inputs = [buffer[: part.shape[0]] for buffer in buffers]
        for layer, pre_activation in zip(firsts, inputs, strict=True):
            _linear_into(layer, part, pre_activation)
        hidden.overwrite(*inputs)
        _linear_into(last, inputs[0], out)
    return result.view(*x.shape[:-1], last.out_features)


def _linear_into(layer: nn.Linear, x: Tensor, out: Tensor) -> None:
    weight, *biases = _parameters([layer])
    if biases:
        torch.addmm(biases[0], x, weight.t(), out=out)
    else:
        torch.mm(x, weight.t(), out=out)
