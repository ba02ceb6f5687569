"""A function as users call it: value, slope, curvature and backward of numbers, arrays, tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from inspect import Parameter as SignatureParameter
from inspect import Signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from softgate.catalogue import Entry
from softgate.formula.formats import BYTE_FORMATS, FLOAT64, FORMATS, dtype_of, format_of

from . import array_calls, arrays, kernels, parameters, ufunc, vectorcall
from .arrays import Array
from .dispatch import NO_PARAMETERS, UFUNC_OPTIONS, Call, Plan, adapter_for, keras_adapter
from .routes import Route

if TYPE_CHECKING:
    from softgate.studies.properties.record import Properties

Parameters = tuple[tuple[str, float], ...]

MOST_ROUTES = 128
"""Routes that a function keeps; one of a 16-bit format may hold a table of 128 kB."""
SHORT = 1 << 15
"""Arrays of fewer elements are passed to the ufunc whatever their strides: a plan takes longer."""
LARGE = 1 << 17
"""From this many elements on a plan takes less time than it saves where parameters are arrays."""
NATIVE = frozenset(map(dtype_of, (*FORMATS.values(), *BYTE_FORMATS.values())))
"""The dtypes that have kernels."""
POSITIONS = ("first", "second")
"""Which operand of a gated function is the gate."""


class Curvature(NamedTuple):
    """The second partial derivatives: by the first operand, mixed, and by the second."""

    first: Any
    mixed: Any
    second: Any


class Activation:
    """A function of one operand or two, applied to each element.

    Calling it returns the value; `slope`, `curvature` and `backward` return derivatives. Parameters
    are keywords. Python numbers, lists and NumPy arrays of float16, bfloat16, float32, float64
    and of ml_dtypes' formats of 4 to 8 bits are accepted, with any shape and strides; integers and
    booleans become float64.

    A function of two operands is called with two arrays that broadcast, or with one that is split
    into two halves along an axis. In `glu` the second operand is the gate (Dauphin 2017; torch, JAX
    and Keras), in the other gated functions the first (Shazeer 2020; LLaMA's silu(gate)·up);
    `gate="first"` or `gate="second"` changes that.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.relu([-1.0, 0.0, 2.0])
    array([0., 0., 2.])
    >>> sg.reglu([-1.0, 2.0], [3.0, 3.0])
    array([0., 6.])
    >>> sg.reglu([-1.0, 2.0, 3.0, 3.0])
    array([0., 6.])
    """

    __slots__ = ("__dict__", "__weakref__", "_value", "fast_path", "fast_path_types")
    nout = 1
    autograph_info__ = True
    """With this attribute TensorFlow's AutoGraph does not rewrite the code of a call."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.nin = entry.nin
        self.__name__ = self.__qualname__ = entry.name
        self.__module__ = "softgate"
        if entry.user is not None:
            self.__module__, self.__qualname__ = entry.user.module, entry.user.qualname
        self.__doc__ = _documentation(entry)
        self.__signature__ = _signature(entry)
        self._defaults = {p.name: p.default for p in entry.parameters}
        self._default_key: Parameters = tuple(self._defaults.items())
        self._routes: dict[object, Route] = {}
        """By quantity, dtype, arithmetic and parameters; cleared beyond `MOST_ROUTES`."""
        self._ufuncs: dict[tuple[str, str | None, int | None, bool], np.ufunc] = {}
        """By the arguments of `ufunc_of`; they live as long as the function."""
        self._value: np.ufunc | None = None
        """The one of them for calls without options, of functions of one operand; once made."""
        self._checked: dict[Parameters, tuple[Array, ...]] = {}
        """Valid parameters as arrays, by the names and values passed; cleared as `_routes`."""
        gating = entry.gating
        factor = None if gating is None else gating.factor
        self.gate_activation = None if gating is None else Activation(gating.activation)
        """The activation of a gated function's gate; None of other functions."""
        self.factor = None if factor is None else Activation(factor)
        """The function of a gated function's other operand; None where it is that operand."""
        self.fast_path: Any = None
        """The function that computes the value of tensors of `fast_path_types`."""
        self.fast_path_types: tuple[type, ...] = ()

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

    @cached_property
    def properties(self) -> Properties:
        """Range, kinks, roots, limits, moments, dead regions: computed on first access."""
        from .registry import study

        if self.nin > 1:
            raise AttributeError(f"{self.name} has {self.nin} operands: properties are of one")
        return study(self)

    @property
    def ufunc(self) -> np.ufunc:
        """The value as a NumPy ufunc, with the parameters of this function."""
        if self._value is not None:  # no cached_property, whose lock a fork may leave locked
            return self._value
        made = self.ufunc_of("value")
        if self.nin == 1:
            with kernels.BUILDING:
                without_compiled_calls()
            self._value = made
        return made

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

    def use_fast_path(self, compute: Callable[..., Any], types: tuple[type, ...]) -> None:
        """Compute the value of tensors of some types by `compute(*tensors)` from now on."""
        with kernels.BUILDING:
            without_compiled_calls()
        self.fast_path, self.fast_path_types = compute, types

    def route(
        self,
        quantity: str,
        dtype: np.dtype[Any],
        arithmetic: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        result: int | None = None,
    ) -> Route:
        """Return the route of arrays of `dtype`; raise TypeError if there is none.

        With `result`, that of one of several results.
        """
        arrays.check_arithmetic(arithmetic)
        values = self.check_parameters(parameters) if parameters else self._default_key
        key = (quantity, dtype.num, arithmetic, values, result)
        route = self._routes.get(key)
        if route is None:
            storage = format_of(dtype)
            if storage is None:
                raise TypeError(f"dtype {dtype} has no kernel: expected {arrays.ACCEPTED}")
            if self.nin > 1 and storage.itemsize == 1:
                raise TypeError(
                    f"{self.name} of {storage.name}: expected {arrays.KERNEL_DTYPES}; convert "
                    "the operands, because functions of two have no tables"
                )
            wider = FLOAT64 if arithmetic else None
            route = Route(self.entry, quantity, storage, wider, values, result=result)
            if len(self._routes) > MOST_ROUTES:  # bounds the memory of a sweep over a parameter
                self._routes.clear()
            self._routes[key] = route
        return route

    def varying_route(
        self, quantity: str, dtype: np.dtype[Any], arithmetic: str | None
    ) -> Route | None:
        """Return the route for parameters of each element; None for fewer than 32 bits."""
        key, storage = ("varying", quantity, dtype.num, arithmetic), format_of(dtype)
        if storage is None or storage.bits < 32:
            return None
        route = self._routes.get(key)
        if route is None:
            wider = FLOAT64 if arithmetic else None
            route = self._routes[key] = Route(self.entry, quantity, storage, wider, varying=True)
        return route

    def check_parameters(self, passed: Mapping[str, Any]) -> Parameters:
        """Return all parameters, defaults filled in, as a hashable key; raise if one is invalid."""
        return tuple(parameters.checked(self.entry, passed).items())

    def parameter_arrays(self, passed: Mapping[str, Any]) -> tuple[Array, ...]:
        """Return all parameters as float64 arrays, or none if none is passed; raise if invalid."""
        if not passed:
            return ()
        key = tuple(passed.items()) if all(type(x) is float for x in passed.values()) else ()
        known = self._checked.get(key)
        if known is None:
            known = parameters.as_arrays(self.entry, passed)
            if key:
                if len(self._checked) > MOST_ROUTES:
                    self._checked.clear()
                self._checked[key] = known
        return known

    def bind(self, *, gate: Any = None, **parameters: float) -> Activation:
        """Return the same function with other defaults, compiled into its kernels.

        With `gate`, a gated function with the first or the second operand as its gate.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.leaky_relu.bind(slope=0.5)(-1.0))
        -0.5
        >>> float(sg.swiglu.bind(beta=0.0)(1.0, 3.0))
        1.5
        """
        if self.entry.gating is None and gate is not None:  # a formula may have such a parameter
            parameters["gate"], gate = gate, None
        key, position = self.check_parameters(parameters), self.position(gate)
        if key == self._default_key and position == self.position(None):
            return self
        return bound(self, key, position)

    def position(self, gate: str | None) -> str | None:
        """Return which operand is the gate; raise for values other than "first" and "second"."""
        if gate is not None and gate not in POSITIONS:
            raise ValueError(f'gate = {gate!r}: expected "first", "second" or None')
        return gate or (None if self.entry.gating is None else self.entry.gating.gate)

    def __call__(
        self, *operands: Any, out: Any = None, arithmetic: str | None = None, **keywords: Any
    ) -> Any:
        """Return the value at each element.

        Parameters
        ----------
        *operands : number, list or array
            Where to evaluate: `x`; of a function of two operands `a` and `b`, which are broadcast
            against each other, or `a` alone, which is split in two. Lists are converted by
            `numpy.asarray`.
        out : numpy.ndarray, optional
            Array for the results; may be an operand or overlap it. It must have the result's dtype,
            and the operands broadcast to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        **keywords : float or numpy.ndarray
            The parameters of the formula; arrays broadcast with the operands. Of a function of two
            operands also `axis` (default -1), where one array is split, and of a gated one `gate`,
            "first" or "second". And the options of a NumPy ufunc: `where`, `casting`, `order`,
            `dtype` and `subok`.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc returns it: the input's array type and dtype.
        """
        # Compiled code does this for one contiguous array or one tensor (vectorcall.py): it must be
        # changed with this code.
        if out is arithmetic is None and not keywords and 0 < len(operands) <= self.nin:
            x = operands[0]
            if type(x) is np.ndarray:
                if len(operands) == 1 == self.nin and (x.size < SHORT or x.flags.forc):
                    with suppress(TypeError):  # raised again, with what is expected
                        return (self._value or self.ufunc)(x)
                results = self._without_plan("value", operands, None, keywords)
                if results is not None:
                    return results
            elif type(x) in self.fast_path_types and type(operands[-1]) in self.fast_path_types:
                return self.fast_path(*operands)
        return self._compute("value", operands, out, arithmetic, keywords)

    def slope(
        self, *operands: Any, out: Any = None, arithmetic: str | None = None, **keywords: Any
    ) -> Any:
        """Return the first derivative at each element; arguments as for the value.

        Of a function of two operands both partial derivatives: a pair for two arrays, an array like
        `a` for one. `out` is then a pair of arrays, or one of the shape of `a`.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.relu.slope([-1.0, 0.0, 2.0])
        array([0., 0., 1.])
        >>> sg.reglu.slope([-1.0, 2.0], [3.0, 3.0])
        (array([0., 3.]), array([0., 2.]))
        >>> sg.reglu.slope([-1.0, 2.0, 3.0, 3.0])
        array([0., 3., 0., 2.])
        """
        return self._compute("slope", operands, out, arithmetic, keywords)

    def curvature(
        self, *operands: Any, out: Any = None, arithmetic: str | None = None, **keywords: Any
    ) -> Any:
        """Return the second derivative at each element, always computed in float64.

        Of a function of two operands a `Curvature` with the three partial derivatives; of one array
        that is split, arrays of half its size.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.gelu.curvature(0.0)) == 2 * float(sg.phi(0.0))
        True
        >>> bend = sg.swiglu.curvature(0.0, 3.0)
        >>> float(bend.first), float(bend.mixed), float(bend.second)
        (1.5, 0.5, 0.0)
        """
        results = self._compute("curvature", operands, out, arithmetic, keywords)
        # A torch.fx.Proxy represents a whole Curvature.
        return Curvature(*results) if isinstance(results, tuple) else results

    def backward(
        self, *operands: Any, out: Any = None, arithmetic: str | None = None, **keywords: Any
    ) -> Any:
        """Return slope·grad, computed in one pass; the last operand is `grad`, and all broadcast.

        `backward(a, b, grad)` returns a pair, each broadcast as the value is; `backward(x, grad)`
        of a function of two operands, with `x` split in two, an array of the shape of `x`.
        Where relu's slope is 0 the result is 0 whatever `grad` is, as in the frameworks. A result
        of a function of one operand that underflows to 0 has the sign +.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.leaky_relu.backward([-1.0, 2.0], [3.0, 3.0], slope=0.5)
        array([1.5, 3. ])
        >>> sg.reglu.backward([-1.0, 2.0], [3.0, 3.0], [1.0, 10.0])
        (array([ 0., 30.]), array([ 0., 20.]))
        >>> sg.reglu.backward([-1.0, 2.0, 3.0, 3.0], [1.0, 10.0])
        array([ 0., 30.,  0., 20.])
        """
        return self._compute("backward", operands, out, arithmetic, keywords)

    def _compute(
        self,
        quantity: str,
        operands: tuple[Any, ...],
        out: Any,
        arithmetic: str | None,
        keywords: dict[str, Any],
    ) -> Any:
        """Return the results of a call of any operands."""
        if arithmetic is None and operands and type(operands[0]) is np.ndarray:
            results = self._without_plan(quantity, operands, out, keywords)
            if results is not None:
                return results
        return self.plan(quantity, operands, out, arithmetic, keywords).run()

    def _without_plan(
        self, quantity: str, operands: tuple[Any, ...], out: Any, keywords: dict[str, Any]
    ) -> Any:
        """Return the results for arrays that the ufunc takes as they are, and for halves of one.

        None for all others. As few operations as possible, as in `__call__`.
        """
        first = operands[0]
        dtype, missing = first.dtype, self.nin + (quantity == "backward") - len(operands)
        if dtype not in NATIVE or (self.nin == 2 and dtype.itemsize == 1):
            return None
        for x in operands:
            if type(x) is not np.ndarray or (x.dtype is not dtype and x.dtype != dtype):
                return None
            if x.ndim != 1 and not x.flags.forc:
                return None
        if missing == 1 == self.nin - 1 and first.ndim and not keywords and quantity != "curvature":
            return array_calls.over_halves(self, quantity, operands, out)
        if missing:
            return None
        if out is not None:
            if self.nin == 2 or type(out) is not np.ndarray or out.dtype != dtype:
                return None
            for x in operands:
                if x.shape != out.shape:
                    return None
        values: tuple[Array, ...] = ()
        if keywords:
            if not keywords.keys() <= self._defaults.keys():
                return None
            if first.size >= LARGE and any(map(parameters.is_array, keywords.values())):
                return None
            values = self.parameter_arrays(keywords)
            if any(map(parameters.has_tiny, values)):
                return None
        key = quantity, None, None, bool(values)
        function = self._ufuncs.get(key) or self.ufunc_of(*key)
        try:
            if out is None and not values:
                return function(*operands)
            return function(*operands, *values, out=out)
        except (ValueError, TypeError):  # raised again, with what is expected
            return None

    def plan(
        self,
        quantity: str,
        operands: tuple[Any, ...],
        out: Any = None,
        arithmetic: str | None = None,
        keywords: Mapping[str, Any] = NO_PARAMETERS,
    ) -> Plan:
        """Return how a call is computed; raise if an argument is invalid."""
        most = self.nin + (quantity == "backward")
        fewest = most - (self.nin == 2)  # one array is split in two
        if not fewest <= len(operands) <= most:
            named = self.entry.inputs(quantity)
            expected = (
                f"{self.name}({', '.join(named)})"
                if quantity == "value"
                else (f"{self.name}.{quantity}({', '.join(named)})")
            )
            raise TypeError(
                f"{self.name} was called with {len(operands)} operand{'s' * (len(operands) != 1)}: "
                f"expected {expected}"
                + (", or one array in place of the first two" if self.nin == 2 else "")
            )
        passed = dict(keywords)
        options = {name: passed.pop(name) for name in UFUNC_OPTIONS if name in passed}
        axis = passed.pop("axis", None) if self.nin == 2 else None
        gate = passed.pop("gate", None) if self.entry.gating is not None else None
        self.position(gate)  # raises
        call = Call(self, quantity, operands, out, arithmetic, passed, axis, gate, options=options)
        adapter = adapter_for(operands)
        if adapter is None:
            return array_calls.plan(call)
        call.refuse_options()
        if hasattr(adapter, "plan"):
            return adapter.plan(call)
        return Plan(partial(adapter.compute, call), partial(adapter.explain, call))

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

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value:g}" for name, value in self._defaults.items())
        home = "softgate" if self.entry.user is None else self.entry.user.module
        operands = ", ".join(self.entry.operands)
        return f"<{home}.{self.name}({operands}{arguments}) = {self.entry.formula}>"

    def _repr_html_(self) -> str:
        from softgate.studies.properties.card import card

        from .registry import label

        return card(self, label(self))


