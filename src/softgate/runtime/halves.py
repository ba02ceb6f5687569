"""One array as both operands of a function of two: its halves along an axis."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from softgate.records.text import a_type

from . import arrays
from .arrays import Array


class Halves(NamedTuple):
    """How an array is cut in two equal halves along an axis."""

    axis: int
    shape: tuple[int, ...]
    """The shape of a half."""

    @classmethod
    def of(cls, shape: tuple[Any, ...], axis: Any, name: str) -> Halves:
        """Return the halves of an array of a shape, or raise."""
        try:
            index = operator.index(-1 if axis is None else axis)
        except TypeError:
            raise TypeError(f"axis = {axis!r}: expected a whole number") from None
        if not -len(shape) <= index < len(shape):
            raise ValueError(f"axis = {index} is out of range: x has {len(shape)} dimensions")
        index %= len(shape)
        length = shape[index]
        if length is None:  # of a symbolic tensor
            return cls(index, shape)
        if isinstance(length, float):  # dask uses NaN for chunks of unknown size
            raise ValueError(f"the length of x along axis {index} is unknown: compute it first")
        if length % 2:
            raise ValueError(
                f"{name} splits x in two equal halves, and x has the odd length {length} along "
                f"axis {index} (its shape is {shape})"
            )
        return cls(index, (*shape[:index], length // 2, *shape[index + 1 :]))

    def check_grad(self, shape: tuple[int, ...]) -> None:
        """Raise unless a gradient of `shape` broadcasts to a half."""
        axes = zip(reversed(shape), reversed(self.shape), strict=False)
        if len(shape) > len(self.shape) or any(n not in (1, half) for n, half in axes):
            raise ValueError(f"grad has shape {shape}: a half of x has {self.shape}")

    def views(self, x: Any, before: int = 0) -> tuple[Any, Any]:
        """Return both halves of an array, which may have more axes before."""
        place, length = (slice(None),) * (before + self.axis), self.shape[self.axis]
        return x[(*place, slice(None, length))], x[(*place, slice(length, None))]

    def views_of_out(self, out: Any, x: Array) -> tuple[Any, Any]:
        """Return both halves of an array for results like `x`, or raise."""
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out is {a_type(out)}: expected a numpy.ndarray")
        if out.shape[max(0, out.ndim - x.ndim) :] != x.shape:
            raise ValueError(f"out has shape {out.shape}: the result has shape {x.shape}")
        return self.views(out, out.ndim - x.ndim)

    def joined(self, halves: Sequence[Any], like: Any) -> Any:
        """Return two halves as one array of the type of `like`."""
        if any(map(arrays.is_duck_array, halves)):
            return np.concatenate(halves, self.axis)
        if isinstance(like, np.ma.MaskedArray):
            return np.ma.concatenate(halves, self.axis)  # type: ignore[no-untyped-call]
        whole = np.concatenate([np.asarray(half) for half in halves], self.axis)
        return like.__array_wrap__(whole, None, False)
