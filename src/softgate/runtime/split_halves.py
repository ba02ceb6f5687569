"""Kernels over the two halves of one array.

A half of a C-contiguous array consists of rows with a constant stride, whatever the axis. Kernels
run over such rows without a copy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import isnan, prod
from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, address, broadcasts, overlaps, run
from .routes import Route
from .threads import POOL, run_rows

SHORT_ROW = 4
"""Shorter rows are gathered first: a vectorised loop would take ten times as long over them."""


class Split(NamedTuple):
    """How an array in C order is split in two: `rows` times two blocks of `columns` elements."""

    axis: int
    shape: tuple[int, ...]
    """The shape of a half."""
    rows: int
    columns: int

    def halves(self, x: Array) -> tuple[Array, Array]:
        """Return both halves of `x`, a plain array in C order, as matrices of rows."""
        pieces = x.reshape(self.rows, 2, self.columns)
        return pieces[:, 0], pieces[:, 1]

    def views(self, x: Array) -> tuple[Array, Array]:
        """Return views of both halves of any array, in their shape."""
        before, length = (slice(None),) * self.axis, self.shape[self.axis]
        return x[(*before, slice(None, length))], x[(*before, slice(length, None))]


def split(x: Array, axis: Any, name: str) -> Split:
    """Return how `x` is split into two equal halves along `axis`, or raise."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis = {axis!r}: expected a whole number") from None
    if not -x.ndim <= index < x.ndim:
        raise ValueError(f"axis = {index} is out of range: x has {x.ndim} dimensions")
    index %= x.ndim
    length = x.shape[index]
    if isnan(length):  # dask uses NaN for chunks of unknown size
        raise ValueError(f"the length of x along axis {index} is unknown: compute it first")
    if length % 2:
        raise ValueError(
            f"{name} splits x in two equal halves, and x has the odd length {length} along "
            f"axis {index} (its shape is {x.shape})"
        )
    before, after = x.shape[:index], x.shape[index + 1 :]
    return Split(index, (*before, length // 2, *after), prod(before), length // 2 * prod(after))


def check_grad(shape: tuple[int, ...], parts: Split) -> None:
    """Raise unless a gradient of `shape` broadcasts to a half."""
    if not broadcasts(shape, parts.shape):
        raise ValueError(f"grad has shape {shape}: a half of x has {parts.shape}")


def joined(halves: Sequence[Array], like: Array, axis: int) -> Array:
    """Return two halves as one array of the subclass of `like`."""
    if isinstance(like, np.ma.MaskedArray):
        both: Array = np.ma.concatenate(halves, axis)  # type: ignore[no-untyped-call]
        return both
    whole = np.concatenate([np.asarray(half) for half in halves], axis)
    wrapped: Array = like.__array_wrap__(whole, None, False)
    return wrapped


def over_rows(route: Route, operands: Sequence[Array], results: int) -> None:
    """Run a kernel over matrices with contiguous rows, results first."""
    rows, columns = operands[0].shape
    item = operands[0].itemsize
    if columns < SHORT_ROW:
        # Copied as one void element per row: NumPy's loops over such short rows are slow too.
        row = np.dtype((np.void, columns * item))
        packed = [x.view(row)[:, 0] for x in operands]
        dense = [np.empty(rows, row) for _ in packed[:results]]
        dense += map(np.ascontiguousarray, packed[results:])
        run(route.runner(), tuple(x.view(operands[0].dtype) for x in dense))
        for out, result in zip(packed[:results], dense, strict=False):
            np.copyto(out, result)
        return
    distances = [x.strides[0] // item for x in operands]
    addresses = [address(x) for x in operands]
    run_rows(POOL.start, POOL.plan, route, (rows, columns), item, distances, addresses)


def over_halves(
    route: Route,
    x: Array,
    parts: Split,
    swapped: bool,
    gradients: Sequence[Array],
    targets: Sequence[Array | None],
) -> list[Array]:
    """Run a kernel over the halves of `x`, and `gradients`; return plain results.

    One result per target, with the shape of a half, or that of `x` for slope and backward. The gate
    is the first half, or the second if `swapped`.
    """
    whole = np.ascontiguousarray(x)
    order = (1, 0) if swapped else (0, 1)
    dense = [np.ascontiguousarray(np.broadcast_to(y, parts.shape)) for y in gradients]
    sources = [*map(parts.halves(whole).__getitem__, order)]
    sources += [y.reshape(parts.rows, parts.columns) for y in dense]
    whole_shape = route.quantity in ("slope", "backward")
    shape = x.shape if whole_shape else parts.shape
    results = [
        out.view(np.ndarray)
        if out is not None
        and out.shape == shape
        and out.dtype == whole.dtype
        and out.flags.carray
        and not overlaps(out, (whole, *dense))
        else np.empty(shape, whole.dtype)
        for out in targets
    ]
    if whole_shape:
        written = [*map(parts.halves(results[0]).__getitem__, order)]
    else:
        written = [result.reshape(parts.rows, parts.columns) for result in results]
    if whole.size:
        over_rows(route, [*written, *sources], results=len(written))
    return results


def memory_of_halves(x: Array, parts: Split) -> str:
    """Return a description of the copies that splitting `x` needs."""
    if not x.flags.c_contiguous:
        return "copied first: not in C order"
    if parts.columns < SHORT_ROW:
        return f"gathered first: rows of less than {SHORT_ROW} elements"
    return "input not copied, row by row"
