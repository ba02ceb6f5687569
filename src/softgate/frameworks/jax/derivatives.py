"""A function and its derivatives of every order, by its operands and by its parameters, in JAX.

Each is a `custom_jvp` with the next derivatives times the incoming tangents as its tangent: JAX
would differentiate through bit masks, and through |x|, which has no slope at 0. Value, slope and
curvature are the stable forms, on CPUs softgate's kernels (`cpu_kernels`); higher orders and
derivatives by parameters are those of the definition, except those in `STABLE`. The tangent of the
value is the kernel of `backward`, which is linear in the tangent and its own transpose: gradients
are computed in one pass, from the input alone. Of a function of two operands it is called once for
each, and XLA merges both calls.

A gated function is activation(gate)·factor(other): where no kernel runs, and from the third order
on, its derivatives are products of theirs, which are right in their tails.

A parameter's derivative is computed in the format of x: with an error of a few ulps,
times 1 + |beta·x| where an exponential is rounded. Three of them would lose all digits where the
function is nearly flat in its parameter and are rewritten. Mixed derivatives, and those of higher
order by a parameter, may cancel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING, Any, cast

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
from softgate.runtime.kernels import has_limits, pack
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
Function = Callable[..., Any]
ORDERS = ("value", "slope", "curvature")
"""The quantities with a stable form, by order of derivative."""


class BoundFunction:
    """A function of one operand or two in one arithmetic, some parameters fixed, others arrays.

    `key` has all parameters; those named in `arrays` have placeholder values. Derivatives are
    functions of the operands, which have one shape and dtype, and these arrays, which broadcast to
    it; they return lists of results. With `native` the stable forms are those of `cpu_kernels`;
    only without arrays.
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
        self._derivatives: dict[tuple[int, tuple[str, ...]], Function] = {}
        self._kernels: dict[tuple[str, Format], Function] = {}
        gating = entry.gating
        self.activation = self.factor = None
        """Those of a gated function: a factor of None is the other operand itself."""
        if gating is not None:
            self.activation = bound_function(gating.activation, fmt, key, arrays, native)
            if gating.factor is not None:
                self.factor = bound_function(gating.factor, fmt, key, arrays, native)

    @property
    def uses_definition(self) -> bool:
        """Whether the value is the definition: the limits of a formula are computed for numbers."""
        return has_limits(self.entry) and bool(self.arrays)

    def derivatives(self, order: int = 0, parameters: tuple[str, ...] = ()) -> Function:
        """Return all derivatives of an order by the operands, each then by some parameters.

        Their order is that of `_partials`.
        """
        key = order, parameters
        if key not in self._derivatives:
            self._derivatives[key] = self._make(order, parameters)
        return self._derivatives[key]

    def _partials(self, order: int) -> list[tuple[str, ...]]:
        """Return the operands of each derivative of an order: of a and b aa, ab and bb."""
        return list(itertools.combinations_with_replacement(self.entry.operands, order))

    def _make(self, order: int, parameters: tuple[str, ...]) -> Function:
        compute: Any = self._computation(order, parameters)
        variables = (*self.entry.operands[:1] * order, *parameters)
        compute.__name__ = compute.__qualname__ = "_".join((self.entry.name, *variables))
        function: Any = jax.custom_jvp(compute)
        nin = self.entry.nin

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            results = function(*primals)
            operands, arrays = primals[:nin], primals[nin:]
            present = [not isinstance(tangent, SymbolicZero) for tangent in tangents]
            totals: list[Any] = [None] * len(results)

            def add(result: int, part: Any) -> None:
                part, total = part.astype(results[result].dtype), totals[result]
                totals[result] = part if total is None else total + part

            if order == 0 and not parameters:
                for place in range(nin):
                    if present[place]:
                        add(0, self.backward(*operands, tangents[place], *arrays)[place])
            elif any(present[:nin]):
                higher = self._by_partials(order + 1, parameters, primals)
                for result, names in enumerate(self._partials(order)):
                    for place, name in enumerate(self.entry.operands):
                        slope = higher.get(tuple(sorted((*names, name))))
                        if present[place] and slope is not None:
                            add(result, self.times(slope, tangents[place]))
            for place, name in enumerate(self.arrays, nin):
                if present[place]:
                    slopes = self.derivatives(order, tuple(sorted((*parameters, name))))(*primals)
                    for result, slope in enumerate(slopes):
                        add(result, self.times(slope, tangents[place]))
            pairs = zip(results, totals, strict=True)
            return results, [jnp.zeros_like(x) if total is None else total for x, total in pairs]

        function.defjvp(rule, symbolic_zeros=True)
        return function if self.fixed else jax.jit(function)

    def _by_partials(
        self, order: int, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> dict[tuple[str, ...], jax.Array]:
        """Return derivatives by the sorted names of the operands, without those that are 0."""
        results = self.derivatives(order, parameters)(*arguments)
        pairs = zip(self._partials(order), results, strict=True)
        return {tuple(sorted(names)): x for names, x in pairs if not self._vanishes(names)}

    def _vanishes(self, names: tuple[str, ...]) -> bool:
        """Return whether a derivative is 0, even times infinity: of a part that is linear, twice.

        The factor of a gated function is piecewise linear.
        """
        gating = self.entry.gating
        if gating is None:
            return False
        gate, other = self.in_order(*self.entry.operands)
        return names.count(other) > 1 or (
            gating.activation.piecewise_linear and names.count(gate) > 1
        )

    def in_order(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Return two things in the order of gate and other from that of the operands, or back."""
        assert self.entry.gating is not None
        return (first, second) if self.entry.gating.gate == "first" else (second, first)

    def backward(self, *arguments: jax.Array) -> list[jax.Array]:
        """Return slopes times grad, which follows the operands in `arguments`."""
        if self.native:
            results: list[jax.Array] = self._kernel("backward", arguments[0])(*arguments)
            return results
        nin = self.entry.nin
        operands, grad, arrays = arguments[:nin], arguments[nin], arguments[nin + 1 :]
        if self.activation is not None:
            return self._product_backward(*operands, grad, *arrays)
        return [self.times(slope, grad) for slope in self.derivatives(1)(*operands, *arrays)]

    def times(self, slope: jax.Array, factor: jax.Array) -> jax.Array:
        """Return slope·factor; 0 where a piecewise linear function is flat, whatever the factor."""
        product = slope * factor
        if not self.entry.piecewise_linear:
            return product
        return jnp.where(slope == 0, 0, product)

    def _computation(self, order: int, parameters: tuple[str, ...]) -> Function:
        """Return derivatives as a function of operands and arrays, without a custom rule."""
        stable_forms = order < len(ORDERS) and not parameters
        if self.native and stable_forms:
            quantity = ORDERS[order]
            return lambda *operands: self._kernel(quantity, operands[0])(*operands)
        if self.activation is not None:
            return lambda *arguments: self._product(order, parameters, *arguments)
        if not stable_forms or self.uses_definition:
            forms = [
                self._defined(tuple(sorted((*names, *parameters))))
                for names in self._partials(order)
            ]
            return lambda *arguments: [form(*arguments) for form in forms]
        core = stable(self.entry, ORDERS[order], self.fmt, self.symbolic)
        if self.fixed:  # else it is jitted as a whole
            core = jax.jit(core)
        held = self._numbers(ORDERS[order])

        def compute(*arguments: jax.Array) -> list[jax.Array]:
            operands, arrays = arguments[: self.entry.nin], arguments[self.entry.nin :]
            traced = dict(zip(self.arrays, arrays, strict=True))
            values = [
                part
                for name, parts in held.items()
                for part in (_parts(traced[name], self.fmt) if name in traced else parts)
            ]
            results: list[jax.Array] = core(*operands, *values)
            return results

        return compute

    def _product(
        self, order: int, parameters: tuple[str, ...], *arguments: jax.Array
    ) -> list[jax.Array]:
        """Return derivatives of a gated function as products of those of its parts."""
        assert self.activation is not None
        (gate, other), arrays = self.in_order(*arguments[:2]), arguments[2:]
        gate_name, _ = self.in_order(*self.entry.operands)
        results = []
        for names in self._partials(order):
            by_gate = names.count(gate_name)
            total = None
            for of_gate in itertools.product((True, False), repeat=len(parameters)):
                pairs = list(zip(parameters, of_gate, strict=True))
                theirs = tuple(name for name, mine in pairs if not mine)
                factor = self._factor(order - by_gate, theirs, other, arrays)
                if factor is None:
                    continue
                mine = tuple(name for name, mine in pairs if mine)
                (change,) = self.activation.derivatives(by_gate, mine)(gate, *arrays)
                if order > by_gate and self.factor is not None:
                    term = self.factor.times(factor, change)
                elif by_gate == 1:
                    term = self.activation.times(change, factor)
                else:
                    term = change * factor
                total = term if total is None else total + term
            results.append(jnp.zeros_like(gate) if total is None else total)
        return results

    def _factor(
        self, order: int, parameters: tuple[str, ...], other: jax.Array, arrays: tuple[Any, ...]
    ) -> jax.Array | None:
        """Return a derivative of a gated function's factor, or None if it is 0 everywhere."""
        if self.factor is not None:
            if order > 1:
                return None
            (result,) = self.factor.derivatives(order, parameters)(other, *arrays)
            return cast(jax.Array, result)
        if order > 1 or parameters:
            return None
        return jnp.ones_like(other) if order else other

    def _product_backward(
        self, a: jax.Array, b: jax.Array, grad: jax.Array, *arrays: jax.Array
    ) -> list[jax.Array]:
        """Return the backward of a gated function from those of its parts."""
        assert self.activation is not None
        gate, other = self.in_order(a, b)
        factor = self._factor(0, (), other, arrays)
        assert factor is not None
        (by_gate,) = self.activation.backward(gate, factor * grad, *arrays)
        (value,) = self.activation.derivatives()(gate, *arrays)
        by_other = value * grad
        if self.factor is not None:
            (by_other,) = self.factor.backward(other, by_other, *arrays)
        return list(self.in_order(by_gate, by_other))

    def _numbers(self, quantity: str) -> dict[str, Any]:
        """Return the values that a stable form reads, in one or two parts each."""
        packed = pack(self.entry, dict(self.key), self.fmt, quantity)
        limits = LIMITS if has_limits(self.entry) else ()
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
        arithmetic = FLOAT64 if self.fmt is FLOAT64 and storage.bits < 64 else None
        return Route(self.entry, quantity, storage, arithmetic, self.key)

    def _make_kernel(self, quantity: str, storage: Format) -> Function:
        route = self.route(quantity, storage)
        # The parts of a gated function have their parameters' numbers in their code.
        passed = self.fixed and storage.bits > 16 and self.activation is None
        form = "slope" if quantity == "backward" else quantity
        rest: tuple[Any, ...] = ()
        held: list[Any] = []
        if self.activation is None:
            core = stable(self.entry, form, self.fmt, self.symbolic)
            held = [part for parts in self._numbers(form).values() for part in parts]
        if passed:
            packed = pack(self.entry, dict(self.key), route.computed_in, quantity)
            rest = as_words(packed), np.array(held, _real(self.fmt))

        def operators(*arguments: jax.Array) -> list[jax.Array]:
            if self.activation is not None:
                if quantity == "backward":
                    return self._product_backward(*arguments)
                return self._product(ORDERS.index(quantity), (), *arguments)
            operands, others = arguments[: self.entry.nin], arguments[self.entry.nin :]
            numbers = [others[-1][i] for i in range(len(held))] if passed else held
            results: list[jax.Array] = core(*operands, *numbers)
            if quantity != "backward":
                return results
            return [self.times(result, others[0]) for result in results]

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
        return lambda *operands: computation(*operands, *rest)

    def _backward_tangents(self, operands: Any, grad: jax.Array, tangents: Any) -> list[jax.Array]:
        """Return the tangents of slopes·grad: sums of curvature·grad·tangent."""
        bends = self._by_partials(2, (), tuple(operands))
        results = []
        for first in self.entry.operands:
            pairs = [
                (bends[names], tangent)
                for second, tangent in zip(self.entry.operands, tangents, strict=True)
                if (names := tuple(sorted((first, second)))) in bends
            ]
            parts = [self.times(self.times(bend, grad), tangent) for bend, tangent in pairs]
            total = sum(parts[1:], parts[0]) if parts else jnp.zeros_like(grad)
            results.append(total.astype(grad.dtype))
        return results

    def _defined(self, variables: tuple[str, ...]) -> Function:
        """Return a derivative of the definition, computed as written."""
        names = tuple(name for name, _ in self.key)
        root = _derived(self.entry, variables)
        form = definition_form(root, names, self.entry.operands)
        nin, real = self.entry.nin, _real(self.fmt)
        # Far out the derivative is replaced by its limits; with arrays only at infinity. The
        # catalogue's limits do not depend on the parameters. Those of users' formulas may, so with
        # arrays NaN is not replaced. Formulas of two operands have no limits.
        largest = 0.0 if self.arrays else float(np.finfo(real).max)
        ends = () if nin > 1 or self.uses_definition else asymptotes(root, dict(self.key))
        limits = [
            (start if abs(start) <= largest else math.copysign(math.inf, start), limit)
            for start, limit in ends
            if limit is not None
        ]

        def compute(*arguments: jax.Array) -> jax.Array:
            x = arguments[0]
            inputs, *others = (array.astype(real) for array in arguments)
            arrays = dict(zip(self.arrays, others[nin - 1 :], strict=True))
            values = {**dict(self.key), **arrays}
            result = form(inputs, *others[: nin - 1], *values.values())
            for start, limit in limits:
                far = inputs <= start if start < 0 else inputs >= start
                result = jnp.where(far, jnp.asarray(limit, real), result)
            return jnp.broadcast_to(result, x.shape).astype(x.dtype)

        return compute


bound_function = lru_cache(maxsize=1024)(BoundFunction)
"""Cached, so that each is constructed and traced once."""


@lru_cache(maxsize=1024)
def stable(entry: Entry, quantity: str, fmt: Format, symbolic: tuple[str, ...]) -> Function:
    """Return stable forms as a function of the operands and the parameters that are not folded.

    In float32 a parameter is passed in two parts, as to the kernels.
    """
    f = KernelArithmetic(fmt, fused=False)
    fixed = {
        p.name: f.number(Fraction(p.default)) for p in entry.parameters if p.name not in symbolic
    }
    names = [*symbolic, *(LIMITS if has_limits(entry) else ())]
    if fmt is FLOAT32:
        names = [part for name in names for part in (name, f"{name}.lo")]
    form = stable_form(entry.trace(quantity, f, **fixed), fmt, tuple(names), entry.operands)
    real = _real(fmt)

    def core(*arguments: Any) -> list[jax.Array]:
        operands, parameters = arguments[: entry.nin], arguments[entry.nin :]
        results = form(*(x.astype(real) for x in operands), *parameters)
        return [result.astype(operands[0].dtype) for result in results]

    core.__name__ = core.__qualname__ = f"{entry.name}_{quantity}"
    return core


def _derived(entry: Entry, variables: tuple[str, ...]) -> Node:
    """Return a derivative of the definition, by x and by parameters."""
    stable = STABLE.get((entry.name, *variables)) if entry.user is None else None
    if stable is None:
        return entry.derivative(*variables, in_operators=True)
    f = ExactArithmetic()
    parameters = {p.name: f.graph.parameter(p.name) for p in entry.parameters}
    return stable(f, f.graph.input("x"), **parameters)


def _real(fmt: Format) -> Any:
    return np.float32 if fmt is FLOAT32 else np.float64


def _parts(value: jax.Array, fmt: Format) -> tuple[jax.Array, ...]:
    """Return an array parameter as a kernel reads it: in two parts if one may be too short."""
    high = value.astype(_real(fmt))
    if fmt is not FLOAT32:
        return (high,)
    wider = value.dtype == np.float64
    return high, (value - high).astype(high.dtype) if wider else jnp.zeros_like(high)
