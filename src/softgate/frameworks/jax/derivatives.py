"""An activation and its derivatives of every order, by x and by its parameters, in JAX.

Each is a `custom_jvp` with the next derivative times the incoming tangents as its tangent: JAX
would differentiate through bit masks, and through |x|, which has no slope at 0. Value, slope and
curvature are the stable forms, on CPUs softgate's kernels (`cpu_kernels`); higher orders and
derivatives by parameters are those of the definition, except those in `STABLE`. The tangent of the
value is the kernel of `backward`, which is linear in the tangent and its own transpose: gradients
are computed in one pass, from the input alone.

A parameter's derivative is computed in the format of x: with an error of a few ulps,
times 1 + |beta·x| where an exponential is rounded. Three of them would lose all digits where the
function is nearly flat in its parameter and are rewritten. Mixed derivatives, and those of higher
order by a parameter, may cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from softgate.blocks import KernelArithmetic
from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.formats import FLOAT32, FLOAT64, FORMATS, Format
from softgate.formula.graph import Node
from softgate.formula.trace import LIMITS
from softgate.lower.jax import definition_form, stable_form
from softgate.runtime.kernels import pack
from softgate.runtime.routes import Route

from ..asymptotes import asymptotes
from .cpu_kernels import Computation, as_words

if TYPE_CHECKING:
    from softgate.catalogue import Entry

TERMS = 20
"""Terms of the series of exp(z)·(1 - z) - 1, |z| < 1: the next is below an ulp of float64."""


def silu_beta(f: ExactArithmetic, x: Node, beta: Node) -> Node:
    """Return x²·sigma(t)·sigma(-t), t = beta·x."""
    t = beta * x
    return (x * f.sigmoid(t)) * (x * f.sigmoid(-t))


def softplus_beta(f: ExactArithmetic, x: Node, beta: Node) -> Node:
    """Return -(log(1 + exp(-u)) + u·sigma(-u))/beta², u = |beta·x|."""
    u = f.abs(beta * x)
    return -(f.softplus(-u) + u * f.sigmoid(-u)) / (beta * beta)


def celu_alpha(f: ExactArithmetic, x: Node, alpha: Node) -> Node:
    """Return exp(z)·(1 - z) - 1, z = x/alpha below 0; near 0 by its series -z²·(1/2 + z/3 + …)."""
    z = x / alpha
    series = f.lift(0)
    for k in range(TERMS, 1, -1):
        series = series * z + Fraction(k - 1, factorial(k))
    direct = f.expm1(z) - z * f.exp(z)
    return f.where(x > 0, 0, f.where(z > -1, -(z * z) * series, direct))


STABLE: dict[tuple[str, ...], Callable[..., Node]] = {
    ("silu", "beta"): silu_beta,
    ("softplus", "beta"): softplus_beta,
    ("celu", "alpha"): celu_alpha,
}
"""By activation and parameter."""

Key = tuple[tuple[str, float], ...]
Function = Callable[..., jax.Array]
ORDERS = ("value", "slope", "curvature")
"""The quantities with a stable form, by order of derivative."""


class ParameterizedActivation:
    """An activation in one arithmetic, with some parameters fixed and others arrays.

    `key` has all parameters; those named in `arrays` have placeholder values. A function of the
    activation is called with x and these arrays, which broadcast to the shape of x. With `native`
    the stable forms are those of `cpu_kernels`; only without arrays.
    """

    def __init__(
        self,
        entry: Entry,
        fmt: Format,
        key: Key,
        arrays: tuple[str, ...] = (),
        native: bool = False,
    ) -> None:
        self.entry, self.fmt, self.key, self.arrays = entry, fmt, key, arrays
        self.native = native
        defaults = {p.name: p.default for p in entry.parameters}
        self.symbolic = tuple(n for n, v in key if n in arrays or v != defaults[n])
        """Parameters not folded into the code: a sweep over a parameter compiles once."""
        self.fixed = bool(set(self.symbolic) - set(arrays))
        """Whether some of `symbolic` are numbers, passed as operands of the compiled function."""
        self._functions: dict[tuple[str, ...], Function] = {}
        self._kernels: dict[tuple[str, Format], Function] = {}

    @property
    def uses_definition(self) -> bool:
        """Whether the value is the definition: the limits of a formula are computed for numbers."""
        return self.entry.user is not None and bool(self.arrays)

    def function(self, variables: tuple[str, ...] = ()) -> Function:
        """Return the derivative by these variables ("x" or a parameter), one after another."""
        variables = tuple(sorted(variables))
        function = self._functions.get(variables)
        if function is None:
            function = self._functions[variables] = self._make(variables)
        return function

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
                if self.native and variables == ():
                    part = self.backward(primals[0], tangent)
                else:
                    slope = self.function((*variables, variable))(*primals)
                    part = self.times(slope, tangent).astype(result.dtype)
                total = part if total is None else total + part
            return result, jnp.zeros_like(result) if total is None else total

        function.defjvp(rule, symbolic_zeros=True)
        return function if self.fixed else jax.jit(function)

    def backward(self, x: jax.Array, grad: jax.Array) -> jax.Array:
        """Return slope(x)·grad of arrays of one shape and dtype; only without array parameters."""
        if self.native:
            return self._kernel("backward", x)(x, grad)
        return self.times(self.function(("x",))(x), grad)

    def times(self, slope: jax.Array, factor: jax.Array) -> jax.Array:
        """Return slope·factor; 0 where a piecewise linear function is flat, whatever the factor."""
        product = slope * factor
        if not self.entry.piecewise_linear:
            return product
        return jnp.where(slope == 0, 0, product)

    def _computation(self, variables: tuple[str, ...]) -> Function:
        """Return a derivative as a function of x and the arrays, without a custom rule."""
        by_x = set(variables) <= {"x"} and len(variables) < len(ORDERS)
        if not by_x or self.uses_definition:
            return self._defined(variables)
        quantity = ORDERS[len(variables)]
        if self.native:
            return lambda x: self._kernel(quantity, x)(x)
        core = stable(self.entry, quantity, self.fmt, self.symbolic)
        if self.fixed:  # else it is jitted as a whole
            core = jax.jit(core)
        held = self._numbers(quantity)

        def compute(x: jax.Array, *arrays: jax.Array) -> jax.Array:
            traced = dict(zip(self.arrays, arrays, strict=True))
            values = [
                part
                for name, parts in held.items()
                for part in (_parts(traced[name], self.fmt) if name in traced else parts)
            ]
            result: jax.Array = core(x, *values)
            return result

        return compute

    def _numbers(self, quantity: str) -> dict[str, Any]:
        """Return the values that a stable form reads, in one or two parts each."""
        packed = pack(self.entry, dict(self.key), self.fmt, quantity)
        limits = LIMITS if self.entry.user else ()
        parts = packed.reshape(-1, 2 if self.fmt is FLOAT32 else 1)
        held = dict(zip((*(name for name, _ in self.key), *limits), parts, strict=True))
        return {name: held[name] for name in (*self.symbolic, *limits)}

    def _kernel(self, quantity: str, x: jax.Array) -> Function:
        """Return a quantity of arrays with the dtype of x, computed by the primitive."""
        storage = FORMATS[x.dtype.name]
        function = self._kernels.get((quantity, storage))
        if function is None:
            function = self._kernels[quantity, storage] = self._make_kernel(quantity, storage)
        return function

    def route(self, quantity: str, storage: Format) -> Route:
        """Return the route of the kernel of a quantity."""
        return kernel_route(self.entry, quantity, self.fmt, storage, self.key)

    def _make_kernel(self, quantity: str, storage: Format) -> Function:
        route = self.route(quantity, storage)
        passed = self.fixed and storage.bits > 16
        form = "slope" if quantity == "backward" else quantity
        core = stable(self.entry, form, self.fmt, self.symbolic)
        held = [part for parts in self._numbers(form).values() for part in parts]
        rest: tuple[Any, ...] = ()
        if passed:
            packed = pack(self.entry, dict(self.key), route.computed_in, quantity)
            rest = as_words(packed), np.array(held, _real(self.fmt))

        def operators(x: jax.Array, *others: jax.Array) -> list[jax.Array]:
            numbers = [others[-1][i] for i in range(len(held))] if passed else held
            result = core(x, *numbers)
            return [self.times(result, others[0]) if quantity == "backward" else result]

        computation = Computation(
            self.entry,
            quantity,
            storage,
            (route.computed_in if passed else None, self.fmt),
            () if passed else self.key,
            passed,
            route,
            operators,
            self._backward_tangents,
        )

        def compute(*operands: jax.Array) -> jax.Array:
            result: jax.Array = computation(*operands, *rest)[0]
            return result

        return compute

    def _backward_tangents(self, arrays: Any, grad: jax.Array, tangents: Any) -> list[jax.Array]:
        """Return the tangent of slope(x)·grad for a tangent of x: curvature(x)·grad·tangent."""
        (x,), (tangent,) = arrays, tangents
        product = self.times(self.function(("x", "x"))(x), grad)
        return [self.times(product, tangent).astype(x.dtype)]

    def _defined(self, variables: tuple[str, ...]) -> Function:
        """Return a derivative of the definition, computed as written."""
        names = tuple(name for name, _ in self.key)
        root = _derived(self.entry, variables)
        form = definition_form(root, names)
        real = _real(self.fmt)
        # Far out the derivative is replaced by its limits; with arrays only at infinity. The
        # catalogue's limits do not depend on the parameters. Those of users' formulas may, so with
        # arrays NaN is not replaced.
        largest = 0.0 if self.arrays else float(np.finfo(real).max)
        ends = () if self.uses_definition else asymptotes(root, dict(self.key))
        limits = [
            (start if abs(start) <= largest else math.copysign(math.inf, start), limit)
            for start, limit in ends
            if limit is not None
        ]

        def compute(x: jax.Array, *arrays: jax.Array) -> jax.Array:
            wide = (array.astype(real) for array in arrays)
            values = {**dict(self.key), **dict(zip(self.arrays, wide, strict=True))}
            inputs = x.astype(real)
            result = form(inputs, *values.values())
            for start, limit in limits:
                far = inputs <= start if start < 0 else inputs >= start
                result = jnp.where(far, jnp.asarray(limit, real), result)
            return jnp.broadcast_to(result, x.shape).astype(x.dtype)

        return compute


bound_activation = lru_cache(maxsize=1024)(ParameterizedActivation)
"""Cached, so that each is constructed and traced once."""


def kernel_route(entry: Entry, quantity: str, fmt: Format, storage: Format, key: Key) -> Route:
    """Return the route of a kernel for arrays of `storage`, whose operators compute in `fmt`."""
    arithmetic = FLOAT64 if fmt is FLOAT64 and storage.bits < 64 else None
    gate_first = entry if entry.gating is None else entry.gated_by("first")
    return Route(gate_first, quantity, storage, arithmetic, key)


@lru_cache(maxsize=1024)
def stable(entry: Entry, quantity: str, fmt: Format, symbolic: tuple[str, ...]) -> Function:
    """Return a stable form as a function of x and the parameters that are not folded.

    In float32 a parameter is passed in two parts, as to the kernels.
    """
    f = KernelArithmetic(fmt, fused=False)
    fixed = {
        p.name: f.number(Fraction(p.default)) for p in entry.parameters if p.name not in symbolic
    }
    names = [*symbolic, *(LIMITS if entry.user else ())]
    if fmt is FLOAT32:
        names = [part for name in names for part in (name, f"{name}.lo")]
    (root,) = entry.trace(quantity, f, **fixed)
    form = stable_form(root, fmt, tuple(names))
    real = _real(fmt)

    def core(x: jax.Array, *parameters: Any) -> jax.Array:
        return form(x.astype(real), *parameters).astype(x.dtype)

    core.__name__ = core.__qualname__ = f"{entry.name}_{quantity}"
    return core


def _derived(entry: Entry, variables: tuple[str, ...]) -> Node:
    """Return a derivative of the definition, by x and by parameters."""
    stable = STABLE.get((entry.name, *variables)) if entry.user is None else None
    if stable is None:
        return entry.derivative(*variables, in_operators=True)
    f = ExactArithmetic()
    return stable(
        f, f.graph.input("x"), **{p.name: f.graph.parameter(p.name) for p in entry.parameters}
    )


def _real(fmt: Format) -> Any:
    return np.float32 if fmt is FLOAT32 else np.float64


def _parts(value: jax.Array, fmt: Format) -> tuple[jax.Array, ...]:
    """Return an array parameter as a kernel reads it: in two parts if one may be too short."""
    high = value.astype(_real(fmt))
    if fmt is not FLOAT32:
        return (high,)
    wider = value.dtype == np.float64
    return high, (value - high).astype(high.dtype) if wider else jnp.zeros_like(high)
