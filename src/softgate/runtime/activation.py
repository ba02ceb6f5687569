"""An activation as users call it: value, slope, curvature and backward on numbers and arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from softgate.catalogue import Entry
from softgate.catalogue.gated import GatedEntry
from softgate.formula.formats import BYTE_FORMATS, FORMATS, dtype_of, format_of
from softgate.records.text import a_type

from . import arrays, kernels, ufunc
from .arrays import Array
from .dispatch import Call, adapter_for, keras_adapter, split_keywords
from .routes import SMALL_PARAMETER, Route, route_of
from .ufunc import ArrayPlan

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
        self._value: np.ufunc | None = None
        self._ufuncs: dict[tuple[str, str | None, int | None, bool], np.ufunc] = {}
        self._checked: dict[tuple[tuple[str, float], ...], tuple[Array, ...]] = {}
        """Valid parameters of calls, as arrays."""
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

    @property
    def ufunc(self) -> np.ufunc:
        """The value as a NumPy ufunc, with the parameters of this function."""
        if self._value is None:  # no cached_property, whose lock a fork may leave locked
            self._value = self.ufunc_of("value")
        return self._value

    def ufunc_of(
        self,
        quantity: str,
        arithmetic: str | None = None,
        result: int | None = None,
        parameters: bool = False,
    ) -> np.ufunc:
        """Return a quantity as a NumPy ufunc: value, slope, curvature or backward.

        With `result`, that of several results; with `parameters`, these are operands too.
        """
        key = (quantity, arithmetic, result, parameters)
        made = self._ufuncs.get(key)
        if made is None:
            with kernels.BUILDING:
                if key not in self._ufuncs:
                    name = ufunc.name_of(self.name, *key)
                    self._ufuncs[key] = ufunc.make(self.entry, *key, name, self.__doc__ or "")
                made = self._ufuncs[key]
        return made

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
            if isinstance(self.entry, GatedEntry) and storage.itemsize == 1:
                raise TypeError(
                    f"{self.name} of {storage.name}: expected {arrays.KERNEL_DTYPES}; convert "
                    "the operands, because gated functions have no tables"
                )
            route = route_of(self.entry, quantity, storage, arithmetic, values)
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
        self.entry.check(values)
        return tuple(values.items())

    def parameter_arrays(self, parameters: Mapping[str, Any]) -> tuple[Array, ...]:
        """Return all parameters as float64 arrays, or none if none is passed; raise if invalid."""
        if not parameters:
            return ()
        key = (
            tuple(parameters.items()) if all(type(x) is float for x in parameters.values()) else ()
        )
        known = self._checked.get(key)
        if known is not None:
            return known
        varying = {name: x for name, x in parameters.items() if _is_array(x)}
        numbers = {name: x for name, x in parameters.items() if name not in varying}
        values = dict(self.check_parameters(numbers)) | varying
        if varying:
            if self.entry.user is not None:
                self.check_parameters(varying)  # raises: limits depend on the parameters
            self.check_parameters(dict.fromkeys(varying.keys() - self._defaults.keys(), 0.0))
            self._check_arrays(values, varying)
        converted = tuple(np.asanyarray(values[name], np.float64) for name in self._defaults)
        if key:
            if len(self._checked) > MOST_ROUTES:
                self._checked.clear()
            self._checked[key] = converted
        return converted

    def _check_arrays(self, values: Mapping[str, Any], varying: Collection[str]) -> None:
        """Raise if an array of parameters has the wrong dtype or an element out of range."""
        for p in self.entry.parameters:
            array = np.asarray(values[p.name])
            if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
                raise TypeError(
                    f"{self.name}'s {p.name} is an array of {array.dtype}: expected real numbers"
                )
            if p.name in varying and array.size:
                for end in (np.min(array), np.max(array)):
                    p.check(finite_number(f"{self.name}'s {p.name}", end))
            if p.exceeds and not np.all(array > np.asarray(values[p.exceeds])):
                raise ValueError(
                    f"{self.name}'s {p.name} must be greater than {p.exceeds} in every element"
                )

    def plan_arrays(self, call: Call) -> ArrayPlan:
        """Return how NumPy computes a call; raise if an argument is invalid."""
        arrays.check_arithmetic(call.arithmetic)
        parameters = self.parameter_arrays(call.parameters)
        varying = any(map(_is_array, call.parameters.values()))
        outs = call.out if isinstance(call.out, tuple) else (call.out,)
        route = None
        if any(map(arrays.overrides, (*call.operands, *outs))):
            inputs = arrays.beside_others(call.operands)
        else:
            named = dict(zip(self.operand_names(call), call.operands, strict=True))
            inputs = arrays.same_format(named)
            numbers = {} if varying else call.parameters
            route = self.route(call.quantity, inputs[0].dtype, call.arithmetic, numbers)
        arithmetic = call.arithmetic
        if arithmetic is None and any(map(_tiny, call.parameters.values())):
            arithmetic = "float64"
        results = kernels.results_of(self.entry, call.quantity)
        parts = range(results) if route is None and results > 1 and not varying else (None,)
        if route is None and not varying:  # dask would evaluate other values of an array
            parameters = tuple(float(x) for x in parameters)  # type: ignore[misc]
        key = call.quantity, arithmetic
        ufuncs = tuple(self.ufunc_of(*key, part, bool(parameters)) for part in parts)
        route = None if varying else route
        names = (*self.operand_names(call), *(self._defaults if parameters else ()))
        options = dict(call.options)
        if parameters and "dtype" in options:  # not of the parameters
            dtype, nout = options.pop("dtype"), ufuncs[0].nout
            kinds = [dtype] * len(inputs) + [np.float64] * len(parameters) + [dtype] * nout
            options["signature"] = tuple(kinds)
        return ArrayPlan(ufuncs, tuple(inputs), parameters, options, route, names)

    def _compute(
        self,
        quantity: str,
        operands: tuple[Any, ...],
        out: Any,
        arithmetic: str | None,
        keywords: dict[str, Any],
        axis: int | None = None,
        gate: str | None = None,
    ) -> Any:
        """Return the results of a call of any operands."""
        parameters, options = split_keywords(keywords)
        call = Call(
            self, quantity, operands, out, arithmetic, parameters, axis, gate, options=options
        )
        adapter = adapter_for(operands)
        if adapter is not None:
            call.refuse_options()
            return adapter.compute(call)
        return self.of_arrays(call)

    def of_arrays(self, call: Call) -> Any:
        """Return the results of a call that NumPy computes."""
        return self.plan_arrays(call).run(call.out)

    def operand_names(self, call: Call) -> tuple[str, ...]:
        """Return the names of a call's operands."""
        return ("x", "grad")[: len(call.operands)]

    def pair_of(self, call: Call) -> tuple[Any, ...]:
        """Return the operands of a call; those of a function of two are two."""
        return call.operands

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
        self, x: Any, /, *, out: Any = None, arithmetic: str | None = None, **parameters: Any
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
            The parameters of the formula; arrays broadcast with `x`. Also the options of a NumPy
            ufunc: `where`, `casting`, `order`, `dtype` and `subok`.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc returns it: the input's array type and dtype.
        """
        # As few operations as possible: for 8 elements they take as long as the ufunc.
        if out is arithmetic is None and not parameters:
            if type(x) is np.ndarray:
                if x.size < SHORT or x.flags.forc:
                    try:
                        return (self._value or self.ufunc)(x)
                    except TypeError:
                        arrays.as_array(x)  # raises, with what is expected
                        raise
            elif type(x) in self.fast_path_types:
                return self.fast_path(x)
        return self._unary("value", x, out, arithmetic, **parameters)

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
        return self._unary("slope", x, out, arithmetic, **parameters)

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
        return self._unary("curvature", x, out, arithmetic, **parameters)

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
            and is_contiguous(x)
            and is_contiguous(grad)
            and out is None
        ):
            with suppress(ValueError):  # raised again, with what is expected
                return self.ufunc_of("backward")(x, grad)
        return self._compute("backward", (x, grad), out, arithmetic, parameters)

    def _unary(
        self,
        quantity: str,
        x: Any,
        out: Any = None,
        arithmetic: str | None = None,
        **parameters: Any,
    ) -> Any:
        if type(x) is np.ndarray and arithmetic is None and is_contiguous(x):
            usual = out is None or (
                type(out) is np.ndarray and out.dtype == x.dtype and out.shape == x.shape
            )
            if usual and parameters.keys() <= self._defaults.keys():
                values = self.parameter_arrays(parameters)
                if all(value.ndim == 0 for value in values):
                    return self.ufunc_of(quantity, None, None, bool(values))(x, *values, out=out)
        return self._compute(quantity, (x,), out, arithmetic, parameters)

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


def _tiny(parameter: Any) -> bool:
    """Return whether an array has parameters whose second float would be subnormal."""
    if not _is_array(parameter):
        return False
    size = np.abs(parameter)
    return bool(np.any((size > 0) & (size < SMALL_PARAMETER)))


SHORT = 1024
"""Arrays of fewer elements are passed to the ufunc whatever their strides."""


def is_contiguous(x: Array) -> bool:
    """Return whether an array is contiguous, or of one dimension, in a native format."""
    return x.dtype in NATIVE and (x.ndim == 1 or x.flags.forc)


NATIVE = frozenset(map(dtype_of, (*FORMATS.values(), *BYTE_FORMATS.values())))
"""The dtypes that have kernels."""


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
