"""x·sigmoid(beta·x) with a trainable beta, from the kernels that read beta when called.

Its gradients: slope(x)·grad, and for beta the sum of grad·x²·sigmoid'(beta·x). The latter is
swish(x; beta)·swish(x; -beta): one factor underflows to 0 before the other overflows.
Only x and beta are saved. Under compilers and transforms torch's operators are used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from softgate.formula.formats import FLOAT64, format_of
from softgate.runtime import kernels
from softgate.runtime.routes import SMALL_PARAMETER, Runner

from .cpu_kernels import ACCEPTED_BY_KERNELS, DTYPES, alike, dense, run
from .dispatch import as_floats, both_plain
from .eager import straight, untraced
from .huge_pages import empty_like

_SATURATED = 1000.0
"""Beyond this |beta·x| sigmoid is 0 or 1 in every format."""
_RANGE = 1e38


def swish(x: Tensor, beta: Tensor) -> Tensor:
    """Return x·sigmoid(beta·x), differentiable in both, in the format of `x`."""
    (x,) = as_floats(x)
    if x.dtype not in DTYPES or x.dtype.itemsize == 1:
        raise TypeError(
            f"swish of a {x.dtype} tensor: expected {ACCEPTED_BY_KERNELS} with a trainable beta"
        )
    if is_dynamo_compiling() or not both_plain(x, beta):
        return composed(x, beta)
    if torch.is_grad_enabled() and (x.requires_grad or beta.requires_grad):
        result: Tensor = _trainable_swish(x, beta)
        return result
    return _value(x, beta.item())


def composed(x: Tensor, beta: Tensor) -> Tensor:
    """Return the same in torch's operators, with finite derivatives of every order."""
    wide, t, far = _parts(x, beta)
    ends = torch.where(t < 0, x.sign() * 0.0, x)
    return torch.where(far, ends, (wide * torch.sigmoid(t)).to(x.dtype))


def _parts(x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return x (0 where sigmoid is saturated), beta·x, and the mask of saturated elements."""
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    steep = beta.to(wide.dtype)
    product = (steep * wide).detach()
    far = wide.isinf() | (product.abs() >= _SATURATED)
    wide = wide.masked_fill(far, 0.0)
    ends = _SATURATED * (steep.sign() * x.sign().to(wide.dtype)).detach()
    return wide, torch.where(far, ends, steep * wide), far


class TrainableSwish(torch.autograd.Function):
    """The value from the kernel; x and beta are saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: Tensor) -> Tensor:
        """Run the kernel."""
        ctx.save_for_backward(x, beta)
        return _value(x, beta.item())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, Any]:
        """Return both gradients; in torch's operators if they are differentiated again."""
        x, beta = ctx.saved_tensors
        of_x, of_beta = ctx.needs_input_grad
        if not untraced(x, beta, grad) or not abs(number := beta.item()) < _RANGE:
            return _pull(x, beta, grad)
        grad_x = _compute("backward", number, x, grad) if of_x else None
        return grad_x, _along_beta(x, number, grad).to(beta.dtype) if of_beta else None


_trainable_swish = straight(TrainableSwish)


def _pull(x: Tensor, beta: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    wide, t, _ = _parts(x, beta)
    opened, shut = torch.sigmoid(t), torch.sigmoid(-t)
    of_beta = (grad * (wide * opened) * (wide * shut)).sum()
    return (grad * (opened * (1 + t * shut))).to(x.dtype), of_beta.to(beta.dtype)


def _along_beta(x: Tensor, beta: float, grad: Tensor) -> Tensor:
    """Return the sum of grad·x²·sigmoid'(beta·x)."""
    wide = x.float() if x.element_size() == 2 else x
    largest = torch.finfo(wide.dtype).max
    wide = dense(wide.clamp(-largest, largest))  # infinity is clamped: 0·inf would be NaN
    product = _value(wide, beta).mul_(_value(wide, -beta))
    return product.mul_(grad).sum()


def _value(x: Tensor, beta: float) -> Tensor:
    if not abs(beta) < _RANGE:
        return composed(x, torch.tensor(beta, dtype=torch.float64))
    return _compute("value", beta, x)


def _compute(quantity: str, beta: float, x: Tensor, grad: Tensor | None = None) -> Tensor:
    """Return value or slope·grad from the kernel that reads beta at run time."""
    if x.element_size() == 2 and 0 < abs(beta) < SMALL_PARAMETER:  # needs the float64 kernel
        wide = None if grad is None else grad.float()
        return _compute(quantity, beta, x.float(), wide).to(x.dtype)
    x = dense(x)
    out = empty_like(x)
    operands = (x,) if grad is None else (x, alike(grad, x))
    run(_runner(quantity, x.dtype, beta), out, *operands)
    return out


@lru_cache(maxsize=64)
def _runner(quantity: str, dtype: torch.dtype, beta: float) -> Runner:
    """Return the kernel of one beta; without a table for 16-bit formats, which takes longer."""
    entry, storage = _silu_entry(), format_of(DTYPES[dtype])
    assert storage is not None
    arithmetic = kernels.native_arithmetic(quantity, storage)
    if 0 < abs(beta) < SMALL_PARAMETER:
        arithmetic = FLOAT64
    specification = kernels.Specification(
        entry, quantity, storage, arithmetic, specialised=beta == 1
    )
    packed = kernels.pack(entry, {"beta": beta}, arithmetic, quantity)
    return Runner(kernels.compiled(specification), packed)


def _silu_entry() -> Any:
    from softgate.runtime.registry import activations

    return activations()["silu"].entry
