"""An activation as users call it: value, slope, curvature and backward on numbers and arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.catalogue import Entry
from softgate.catalogue.gated import GatedEntry
from softgate.formula.formats import BYTE_FORMATS, FLOAT64, FORMATS, dtype_of, format_of
from softgate.records.text import a_type

from . import arrays
from .dispatch import Call, adapter_for, keras_adapter, override
from .routes import Route, Runner

if TYPE_CHECKING:
    from softgate.studies.properties.record import Properties

Parameters = tuple[tuple[str, float], ...]

MOST_ROUTES = 128
"""Routes that a function keeps; one of a 16-bit format may hold a table of 128 kB."""


class Function:
    """A function of one or two operands with kernels: base of `Activation` and `Gated`."""

    nin: int
    nout = 1
    fast_path: Callable[..., Any]
    autograph_info__ = True
    """With this attribute TensorFlow's AutoGraph does not rewrite the code of a call."""

    def __init__(self, entry: Entry | GatedEntry, documentation: str) -> None:
        self.entry = entry
        self.__name__ = self.__qualname__ = entry.name
        self.__module__ = "softgate"
        self.__doc__ = documentation
        self._defaults = {p.name: p.default for p in entry.parameters}
        self._default_key: Parameters = tuple(self._defaults.items())
        self._routes: dict[object, Route] = {}
        self._default_runners: dict[tuple[str, np.dtype[Any]], Runner] = {}
        """The kernels of calls without options, for `arrays.quick`."""
        self.fast_path_types: tuple[type, ...] = ()
        """The operand types for which `fast_path` computes the value; an adapter sets both."""

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
        """The definition as LaTeX, without dollar signs."""
        from softgate.lower.notation import latex

        return latex(self.entry.define())

    def route(
        self,
        quantity: str,
        dtype: np.dtype[Any],
        arithmetic: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Route:
        """Return the route of arrays of `dtype`; raise TypeError if there is none."""
        arrays.check_arithmetic(arithmetic)
        values = self.check_parameters(parameters) if parameters else self._default_key
        key = (quantity, dtype.num, arithmetic, values)
        route = self._routes.get(key)
        if route is None:
            storage = format_of(dtype)
            if storage is None:
                raise TypeError(f"dtype {dtype} has no kernel: expected {arrays.ACCEPTED}")
            wider = FLOAT64 if arithmetic == "float64" else None
            route = Route(self.entry, quantity, storage, wider, values)
            gated = isinstance(self.entry, GatedEntry)
            if gated and storage.itemsize == 1:
                raise TypeError(
                    f"{self.name} of {storage.name}: expected {arrays.KERNEL_DTYPES}; convert "
                    "the operands, because gated functions have no tables"
                )
            if gated and storage.bits == 16 and route.computed_in is FLOAT64:
                # Kernels do not convert between 16 bits and float64: arrays are converted first.
                route = Route(self.entry, quantity, FLOAT64, None, values)
            if len(self._routes) > MOST_ROUTES:  # bounds the memory of a sweep over a parameter
                self._routes.clear()
            self._routes[key] = route
        return route

    def check_parameters(self, parameters: Mapping[str, Any]) -> Parameters:
        """Return all parameters, defaults filled in, as a hashable key; raise if one is invalid."""
        values = dict(self._defaults)
        for name, value in parameters.items():
            if name not in values:
                from .names import hint_of_argument

                known, hint = ", ".join(values) or "none", hint_of_argument(self.name, name, value)
                raise TypeError(
                    f"{self.name} has no parameter {name!r}: its parameters: {known}"
                    + (f"; {hint}" if hint else "")
                )
            values[name] = finite_number(f"{self.name}'s {name}", value)
        entry = self.entry.act if isinstance(self.entry, GatedEntry) else self.entry
        entry.check(values)
        return tuple(values.items())

    def _override(self, call: Call, nout: int = 1) -> tuple[bool, Any]:
        """Return whether an operand's type overrides ufuncs, and the result of a call with it."""
        if type(call.out) in _PLAIN:
            for operand in call.operands:
                if type(operand) is not np.ndarray:
                    break
            else:
                return False, None
        # Checked here, because those types may hide errors that softgate raises within them.
        arrays.check_arithmetic(call.arithmetic)
        self.check_parameters(call.parameters)
        return override(call, nout)

    def _remember(self, call: Call, dtype: np.dtype[Any], route: Route) -> None:
        """Store the kernel of a call without options for `arrays.quick`."""
        usual = call.arithmetic is call.gate is None and not call.parameters
        if usual and dtype.isnative and dtype.itemsize == route.storage.itemsize:
            self._default_runners.setdefault((call.quantity, dtype), route.runner())

    def get_config(self) -> dict[str, Any]:
        """Return the configuration with which Keras saves the function in a model's file."""
        config: dict[str, Any] = keras_adapter().config_of(self)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Return the function that a saved Keras model refers to."""
        return keras_adapter().function_of(config)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> Any:
        from .registry import recipe

        return recipe(self)


class Activation(Function):
    """A function of the catalogue, applied to each element.

    Calling it returns the value; `slope`, `curvature` and `backward` return derivatives. Parameters
    are keywords. Python numbers, lists and NumPy arrays of float16, bfloat16, float32, float64
    and of ml_dtypes' formats of 4 to 8 bits are accepted, with any shape and strides; integers and
    booleans become float64.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.relu([-1.0, 0.0, 2.0])
    array([0., 0., 2.])
    """

    nin = 1
    entry: Entry

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry, _documentation(entry))
        if entry.user is not None:
            self.__module__, self.__qualname__ = entry.user.module, entry.user.qualname

    @cached_property
    def properties(self) -> Properties:
        """Range, kinks, roots, limits, moments, dead regions: computed on first access."""
        from .registry import study

        return study(self)

    def bind(self, **parameters: float) -> Activation:
        """Return the same activation with other defaults, compiled into its kernels.

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
            Where to evaluate. Lists are converted by `numpy.asarray`.
        out : numpy.ndarray, optional
            Array for the results; may be `x` or overlap it. It must have the result's dtype, and
            `x` broadcasts to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        **parameters : float or numpy.ndarray
            The parameters of the formula. Arrays broadcast with `x` and take its dtype.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc would return it: the input's array type and dtype.
        """
        if (
            type(x) in self.fast_path_types
            and out is None
            and arithmetic is None
            and not parameters
        ):
            return self.fast_path(x)
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
        if (
            type(x) is type(grad) is np.ndarray
            and arithmetic is None
            and not parameters
            and x.dtype == grad.dtype
        ):
            runner = self._default_runners.get(("backward", x.dtype))
            if (
                runner is not None
                and x.shape == grad.shape
                and grad.flags.c_contiguous
                and grad.flags.aligned
            ):
                result = arrays.quick(runner, out, x, grad)
                if result is not None:
                    return result
        return self._compute(Call(self, "backward", (x, grad), out, arithmetic, parameters))

    def _unary(
        self, quantity: str, x: Any, out: Any, arithmetic: str | None, parameters: dict[str, float]
    ) -> Any:
        if type(x) is np.ndarray and arithmetic is None:
            if not parameters:
                runner = self._default_runners.get((quantity, x.dtype))
            elif x.dtype in _NATIVE and not any(map(_is_array, parameters.values())):
                runner = self.route(quantity, x.dtype, None, parameters).runner()
            else:
                runner = None
            if runner is not None:
                result = arrays.quick(runner, out, x)
                if result is not None:
                    return result
        return self._compute(Call(self, quantity, (x,), out, arithmetic, parameters))

    def _compute(self, call: Call) -> Any:
        adapter = adapter_for(call.operands)
        if adapter is not None:
            return adapter.compute(call)
        if any(map(_is_array, call.parameters.values())):
            return self._with_arrays(call)
        overridden, result = self._override(call)
        if overridden:
            return result
        if len(call.operands) == 1:
            operands = {"x": arrays.as_array(call.operands[0])}
        else:
            x, grad = call.operands
            x, grad = arrays.same_format({"x": x, "grad": grad})
            operands = {"x": x, "grad": grad}
        dtype = operands["x"].dtype
        route = self.route(call.quantity, dtype, call.arithmetic, call.parameters)
        self._remember(call, dtype, route)
        return arrays.apply(self, route, operands, call.out)[0]

    def _with_arrays(self, call: Call) -> Any:
        """Return the results of a call with parameters that are arrays; they broadcast with x."""
        arrays.check_arithmetic(call.arithmetic)
        varying = {name: v for name, v in call.parameters.items() if _is_array(v)}
        numbers = {name: v for name, v in call.parameters.items() if name not in varying}
        if self.entry.user is not None:
            self.check_parameters(varying)  # raises: limits depend on the parameters
        self._check_arrays(varying, numbers)
        names = ("x", "grad")[: len(call.operands)]
        operands = arrays.same_format(dict(zip(names, call.operands, strict=True)))
        dtype = operands[0].dtype
        storage = format_of(dtype)
        assert storage is not None
        wider = FLOAT64 if call.arithmetic == "float64" else None
        key = tuple((self._defaults | numbers).items())
        order = tuple(name for name in self._defaults if name in varying)
        # Kernels do not convert between 16 bits and float64: arrays are converted first.
        storage = FLOAT64 if storage.bits < 32 else storage
        lookup = ("varying", call.quantity, storage.name, call.arithmetic, key, order)
        route = self._routes.get(lookup)
        if route is None:
            route = Route(self.entry, call.quantity, storage, wider, key, order)
            self._routes[lookup] = route
        values = {name: varying[name].astype(dtype, copy=False) for name in order}
        named = dict(zip(names, operands, strict=True)) | values
        return arrays.apply(self, route, named, call.out)[0]

    def _check_arrays(self, varying: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        """Raise if an array of parameters has the wrong dtype or an element out of range."""
        unknown = {name: 0.0 for name in varying if name not in self._defaults}
        if unknown:
            self.check_parameters(unknown)
        values = {**self._defaults, **numbers, **varying}
        for p in self.entry.parameters:
            array = np.asarray(values[p.name])
            if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
                raise TypeError(
                    f"{self.name}'s {p.name} is an array of {array.dtype}: expected real numbers"
                )
            if not array.size:
                continue
            for end in (np.min(array), np.max(array)):
                p.check(finite_number(f"{self.name}'s {p.name}", end))
            if p.exceeds and not np.all(array > np.asarray(values[p.exceeds])):
                raise ValueError(
                    f"{self.name}'s {p.name} must be greater than {p.exceeds} in every element"
                )

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value:g}" for name, value in self._defaults.items())
        home = "softgate" if self.entry.user is None else self.entry.user.module
        return f"<{home}.{self.name}(x{arguments}) = {self.entry.formula}>"

    def _repr_html_(self) -> str:
        from softgate.studies.properties.card import card

        from .registry import label

        return card(self, label(self))


@lru_cache(maxsize=256)
def bound(activation: Activation, key: Parameters) -> Activation:
    """Return `activation` with other defaults; the same defaults return the same object."""
    values = dict(key)
    parameters = (replace(p, default=values[p.name]) for p in activation.entry.parameters)
    return Activation(replace(activation.entry, parameters=tuple(parameters)))


def _is_array(parameter: Any) -> bool:
    return isinstance(parameter, np.ndarray) and parameter.ndim > 0


def finite_number(what: str, value: Any) -> float:
    """Return the parameter that a user passed, also as an array or tensor with one element."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.numel() == 1:
        if value.requires_grad and torch.is_grad_enabled():
            raise TypeError(
                f"{what} is a Tensor that requires grad, and its gradient is not computed: pass a "
                "number, or value.detach(); the slope of softgate.prelu and the beta of "
                "softgate.torch.functional.swish are differentiable, and the modules "
                "softgate.torch.PReLU and Swish train them"
            )
        value = value.item()
    real = isinstance(value, Real | np.floating | np.integer) or type(value).__name__ == "bfloat16"
    if not real or isinstance(value, bool | np.timedelta64):
        raise TypeError(f"{what} = {value!r} is {a_type(value)}: expected a real number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} is an integer beyond the largest float64") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} = {value!r}: expected a finite number")
    return number


_PLAIN = (type(None), np.ndarray)
_NATIVE = frozenset(map(dtype_of, (*FORMATS.values(), *BYTE_FORMATS.values())))


def _documentation(entry: Entry) -> str:
    """Return the help text of an activation."""
    if entry.user is not None and entry.user.doc:
        return entry.user.doc
    lines = [f"{entry.name}(x) = {entry.formula}, applied to each element.", ""]
    lines += ["Parameters", "----------", "x : number, list or array", "    Where to evaluate."]
    for p in entry.parameters:
        accepted = f"    {p.doc} Accepted: {p.range or 'any number'}."
        lines += [f"{p.name} : float, default {p.default:g}", accepted]
    lines += ["out : numpy.ndarray, optional", "    Where results go; may be `x` itself."]
    lines += [
        'arithmetic : {"float64"}, optional',
        "    Compute float32 in float64, round once.",
        "",
    ]
    lines += ["Methods", "-------", "slope, curvature, backward : its derivatives.", ""]
    lines += ["Notes", "-----", f"Source: {entry.paper or 'a formula of your own'}."]
    if entry.notes:
        lines.append(entry.notes)
    lines += entry.describe_bounds("slope", bool(entry.parameters))
    return "\n".join(lines)