METHOD = cast(FunctionType, Activation.__call__)


@cache
def without_compiled_calls() -> str:
    """Return why compiled code does not serve calls, after it was installed; empty if it does."""
    return vectorcall.install(METHOD, Activation, ("_value", "fast_path_types", "fast_path"))


@lru_cache(maxsize=256)
def bound(activation: Activation, key: Parameters, gate: str | None = None) -> Activation:
    """Return `activation` with other defaults and gate; the same ones return the same object."""
    entry = activation.entry if gate is None else activation.entry.gated_by(gate)
    return Activation(entry.with_defaults(dict(key)))


def _signature(entry: Entry) -> Signature:
    """Return the signature of a call, as `help` and editors show it."""
    first, *second = entry.operands
    operands = [SignatureParameter(first, SignatureParameter.POSITIONAL_ONLY)]
    # One array in place of two is split.
    operands += [
        SignatureParameter(n, SignatureParameter.POSITIONAL_ONLY, default=None) for n in second
    ]
    keywords: dict[str, Any] = {p.name: p.default for p in entry.parameters}
    keywords |= {"axis": None} if second else {}
    keywords |= {"gate": None} if entry.gating is not None else {}
    keywords |= {"out": None, "arithmetic": None}
    named = [
        SignatureParameter(name, SignatureParameter.KEYWORD_ONLY, default=default)
        for name, default in keywords.items()
    ]
    options = SignatureParameter("ufunc_options", SignatureParameter.VAR_KEYWORD)
    return Signature([*operands, *named, options])


