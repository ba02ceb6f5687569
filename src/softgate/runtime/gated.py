"""A gated activation as users call it: act(gate)·other, on two arrays or on one cut in two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from softgate.catalogue.gated import GatedEntry

from . import arrays
from .activation import Activation, Parameters
from .dispatch import adapter_of, keras_adapter, recorder_of
from .gated_call import Gating, Options

ABSENT: Any = object()
"""Stands for an operand that was not given."""


class Curvature(NamedTuple):
    """The second derivatives, by the first operand twice, by both, by the second twice."""

    first: Any
    mixed: Any
    second: Any


class Gated:
    """A gated activation of the catalogue, applied to each pair of elements.

    Called with two arrays that broadcast, or with one that is cut in two halves along an axis.
    In `glu` the second operand is the gate (Dauphin 2017; torch, JAX and Keras), in all others the
    first (Shazeer 2020; LLaMA's silu(gate)·up); `gate="first"` or `gate="second"` says otherwise.
    Parameters of the gate's activation are keywords. Arrays are taken as an `Activation` does.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.reglu([-1.0, 2.0], [3.0, 3.0])
    array([0., 6.])
    >>> sg.reglu([-1.0, 2.0, 3.0, 3.0])
    array([0., 6.])
    """

    nin = 2
    nout = 1

    def __init__(self, entry: GatedEntry) -> None:
        self.entry = entry
        self.__name__ = self.__qualname__ = entry.name
        self.__module__ = "softgate"
        self.__doc__ = entry.document()
        self.act = Activation(entry.act)
        """What is applied to the gate."""
        self.gating = Gating(entry)
        self.short_for: tuple[type, ...] = ()
        self.short_way: Callable[..., Any] = self
        """The value for operands of those types, which a framework's adapter has taken over: the
        second is None where one is cut in two."""

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.entry.name

    @property
    def parameters(self) -> Mapping[str, float]:
        """The gate's parameters and their defaults."""
        return dict(self.gating.defaults)

    def bind(self, *, gate: Any = None, **parameters: float) -> Gated:
        """Return the same function with another gate or other defaults, in kernels of its own.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.swiglu.bind(beta=0.0)(1.0, 3.0))
        1.5
        """
        key, position = self.gating.parameters(parameters), self.gating.position(gate)
        if key == self.gating.defaults and position == self.entry.position:
            return self
        return _bound(self, key, position)

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
            The operands, broadcast against each other. Without `b`, `a` is cut in two equal halves.
        axis : int, default -1
            Where to cut; only without `b`.
        out : numpy.ndarray, optional
            Where results go; may be `a` or `b` itself, or overlap them. Its dtype is the result's,
            and the operands broadcast to its shape.
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
        if type(a) in self.short_for and out is arithmetic is gate is None and not parameters:
            if b is ABSENT:
                return self.short_way(a, None, axis)
            if type(b) in self.short_for:
                return self.short_way(a, b, axis)
        if (
            type(a) is type(b) is np.ndarray
            and a.dtype == b.dtype
            and (axis, arithmetic, gate) == (None, None, None)
            and not parameters
        ):
            runner = self.gating.ready.get(a.dtype)
            gates, others = (a, b) if self.entry.position == "first" else (b, a)
            if runner is not None and a.shape == b.shape and others.flags.carray:
                result = arrays.quick(runner, out, gates, others)
                if result is not None:
                    return result
        adapter = adapter_for(a, b)
        if adapter is not None:
            operands = (a,) if b is ABSENT else (a, b)
            first = self.gating.position(gate) == "first"
            values = {**self.parameters, **parameters}
            return adapter.gated(self, operands, axis, first, out, arithmetic, values)
        options = Options(out, arithmetic, gate, parameters)
        if b is ABSENT:
            return self.gating.halves("value", {"x": a}, axis, options, self)[0]
        self.no_axis(axis)
        return self.gating.pair("value", {"a": a, "b": b}, options, self)[0]

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
        """Return both partial derivatives: of two arrays a pair, of one an array of its shape.

        Arguments as for the value; `out` is a pair of arrays, or one of the shape of `a`.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.slope([-1.0, 2.0], [3.0, 3.0])
        (array([0., 3.]), array([0., 2.]))
        >>> sg.reglu.slope([-1.0, 2.0, 3.0, 3.0])
        array([0., 3., 0., 2.])
        """
        options = Options(out, arithmetic, gate, parameters)
        taken, result = self._adapted("slope", (a,) if b is ABSENT else (a, b), axis, options)
        if taken:
            return result
        if b is ABSENT:
            return self.gating.halves("slope", {"x": a}, axis, options, self.slope)[0]
        self.no_axis(axis)
        return self.gating.pair("slope", {"a": a, "b": b}, options, self.slope)

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
        options = Options(None, None, gate, parameters)
        first = self.gating.position(gate) == "first"
        taken, result = self._adapted("curvature", (a,) if b is ABSENT else (a, b), axis, options)
        if taken:
            if not isinstance(result, tuple):  # a torch.fx.Proxy, which stands for a Curvature
                recorded: Curvature = result
                return recorded
            twice, mixed, zero = result
            return Curvature(twice, mixed, zero) if first else Curvature(zero, mixed, twice)
        if b is ABSENT:
            return Curvature(
                *self.gating.halves("curvature", {"x": a}, axis, options, self.curvature)
            )
        self.no_axis(axis)
        return Curvature(*self.gating.pair("curvature", {"a": a, "b": b}, options, self.curvature))

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

        `backward(a, b, grad)` gives a pair, each broadcast as the value is; `backward(x, grad)`, x
        being cut in two along `axis`, an array of the shape of `x`. `out` is a pair of arrays, or
        one. Where relu's slope is 0 so is the result, whatever `b` and `grad` are.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.backward([-1.0, 2.0], [3.0, 3.0], [1.0, 10.0])
        (array([ 0., 30.]), array([ 0., 20.]))
        >>> sg.reglu.backward([-1.0, 2.0, 3.0, 3.0], [1.0, 10.0])
        array([ 0., 30.,  0., 20.])
        """
        options = Options(out, arithmetic, gate, parameters)
        operands = (a, b) if grad is ABSENT else (a, b, grad)
        taken, result = self._adapted("backward", operands, axis, options)
        if taken:
            return result
        if grad is ABSENT:
            named = {"x": a, "grad": b}
            return self.gating.halves("backward", named, axis, options, self.backward)[0]
        self.no_axis(axis)
        return self.gating.pair("backward", {"a": a, "b": b, "grad": grad}, options, self.backward)

    def _adapted(
        self, quantity: str, operands: tuple[Any, ...], axis: int | None, options: Options
    ) -> tuple[bool, Any]:
        """Let a framework's adapter compute for its tensors; tell whether it did, and return it."""
        method = getattr(adapter_for(*operands), "gated_quantity", None)
        if method is None:
            return False, None
        first = self.gating.position(options.gate) == "first"
        values = {**self.parameters, **options.parameters}
        out, arithmetic = options.out, options.arithmetic
        return True, method(self, quantity, operands, axis, first, out, arithmetic, values)

    def no_axis(self, axis: int | None) -> None:
        """Raise where an axis is given beside two operands."""
        if axis is not None:
            raise TypeError(
                f"axis = {axis!r} with two operands: {self.name} cuts one array along an axis, "
                "two it takes as they are"
            )

    @property
    def latex(self) -> str:
        """The definition as LaTeX, to be put between dollars."""
        from softgate.lower.notation import latex

        return latex(self.entry.define())

    def _repr_html_(self) -> str:
        from softgate.studies.properties.card import card_of_two

        operands = ("gate", "other") if self.entry.position == "first" else ("other", "gate")
        return card_of_two(self.entry, self.parameters, operands)

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value:g}" for name, value in self.parameters.items())
        return f"<softgate.{self.name}(a, b{arguments}) = {self.entry.formula}>"

    def get_config(self) -> dict[str, Any]:
        """Return what names it in a file of Keras, which asks for it when it saves a model."""
        config: dict[str, Any] = keras_adapter().config_of(self)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Gated:
        """Return the function that a file of Keras names."""
        found: Gated = keras_adapter().function_of(config)
        return found

    def __reduce__(self) -> Any:
        original = named(self.name)
        if original is self:
            return (named, (self.name,))
        if original is not None and original.entry.both is self.entry.both:
            return (_bound, (original, self.gating.defaults, self.entry.position))
        raise TypeError(f"{self!r} is not in the catalogue and has no name to be pickled by")


def adapter_for(*operands: Any) -> ModuleType | None:
    """Return the adapter of the first operand that is neither a number nor an array, or None.

    A `torch.fx.Proxy` comes first in any position.
    """
    recorder = recorder_of(*operands)
    if recorder is not None:
        return recorder
    for operand in operands:
        if not isinstance(operand, int | float | np.ndarray):
            return None if operand is ABSENT else adapter_of(operand)
    return None


@lru_cache(maxsize=256)
def _bound(gated: Gated, key: Parameters, position: str) -> Gated:
    values = dict(key)
    act = gated.entry.act
    parameters = tuple(replace(p, default=values[p.name]) for p in act.parameters)
    act = replace(act, parameters=parameters)
    return Gated(replace(gated.entry, act=act, position=position))


def named(name: str) -> Gated | None:
    """Return the gated activation called `name` in the catalogue, if there is one."""
    from .registry import gated

    return gated().get(name)
