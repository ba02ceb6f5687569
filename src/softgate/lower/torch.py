"""A definition in torch operators, as the source of a Python function that torch.compile can read.

Every order of derivative is a graph of its own. Left to autograd, the branch of a `where` that is
not taken would put NaN into gradients, and |x| has a wrong slope at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..graph import COMPARISONS, Node, walk

Form = Callable[..., torch.Tensor]

SOURCE = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "abs": "torch.abs({})",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
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
    "erfc": "torch.erfc({})",
    "phi": "torch.exp({0} * {0} * -0.5) * 0.3989422804014327",
    "Phi": "torch.special.ndtr({})",
}
"""Each operation as torch has it; Python numbers keep the format of the tensors beside them."""

FOLDED: dict[str, Callable[..., float]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
}
"""What is worked out beforehand where every operand is a number."""


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
    names: dict[Node, str] = {}
    numbers: dict[Node, float] = {}
    lines: list[str] = []
    for node in walk(root):
        if node.op == "input":
            names[node] = "x"
        elif node.op == "parameter":
            names[node] = str(node.attr)
        elif (number := _number(node, numbers)) is not None:
            numbers[node], names[node] = number, repr(number)
        else:
            names[node] = f"t{len(lines)}"
            lines.append(f"{names[node]} = {_operation(node, names, numbers)}")
    result = names[root] if root not in numbers else f"torch.full_like(x, {names[root]})"
    body = "".join(f"    {line}\n" for line in lines)
    return f"def form({', '.join(('x', *parameters))}):\n{body}    return {result}\n"


def _number(node: Node, numbers: dict[Node, float]) -> float | None:
    if node.op == "const":
        assert node.attr is not None
        return float(node.attr)
    if node.op == "pi":
        return math.pi
    if node.op in FOLDED and all(arg in numbers for arg in node.args):
        return float(FOLDED[node.op](*(numbers[arg] for arg in node.args)))
    return None


def _operation(node: Node, names: dict[Node, str], numbers: dict[Node, float]) -> str:
    args = [f"({names[a]})" if numbers.get(a, 0.0) < 0 else names[a] for a in node.args]
    if node.op == "where":  # of two numbers torch would make the default format
        yes, no = node.args[1:]
        if yes in numbers and no in numbers:
            args[1] = f"x.new_full((), {names[yes]})"
    if node.op in COMPARISONS and not any(a.op == "input" or a not in numbers for a in node.args):
        raise ValueError(f"{node!r} compares two numbers")
    return SOURCE[node.op].format(*args)


def form(root: Node, parameters: tuple[str, ...] = ()) -> Form:
    """Return the function whose source is `source(root, parameters)`."""
    names: dict[str, Any] = {"torch": torch}
    text = source(root, parameters)
    exec(compile(text, f"<softgate {root.op}>", "exec"), names)
    found: Form = names["form"]
    return found
