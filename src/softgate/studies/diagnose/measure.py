"""Measurements of one call of an activation: sums over its tensors, and norms of its gradients.

Sums are float64 and have a column for each unit. CPU tensors are summed by one compiled loop for
all activations, on torch's threads, tensors on other devices by torch operators.

A hook on the autograd node of the call receives the gradients of output and input. If a call has
several nodes, or its node several inputs, the gradient of the input comes from a hook on the input
tensor; if that has other uses too, its gradient is the sum over all uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from softgate.formula.formats import format_of
from softgate.frameworks.torch import openmp
from softgate.frameworks.torch.cpu_kernels import DTYPES
from softgate.lower.native import FIELDS, SETTINGS, compile_tally
from softgate.runtime import kernels
from softgate.runtime.routes import Runner
from softgate.runtime.threads import share_rows

Float64s = npt.NDArray[np.float64]

SAMPLE = 1 << 14
"""Elements of a call that a histogram is made from."""
SAFE = (1e-14, 1e14)
"""Norms between these are accurate in float32: no square underflowed or overflowed."""

NormCallback = Callable[[str, float, float], None]
"""Called with "output" or "input", a norm, and the factor of the loss."""


@dataclass(frozen=True)
class SaturationLimits:
    """Slopes that count as flat, and values that count as saturated: from `low` or `high` on."""

    flat: float
    low: float = -np.inf
    high: float = np.inf


@dataclass
class CallSums:
    """The sums of one call: a row for each of `FIELDS`, a column for each unit."""

    rows: int
    sums: Float64s
    """The first row has the shift that was subtracted from each value."""
    not_finite: dict[str, int]
    """Numbers of NaN and inf, by "input nan", "input inf", "output nan", "output inf"."""


def matrix(x: Tensor, axis: int | None) -> Tensor:
    """Return a tensor as rows of units: `axis` last, all others joined; None for one unit."""
    x = x.detach()
    if axis is None:
        return x.reshape(-1, 1)
    if axis not in (-1, x.dim() - 1):
        x = x.movedim(axis, -1)
    return x.reshape(x.numel() // max(x.shape[-1], 1), x.shape[-1])


def slope_of(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return the slope of an elementwise function at x, by automatic differentiation."""
    # A random function must not advance the generator that the model uses.
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(function(x).sum(), x)
    return slope


def count(
    x: Tensor,
    y: Tensor,
    slopes: Tensor,
    bounds: SaturationLimits,
    shift: Float64s | None,
    axis: int | None,
) -> CallSums:
    """Return the sums of a call.

    `shift` is subtracted from the values to avoid cancellation in their variance; by default it is
    the first row.
    """
    with torch.no_grad():
        if x.dtype.itemsize == 1:  # torch has few operators for float8
            x, y, slopes = x.float(), y.float(), slopes.float()
        x, y, slopes = matrix(x, axis), matrix(y, axis), matrix(slopes, axis)
        sums = np.zeros((1 + len(FIELDS), x.shape[1]))
        if shift is None and len(y):
            first = y[0].double().cpu().numpy()
            shift = np.where(np.isfinite(first), first, 0.0)
        sums[0] = 0.0 if shift is None else shift
        if y.dtype is not x.dtype:
            y = y.to(x.dtype)
        if x.device.type == "cpu" and x.dtype in DTYPES:
            _add_by_loop(sums, (x, y, slopes.to(x.dtype)), bounds)
        else:
            _add_by_operators(sums, x, y, slopes, bounds)
        return CallSums(x.shape[0], sums, _not_finite(sums, x, y))


