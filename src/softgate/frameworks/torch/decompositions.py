"""An activation in torch operators: for other devices, for exported and traced graphs.

It is the definition or, where that loses digits, the kernel's formula if it has only arithmetic.
Each order of derivative is a separate graph (see `lower.torch`). On other devices torch's fused
operator for the same function is faster and is used instead. Exported graphs contain it only if its
results equal those of the kernels: torch's gelu on a CPU has no tail, is NaN at -inf, and with
AVX-512 is inf from 1.7e38 on. `prefer_torch_operators` exports it nevertheless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
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


class Decomposition:
    """An activation with fixed parameters and its derivatives in torch operators."""

    def __init__(self, activation: Activation, parameters: tuple[tuple[str, float], ...]) -> None:
        self.activation, self.parameters = activation, parameters
        self.native = native(activation, dict(parameters))
        self._forms: dict[tuple[int, Format | None], Form | None] = {}

    def operator(self, ours: bool) -> Native | None:
        """Return torch's fused operator for the value, or None if a softgate form is used.

        `ours` is whether results must equal the kernels': on the CPU and in exported graphs.
        """
        same = self.activation.name in _SAME
        return self.native if same or not ours or torch_preferred() else None

    def form(self, order: int, dtype: torch.dtype) -> Form:
        """Return a derivative (0: the value) as a function of tensors and the parameters.

        The definition or, where that loses digits, the stable form if it has only arithmetic.
        """
        if dtype.itemsize == 1 and order < len(QUANTITIES):
            return self._gathered(QUANTITIES[order], dtype)
        fmt = FLOAT64 if dtype is torch.float64 else FLOAT32
        key = (order, fmt)
        if key not in self._forms:
            self._forms[key] = self._stable(order, fmt)
        return self._forms[key] or self.defined(order)

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
        return self.activation.route(quantity, dtype_of(fmt), None, dict(self.parameters))

    def times_slope(self, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """Return slope(x)·grad in torch operators, differentiable; of float8 tensors it is not."""
        if x.dtype.itemsize > 1:
            return self(1, x) * grad
        return self._gathered("backward", x.dtype)(x, grad)

    def defined(self, order: int) -> Form:
        """Return a derivative of the definition, completed with its limits; differentiable."""
        result = self._forms.get((order, None))
        if result is None:
            root, names = self._graph(order), tuple(name for name, _ in self.parameters)
            made = form(guarded(root, dict(self.parameters)), names)
            result = self._forms[order, None] = self._completed(made, order, root)
        return result

    def _completed(self, made: Form, order: int, root: Node) -> Form:
        """Return `made` corrected at ±inf, -0 and NaN, with 16-bit formats computed in float32."""
        slope = self._graph(1) if order == 0 else None
        wrong = edges(self.activation, order, root, slope, dict(self.parameters))
        return _widened(with_edges(made, wrong))

    def _graph(self, order: int) -> Node:
        return self.activation.entry.derivative(*["x"] * order, in_operators=True)

    def _stable(self, order: int, fmt: Format) -> Form | None:
        entry = self.activation.entry
        if entry.user is not None or order >= len(QUANTITIES):
            return None
        specification = Specification(entry, QUANTITIES[order], fmt, fmt, constants=self.parameters)
        root = arithmetic(trace(specification))
        if root is None or not loses_digits(
            self.activation, order, self._graph(order), dict(self.parameters)
        ):
            return None
        made = form(root)
        return self._completed(lambda x, *_: made(x), order, root)

    def describe(self, quantity: str, x: torch.Tensor) -> str:
        """Return a description of the operators that compute a quantity of a tensor."""
        if x.dtype.itemsize == 1:
            return f"{self._route(quantity, x.dtype).describe()}, gathered by torch operators"
        if quantity == "value" and self.operator(must_match_kernels(x)) is not None:
            assert self.native is not None
            ends = self.native(torch.tensor([-math.inf, math.inf]))
            wrong = [at for at, y in zip(("-inf", "inf"), ends, strict=True) if y.isnan()]
            note = f", NaN at {' and '.join(wrong)}" if wrong else ""
            return f"torch's own operator{note}"
        order = 1 if quantity == "backward" else QUANTITIES.index(quantity)
        if self.form(order, x.dtype) is not self.defined(order):
            return "the kernel's formula in torch operators"
        return "the definition in torch operators, its limits kept"

    def evaluate(self, order: int, x: torch.Tensor) -> torch.Tensor:
        """Return a derivative in torch operators."""
        return self.form(order, x.dtype)(x, *(value for _, value in self.parameters))

    def __call__(self, order: int, x: torch.Tensor) -> torch.Tensor:
        """Return a derivative (0: the value), itself differentiable by autograd."""
        fused = order == 0 and x.dtype.itemsize > 1
        operator = self.operator(must_match_kernels(x)) if fused else None
        if operator is not None:
            return operator(x)
        if torch.jit.is_tracing() or functionalizing():
            return self.evaluate(order, x)
        result: torch.Tensor = Derivative.apply(x, self, order)
        return result


def must_match_kernels(x: torch.Tensor) -> bool:
    """Return whether torch operators must give the kernels' results for `x`."""
    return on_cpu(x) or exporting()


def _widened(made: Form) -> Form:
    """Return a form that computes formats of at most 16 bits in float32 and rounds once."""

    def wide(x: torch.Tensor, *parameters: float) -> torch.Tensor:
        if x.dtype.itemsize <= 2:
            return made(x.float(), *parameters).to(x.dtype)
        return made(x, *parameters)

    return wide


def native(activation: Activation, parameters: Mapping[str, float]) -> Native | None:
    """Return torch's operator for the same function, or None."""
    from softgate.runtime.registry import activations

    known = activations().get(activation.name)
    if known is None or known.entry.definition is not activation.entry.definition:
        return None
    make = _NATIVE.get(activation.name)
    return None if make is None else make(**parameters)


class Derivative(torch.autograd.Function):
    """A derivative of a definition; its derivative is the graph of the next order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, forms: Decomposition, order: int) -> torch.Tensor:
        """Evaluate the graph of this order."""
        result = forms.evaluate(order, x)
        return result.clone() if result is x else result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the input for reverse and forward mode."""
        x, ctx.forms, ctx.order = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return `grad` times the next derivative."""
        return Derivative.jvp(ctx, grad), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, *_: Any) -> torch.Tensor:
        """Return the tangent times the next derivative."""
        (x,) = ctx.saved_tensors
        if x.dtype.itemsize == 1 and ctx.order == 0:
            return ctx.forms.times_slope(x, tangent)
        return tangent * Derivative.apply(x, ctx.forms, ctx.order + 1)


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
