"""A function in torch operators: for other devices, for exported and traced graphs.

It is the definition or, where that loses digits, the kernel's formula if it has only arithmetic.
Each order of derivative is a separate graph (see `lower.torch`). On other devices torch's fused
operator for the same function is faster and is used instead. Exported graphs contain it only if its
results equal those of the kernels: torch's gelu on a CPU has no tail, is NaN at -inf, and with
AVX-512 is inf from 1.7e38 on. `prefer_torch_operators` exports it nevertheless.

A gated function is the product of its activation and its factor, each with derivatives of its own,
which are right in the tails. A user's formula of two operands is its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from softgate.formula.formats import BYTE_FORMATS, FLOAT32, FLOAT64, Format, dtype_of
from softgate.lower.torch import Form, arithmetic, form, guarded
from softgate.runtime.kernels import Specification, trace

from ..asymptotes import Asymptote, asymptotes, values_at
from . import private
from .private import constant_when_compiled

if TYPE_CHECKING:
    from softgate.formula.graph import Node
    from softgate.runtime.activation import Activation
    from softgate.runtime.routes import Route

Native = Callable[[torch.Tensor], torch.Tensor]
Orders = tuple[int, ...]
QUANTITIES = ("value", "slope", "curvature")
"""The quantities by order of derivative."""

COMPILED = SimpleNamespace()
"""Forms that torch.compile traces. They are attributes, because it reads a dict
once and misses what is added later in the same trace."""


_torch_preferred: ContextVar[bool] = ContextVar("softgate.torch.prefer_torch_operators")


@contextmanager
def prefer_torch_operators() -> Iterator[None]:
    """Export torch's fused operator where torch has one for the same function.

    Exported and traced graphs (`torch.export`, `torch.jit.trace`, `torch.onnx.export`) hold
    softgate's definition of a function: its tail and its limits at ±inf are right on every CPU.
    Within this context they contain torch's operator instead, one node of the graph (`gelu`,
    `silu` …) that back ends recognise and may run faster, with that operator's errors: torch's
    gelu on a CPU has no tail below -6 and is NaN at -inf.

    Examples
    --------
    >>> import torch, softgate as sg
    >>> with sg.torch.prefer_torch_operators():
    ...     program = torch.export.export(sg.torch.GELU(), (torch.ones(3),))
    >>> [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    ['aten.gelu.default']
    """
    token = _torch_preferred.set(True)
    try:
        yield
    finally:
        _torch_preferred.reset(token)


@constant_when_compiled
def torch_preferred() -> bool:
    """Return whether `prefer_torch_operators` is active."""
    return _torch_preferred.get(False)


def exporting() -> bool:
    """Return whether a graph is being recorded that must run without softgate."""
    return torch.jit.is_tracing() or torch.compiler.is_exporting()


def on_cpu(x: torch.Tensor) -> bool:
    """Return whether a tensor is strided and on the CPU (or has no memory at all)."""
    return x.device.type in ("cpu", "meta") and x.layout is torch.strided


@constant_when_compiled
def functionalizing() -> bool:
    """Return whether torch.func.functionalize is active, which supports no Python Function."""
    return private.functionalizing.get()()


def orders_of(quantity: str, operands: int) -> tuple[Orders, ...]:
    """Return how often each result of a quantity is differentiated by each operand."""
    order = QUANTITIES.index(quantity)
    if operands == 1:
        return ((order,),)
    return tuple([(order - j, j) for j in range(order + 1)])


class Decomposition:
    """A function with fixed parameters and its derivatives in torch operators.

    A derivative is named by how often it is differentiated by each operand.
    """

    def __init__(self, function: Activation, parameters: tuple[tuple[str, float], ...]) -> None:
        self.function, self.parameters = function, parameters
        self.native = native(function, dict(parameters))
        self.swapped = function.position(None) == "second"
        """Whether the gate is the second operand."""
        self.parts: tuple[Decomposition, Decomposition | None] | None = None
        """Of a gated function, its activation and what is not the other operand itself."""
        if function.gate_activation is not None:
            factor = None if function.factor is None else Decomposition(function.factor, parameters)
            self.parts = Decomposition(function.gate_activation, parameters), factor
        self._forms: dict[tuple[Orders, Format | None], Form | None] = {}

    def operator(self, ours: bool) -> Native | None:
        """Return torch's fused operator for the value, or None if a softgate form is used.

        `ours` is whether results must equal the kernels': on the CPU and in exported graphs.
        """
        same = self.function.name in _SAME
        return self.native if same or not ours or torch_preferred() else None

    def vanishes(self, orders: Orders) -> bool:
        """Return whether a derivative is 0 everywhere: that by a factor, which is linear, twice."""
        return self.parts is not None and orders[0 if self.swapped else 1] > 1

    def form(self, orders: Orders, dtype: torch.dtype) -> Form:
        """Return a derivative as a function of tensors and the parameters.

        The definition or, where that loses digits, the stable form if it has only arithmetic.
        """
        order = sum(orders)
        if dtype.itemsize == 1 and order < len(QUANTITIES):
            return self._gathered(QUANTITIES[order], dtype)
        if len(orders) == 2:
            return self.defined(orders)
        fmt = FLOAT64 if dtype is torch.float64 else FLOAT32
        key = (orders, fmt)
        if key not in self._forms:
            self._forms[key] = self._stable(order, fmt)
        return self._forms[key] or self.defined(orders)

    def _gathered(self, quantity: str, dtype: torch.dtype) -> Form:
        """Return a quantity of float8 tensors, gathered from its table of all inputs."""
        entries = torch.tensor(self._route(quantity, dtype).table())

        def gather(x: torch.Tensor, *others: Any) -> torch.Tensor:
            place = x.view(torch.uint8).int()
            if quantity == "backward":
                place = 256 * place + others[0].view(torch.uint8)
            return entries.to(x.device)[place].view(dtype)

        return gather

    def _route(self, quantity: str, dtype: torch.dtype) -> Route:
        fmt = BYTE_FORMATS[str(dtype).removeprefix("torch.")]
        return self.function.route(quantity, dtype_of(fmt), None, dict(self.parameters))

    def backward(self, *operands: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the derivatives by each operand times the last one, `grad`; differentiable.

        Those of float8 tensors are not.
        """
        *inputs, grad = operands
        if grad.dtype.itemsize == 1:
            return (self._gathered("backward", grad.dtype)(*operands),)
        if self.parts is None:
            return tuple(self(orders, *inputs) * grad for orders in orders_of("slope", len(inputs)))
        act, factor = self.parts
        gate, other = reversed(inputs) if self.swapped else inputs
        times = other if factor is None else factor((0,), other)
        by_gate, by_other = act((1,), gate) * (times * grad), act((0,), gate) * grad
        if factor is not None:
            by_other = factor((1,), other) * by_other
        return (by_other, by_gate) if self.swapped else (by_gate, by_other)

    def traced(
        self, quantity: str, dtype: torch.dtype, ours: bool
    ) -> Callable[..., tuple[torch.Tensor, ...]]:
        """Return a function of the operands and parameters that a compiler can read.

        It returns the results as a tuple; `ours` is as in `operator`.
        """
        count = self.function.nin
        if quantity == "backward":
            slopes = self.traced("slope", dtype, ours)

            def times_grad(*arguments: Any) -> tuple[torch.Tensor, ...]:
                grad = arguments[count]
                by_each = slopes(*arguments[:count], *arguments[count + 1 :])
                return tuple([slope * grad for slope in by_each])

            return times_grad
        forms = [self._traced(orders, dtype, ours) for orders in orders_of(quantity, count)]

        def results(*arguments: Any) -> tuple[torch.Tensor, ...]:
            return tuple([form(*arguments) for form in forms])

        return results

    def _traced(self, orders: Orders, dtype: torch.dtype, ours: bool) -> Form:
        if self.parts is not None:
            return self._product(orders, dtype, ours)
        operator = self.operator(ours) if not any(orders) and dtype.itemsize > 1 else None
        return self.form(orders, dtype) if operator is None else lambda x, *_: operator(x)

    def _product(self, orders: Orders, dtype: torch.dtype, ours: bool) -> Form:
        """Return a derivative of a gated function, as a compiler can read it."""
        assert self.parts is not None
        act, factor = self.parts
        swapped, (i, j) = self.swapped, reversed(orders) if self.swapped else orders
        of_gate = act._traced((i,), dtype, ours)
        of_other = None if factor is None else factor._traced((j,), dtype, ours)

        def product(a: torch.Tensor, b: torch.Tensor, *values: float) -> torch.Tensor:
            gate, other = (b, a) if swapped else (a, b)
            if j > 1:
                return torch.zeros_like(gate)
            value = of_gate(gate, *values)
            if of_other is not None:
                return value * of_other(other, *values)
            return value if j else value * other

        return product

    def defined(self, orders: Orders) -> Form:
        """Return a derivative of the definition, completed with its limits; differentiable."""
        result = self._forms.get((orders, None))
        if result is None:
            root, names = self._graph(orders), tuple(name for name, _ in self.parameters)
            if len(orders) == 2:
                made = form(root, names, self.function.entry.operands)
                result = _widened(_with_nan(made), 2)
            else:
                made = form(guarded(root, dict(self.parameters)), names)
                result = self._completed(made, orders[0], root)
            self._forms[orders, None] = result
        return result

    def _completed(self, made: Form, order: int, root: Node) -> Form:
        """Return `made` corrected at ±inf, -0 and NaN, with 16-bit formats computed in float32."""
        slope = self._graph((1,)) if order == 0 else None
        wrong = edges(self.function, order, root, slope, dict(self.parameters))
        return _widened(with_edges(made, wrong))

    def _graph(self, orders: Orders) -> Node:
        entry = self.function.entry
        repeated = (name for name, n in zip(entry.operands, orders, strict=True) for _ in range(n))
        return entry.derivative(*repeated, in_operators=True)

    def _stable(self, order: int, fmt: Format) -> Form | None:
        entry = self.function.entry
        if entry.user is not None or order >= len(QUANTITIES):
            return None
        specification = Specification(entry, QUANTITIES[order], fmt, fmt, constants=self.parameters)
        root = arithmetic(trace(specification))
        if root is None or not loses_digits(
            self.function, order, self._graph((order,)), dict(self.parameters)
        ):
            return None
        made = form(root)
        return self._completed(lambda x, *_: made(x), order, root)

    def describe(self, quantity: str, x: torch.Tensor) -> str:
        """Return a description of the operators that compute a quantity of a tensor."""
        if self.parts is not None:
            act, factor = self.parts
            times = "the other operand" if factor is None else factor.function.name
            return f"{act.function.name} in torch operators, times {times}"
        if x.dtype.itemsize == 1:
            return f"{self._route(quantity, x.dtype).describe()}, gathered by torch operators"
        if quantity == "value" and self.operator(must_match_kernels(x)) is not None:
            assert self.native is not None
            ends = self.native(torch.tensor([-math.inf, math.inf]))
            wrong = [at for at, y in zip(("-inf", "inf"), ends, strict=True) if y.isnan()]
            note = f", NaN at {' and '.join(wrong)}" if wrong else ""
            return f"torch's own operator{note}"
        order = 1 if quantity == "backward" else QUANTITIES.index(quantity)
        if self.function.nin == 2:
            return "the definition in torch operators"
        if self.form((order,), x.dtype) is not self.defined((order,)):
            return "the kernel's formula in torch operators"
        return "the definition in torch operators, its limits kept"

    def evaluate(self, orders: Orders, *operands: torch.Tensor) -> torch.Tensor:
        """Return a derivative in torch operators."""
        return self.form(orders, operands[0].dtype)(*operands, *(v for _, v in self.parameters))

    def __call__(self, orders: Orders, *operands: torch.Tensor) -> torch.Tensor:
        """Return a derivative, itself differentiable by autograd."""
        if self.parts is not None:
            act, factor = self.parts
            (i, j), (gate, other) = orders, operands
            if self.swapped:
                i, j, gate, other = j, i, other, gate
            if self.vanishes(orders):
                return torch.zeros_like(gate)
            if factor is not None:
                return act((i,), gate) * factor((j,), other)
            return act((i,), gate) if j else act((i,), gate) * other
        fused = not any(orders) and operands[0].dtype.itemsize > 1
        operator = self.operator(must_match_kernels(operands[0])) if fused else None
        if operator is not None:
            return operator(*operands)
        if torch.jit.is_tracing() or functionalizing():
            return self.evaluate(orders, *operands)
        result: torch.Tensor = Derivative.apply(Named(self, orders), *operands)
        return result


def must_match_kernels(x: torch.Tensor) -> bool:
    """Return whether torch operators must give the kernels' results for `x`."""
    return on_cpu(x) or exporting()


def _widened(made: Form, operands: int = 1) -> Form:
    """Return a form that computes formats of at most 16 bits in float32 and rounds once."""

    def wide(x: torch.Tensor, *others: Any) -> torch.Tensor:
        if x.dtype.itemsize > 2:
            return made(x, *others)
        rest = [y.float() for y in others[: operands - 1]]
        return made(x.float(), *rest, *others[operands - 1 :]).to(x.dtype)

    return wide


def _with_nan(made: Form) -> Form:
    """Return a form of two operands that is NaN where one of them is, as kernels are."""

    def kept(a: torch.Tensor, b: torch.Tensor, *parameters: float) -> torch.Tensor:
        result = torch.where(torch.isnan(b), b, made(a, b, *parameters))
        return torch.where(torch.isnan(a), a, result)

    return kept


def native(activation: Activation, parameters: Mapping[str, float]) -> Native | None:
    """Return torch's operator for the same function, or None."""
    from softgate.runtime.registry import activations

    known = activations().get(activation.name)
    if known is None or known.entry.definition is not activation.entry.definition:
        return None
    make = _NATIVE.get(activation.name)
    return None if make is None else make(**parameters)


@dataclass(frozen=True, eq=False)
class Named:
    """A derivative by its orders; torch's rule for vmap would take a tuple apart."""

    forms: Decomposition
    orders: Orders

    def along(self, position: int, operands: Any, change: torch.Tensor) -> torch.Tensor:
        """Return `change` times the derivative of one order more by the operand at `position`."""
        if change.dtype.itemsize == 1 and not any(self.orders):
            (result,) = self.forms.backward(*operands, change)
            return result
        further = Named(self.forms, more(self.orders, position))
        return change * Derivative.apply(further, *operands)


class Derivative(torch.autograd.Function):
    """A derivative of a definition; its derivatives are the graphs of the next order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(named: Named, *operands: torch.Tensor) -> torch.Tensor:
        """Evaluate the graph of this order."""
        result = named.forms.evaluate(named.orders, *operands)
        return result.clone() if any(result is x for x in operands) else result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the operands for reverse and forward mode."""
        ctx.named, *operands = inputs
        ctx.save_for_backward(*operands)
        ctx.save_for_forward(*operands)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return `grad` times the next derivatives."""
        operands, needed = ctx.saved_tensors, ctx.needs_input_grad[1:]
        each = [
            ctx.named.along(k, operands, grad) if need else None for k, need in enumerate(needed)
        ]
        return None, *each

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> torch.Tensor:
        """Return the sum of the tangents times the next derivatives."""
        operands = ctx.saved_tensors
        changes = [ctx.named.along(k, operands, t) for k, t in enumerate(tangents) if t is not None]
        result: torch.Tensor = sum(changes[1:], changes[0])
        return result


def more(orders: Orders, position: int) -> Orders:
    """Return the orders of a derivative differentiated once more by one operand."""
    return tuple([order + (k == position) for k, order in enumerate(orders)])


NEAR = np.ldexp(1.0, np.arange(-30, 61))
"""Points at which a definition is checked in float64; in float32 cancellation is worse."""
LOST = 2.0**-40


def loses_digits(
    activation: Activation, order: int, root: Node, parameters: dict[str, float]
) -> bool:
    """Return whether a definition loses digits, or overflows, where the kernel does not."""
    intervals = [np.linspace(*interval, 1001) for interval in activation.entry.intervals]
    points = np.concatenate([-NEAR, NEAR, *intervals])
    true = _kernel(activation, order, points, parameters)
    with np.errstate(invalid="ignore"):
        error = np.abs(values_at(root, points, parameters) - true)
        return bool((error > LOST * np.abs(true)).any())


def _kernel(activation: Activation, order: int, points: Any, parameters: dict[str, float]) -> Any:
    method = activation if order == 0 else getattr(activation, QUANTITIES[order])
    return method(points, arithmetic=None, **parameters)


class Edges(NamedTuple):
    """Where a form differs from the kernels: for large |x|, at -0 and at NaN."""

    asymptotes: tuple[Asymptote, ...] = ()
    zero_slope: float | None = None
    """The slope at 0 if the form loses the sign of the value at -0, else None."""
    loses_nan: bool = False


def edges(
    activation: Activation,
    order: int,
    root: Node,
    slope: Node | None,
    parameters: dict[str, float],
) -> Edges:
    """Return where `root`, a derivative, differs from the kernels: for large |x|, at -0 and NaN.

    `slope` is the derivative that autograd computes from `root`. Beyond the curvature there are no
    kernels, and the limits are those of the graph.
    """
    if order >= len(QUANTITIES):
        return Edges(tuple(asymptotes(root, parameters, None, slope)))
    kernel = partial(_kernel, activation, order, parameters=parameters)
    special = np.array([-0.0, math.nan])
    (zero, nan), (true_zero, true_nan) = values_at(root, special, parameters), kernel(special)
    zero_slope = None
    if order == 0 and true_zero == 0 and np.signbit(true_zero) and not np.signbit(zero):
        zero_slope = abs(float(_kernel(activation, 1, special[:1], parameters)[0]))
    loses_nan = bool(np.isnan(true_nan) and not np.isnan(nan))
    return Edges(tuple(asymptotes(root, parameters, kernel, slope)), zero_slope, loses_nan)


def with_edges(form: Form, edges: Edges) -> Form:
    """Return a form that is correct at the edges; so are its derivatives by autograd.

    Beyond an end the form is evaluated at 0: the gradient of a `where` is NaN if that of the
    branch not taken is NaN.
    """
    if edges == Edges():
        return form

    def whole(x: torch.Tensor, *parameters: float) -> torch.Tensor:
        far = [_beyond(x, end.start) for end in edges.asymptotes]
        inside = x
        for beyond in far:
            inside = torch.where(beyond, 0.0, inside)
        result = form(inside, *parameters)
        for beyond, (_, limit) in zip(far, edges.asymptotes, strict=True):
            value = x if limit is None else limit
            if limit == 0 and math.copysign(1.0, limit) < 0:
                value = -inside  # torch.jit.trace does not distinguish the constants -0.0 and 0.0
            result = torch.where(beyond, value, result)
        if edges.zero_slope is not None:
            result = torch.where(x == 0, x * edges.zero_slope, result)
        return torch.where(torch.isnan(x), x, result) if edges.loses_nan else result

    return whole


def _beyond(x: torch.Tensor, start: float) -> torch.Tensor:
    if abs(start) > torch.finfo(x.dtype).max:
        return x == math.copysign(math.inf, start)
    return x <= start if start < 0 else x >= start


def _when(function: Native, *, holds: bool) -> Native | None:
    return function if holds else None


_NATIVE: dict[str, Callable[..., Native | None]] = {
    "celu": lambda alpha: lambda x: F.celu(x, alpha),
    "elu": lambda alpha: lambda x: F.elu(x, alpha),
    "gelu": lambda: F.gelu,
    "gelu_tanh": lambda: lambda x: F.gelu(x, approximate="tanh"),
    "hard_sigmoid": lambda width: _when(F.hardsigmoid, holds=width == 6),
    "hard_swish": lambda: F.hardswish,
    "hard_tanh": lambda low, high: lambda x: F.hardtanh(x, low, high),
    "hardshrink": lambda threshold: lambda x: F.hardshrink(x, threshold),
    "leaky_relu": lambda slope: lambda x: F.leaky_relu(x, slope),
    "log_sigmoid": lambda: F.logsigmoid,
    "mish": lambda: F.mish,
    "relu": lambda: F.relu,
    "relu6": lambda: F.relu6,
    "selu": lambda: F.selu,
    "sigmoid": lambda: torch.sigmoid,
    "silu": lambda beta: _when(F.silu, holds=beta == 1),
    "softshrink": lambda threshold: lambda x: F.softshrink(x, threshold),
    "tanh": lambda: torch.tanh,
}
"""torch's operators for the same functions. Not softplus: torch's returns x above 20."""
_SAME = frozenset({"hard_tanh", "leaky_relu", "relu", "relu6", "tanh"})
"""Functions for which torch's and exporters' results equal the kernels'."""
