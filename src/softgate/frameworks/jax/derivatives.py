"""An activation and its derivatives of every order, by x and by its parameters, in JAX.

Each is a `custom_jvp` whose tangent is the next one's value times the tangents that came in: what
JAX would derive by itself goes through bit masks, and through |x|, which has no slope at 0. Value,
slope and curvature are the stable forms; what lies beyond is derived from the definition, save a
few derivatives by parameters (`learnt`, which says how exact these are).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from softgate.blocks import Kernel
from softgate.catalogue.entry import LIMITS
from softgate.formula.arithmetic import Definition
from softgate.formula.derivative import derivative
from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import Node
from softgate.lower.jax import definition_form, stable_form
from softgate.runtime.kernels import pack

from ..asymptotes import ends
from .parameter_derivatives import STABLE

if TYPE_CHECKING:
    from softgate.catalogue import Entry

Key = tuple[tuple[str, float], ...]
Function = Callable[..., jax.Array]
ORDERS = ("value", "slope", "curvature")
"""What has a stable form: no derivative by x, one, two."""


class Family:
    """An activation in one arithmetic, with some parameters fixed and others arrays.

    `key` has all parameters, those named by `arrays` with any value. A function of the family is
    called with x and these arrays, which broadcast to the shape of x.
    """

    def __init__(self, entry: Entry, fmt: Format, key: Key, arrays: tuple[str, ...]) -> None:
        self.entry, self.fmt, self.key, self.arrays = entry, fmt, key, arrays
        defaults = {p.name: p.default for p in entry.parameters}
        self.symbolic = tuple(n for n, v in key if n in arrays or v != defaults[n])
        """Those not folded into the code: a sweep over a parameter compiles once."""
        self.fixed = bool(set(self.symbolic) - set(arrays))
        """Whether numbers are among them: what is compiled then has them as operands."""
        self._functions: dict[tuple[str, ...], Function] = {}

    @property
    def uses_definition(self) -> bool:
        """Whether even the value is the definition: a formula's limits are found for numbers."""
        return self.entry.user is not None and bool(self.arrays)

    def function(self, variables: tuple[str, ...] = ()) -> Function:
        """Return the derivative by these variables ("x" or a parameter), one after another."""
        variables = tuple(sorted(variables))
        found = self._functions.get(variables)
        if found is None:
            found = self._functions[variables] = self._make(variables)
        return found

    def _make(self, variables: tuple[str, ...]) -> Function:
        compute: Any = self._computation(variables)
        compute.__name__ = compute.__qualname__ = "_".join((self.entry.name, *variables))
        function: Any = jax.custom_jvp(compute)

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            result = function(*primals)
            total = None
            for variable, tangent in zip(("x", *self.arrays), tangents, strict=True):
                if isinstance(tangent, SymbolicZero):
                    continue
                slope = self.function((*variables, variable))(*primals)
                part = self.times(slope, tangent).astype(result.dtype)
                total = part if total is None else total + part
            return result, jnp.zeros_like(result) if total is None else total

        function.defjvp(rule, symbolic_zeros=True)
        return function if self.fixed else jax.jit(function)

    def times(self, slope: jax.Array, factor: jax.Array) -> jax.Array:
        """Return slope·factor; 0 where a piecewise linear function is flat, whatever the factor."""
        product = slope * factor
        if not self.entry.piecewise_linear:
            return product
        return jnp.where(slope == 0, 0, product)

    def _computation(self, variables: tuple[str, ...]) -> Function:
        """Return a derivative as a function of x and the arrays, without a rule of its own."""
        stable = set(variables) <= {"x"} and len(variables) < len(ORDERS)
        if not stable or self.uses_definition:
            return self._defined(variables)
        quantity = ORDERS[len(variables)]
        core: Any = compiled(self.entry, quantity, self.fmt, self.symbolic)
        if not self.fixed:
            core = core.__wrapped__  # jitted as a whole
        packed = pack(self.entry, dict(self.key), self.fmt, quantity)
        parts = 2 if self.fmt is FLOAT32 else 1
        names = [name for name, _ in self.key] + list(LIMITS if self.entry.user else ())
        held = dict(zip(names, packed.reshape(-1, parts), strict=True))
        wanted = (*self.symbolic, *(LIMITS if self.entry.user else ()))

        def compute(x: jax.Array, *arrays: jax.Array) -> jax.Array:
            given = dict(zip(self.arrays, arrays, strict=True))
            values = [
                part
                for name in wanted
                for part in (_parts(given[name], self.fmt) if name in given else held[name])
            ]
            result: jax.Array = core(x, *values)
            return result

        return compute

    def _defined(self, variables: tuple[str, ...]) -> Function:
        """Return a derivative of the definition, computed as it stands."""
        names = tuple(name for name, _ in self.key)
        root = _derived(self.entry, variables)
        form = definition_form(root, names)
        real = _real(self.fmt)
        limits = self._ends(root)

        def compute(x: jax.Array, *arrays: jax.Array) -> jax.Array:
            wide = (array.astype(real) for array in arrays)
            given = {**dict(self.key), **dict(zip(self.arrays, wide, strict=True))}
            inputs = x.astype(real)
            result = form(inputs, *given.values())
            for start, limit in limits:
                far = inputs <= start if start < 0 else inputs >= start
                result = jnp.where(far, jnp.asarray(limit, real), result)
            return jnp.broadcast_to(result, x.shape).astype(x.dtype)

        return compute

    def _ends(self, root: Node) -> list[tuple[float, float]]:
        """Return what `ends` found; where arrays decide how far out it is, at infinity alone.

        The catalogue's limits are the same whatever the parameters are. Of users' formulas nobody
        knows, and what is no number stays that.
        """
        found = ends(root, dict(self.key))
        if self.arrays and self.entry.user is not None:
            return []
        largest = 0.0 if self.arrays else float(np.finfo(_real(self.fmt)).max)
        return [
            (start if abs(start) <= largest else math.copysign(math.inf, start), limit)
            for start, limit in found
        ]


