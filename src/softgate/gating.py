"""One call of a gated activation: which operand is the gate, which kernel runs, what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from . import arrays, pairs
from ._activation import Activation, Parameters
from .catalogue.gated import GatedEntry
from .formats import FLOAT64
from .protocol import override
from .rounding import format_of
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
        """Return what was given, as keywords of the same call."""
        said = {"out": self.out, "arithmetic": self.arithmetic, "gate": self.gate}
        kept = {name: value for name, value in said.items() if value is not None}
        if self.out is not None and not isinstance(self.out, tuple):
            kept["out"] = (self.out,)
        return kept | self.parameters


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
        """Return the results for two operands, in their order."""
        if quantity != "curvature" and any(type(x) is not np.ndarray for x in operands.values()):
            inputs, count = tuple(operands.values()), RESULTS[quantity]
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
        swapped = self.position(options.gate) == "second"
        a, b, *rest = pairs.widened(inputs, route)
        turn = slice(None, None, -1 if swapped and quantity != "curvature" else 1)
        ordered = (b, a, *rest) if swapped else (a, b, *rest)
        results = pairs.elementwise(route, ordered, shape, given[turn])[turn]
        self._remember(quantity, inputs[0].dtype, route, options)
        return tuple(
            arrays.finish(self, inputs, pairs.narrowed(result, inputs[0].dtype), out)
            for result, out in zip(results, given, strict=True)
        )

    def halves(
        self, quantity: str, operands: dict[str, Any], axis: int | None, options: Options
    ) -> list[Any]:
        """Return the results for one operand that is cut in two."""
        x, *beside = pairs.same_format(operands)
        cut = pairs.split(x, -1 if axis is None else axis, self.__name__)
        for grad in beside:
            if not pairs.spreads(grad.shape, cut.shape):
                raise ValueError(f"grad has shape {grad.shape}: a half of x has {cut.shape}")
        joined = quantity in ("slope", "backward")
        count = 1 if joined else RESULTS[quantity]
        route = self.route(quantity, x.dtype, options)
        given = pairs.check_outs(options.out, count, x.shape if joined else cut.shape, x.dtype)
        swapped = self.position(options.gate) == "second"
        if type(x) is not np.ndarray:
            a, b = cut.views(x)
            named = {"a": a, "b": b} | dict(zip(["grad"], beside, strict=False))
            results = list(self.pair(quantity, named, options._replace(out=None), None))
            if joined:
                results = [pairs.joined(results, x, cut.axis)]
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
        return results

    def route(self, quantity: str, dtype: np.dtype[Any], options: Options) -> GatedRoute:
        """Return the way that arrays of `dtype` take; raise where there is none."""
        arithmetic = options.arithmetic
        if arithmetic is not None and arithmetic != "float64":
            raise ValueError(f'arithmetic = {arithmetic!r}: accepted are "float64" and None')
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