def _add_by_loop(sums: Float64s, tensors: tuple[Tensor, ...], bounds: SaturationLimits) -> None:
    rows, columns = tensors[0].shape
    if not rows or not columns:
        return
    dense = [t if t.stride(1) == 1 or columns == 1 else t.contiguous() for t in tensors]
    words = np.zeros(len(SETTINGS), np.int64)
    words[: len(dense)] = [t.stride(0) for t in dense]
    words[len(dense)] = columns
    words[len(dense) + 1 : -1].view(np.float64)[:] = bounds.flat, bounds.low, bounds.high
    words[-1] = rows
    runner = Runner(_loop(tensors[0].dtype), words)
    item = dense[0].element_size()
    # It divides what it calls rows, here columns, so distances are between columns.
    distances = (sums.itemsize // item, *(1 for _ in dense))
    addresses = (sums.ctypes.data, *(t.data_ptr() for t in dense))
    threads = openmp.plan(rows * columns, item * len(addresses))
    share_rows(openmp.start(), threads, runner.kernel, (columns, 0), item, distances, addresses)


@cache
def _loop(dtype: torch.dtype) -> Any:
    storage = format_of(DTYPES[dtype])
    if storage is None:
        raise TypeError(f"no loop counts tensors of {dtype}: expected a floating-point dtype")
    return kernels.once(("tally", storage), partial(compile_tally, storage))


def _add_by_operators(
    sums: Float64s, x: Tensor, y: Tensor, slopes: Tensor, bounds: SaturationLimits
) -> None:
    finite = torch.isfinite(x) & torch.isfinite(y)
    flat = bounds.flat
    counts = (
        finite,
        finite & (slopes < flat),
        finite & (slopes < 0),
        finite & (slopes <= -flat),
        finite & ((y <= bounds.low) | (y >= bounds.high)),
    )
    shift = torch.as_tensor(sums[0], dtype=y.dtype, device=y.device)
    sums[0] = shift.double().cpu().numpy()
    d = torch.where(finite, y - shift, 0.0)
    ratio = torch.where(x == 0, slopes, y / x)
    powers = (d, d * d, d * d * d, torch.where(finite, ratio, 0.0), torch.where(finite, x * x, 0.0))
    columns = [part.sum(0, dtype=torch.float64) for part in (*counts, *powers)]
    sums[1:] += torch.stack(columns).cpu().numpy()


def _not_finite(sums: Float64s, x: Tensor, y: Tensor) -> dict[str, int]:
    if float(sums[1].sum()) == x.numel():
        return {}
    return {
        f"{name} {kind}": int(test(tensor).sum())
        for name, tensor in (("input", x), ("output", y))
        for kind, test in (("nan", torch.isnan), ("inf", torch.isinf))
    }


def histogram_sample(y: Tensor, axis: int | None) -> Float64s:
    """Return the finite values of evenly spaced rows, about `SAMPLE` of them."""
    rows = matrix(y, axis)
    step = max(1, rows.numel() // SAMPLE)
    sample: Float64s = rows[::step].double().cpu().numpy().ravel()
    return sample[np.isfinite(sample)]


def norm(gradient: Tensor) -> float:
    """Return the norm of a gradient, in float64 if squares may underflow or overflow in float32."""
    wide = torch.float32 if gradient.dtype in (torch.float16, torch.bfloat16) else None
    with torch.no_grad(), torch._C.DisableTorchFunction():
        quick = float(torch.linalg.vector_norm(gradient, dtype=wide))
        if SAFE[0] < quick < SAFE[1] or gradient.dtype is torch.float64:
            return quick
        return float(torch.linalg.vector_norm(gradient.double()))


class GradientHooks:
    """Hooks on the autograd graph that measure gradients; `close` removes all of them.

    The callback receives each norm with the factor of the loss, other than 1 with a GradScaler.
    """

    def __init__(self) -> None:
        self.closed = False
        self._handles: list[Any] = []
        self._scale = 1.0

    def measure(self, x: Tensor, y: Tensor, source: Any, callback: NormCallback) -> None:
        """Register hooks that report the gradient norms of y = f(x); `source` is x's node."""
        node = y.grad_fn
        if node is None or node is source:
            return
        following = [next_node for next_node, _ in node.next_functions if next_node is not None]
        alone = len(following) == 1 and (following[0] is source or x is y)

        def at_node(inputs: Any, outputs: Any) -> None:
            self._pass_on("output", outputs[0], callback)
            if alone:
                self._pass_on("input", inputs[0], callback)

        self._handles.append(node.register_hook(at_node))
        if not alone and x.requires_grad and x is not y:
            self._handles.append(
                x.register_hook(lambda gradient: self._pass_on("input", gradient, callback))
            )

    def _pass_on(self, which: str, gradient: Tensor | None, callback: NormCallback) -> None:
        if gradient is not None and not self.closed:
            callback(which, norm(gradient), self._scale)

    def scaled(self, loss: Tensor, scale: float) -> None:
        """Record the factor of a scaled loss during the backward pass that starts at it."""
        node = loss.grad_fn
        if node is None or scale == 1:
            return

        def begin(_: Any) -> None:
            self._scale = scale
            # Reset when this backward pass ends: the next may start at a loss that is not scaled.
            torch.autograd.Variable._execution_engine.queue_callback(self._reset_scale)

        self._handles.append(node.register_prehook(begin))

    def _reset_scale(self) -> None:
        self._scale = 1.0

    def forget(self) -> None:
        """Drop the hooks of graphs that no longer exist."""
        self._handles = [handle for handle in self._handles if handle.hooks_dict_ref() is not None]

    def close(self) -> None:
        """Remove all hooks."""
        self.closed = True
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