family = lru_cache(maxsize=1024)(Family)
"""The families that were asked for."""


@lru_cache(maxsize=1024)
def compiled(entry: Entry, quantity: str, fmt: Format, symbolic: tuple[str, ...]) -> Function:
    """Return a stable form as a jitted function of x and the parameters that are not folded.

    In float32 a parameter comes in two parts, as the kernels have it.
    """
    f = Kernel(fmt, fused=False)
    fixed = {
        p.name: f.number(Fraction(p.default)) for p in entry.parameters if p.name not in symbolic
    }
    names = [*symbolic, *(LIMITS if entry.user else ())]
    if fmt is FLOAT32:
        names = [part for name in names for part in (name, f"{name}.lo")]
    form = stable_form(entry.trace(quantity, f, **fixed), fmt, tuple(names))
    real = _real(fmt)

    def core(x: jax.Array, *parameters: Any) -> jax.Array:
        return form(x.astype(real), *parameters).astype(x.dtype)

    core.__name__ = core.__qualname__ = f"{entry.name}_{quantity}"
    return jax.jit(core)


def _derived(entry: Entry, variables: tuple[str, ...]) -> Node:
    """Return a derivative of the definition; its parameters are inputs, to be differentiated by."""
    f = Definition()
    symbols = {p.name: f.graph.input(p.name) for p in entry.parameters}
    x = f.graph.input("x")
    if entry.user is None and len(variables) == 1 and (entry.name, variables[0]) in STABLE:
        return STABLE[entry.name, variables[0]](f, x, **symbols)
    root = entry.definition(f, x, **symbols)
    for variable in variables:
        root = derivative(root, variable)
    return root


def _real(fmt: Format) -> Any:
    return np.float32 if fmt is FLOAT32 else np.float64


def _parts(value: jax.Array, fmt: Format) -> tuple[jax.Array, ...]:
    """Return an array parameter as a kernel reads it: in two parts where one may be too short."""
    high = value.astype(_real(fmt))
    if fmt is not FLOAT32:
        return (high,)
    wider = value.dtype == np.float64
    return high, (value - high).astype(high.dtype) if wider else jnp.zeros_like(high)
