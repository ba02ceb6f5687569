"""A gated activation as users call it: act(gate)·other, on two arrays or on one split in two."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from softgate.catalogue.gated import GatedEntry
from softgate.records.text import a_type

from . import arrays
from .activation import Activation, Function, Parameters, is_contiguous
from .arrays import Array
from .dispatch import Call

ABSENT: Any = object()
"""The default of an operand that may be omitted."""
POSITIONS = ("first", "second")


class Curvature(NamedTuple):
    """The second partial derivatives: by the first operand, mixed, and by the second."""

    first: Any
    mixed: Any
    second: Any


class Gated(Function):
    """A gated activation of the catalogue, applied to each pair of elements.

    Called with two arrays that broadcast, or with one that is split into two halves along an axis.
    In `glu` the second operand is the gate (Dauphin 2017; torch, JAX and Keras), in all others the
    first (Shazeer 2020; LLaMA's silu(gate)·up); `gate="first"` or `gate="second"` changes that.
    Parameters of the gate's activation are keywords. Operands are those of an `Activation`.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.reglu([-1.0, 2.0], [3.0, 3.0])
    array([0., 6.])
    >>> sg.reglu([-1.0, 2.0, 3.0, 3.0])
    array([0., 6.])
    """

    nin = 2
    entry: GatedEntry

    def __init__(self, entry: GatedEntry) -> None:
        super().__init__(entry, entry.document())
        self.act = Activation(entry.act)
        """The activation of the gate."""
        self.factor = None if entry.factor is None else Activation(entry.factor)
        """The function of the other operand, with the same parameters; None where it is linear."""

    def bind(self, *, gate: Any = None, **parameters: float) -> Gated:
        """Return the same function with another gate or other defaults, compiled into its kernels.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.swiglu.bind(beta=0.0)(1.0, 3.0))
        1.5
        """
        key, position = self.check_parameters(parameters), self.position(gate)
        if key == self._default_key and position == self.entry.position:
            return self
        return bound(self, key, position)

    def __call__(
        self,
        a: Any,
        b: Any = ABSENT,
        /,
        *,
        axis: int | None = None,
        out: Any = None,
        arithmetic: str | None = None,
        gate: str | None = None,
        **parameters: float,
    ) -> Any:
        """Return the value at each pair of elements.

        Parameters
        ----------
        a, b : number, list or array
            The operands, broadcast against each other. Without `b`, `a` is split in two.
        axis : int, default -1
            Where to split; only without `b`.
        out : numpy.ndarray, optional
            Array for the results; may be `a` or `b`, or overlap them. It must have the result's
            dtype, and the operands broadcast to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        gate : {"first", "second"}, optional
            Which operand, or half, is the gate.
        **parameters : float
            Parameters of the gate's activation, and the options of a NumPy ufunc.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc would return it.
        """
        if type(a) in self.fast_path_types and out is arithmetic is gate is None and not parameters:
            if b is ABSENT:
                return self.fast_path(a, None, axis)
            if type(b) in self.fast_path_types:
                return self.fast_path(a, b, axis)
        if (
            type(a) is type(b) is np.ndarray
            and a.dtype == b.dtype
            and a.dtype.itemsize > 1
            and is_contiguous(a)
            and is_contiguous(b)
            and axis is None
            and arithmetic is None
            and gate is None
            and out is None
            and not parameters
        ):
            with suppress(ValueError):  # raised again, with what is expected
                return self.ufunc(a, b)
        operands = (a,) if b is ABSENT else (a, b)
        return self._compute("value", operands, out, arithmetic, parameters, axis, gate)

    def slope(
        self,
        a: Any,
        b: Any = ABSENT,
        /,
        *,
        axis: int | None = None,
        out: Any = None,
        arithmetic: str | None = None,
        gate: str | None = None,
        **parameters: float,
    ) -> Any:
        """Return both partial derivatives: a pair for two arrays, an array like `a` for one.

        Arguments as for the value; `out` is a pair of arrays, or one of the shape of `a`.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.slope([-1.0, 2.0], [3.0, 3.0])
        (array([0., 3.]), array([0., 2.]))
        >>> sg.reglu.slope([-1.0, 2.0, 3.0, 3.0])
        array([0., 3., 0., 2.])
        """
        operands = (a,) if b is ABSENT else (a, b)
        return self._compute("slope", operands, out, arithmetic, parameters, axis, gate)

    def curvature(
        self,
        a: Any,
        b: Any = ABSENT,
        /,
        *,
        axis: int | None = None,
        gate: str | None = None,
        **parameters: float,
    ) -> Curvature:
        """Return the second partial derivatives, always computed in float64; arrays of half size.

        Examples
        --------
        >>> import softgate as sg
        >>> bend = sg.swiglu.curvature(0.0, 3.0)
        >>> float(bend.first), float(bend.mixed), float(bend.second)
        (1.5, 0.5, 0.0)
        """
        operands = (a,) if b is ABSENT else (a, b)
        results = self._compute("curvature", operands, None, None, parameters, axis, gate)
        # A torch.fx.Proxy represents a whole Curvature.
        return Curvature(*results) if isinstance(results, tuple) else results

    def backward(
        self,
        a: Any,
        b: Any,
        grad: Any = ABSENT,
        /,
        *,
        axis: int | None = None,
        out: Any = None,
        arithmetic: str | None = None,
        gate: str | None = None,
        **parameters: float,
    ) -> Any:
        """Return both partial derivatives times `grad`, computed in one pass.

        `backward(a, b, grad)` returns a pair, each broadcast as the value is; `backward(x, grad)`,
        with `x` split in two along `axis`, an array of the shape of `x`. `out` is a pair of arrays,
        or one. Where relu's slope is 0 the result is 0, whatever `b` and `grad` are.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.backward([-1.0, 2.0], [3.0, 3.0], [1.0, 10.0])
        (array([ 0., 30.]), array([ 0., 20.]))
        >>> sg.reglu.backward([-1.0, 2.0, 3.0, 3.0], [1.0, 10.0])
        array([ 0., 30.,  0., 20.])
        """
        operands = (a, b) if grad is ABSENT else (a, b, grad)
        return self._compute("backward", operands, out, arithmetic, parameters, axis, gate)

    def of_arrays(self, call: Call) -> Any:
        """Return the results of a call that NumPy computes; one operand is split in two."""
        if self.position(call.gate) != self.entry.position:
            return self.bind(gate=call.gate).of_arrays(call._replace(gate=None))
        if len(call.operands) == (2 if call.quantity == "backward" else 1):
            return self._halves(call)
        self.no_axis(call.axis)
        return self._pair(call)

    def _pair(self, call: Call) -> Any:
        """Return the results for two operands, in their order; three for the curvature."""
        plan = self.plan_arrays(call)
        results = plan.run(call.out)
        if call.quantity != "curvature":
            return results
        first, second = results
        zero = np.multiply(np.greater(first, np.inf), first.dtype.type(0))  # of the same type
        return (first, second, zero) if self.entry.position == "first" else (zero, first, second)

    def _halves(self, call: Call) -> Any:
        """Return the results for the halves of one array, joined for slope and backward."""
        x, *gradients = call.operands
        if not any(map(arrays.is_duck_array, call.operands)):
            names = ("x", "grad")[: len(call.operands)]
            x, *gradients = arrays.same_format(dict(zip(names, call.operands, strict=True)))
        elif not hasattr(x, "shape"):  # a list with a grad of another library
            x = np.asarray(x)
        halves = Halves.of(x.shape, call.axis, self.name)
        for grad in gradients:
            halves.check_grad(np.shape(grad))
        pair = call._replace(operands=(*halves.views(x), *gradients), axis=None)
        if call.quantity not in ("slope", "backward"):
            return self._pair(pair)
        by_others = any(map(arrays.is_duck_array, call.operands))
        if call.out is None and (by_others or type(x) is not np.ndarray):
            return halves.joined(self._pair(pair), x)
        if by_others:
            raise TypeError(
                f"out with one {type(x).__name__} is not supported for the {call.quantity} of "
                f"{self.name}: assign the result instead"
            )
        out = np.empty(x.shape, x.dtype.newbyteorder("=")) if call.out is None else call.out
        if isinstance(out, tuple):
            if len(out) != 1:
                raise ValueError(f"out has {len(out)} arrays: there is one result")
            (out,) = out
        self._pair(pair._replace(out=halves.views_of_out(out, x)))
        return out

    def pair_of(self, call: Call) -> tuple[Any, ...]:
        """Return the operands of a call, of which the first may be split in two."""
        if len(call.operands) > 1:
            self.no_axis(call.axis)
            return call.operands
        x = arrays.as_array(call.operands[0])
        return Halves.of(x.shape, call.axis, self.name).views(x)

    def operand_names(self, call: Call) -> tuple[str, ...]:
        """Return the names of a call's operands."""
        return ("a", "b", "grad")[: len(call.operands)]

    def position(self, gate: str | None) -> str:
        """Return which operand is the gate, "first" or "second"; raise for other values."""
        if gate is None:
            return self.entry.position
        if gate not in POSITIONS:
            raise ValueError(f'gate = {gate!r}: expected "first", "second" or None')
        return gate

    def no_axis(self, axis: int | None) -> None:
        """Raise if an axis is passed with two operands."""
        if axis is not None:
            raise TypeError(
                f"axis = {axis!r} with two operands: {self.name} splits one array along an axis; "
                "omit it, or pass one array"
            )

    def _repr_html_(self) -> str:
        from softgate.studies.properties.card import card_of_two

        operands = ("gate", "other") if self.entry.position == "first" else ("other", "gate")
        return card_of_two(self.entry, self.parameters, operands)

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value:g}" for name, value in self.parameters.items())
        return f"<softgate.{self.name}(a, b{arguments}) = {self.entry.formula}>"


class Halves(NamedTuple):
    """How an array is cut in two equal halves along an axis."""

    axis: int
    shape: tuple[int, ...]
    """The shape of a half."""

    @classmethod
    def of(cls, shape: tuple[int, ...], axis: Any, name: str) -> Halves:
        """Return the halves of an array of a shape, or raise."""
        try:
            index = operator.index(-1 if axis is None else axis)
        except TypeError:
            raise TypeError(f"axis = {axis!r}: expected a whole number") from None
        if not -len(shape) <= index < len(shape):
            raise ValueError(f"axis = {index} is out of range: x has {len(shape)} dimensions")
        index %= len(shape)
        length = shape[index]
        if isnan(length):  # dask uses NaN for chunks of unknown size
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


@lru_cache(maxsize=256)
def bound(gated: Gated, key: Parameters, position: str) -> Gated:
    """Return `gated` with other defaults and gate; the same ones return the same object."""
    values, entry = dict(key), gated.entry
    parameters = tuple(replace(p, default=values[p.name]) for p in entry.parameters)
    act = replace(entry.act, parameters=parameters)
    factor = None if entry.factor is None else replace(entry.factor, parameters=parameters)
    return Gated(replace(entry, act=act, factor=factor, position=position))
