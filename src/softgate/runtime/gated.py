"""A gated activation as users call it: act(gate)·other, on two arrays or on one split in two."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from softgate.catalogue.gated import GatedEntry

from . import arrays, split_halves
from .activation import Activation, Function, Parameters
from .dispatch import Call, adapter_for, is_duck_array

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
            Parameters of the gate's activation.

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
            and (axis, arithmetic, gate) == (None, None, None)
            and not parameters
        ):
            runner = self._default_runners.get(("value", a.dtype))
            gates, others = (a, b) if self.entry.position == "first" else (b, a)
            if (
                runner is not None
                and a.shape == b.shape
                and others.flags.c_contiguous
                and others.flags.aligned
            ):
                result = arrays.quick(runner, out, gates, others)
                if result is not None:
                    return result
        operands = (a,) if b is ABSENT else (a, b)
        return self._compute(Call(self, "value", operands, out, arithmetic, parameters, axis, gate))

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
        return self._compute(Call(self, "slope", operands, out, arithmetic, parameters, axis, gate))

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
        results = self._compute(
            Call(self, "curvature", operands, None, None, parameters, axis, gate)
        )
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
        return self._compute(
            Call(self, "backward", operands, out, arithmetic, parameters, axis, gate)
        )

    def _compute(self, call: Call) -> Any:
        adapter = adapter_for(call.operands)
        if adapter is not None:
            return adapter.compute(call)
        if len(call.operands) == (2 if call.quantity == "backward" else 1):
            results = self._halves(call)
            single = call.quantity != "curvature"  # a slope for each half is one array
        else:
            self.no_axis(call.axis)
            results = self._pair(call)
            single = call.quantity == "value"
        return results[0] if single else tuple(results)

    def _pair(self, call: Call) -> tuple[Any, ...]:
        """Return the results for two operands, in their order; three for the curvature."""
        swapped, quantity = self.position(call.gate) == "second", call.quantity
        count = {"value": 1, "curvature": 3}.get(quantity, 2)
        overridden, result = self._override(call, count)
        if overridden:
            return (result,) if count == 1 else tuple(result)
        named = dict(zip(("a", "b", "grad"), call.operands, strict=False))
        operands = dict(zip(named, arrays.same_format(named), strict=True))
        dtype = operands["a"].dtype
        route = self.route(quantity, dtype, call.arithmetic, call.parameters)
        results = arrays.apply(self, route, operands, call.out, swapped)
        if quantity == "value":
            self._remember(call, dtype, route)
        return _with_zero(results, swapped) if quantity == "curvature" else results

    def _halves(self, call: Call) -> tuple[Any, ...]:
        """Return the results for the halves of one array, joined for slope and backward."""
        quantity = call.quantity
        joined = quantity in ("slope", "backward")
        names = ("x", "grad")[: len(call.operands)]
        axis = -1 if call.axis is None else call.axis
        by_others = any(map(is_duck_array, call.operands))
        if by_others:
            # Other libraries slice, compute and join: a dask array stays lazy.
            x, *gradients = call.operands
            if not hasattr(x, "shape"):  # a list with a grad of another library
                x = np.asarray(x)
            if joined and call.out is not None:
                raise TypeError(
                    f"out with one {type(x).__name__} is not supported for the {quantity} of "
                    f"{self.name}: assign the result instead"
                )
        else:
            x, *gradients = arrays.same_format(dict(zip(names, call.operands, strict=True)))
        parts = split_halves.split(x, axis, self.name)
        for grad in gradients:
            split_halves.check_grad(np.shape(grad), parts)
        pair = call._replace(operands=(*parts.views(x), *gradients), axis=None)
        if by_others:
            results = self._pair(pair)
            return (np.concatenate(results, parts.axis),) if joined else results
        route = self.route(quantity, x.dtype, call.arithmetic, call.parameters)
        shape, count = (x.shape, 1) if joined else (parts.shape, route.results)
        targets = arrays.check_outs(call.out, count, shape, x.dtype)
        swapped = self.position(call.gate) == "second"
        if type(x) is not np.ndarray:
            results = self._pair(pair._replace(out=None))
            if quantity == "curvature":
                return results
            computed = [split_halves.joined(results, x, parts.axis)] if joined else list(results)
        else:
            whole, *rest = arrays.widened((x, *map(np.asarray, gradients)), route)
            computed = [
                arrays.narrowed(result, x.dtype)
                for result in split_halves.over_halves(route, whole, parts, swapped, rest, targets)
            ]
        for i, target in enumerate(targets):
            if target is not None and target is not computed[i]:
                if arrays.address(target) != arrays.address(computed[i]):
                    np.copyto(target, computed[i])
                computed[i] = target
        return _with_zero(computed, swapped) if quantity == "curvature" else tuple(computed)

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


def _with_zero(results: Any, swapped: bool) -> tuple[Any, ...]:
    """Return all three second derivatives in the operands' order; that by `other` twice is 0."""
    twice, mixed = results
    zero = np.zeros_like(mixed)[()]
    return (zero, mixed, twice) if swapped else (twice, mixed, zero)


@lru_cache(maxsize=256)
def bound(gated: Gated, key: Parameters, position: str) -> Gated:
    """Return `gated` with other defaults and gate; the same ones return the same object."""
    values, entry = dict(key), gated.entry
    parameters = tuple(replace(p, default=values[p.name]) for p in entry.parameters)
    act = replace(entry.act, parameters=parameters)
    factor = None if entry.factor is None else replace(entry.factor, parameters=parameters)
    return Gated(replace(entry, act=act, factor=factor, position=position))
