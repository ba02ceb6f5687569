"""A graph in torch operators, as the source of a Python function that torch.compile can read.

For definitions, and for stable forms that are pure arithmetic: bit operations on floats do not
export and, unfused, take a dozen passes over memory. Every order of derivative is a separate graph:
with autograd, the branch of a `where` that is not taken would put NaN into gradients, and |x| would
have a wrong slope at 0.

ONNX lacks erfc, expm1 and log1p; torch's exporters write them as 1 - erf(x), exp(x) - 1 and
log(1 + x), which lose all digits where the result is small. The `_onnx` forms keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import torch

from softgate.blocks.fits import GAUSSIAN
from softgate.blocks.gaussian import EXACT as MILLS_FORMS
from softgate.formula.derivative import derivative
from softgate.formula.graph import Graph, Node, rebuild, walk

from . import framework_source
from .evaluation import ARITHMETIC, evaluate_float64
from .without_fma import holds

Form = Callable[..., torch.Tensor]

_STEP = 16.0
"""Multiples of 1/16 have exact squares in float32 up to the a where Phi(-a) underflows to 0."""


def _onnx_expm1(x: torch.Tensor) -> torch.Tensor:
    """Return exp(x) - 1 from exp and log; their rounding errors cancel."""
    power = torch.exp(x)
    less = power - 1
    ordinary = (power != 1) & (less != -1) & (power < torch.inf)
    log = torch.log(torch.where(ordinary, power, 2.0))
    return torch.where(ordinary, less * x / log, torch.where(power == 1, x, less))


def _onnx_log1p(x: torch.Tensor) -> torch.Tensor:
    """Return log(1 + x), corrected for the rounding of the sum."""
    total = 1 + x
    ordinary = (total != 1) & (total > 0) & (total < torch.inf)
    inside = torch.where(ordinary, total, 2.0)
    edge = torch.where(total == 1, x, torch.log(total))
    return torch.where(ordinary, torch.log(inside) * (x / (inside - 1)), edge)


def _onnx_normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """Return Phi(x) as exp(-a²/2)/(sqrt(2·pi)·G(a)), a = |x|, with the kernels' fit of G.

    a² is h² + (a - h)·(a + h) with an exact h²: rounding a² would add an error of about a²/2 ulps
    to the tail.
    """
    name = "float64" if x.dtype is torch.float64 else "float32"
    form, fit = MILLS_FORMS[name], GAUSSIAN[f"EXACT_{name.upper()}"]
    a = torch.where(x < 0, -x, x)
    a = torch.where(a > 40.0, 40.0, a)
    h = torch.round(a * _STEP) / _STEP
    power = torch.exp(h * h * -0.5) * torch.exp((h - a) * (h + a) * 0.5)
    ratio = _polynomial(a, fit.coefficients) / _polynomial(a, fit.denominator)
    tail = power * (framework_source.DENSITY_AT_0 / (a + ratio + form.base))
    return torch.where(x < 0, tail, 1 - tail)


def _polynomial(x: torch.Tensor, coefficients: tuple[float, ...]) -> torch.Tensor:
    *rest, last = coefficients
    result: torch.Tensor = x * 0.0 + last
    for c in reversed(rest):
        result = result * x + c
    return result


def erfc(x: torch.Tensor) -> torch.Tensor:
    """Return 1 - erf(x)."""
    if torch.onnx.is_in_onnx_export():
        return 2 * _onnx_normal_cdf(x * -1.4142135623730951)
    return torch.erfc(x)


def normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """Return Phi(x), the distribution function of the standard normal distribution."""
    if torch.onnx.is_in_onnx_export():
        return _onnx_normal_cdf(x)
    return torch.erfc(x * -framework_source.SQRT_HALF) * 0.5


def expm1(x: torch.Tensor) -> torch.Tensor:
    """Return exp(x) - 1."""
    return _onnx_expm1(x) if torch.onnx.is_in_onnx_export() else torch.expm1(x)


def log1p(x: torch.Tensor) -> torch.Tensor:
    """Return log(1 + x)."""
    return _onnx_log1p(x) if torch.onnx.is_in_onnx_export() else torch.log1p(x)


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    """Return 1/(1 + exp(-x)) from exp(-|x|), which does not overflow: torch.sigmoid is 0 below -89.

    |x| is a `where`, since the gradient of torch.abs is 0 at 0.
    """
    below = x < 0
    power = torch.exp(torch.where(below, x, -x))
    return torch.where(below, power, 1.0) / (1 + power)


def softplus(x: torch.Tensor) -> torch.Tensor:
    """Return log(1 + exp(x)); F.softplus returns x above 20, logaddexp overflows in ONNX."""
    below = x < 0
    return torch.where(below, 0.0, x) + log1p(torch.exp(torch.where(below, x, -x)))


SOURCE = {
    **framework_source.ARITHMETIC,
    "abs": "torch.abs({})",
    "where": "torch.where({}, {}, {})",
    "exp": "torch.exp({})",
    "expm1": "expm1({})",
    "log": "torch.log({})",
    "log1p": "log1p({})",
    "sqrt": "torch.sqrt({})",
    "tanh": "torch.tanh({})",
    "sin": "torch.sin({})",
    "cos": "torch.cos({})",
    "atan": "torch.atan({})",
    "sigmoid": "sigmoid({})",
    "softplus": "softplus({})",
    "erf": "torch.erf({})",
    "erfc": "erfc({})",
    "phi": "torch.exp" + framework_source.NORMAL_DENSITY,
    "Phi": "normal_cdf({})",
    "fma": "{} * {} + {}",
}
"""Each operation in torch; Python numbers take the format of the other operand."""

DIALECT = framework_source.Dialect(
    modules={
        "torch": torch,
        "erfc": erfc,
        "expm1": expm1,
        "log1p": log1p,
        "normal_cdf": normal_cdf,
        "sigmoid": sigmoid,
        "softplus": softplus,
    },
    operations=SOURCE,
    whole="torch.full_like({like}, {})",
    # torch.where of two numbers has the default dtype; x.new_full fails for jagged tensors.
    scalar="torch.full((), {}, dtype={like}.dtype, device={like}.device)",
)


def form(root: Node, parameters: tuple[str, ...] = (), operands: tuple[str, ...] = ("x",)) -> Form:
    """Return a definition or a stable form as a function of tensors and parameters."""
    function: Form = framework_source.form(root, DIALECT, parameters, operands)
    return function


def guarded(root: Node, parameters: Mapping[str, float]) -> Node:
    """Return the same function with the branch that a `where` does not take evaluated at 0.

    An exponential that overflows in that branch would make autograd return NaN. A branch with
    a value or slope that is not finite at 0 is unchanged.

    Examples
    --------
    >>> from softgate.formula.arithmetic import ExactArithmetic
    >>> f = ExactArithmetic()
    >>> x = f.graph.input("x")
    >>> guarded(f.where(x > 0, x, f.expm1(x)), {})
    where(lt(0, x), x, expm1(where(lt(0, x), 0, x)))
    >>> guarded(f.where(x > 1, f.log(x), 0), {})
    where(lt(1, x), log(x), 0)
    """
    graph = root.graph
    x, zero = graph.input("x"), graph.const(0)
    at_zero = {"x": 0.0, **parameters}

    def overflows(branch: Node) -> bool:
        """Return whether a branch may overflow, and is finite with a finite slope at 0."""
        if all(node.op in ("input", "const", "parameter", "neg") for node in walk(branch)):
            return False
        both = (evaluate_float64(node, at_zero) for node in (branch, derivative(branch)))
        return all(np.isfinite(value) for value in both)

    def at(branch: Node, x: Node) -> Node:
        return rebuild(branch, lambda n, args: x if n.op == "input" else graph.copy(n, args))

    def visit(node: Node, args: list[Node]) -> Node:
        if node.op == "where":
            _, yes, no = node.args
            if overflows(yes):
                args[1] = at(args[1], graph.node("where", args[0], x, zero))
            if overflows(no):
                args[2] = at(args[2], graph.node("where", args[0], zero, x))
        return graph.copy(node, args)

    return rebuild(root, visit)


def arithmetic(root: Node) -> Node | None:
    """Return a stable form as arithmetic and choices alone, or None if it has bit operations.

    |x| and copysign become a `where`: at 0 autograd then returns the slope from the right, not 0.

    Examples
    --------
    >>> from softgate.formula.formats import FLOAT32
    >>> from softgate.formula.arithmetic import FloatArithmetic
    >>> f = FloatArithmetic(FLOAT32)
    >>> x = f.graph.input("x")
    >>> arithmetic(f.abs(x))
    where(lt(x, 0), neg(x), x)
    >>> arithmetic(f.graph.node("add_exponent", x, x)) is None
    True
    """
    graph = Graph()
    if any(node.op not in PLAIN | {"abs", "copysign"} for node in walk(root)):
        return None

    def visit(node: Node, args: list[Node]) -> Node:
        if node.op in ("abs", "copysign"):
            below = graph.node("lt", args[-1], graph.const(0))
            return graph.node("where", below, graph.node("neg", args[0]), args[0])
        if node.op == "where" and all(arg.op == "const" for arg in args[0].args):
            return args[1] if holds(args[0]) else args[2]
        if node.op in ARITHMETIC and all(arg.op == "const" for arg in args):
            return graph.const(ARITHMETIC[node.op](*(Fraction(arg.attr or 0) for arg in args)))
        return graph.copy(node, args)

    return rebuild(root, visit)


PLAIN = frozenset({"input", "const", "fma", "sqrt", "where", *framework_source.ARITHMETIC})
"""Operations that every framework and exporter supports."""
