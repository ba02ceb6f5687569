"""Feed-forward blocks without gradients: tokens in slabs, with one reused buffer.

The hidden layer of all tokens never exists as a whole. That of a slab is still in the cache when
the activation and the second product read it, and its memory is allocated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from . import huge_pages
from .cpu_kernels import DTYPES
from .dispatch import all_plain
from .feedforward import watched

TOKENS = 512
"""Most tokens in a slab on one thread: enough for the products, few for the hidden layer's memory.

Twice as many on several threads, which wait for each other after each product and activation."""


class Overwriting(Protocol):
    """A hidden layer that can be computed in the memory of its pre-activations."""

    def overwrite(self, *inputs: Tensor) -> None:
        """Write the hidden layer over the first input: plain, contiguous tensors of one dtype."""


def count(x: Tensor, linears: Sequence[nn.Linear]) -> int:
    """Return the number of slabs in which a block is computed, 1 if all tokens are one.

    More than 1 only if no gradient is needed, no mode, tracer or transform is active, and all
    tensors are plain ones of one dtype.
    """
    if watched() or x.dim() < 2:
        return 1
    most = TOKENS if torch.get_num_threads() == 1 else 2 * TOKENS
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


def feed_forward(
    hidden: Overwriting, x: Tensor, firsts: Sequence[nn.Linear], last: nn.Linear, slabs: int
) -> Tensor:
    """Return last(hidden(first(x), …)), computed in a number of slabs of about equal size."""
    rows = x.reshape(-1, x.shape[-1])
    size = -(-rows.shape[0] // slabs)
    buffers = [x.new_empty(size, layer.out_features) for layer in firsts]
    result = huge_pages.advise(x.new_empty(rows.shape[0], last.out_features))
    for part, out in zip(rows.split(size), result.split(size), strict=True):
        inputs = [buffer[: part.shape[0]] for buffer in buffers]
        for layer, pre_activation in zip(firsts, inputs, strict=True):
            _linear(layer, part, pre_activation)
        hidden.overwrite(*inputs)
        _linear(last, inputs[0], out)
    return result.view(*x.shape[:-1], last.out_features)


def _linear(layer: nn.Linear, x: Tensor, out: Tensor) -> None:
    weight, *biases = _parameters([layer])
    if biases:
        torch.addmm(biases[0], x, weight.t(), out=out)
    else:
        torch.mm(x, weight.t(), out=out)
