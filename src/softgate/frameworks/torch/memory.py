"""Kernels over the memory of CPU tensors: no copy where a tensor is dense, in any axis order.

A tensor's address says nothing of its strides: an expanded gradient, as `.sum()` sends back, has
one element in memory for all. Whatever is not dense is copied first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import torch
from torch._subclasses import FakeTensor

from softgate.runtime.arrays import SERIAL

from . import openmp
from .native_ops import Forms

if TYPE_CHECKING:
    from softgate.runtime.activation import Activation
    from softgate.runtime.routes import Runner

DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}
ACCEPTED = (
    "float16, bfloat16, float32 and float64 "
    "(integers and booleans are computed in torch's default dtype)"
)

NO_MEMORY = (
    "a tensor has elements and no memory: its storage was freed (resize_(0)) or never there; "
    "fill it before it is computed with"
)

Parameters = tuple[tuple[str, float], ...]


class Bound:
    """An activation with fixed parameters and its kernels, each looked up once a dtype."""

    __slots__ = (
        "activation",
        "arithmetic",
        "forms",
        "from_value",
        "key",
        "parameters",
        "runners",
        "values",
    )

    def __init__(
        self, activation: Activation, key: str, parameters: Parameters, arithmetic: str | None
    ) -> None:
        self.activation, self.parameters, self.arithmetic = activation, parameters, arithmetic
        self.key, self.values = key, [value for _, value in parameters]
        self.forms = Forms(activation, parameters)
        self.from_value = activation.entry.slope_follows(dict(parameters))
        """Whether the slope follows from the value, which is then what is kept for the gradient."""
        self.runners: dict[tuple[str, torch.dtype, str | None], Runner] = {}

    def runner(self, quantity: str, dtype: torch.dtype, alias: str | None = None) -> Runner:
        """Return the kernel for a quantity of tensors of `dtype`; raise where there is none."""
        found = self.runners.get((quantity, dtype, alias))
        if found is None:
            if dtype not in DTYPES:
                raise TypeError(
                    f"{self.activation.name} of a {dtype} tensor: accepted are {ACCEPTED}"
                )
            route = self.activation.route(
                quantity, DTYPES[dtype], self.arithmetic, dict(self.parameters)
            )
            found = self.runners[quantity, dtype, alias] = route.runner(alias)
        return found

    def unary(self, quantity: str, x: torch.Tensor) -> torch.Tensor:
        """Return a quantity at each element of a CPU tensor."""
        if not x.is_contiguous() or x.is_neg():
            x = dense(x)
        runner = self.runners.get((quantity, x.dtype, None)) or self.runner(quantity, x.dtype)
        out = torch.empty_like(x)
        run(runner, out, x)
        return out

    def binary(self, quantity: str, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """Return slope(x)·grad (or from the value, as `quantity` says) for CPU tensors."""
        runner = self.runner(quantity, x.dtype)
        x = dense(x)
        out = torch.empty_like(x)
        run(runner, out, x, alike(grad, x))
        return out

    def in_place(self, x: torch.Tensor) -> None:
        """Overwrite a CPU tensor with the value at each of its elements."""
        runner = self.runner("value", x.dtype, "x")
        if dense(x) is x:
            run(runner, x, x)
        else:
            x.copy_(self.unary("value", x))


def has_memory(x: torch.Tensor) -> bool:
    """Tell whether a tensor has elements, and not only a shape: neither meta nor fake."""
    return x.device.type != "meta" and not isinstance(x, FakeTensor)


def dense(x: torch.Tensor) -> torch.Tensor:
    """Return `x`, or a copy of it that fills one piece of memory without gaps or repeats."""
    if x.is_neg():  # a view that is negated when read
        x = x.resolve_neg()
    if x._is_zerotensor():  # zeros that nobody has written
        return x.clone()
    if x.is_contiguous() or torch.empty_like(x).stride() == x.stride():
        return x
    return x.clone()  # strides as `empty_like` has them: so fake tensors tell a compiler


def alike(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return `grad` with its elements where the dense `x` has them."""
    if (
        grad.dtype is x.dtype
        and grad.stride() == x.stride()
        and grad.shape == x.shape
        and not grad.is_neg()
    ):
        return grad
    return torch.empty_like(x).copy_(grad)


def run(runner: Runner, *tensors: torch.Tensor) -> None:
    """Call a kernel over dense tensors of one shape, results first, on as many threads as torch."""
    first = tensors[0]
    count, addresses = first.numel(), tuple([x.data_ptr() for x in tensors])
    if 0 in addresses and count:
        raise RuntimeError(NO_MEMORY)
    if count < SERIAL:
        runner.run(*addresses, runner.address, count)
    else:
        openmp.run(runner, count, first.element_size(), addresses)
