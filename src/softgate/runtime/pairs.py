"""Several operands, several results: broadcast against each other, or the halves of one array.

A half of an array in C order is a set of rows that lie a fixed distance apart, whatever the axis.
Kernels run over such rows where they lie.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, prod
from typing import Any, NamedTuple

import numpy as np

from softgate.formula import rounding

from .arrays import (
    SERIAL,
    Array,
    address,
    as_array,
    check_out,
    fits,
    is_plain,
    is_ready,
    run,
    same_memory,
    spreads,
)
from .routes import GatedRoute
from .threads import POOL

SHORT_ROW = 4
"""Shorter rows are gathered first: of no use to a vectorised loop, they would take ten times as
long where they lie."""


def same_format(operands: Mapping[str, Any]) -> list[Array]:
    """Return operands as arrays of one format: the widest; Python numbers take the others'."""
    numbers = {
        name
        for name, x in operands.items()
        if isinstance(x, int | float) and not isinstance(x, np.generic)
    }
    arrays = {name: as_array(x, name) for name, x in operands.items()}
    deciding = [name for name in operands if name not in numbers] or list(operands)
    dtype = arrays[deciding[0]].dtype.newbyteorder("=")
    for name in deciding[1:]:
        other = arrays[name].dtype.newbyteorder("=")
        if other != dtype:
            try:
                dtype = np.promote_types(dtype, other)
            except TypeError:
                raise TypeError(
                    f"{deciding[0]} is {dtype.name} and {name} {other.name}, which have no common "
                    "format: convert one of them"
                ) from None
    # A number beyond the format is infinite in it, one below it is 0.
    with np.errstate(over="ignore", under="ignore"):
        return [array.astype(dtype, copy=False) for array in arrays.values()]


