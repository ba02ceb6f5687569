"""A graph in torch operators, as the source of a Python function that torch.compile can read.

Definitions, and those stable forms that are arithmetic alone: what works on the bits of a float has
no place in an exported graph, and would be a dozen passes over memory where nothing fuses them.
Every order of derivative is a graph of its own. Left to autograd, the branch of a `where` that is
not taken would put NaN into gradients, and |x| has a wrong slope at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch

from ..graph import Graph, Node, walk
from . import framework
from .unfused import EXACT, holds

Form = Callable[..., torch.Tensor]


def erfc(x: torch.Tensor) -> torch.Tensor:
    """Return 1 - erf(x); as it stands there in ONNX, which has no operator for the tail."""
    return 1 - torch.erf(x) if torch.onnx.is_in_onnx_export() else torch.erfc(x)


SOURCE = {
    **framework.ARITHMETIC,
    "abs": "torch.abs({})",
    "where": "torch.where({}, {}, {})",
    "exp": "torch.exp({})",
    "expm1": "torch.expm1({})",
    "log": "torch.log({})",
    "log1p": "torch.log1p({})",
    "sqrt": "torch.sqrt({})",
    "tanh": "torch.tanh({})",
    "sin": "torch.sin({})",
    "cos": "torch.cos({})",
    "atan": "torch.atan({})",
    "sigmoid": "torch.sigmoid({})",
    # torch's own softplus returns x beyond a threshold; its logaddexp overflows in ONNX.
    "softplus": "torch.relu({0}) + torch.log1p(torch.exp(-torch.abs({0})))",
    "erf": "torch.erf({})",
    "erfc": "erfc({})",
    "phi": "torch.exp({0} * {0} * -0.5) * 0.3989422804014327",
    "Phi": "erfc({} * -0.7071067811865476) * 0.5",
    "fma": "{} * {} + {}",
}
"""Each operation as torch has it; Python numbers keep the format of the tensors beside them."""

DIALECT = framework.Dialect(
    modules={"torch": torch, "erfc": erfc},
    operations=SOURCE,
    whole="torch.full_like(x, {})",
    # Of two numbers torch.where would make the default format; x.new_full is not for jagged ones.
    scalar="torch.full((), {}, dtype=x.dtype, device=x.device)",
)


def source(root: Node, parameters: tuple[str, ...] = ()) -> str:
    """Return the Python source of `form(x, *parameters)`, which computes `root` in torch.

    Examples
    --------
    >>> from softgate.formula import Definition
    >>> f = Definition()
    >>> x = f.graph.input("x")
    >>> print(source(x * f.sigmoid(1.702 * x)))
    def form(x):
        t0 = 1.702 * x
        t1 = torch.sigmoid(t0)
        t2 = x * t1
        return t2
    """
    return framework.source(root, DIALECT, parameters)


def form(root: Node, parameters: tuple[str, ...] = ()) -> Form:
    """Return the function whose source is `source(root, parameters)`."""
    found: Form = framework.form(root, DIALECT, parameters)
    return found


def arithmetic(root: Node) -> Node | None:
    """Return a stable form as arithmetic and choices alone, or None where it works on bits.

    |x| is a choice, and so is the sign of one number given to another: autograd, which follows the
    choice that was made, then finds the slope at 0 from the right, and not 0.

    Examples
    --------
    >>> from softgate.formats import FLOAT32
    >>> from softgate.formula import Machine
    >>> f = Machine(FLOAT32)
    >>> x = f.graph.input("x")
    >>> arithmetic(f.abs(x))
    where(lt(x, 0), neg(x), x)
    >>> arithmetic(f.graph.node("add_exponent", x, x)) is None
    True
    """
    graph, new = Graph(), dict[Node, Node]()
    for node in walk(root):
        args = [new[arg] for arg in node.args]
        if node.op in ("abs", "copysign"):
            below = graph.node("lt", args[-1], graph.const(0))
            new[node] = graph.node("where", below, graph.node("neg", args[0]), args[0])
        elif node.op == "where" and all(arg.op == "const" for arg in args[0].args):
            new[node] = args[1] if holds(args[0]) else args[2]
        elif node.op in EXACT and args and all(arg.op == "const" for arg in args):
            new[node] = graph.const(EXACT[node.op](*(Fraction(arg.attr or 0) for arg in args)))
        elif node.op in PLAIN:
            new[node] = graph.node(node.op, *args, attr=node.attr)
        else:
            return None
    return new[root]


PLAIN = frozenset({"input", "const", "fma", "sqrt", "where", *framework.ARITHMETIC})
"""What every framework and every exporter has."""
