"""One call of a gated activation: which operand is the gate, which kernel runs, what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from softgate.catalogue.gated import GatedEntry
from softgate.formula.formats import FLOAT64
from softgate.formula.rounding import format_of

from . import arrays, pairs
from .activation import Activation, Parameters
from .dispatch import is_duck_array, override
from .routes import GatedRoute, Runner

POSITIONS = ("first", "second")
RESULTS = {"value": 1, "slope": 2, "curvature": 2, "backward": 2}
"""How many arrays a kernel writes."""


class Options(NamedTuple):
    """What one call says beside its operands."""

    out: Any
    arithmetic: str | None
    gate: str | None
    parameters: dict[str, float]

    def keywords(self) -> dict[str, Any]:
        """Return the options other than `out` as keywords of the same call."""
        options = {"arithmetic": self.arithmetic, "gate": self.gate}
        return {name: x for name, x in options.items() if x is not None} | self.parameters


class Gating:
    """The kernels of one gated activation, and how operands get to them and results back."""

    def __init__(self, entry: GatedEntry) -> None:
        self.entry = entry
        self.__name__ = entry.name
        self._act = Activation(replace(entry.act, name=entry.name))  # it checks parameters
        self.defaults: Parameters = self._act.check_parameters({})
        self._routes: dict[object, GatedRoute] = {}
        self.ready: dict[np.dtype[Any], Runner] = {}
        """The kernels of usual calls, for `arrays.quick`."""

    def pair(
        self, quantity: str, operands: dict[str, Any], options: Options, method: Any
    ) -> tuple[Any, ...]:
        """Return the results for two operands, in their order; of the curvature three.

        `method` is the public function of the same quantity, for operands that take ufuncs over.
        """
        if any(type(x) is not np.ndarray for x in operands.values()):
            self._check(options)  # types that take ufuncs over may report our errors as their own
            inputs = tuple(operands.values())
            count = 3 if quantity == "curvature" else RESULTS[quantity]
            taken, result = override(
                self.__name__, method, inputs, options.out, options.keywords(), count
            )
            if taken:
                return (result,) if count == 1 else tuple(result)
        named = dict(zip(operands, pairs.same_format(operands), strict=True))
        inputs = tuple(named.values())
        route = self.route(quantity, inputs[0].dtype, options)
        shape = pairs.broadcast_shape(named)
        given = pairs.check_outs(options.out, RESULTS[quantity], shape, inputs[0].dtype)
        widest = next((out.shape for out in given if out is not None), shape)
        swapped = self.position(options.gate) == "second"
        a, b, *rest = pairs.widened(inputs, route)
        turn = slice(None, None, -1 if swapped and quantity != "curvature" else 1)
        ordered = (b, a, *rest) if swapped else (a, b, *rest)
        results = pairs.elementwise(route, ordered, shape, given[turn])[turn]
        self._remember(quantity, inputs[0].dtype, route, options)
        finished = [
            arrays.finish(
                self, inputs, pairs.narrowed(_widened(result, out, widest), inputs[0].dtype), out
            )
            for result, out in zip(results, given, strict=True)
        ]
        return tuple(_with_zero(finished, swapped) if quantity == "curvature" else finished)

    def halves(
        self,
        quantity: str,
        operands: dict[str, Any],
        axis: int | None,
        options: Options,
        method: Any,
    ) -> list[Any]:
        """Return the results for one operand that is cut in two; `method` as for `pair`."""
        if any(map(is_duck_array, operands.values())):
            return self._duck_halves(quantity, operands, axis, options, method)
        x, *beside = pairs.same_format(operands)
        cut = pairs.split(x, -1 if axis is None else axis, self.__name__)
        for grad in beside:
            pairs.check_grad(grad.shape, cut)
        joined = quantity in ("slope", "backward")
        count = 1 if joined else RESULTS[quantity]
        route = self.route(quantity, x.dtype, options)
        given = pairs.check_outs(options.out, count, x.shape if joined else cut.shape, x.dtype)
        swapped = self.position(options.gate) == "second"
        if type(x) is not np.ndarray:
            a, b = cut.views(x)
            named = {"a": a, "b": b} | dict(zip(["grad"], beside, strict=False))
            results = list(self.pair(quantity, named, options._replace(out=None), method))
            if joined:
                results = [pairs.joined(results, x, cut.axis)]
            elif quantity == "curvature":
                return results
        else:
            whole, *rest = pairs.widened((x, *(np.asarray(y) for y in beside)), route)
            results = [
                pairs.narrowed(result, x.dtype)
                for result in pairs.over_halves(route, whole, cut, swapped, rest, given)
            ]
        for i, out in enumerate(given):
            if out is not None and out is not results[i]:
                if arrays.address(out) != arrays.address(results[i]):
                    np.copyto(out, results[i])
                results[i] = out
        return _with_zero(results, swapped) if quantity == "curvature" else results

    def _duck_halves(
        self,
        quantity: str,
        operands: dict[str, Any],
        axis: int | None,
        options: Options,
        method: Any,
    ) -> list[Any]:
        """Return what `halves` does, for arrays that other libraries slice, compute and join.

        A dask array stays lazy, whether or not the cut is between two of its chunks.
        """
        x, *beside = operands.values()
        if not hasattr(x, "shape"):  # a list beside another library's grad
            x = np.asarray(x)
        cut = pairs.split(x, -1 if axis is None else axis, self.__name__)
        for grad in beside:
            pairs.check_grad(np.shape(grad), cut)
        joined = quantity in ("slope", "backward")
        if joined and options.out is not None:
            raise TypeError(
                f"out with one {type(x).__name__} is not supported for the {quantity} of "
                f"{self.__name__}: assign the result instead"
            )
        named = dict(zip(("a", "b", "grad"), (*cut.views(x), *beside), strict=False))
        results = list(self.pair(quantity, named, options, method))
        return [np.concatenate(results, cut.axis)] if joined else results

    def route(self, quantity: str, dtype: np.dtype[Any], options: Options) -> GatedRoute:
        """Return the way that arrays of `dtype` take; raise where there is none."""
        arithmetic = options.arithmetic
        arrays.check_arithmetic(arithmetic)
        values = self.parameters(options.parameters)
        key = (quantity, dtype.num, arithmetic, values)
        found = self._routes.get(key)
        if found is None:
            storage = format_of(dtype)
            assert storage is not None  # `as_array` lets no other through
            wider = FLOAT64 if arithmetic == "float64" else None
            found = GatedRoute(self.entry, quantity, storage, wider, values)
            if storage.bits == 16 and found.computed_in is FLOAT64:  # no way from there to 16 bits
                found = GatedRoute(self.entry, quantity, FLOAT64, None, values)
            if len(self._routes) > 1024:  # a sweep over a parameter must not pile up
                self._routes.clear()
            self._routes[key] = found
        return found

    def _remember(
        self, quantity: str, dtype: np.dtype[Any], route: GatedRoute, options: Options
    ) -> None:
        """Keep the kernel of a usual call at hand for `arrays.quick`."""
        plain = options.arithmetic is options.gate is None and not options.parameters
        if quantity == "value" and plain:
            self.ready.setdefault(dtype, route.runner())

    def _check(self, options: Options) -> None:
        arrays.check_arithmetic(options.arithmetic)
        self.position(options.gate)
        self.parameters(options.parameters)

    def position(self, gate: str | None) -> str:
        """Return which operand is the gate."""
        if gate is None:
            return self.entry.position
        if gate not in POSITIONS:
            raise ValueError(f'gate = {gate!r}: accepted are "first", "second" and None')
        return gate

    def parameters(self, parameters: Mapping[str, Any]) -> Parameters:
        """Return all parameters, defaults filled in; raise on a wrong one."""
        return self._act.check_parameters(parameters) if parameters else self.defaults


def _widened(result: arrays.Array, out: Any, shape: tuple[int, ...]) -> arrays.Array:
    """Return a new result as wide as the `out` beside it, as a ufunc does."""
    if out is not None or result.shape == shape:
        return result
    return np.broadcast_to(result, shape).copy()


def _with_zero(results: list[Any], swapped: bool) -> list[Any]:
    """Return all three second derivatives in the operands' order: by the other operand twice, 0."""
    twice, mixed = results
    zero = np.zeros_like(mixed)[()]
    return [zero, mixed, twice] if swapped else [twice, mixed, zero]
