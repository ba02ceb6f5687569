"""An activation as users call it: value, slope, curvature and backward on numbers and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.catalogue import Entry
from softgate.formula.formats import FLOAT64
from softgate.formula.rounding import format_of

from . import arrays
from .dispatch import adapter_of, keras_adapter, override, recorder_of
from .docstrings import document
from .routes import Route, Runner

if TYPE_CHECKING:
    from softgate.studies.properties.record import Properties

Parameters = tuple[tuple[str, float], ...]


class Activation:
    """A function of the catalogue, applied to each element.

    Calling it gives its value; `slope`, `curvature` and `backward` its derivatives. Parameters
    are keywords. Python numbers, lists and NumPy arrays of float16, bfloat16, float32 and
    float64 are taken, with any shape and strides; integers and booleans become float64.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.relu([-1.0, 0.0, 2.0])
    array([0., 0., 2.])
    """

    nin = 1
    nout = 1

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.__name__ = self.__qualname__ = entry.name
        self.__module__ = "softgate"
        if entry.user is not None:
            self.__module__, self.__qualname__ = entry.user.module, entry.user.qualname
        self.__doc__ = document(entry)
        self._defaults = {p.name: p.default for p in entry.parameters}
        self._default_key: Parameters = tuple(self._defaults.items())
        self._routes: dict[object, Route] = {}
        self.short_for: tuple[type, ...] = ()
        self.short_way: Callable[[Any], Any] = self
        """The value for operands of those types, which a framework's adapter has taken over."""
        self._ready: dict[tuple[str, np.dtype[Any]], Runner] = {}

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.entry.name

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters and their defaults."""
        return dict(self._defaults)

    @property
    def latex(self) -> str:
        """The definition as LaTeX, to be put between dollars."""
        from softgate.lower.notation import latex

        return latex(self.entry.define())

    @cached_property
    def properties(self) -> Properties:
        """Range, kinks, roots, limits, moments, dead regions: computed when first asked for."""
        from .registry import study

        return study(self)

    def bind(self, **parameters: float) -> Activation:
        """Return the same activation with other defaults, folded into kernels of its own.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.leaky_relu.bind(slope=0.5)(-1.0))
        -0.5
        """
        key = self.check_parameters(parameters)
        return self if key == self._default_key else bound(self, key)

    def __call__(
        self, x: Any, /, *, out: Any = None, arithmetic: str | None = None, **parameters: float
    ) -> Any:
        """Return the value at each element of `x`.

        Parameters
        ----------
        x : number, list or array
            Where to evaluate. Lists become arrays as `numpy.asarray` makes them.
        out : numpy.ndarray, optional
            Where results go; may be `x` itself, or overlap it. Its dtype is the result's, and `x`
            broadcasts to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        **parameters : float
            The formula's own parameters.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc would return it: the caller's kind of array, its format kept.
        """
        if type(x) in self.short_for and out is None and arithmetic is None and not parameters:
            return self.short_way(x)
        return self._unary("value", x, out, arithmetic, parameters)

    def slope(
        self, x: Any, /, *, out: Any = None, arithmetic: str | None = None, **parameters: float
    ) -> Any:
        """Return the first derivative at each element of `x`; arguments as for the value.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.relu.slope([-1.0, 0.0, 2.0])
        array([0., 0., 1.])
        """
        return self._unary("slope", x, out, arithmetic, parameters)

    def curvature(
        self, x: Any, /, *, out: Any = None, arithmetic: str | None = None, **parameters: float
    ) -> Any:
        """Return the second derivative at each element of `x`, always computed in float64.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.gelu.curvature(0.0)) == 2 * float(sg.phi(0.0))
        True
        """
        return self._unary("curvature", x, out, arithmetic, parameters)

    def backward(
        self,
        x: Any,
        grad: Any,
        /,
        *,
        out: Any = None,
        arithmetic: str | None = None,
        **parameters: float,
    ) -> Any:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast.

        Where relu's slope is 0 the result is 0 whatever `grad` is, as in the frameworks. A result
        that underflows to 0 has the sign +.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.leaky_relu.backward([-1.0, 2.0], [3.0, 3.0], slope=0.5)
        array([1.5, 3. ])
        """
        plain = type(x) is np.ndarray and type(grad) is np.ndarray
        if plain and arithmetic is None and not parameters and x.dtype == grad.dtype:
            runner = self._ready.get(("backward", x.dtype))
            if runner is not None and x.shape == grad.shape and grad.flags.carray:
                result = arrays.quick(runner, out, x, grad)
                if result is not None:
                    return result
        if not plain:
            adapter = recorder_of(x, grad) or adapter_of(x) or adapter_of(grad)
            if adapter is not None:
                return adapter.backward(self, x, grad, out, arithmetic, parameters)
        if not (plain and type(out) in _PLAIN):
            keywords = self._keywords(arithmetic, parameters)
            taken, result = override(self.name, self.backward, (x, grad), out, keywords)
            if taken:
                return result
        number = isinstance(x, int | float) and not isinstance(x, np.generic)
        if number:  # as NumPy has it, a Python number takes the other operand's format
            grad, x = arrays.promote(arrays.as_array(grad, "grad"), x)
        else:
            x, grad = arrays.promote(arrays.as_array(x), grad)
        route = self.route("backward", x.dtype, arithmetic, parameters)
        self._remember("backward", x.dtype, route, arithmetic, parameters)
        return arrays.binary(self, route, x, grad, out)

    def _unary(
        self, quantity: str, x: Any, out: Any, arithmetic: str | None, parameters: dict[str, float]
    ) -> Any:
        if type(x) is np.ndarray and arithmetic is None and not parameters:
            runner = self._ready.get((quantity, x.dtype))
            if runner is not None:
                result = arrays.quick(runner, out, x)
                if result is not None:
                    return result
        if type(x) is not np.ndarray:
            adapter = adapter_of(x)
            if adapter is not None:
                return adapter.evaluate(self, quantity, x, out, arithmetic, parameters)
        if type(x) is not np.ndarray or type(out) not in _PLAIN:
            method = self if quantity == "value" else getattr(self, quantity)
            keywords = self._keywords(arithmetic, parameters)
            taken, result = override(self.name, method, (x,), out, keywords)
            if taken:
                return result
        x = arrays.as_array(x)
        route = self.route(quantity, x.dtype, arithmetic, parameters)
        self._remember(quantity, x.dtype, route, arithmetic, parameters)
        return arrays.unary(self, route, x, out)

    def _remember(
        self,
        quantity: str,
        dtype: np.dtype[Any],
        route: Route,
        arithmetic: str | None,
        parameters: dict[str, float],
    ) -> None:
        """Keep the kernel of a usual call at hand for `arrays.quick`."""
        if dtype.isnative and arithmetic is None and not parameters:
            self._ready.setdefault((quantity, dtype), route.runner())

    def route(
        self,
        quantity: str,
        dtype: np.dtype[Any],
        arithmetic: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Route:
        """Return the way that arrays of `dtype` take; raise where there is none."""
        arrays.check_arithmetic(arithmetic)
        values = self.check_parameters(parameters) if parameters else self._default_key
        key = (quantity, dtype.num, arithmetic, values)
        found = self._routes.get(key)
        if found is None:
            storage = format_of(dtype)
            if storage is None:
                raise TypeError(f"dtype {dtype} has no kernel: accepted are {arrays.ACCEPTED}")
            wider = FLOAT64 if arithmetic == "float64" else None
            found = Route(self.entry, quantity, storage, wider, values)
            if len(self._routes) > 1024:  # a sweep over a parameter must not pile up
                self._routes.clear()
            self._routes[key] = found
        return found

    def _keywords(self, arithmetic: str | None, parameters: dict[str, float]) -> dict[str, Any]:
        """Return the options of a call for types that take ufuncs over; raise on a wrong one.

        Those types may report an error of ours as their own.
        """
        arrays.check_arithmetic(arithmetic)
        self.check_parameters(parameters)
        return parameters if arithmetic is None else {**parameters, "arithmetic": arithmetic}

    def check_parameters(self, parameters: Mapping[str, Any]) -> Parameters:
        """Return all parameters, defaults filled in, as a hashable key; raise on a wrong one."""
        values = dict(self._defaults)
        for name, value in parameters.items():
            if name not in values:
                known = ", ".join(values) or "none"
                raise TypeError(f"{self.name} has no parameter {name!r}: its parameters: {known}")
            values[name] = _finite(f"{self.name}'s {name}", value)
        self.entry.check(values)
        return tuple(values.items())

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value:g}" for name, value in self._defaults.items())
        home = "softgate" if self.entry.user is None else self.entry.user.module
        return f"<{home}.{self.name}(x{arguments}) = {self.entry.formula}>"

    def _repr_html_(self) -> str:
        from softgate.studies.properties.card import card

        from .registry import label

        return card(self, label(self))

    def get_config(self) -> dict[str, Any]:
        """Return what names it in a file of Keras, which asks for it when it saves a model."""
        config: dict[str, Any] = keras_adapter().config_of(self)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Activation:
        """Return the activation that a file of Keras names."""
        found: Activation = keras_adapter().function_of(config)
        return found

    def __copy__(self) -> Activation:
        return self

    def __deepcopy__(self, memo: object) -> Activation:
        return self

    def __reduce__(self) -> Any:
        from .pickling import recipe

        return recipe(self)


@lru_cache(maxsize=256)
def bound(activation: Activation, key: Parameters) -> Activation:
    """Return `activation` with other defaults, the same object for the same ones."""
    values = dict(key)
    parameters = (replace(p, default=values[p.name]) for p in activation.entry.parameters)
    return Activation(replace(activation.entry, parameters=tuple(parameters)))


def _finite(what: str, value: Any) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    real = isinstance(value, Real | np.floating | np.integer) or type(value).__name__ == "bfloat16"
    if not real or isinstance(value, bool | np.timedelta64):
        raise TypeError(f"{what} = {value!r} is a {type(value).__name__}: expected a real number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} is an integer beyond the largest float64") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} = {value!r}: expected a finite number")
    return number


_PLAIN = (type(None), np.ndarray)


def named(name: str) -> Activation | None:
    """Return the activation called `name` in the catalogue, if there is one."""
    from .registry import activations

    return activations().get(name)
