"""Sums over one call's input, output and slope, a column for each unit.

CPU tensors go through one loop of ours on torch's threads, whatever the activation; tensors
elsewhere through torch's own operators. Both add to the same table of float64 sums.
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

from softgate.formula.rounding import format_of
from softgate.lower.column_sums import FIELDS, SETTINGS, compile_tally
from softgate.runtime import kernels
from softgate.runtime.routes import Runner

from .. import openmp
from ..memory import DTYPES

Float64s = npt.NDArray[np.float64]
Slope = Callable[[Tensor], Tensor]

SAMPLE = 1 << 14
"""Elements of a call that a histogram is made from."""


@dataclass(frozen=True)
class Bounds:
    """What counts as flat, and as saturated: a value at or beyond `low` or `high`."""

    flat: float
    low: float = -np.inf
    high: float = np.inf


@dataclass
class Counted:
    """The sums of one call: a row for each of `FIELDS`, a column a unit."""

    rows: int
    sums: Float64s
    """The first row holds what was taken from each value before it was summed."""
    not_finite: dict[str, int]
    """How many NaN and inf there were, by "input nan", "input inf", "output nan", "output inf"."""


def matrix(x: Tensor, axis: int | None) -> Tensor:
    """Return a tensor as rows of units: their axis last, all others together; None: one unit."""
    x = x.detach()
    if axis is None:
        return x.reshape(-1, 1)
    if axis not in (-1, x.dim() - 1):
        x = x.movedim(axis, -1)
    return x.reshape(x.numel() // max(x.shape[-1], 1), x.shape[-1])


def units(x: Tensor, axis: int | None) -> int:
    """Return how many units a tensor has."""
    return 1 if axis is None else x.shape[axis]


def slope_of(call: Callable[[Tensor], Tensor]) -> Slope:
    """Return the slope of a function of each element, by automatic differentiation."""

    def slope(x: Tensor) -> Tensor:
        # A random function draws again, and must not take numbers that the model would have had.
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            x = x.detach().requires_grad_()
            (found,) = torch.autograd.grad(call(x).sum(), x)
        return found

    return slope


def count(
    x: Tensor, y: Tensor, slopes: Tensor, bounds: Bounds, shift: Float64s | None, axis: int | None
) -> Counted:
    """Return the sums of a call; `shift` is near what the values are, for sums that lose nothing.

    Without one the first row's values are taken.
    """
    with torch.no_grad():
        x, y, slopes = matrix(x, axis), matrix(y, axis), matrix(slopes, axis)
        sums = np.zeros((1 + len(FIELDS), x.shape[1]))
        if shift is None and len(y):
            first = y[0].double().cpu().numpy()
            shift = np.where(np.isfinite(first), first, 0.0)
        sums[0] = 0.0 if shift is None else shift
        if y.dtype is not x.dtype:
            y = y.to(x.dtype)
        if x.device.type == "cpu" and x.dtype in DTYPES:
            _by_loop(sums, (x, y, slopes.to(x.dtype)), bounds)
        else:
            _by_operators(sums, x, y, slopes, bounds)
        return Counted(x.shape[0], sums, _not_finite(sums, x, y))


def _by_loop(sums: Float64s, tensors: tuple[Tensor, ...], bounds: Bounds) -> None:
    rows, columns = tensors[0].shape
    if not rows or not columns:
        return
    dense = [t if t.stride(1) == 1 or columns == 1 else t.contiguous() for t in tensors]
    words = np.zeros(len(SETTINGS), np.int64)
    words[: len(dense)] = [t.stride(0) for t in dense]
    words[len(dense)] = columns
    words[len(dense) + 1 :].view(np.float64)[:] = bounds.flat, bounds.low, bounds.high
    code = _loop(tensors[0].dtype)
    runner = Runner(code, words)
    item = dense[0].element_size()
    # The team's rows are our columns: it moves each address by so many elements for each of them.
    distances = (sums.itemsize // item, *(1 for _ in dense))
    addresses = (sums.ctypes.data, *(t.data_ptr() for t in dense))
    threads = openmp.plan(rows * columns, item * len(addresses))
    openmp.share_rows(runner, threads, (columns, rows), item, distances, addresses)


@cache
def _loop(dtype: torch.dtype) -> Any:
    storage = format_of(DTYPES[dtype])
    if storage is None:
        raise TypeError(f"there is no loop that counts in {dtype}")
    return kernels.once(("tally", storage), partial(compile_tally, storage))


def _by_operators(sums: Float64s, x: Tensor, y: Tensor, slopes: Tensor, bounds: Bounds) -> None:
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
    found = {}
    for name, tensor in (("input", x), ("output", y)):
        found[f"{name} nan"] = int(torch.isnan(tensor).sum())
        found[f"{name} inf"] = int(torch.isinf(tensor).sum())
    return found


def histogram_sample(y: Tensor, axis: int | None) -> Float64s:
    """Return values of some rows, evenly spread, as many as a histogram is made from."""
    rows = matrix(y, axis)
    step = max(1, rows.numel() // SAMPLE)
    sample: Float64s = rows[::step].double().cpu().numpy().ravel()
    return sample[np.isfinite(sample)]