def broadcast_shape(operands: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the shape that operands have together, or raise."""
    try:
        return np.broadcast_shapes(*(x.shape for x in operands.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in operands.items())
        raise ValueError(f"the shapes do not broadcast: {shapes}") from None


def check_grad(shape: tuple[int, ...], cut: Split) -> None:
    """Raise unless a gradient of `shape` broadcasts to a half."""
    if not spreads(shape, cut.shape):
        raise ValueError(f"grad has shape {shape}: a half of x has {cut.shape}")


def check_outs(
    out: Any, count: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> list[Array | None]:
    """Return the arrays that results go to, None for new ones; raise before anything is written.

    Results of `shape` have to broadcast to all of them, which have one shape.
    """
    if out is None:
        return [None] * count
    if count == 1:
        return [check_out(out, shape, dtype)]
    if not isinstance(out, tuple) or len(out) != count:
        raise TypeError(f"out is a {type(out).__name__}: expected a tuple of {count} arrays")
    given = [check_out(target, shape, dtype) for target in out]
    known = [target for target in given if target is not None]
    if len({target.shape for target in known}) > 1:
        shapes = " and ".join(str(target.shape) for target in known)
        raise ValueError(f"the arrays in out have shapes {shapes}: expected the same for all")
    if any(_overlaps(target, known[i + 1 :]) for i, target in enumerate(known)):
        raise ValueError("the arrays in out share memory: each result needs its own")
    return given


def widened(operands: Sequence[Array], route: GatedRoute) -> list[Array]:
    """Return operands as the route's kernel reads them: 16-bit ones may have to be float64."""
    if operands[0].dtype.itemsize * 8 == route.storage.bits:
        return list(operands)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return [x.astype(route.storage.name) for x in operands]


def narrowed(result: Array, dtype: np.dtype[Any]) -> Array:
    """Return results in the operands' format again."""
    if result.dtype == dtype:
        return result
    fmt = rounding.format_of(dtype)
    assert fmt is not None
    with np.errstate(all="ignore"):
        # ml_dtypes converts float64 to bfloat16 by way of float32, which rounds twice.
        return rounding.round_to(result, fmt).astype(dtype)


def joined(halves: Sequence[Array], like: Array, axis: int) -> Array:
    """Return two halves as one array of the subclass of `like`."""
    if isinstance(like, np.ma.MaskedArray):
        both: Array = np.ma.concatenate(halves, axis)  # type: ignore[no-untyped-call]
        return both
    whole = np.concatenate([np.asarray(half) for half in halves], axis)
    wrapped: Array = like.__array_wrap__(whole, None, False)
    return wrapped


def elementwise(
    route: GatedRoute,
    operands: Sequence[Array],
    shape: tuple[int, ...],
    given: Sequence[Array | None],
) -> list[Array]:
    """Run a kernel over operands broadcast to `shape`; return plain arrays of results.

    A result is in the memory `given` for it where a kernel can write there, else in new memory.
    """
    dtype = operands[0].dtype
    if all(is_plain(x) and x.shape == shape for x in operands) and not any(
        out is not None for out in given
    ):
        results = [np.empty(shape, dtype) for _ in given]
        run(route.runner(), (*results, *operands))
        return results
    sources = [np.broadcast_to(x.view(np.ndarray), shape) for x in operands]
    results = _results(sources, given)
    alias, copied = _plan(sources, results)
    for i in copied:
        dense = np.empty_like(results[0])
        np.copyto(dense, sources[i])
        sources[i] = dense
    names = route.entry.inputs(route.quantity)
    run(route.runner(None if alias is None else names[alias]), (*results, *sources))
    return results


def _plan(sources: Sequence[Array], results: Sequence[Array]) -> tuple[int | None, list[int]]:
    """Return which operand the result overwrites, if one, and which ones are copied first."""
    alias, copied = None, []
    for i, source in enumerate(sources):
        if len(results) == 1 and alias is None and same_memory(source, results[0]):
            alias = i
        elif not fits(source, results[0]):
            copied.append(i)
    return alias, copied


def memory(operands: Sequence[Array], shape: tuple[int, ...], given: Sequence[Array | None]) -> str:
    """Say what `elementwise` does with memory."""
    sources = [np.broadcast_to(x.view(np.ndarray), shape) for x in operands]
    alias, copied = _plan(sources, _results(sources, given))
    if copied:
        which = "both" if len(copied) == len(sources) else "one of them"
        return f"{which} copied first: not as the result lies"
    return "read where it lies" if alias is None else "in place"


def _results(sources: Sequence[Array], given: Sequence[Array | None]) -> list[Array]:
    """Return memory for results, all of one layout; of several none may overlap an operand."""
    results: list[Array] = []
    dtype = sources[0].dtype
    for out in given:
        like = results[0] if results else sources[0]
        taken = (*results, *sources) if len(given) > 1 else ()
        if (
            out is not None
            and out.shape == like.shape
            and out.dtype == dtype
            and is_ready(out)
            and not (results and out.strides != like.strides)
            and not _overlaps(out, taken)
        ):
            results.append(out.view(np.ndarray))
        else:
            results.append(np.empty_like(like, subok=False))
    return results


def _overlaps(x: Array, others: Iterable[Array]) -> bool:
    return any(np.may_share_memory(x, other) for other in others)


class Split(NamedTuple):
    """How an array in C order is cut in two: `rows` times two pieces of `columns` elements."""

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
        """Return both halves of any array, shaped as they are."""
        before, length = (slice(None),) * self.axis, self.shape[self.axis]
        return x[(*before, slice(None, length))], x[(*before, slice(length, None))]


def split(x: Array, axis: Any, name: str) -> Split:
    """Return how `x` is cut in two equal halves along `axis`, or raise."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis = {axis!r}: expected a whole number") from None
    if not -x.ndim <= index < x.ndim:
        raise ValueError(f"axis = {index} is out of range: x has {x.ndim} dimensions")
    index %= x.ndim
    length = x.shape[index]
    if isnan(length):  # dask has NaN for chunks whose size is not known
        raise ValueError(f"the length of x along axis {index} is unknown: compute it first")
    if length % 2:
        raise ValueError(
            f"{name} splits x in two equal halves, and x has the odd length {length} along "
            f"axis {index} (its shape is {x.shape})"
        )
    before, after = x.shape[:index], x.shape[index + 1 :]
    return Split(index, (*before, length // 2, *after), prod(before), length // 2 * prod(after))


def over_rows(route: GatedRoute, operands: Sequence[Array], results: int) -> None:
    """Run a kernel over matrices whose rows are one piece of memory each, results first."""
    rows, columns = operands[0].shape
    count, item = rows * columns, operands[0].itemsize
    if columns < SHORT_ROW:
        # As one element a row: NumPy's own loops over rows this short are slow, too.
        row = np.dtype((np.void, columns * item))
        packed = [x.view(row)[:, 0] for x in operands]
        dense = [np.empty(rows, row) for _ in packed[:results]]
        dense += map(np.ascontiguousarray, packed[results:])
        run(route.runner(), tuple(x.view(operands[0].dtype) for x in dense))
        for out, found in zip(packed[:results], dense, strict=False):
            np.copyto(out, found)
        return
    distances = [x.strides[0] // item for x in operands]
    steps = np.array(distances, np.int64)
    addresses, runner = [address(x) for x in operands], route.runner(rows=True)

    def part(row: int, column: int, length: int, number: int) -> None:
        starts = (
            start + (row * distance + column) * item
            for start, distance in zip(addresses, distances, strict=True)
        )
        runner.run(*starts, runner.address, address(steps), length, number)

    def chunk(start: int, stop: int, _keep: Sequence[Array] = operands) -> None:
        # From the middle of a row to the middle of another, with whole rows between them.
        (first, begin), (last, end) = divmod(start, columns), divmod(stop, columns)
        if first == last:
            part(first, begin, end - begin, 1)
            return
        if begin:
            part(first, begin, columns - begin, 1)
            first += 1
        if first < last:
            part(first, 0, columns, last - first)
        if end:
            part(last, 0, end, 1)

    if POOL.size == 1 or count < SERIAL:
        chunk(0, count)
    elif count:
        POOL.run(chunk, count, item * len(operands))


def over_halves(
    route: GatedRoute,
    x: Array,
    cut: Split,
    swapped: bool,
    beside: Sequence[Array],
    given: Sequence[Array | None],
) -> list[Array]:
    """Run a kernel over the halves of `x`, `beside` going with them; return plain results.

    One result for each `given`: shaped as a half, or as `x` where one stands for a result a half.
    The gate is the first half, or the second where `swapped`.
    """
    whole = np.ascontiguousarray(x)
    order = (1, 0) if swapped else (0, 1)
    dense = [np.ascontiguousarray(np.broadcast_to(y, cut.shape)) for y in beside]
    sources = [*map(cut.halves(whole).__getitem__, order)]
    sources += [y.reshape(cut.rows, cut.columns) for y in dense]
    joined = route.quantity in ("slope", "backward")
    shape = x.shape if joined else cut.shape
    results = [
        out.view(np.ndarray)
        if out is not None
        and out.shape == shape
        and _writeable(out, whole.dtype)
        and not _overlaps(out, (whole, *dense))
        else np.empty(shape, whole.dtype)
        for out in given
    ]
    if joined:
        targets = [*map(cut.halves(results[0]).__getitem__, order)]
    else:
        targets = [result.reshape(cut.rows, cut.columns) for result in results]
    if whole.size:
        over_rows(route, [*targets, *sources], results=len(targets))
    return results


def memory_of_halves(x: Array, cut: Split) -> str:
    """Say what `over_halves` does with memory."""
    if not x.flags.c_contiguous:
        return "copied first: not in C order"
    if cut.columns < SHORT_ROW:
        return f"gathered first: rows of less than {SHORT_ROW} elements"
    return "read where it lies, row by row"


def _writeable(out: Array, dtype: np.dtype[Any]) -> bool:
    return out.dtype == dtype and out.flags.carray