def _documentation(entry: Entry) -> str:
    """Return the help text of a function."""
    if entry.user is not None and entry.user.doc:
        return entry.user.doc
    operands = ", ".join(entry.operands)
    two, gating = entry.nin == 2, entry.gating
    each = "each pair of elements" if two else "each element"
    lines = [f"{entry.name}({operands}) = {entry.formula}, applied to {each}.", ""]
    if two:
        which = "" if gating is None else f"The {gating.gate} operand is the gate. "
        lines += [f"{which}One array is split in two halves, {' and '.join(entry.operands)}.", ""]
    lines += ["Parameters", "----------", f"{operands} : number, list or array"]
    if two:
        first = entry.operands[0]
        lines += [f"    The operands, broadcast; or `{first}` alone, to be split in two."]
        lines += ["axis : int, default -1", "    Where one array is split."]
    else:
        lines += ["    Where to evaluate."]
    for p in entry.parameters:
        lines += [f"{p.name} : float, default {p.default:g}"]
        lines += [f"    {p.doc} Accepted: {p.range or 'any number'}."]
    lines += ["out : numpy.ndarray, optional", "    Where results go; may be an operand itself."]
    lines += ['arithmetic : {"float64"}, optional', "    Compute float32 in float64, round once."]
    if gating is not None:
        lines += ['gate : {"first", "second"}, optional', "    Which operand is the gate."]
    lines += ["", "Methods", "-------", "slope, curvature, backward : its derivatives.", ""]
    lines += ["Notes", "-----", f"Source: {entry.paper or 'a formula of your own'}."]
    bounds = entry.describe_bounds("slopes" if two else "slope", bool(entry.parameters))
    notes = [entry.notes] if entry.notes else []
    # The notes of a gated function qualify its bounds.
    lines += [*bounds, *notes] if two else [*notes, *bounds]
    return "\n".join(lines)
