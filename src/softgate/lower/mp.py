"""A definition evaluated with mpmath: many digits without a compiled dependency.

Used where a table's entry lies so close to a rounding boundary that float64 cannot tell, and
where python-flint is not installed. Not rigorous as balls are: precision is doubled until two
evaluations agree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from ..graph import COMPARISONS, Node, walk

MAX_BITS = 4096


def evaluate(root: Node, bits: int, **inputs: float | Fraction) -> Any:
    """Return `root` at these exact inputs as an mpf, computed with `bits` bits."""
    with mpmath.workprec(bits):
        values: dict[Node, Any] = {}
        for node in walk(root):
            args = [values[arg] for arg in node.args]
            values[node] = _operation(node, args, inputs)
        return values[root]


def sign_of_difference(root: Node, boundary: Fraction, **inputs: float | Fraction) -> int:
    """Return the sign of root - boundary; 0 only where 4096 bits show no difference."""
    bits = 256  # enough for the smallest bfloat16, 2**-133, at the first try
    while bits <= MAX_BITS:
        value = evaluate(root, bits, **inputs)
        with mpmath.workprec(bits):
            exact = _fraction(boundary)
            difference = value - exact
            if abs(difference) > abs(exact) * mpmath.mpf(2) ** (32 - bits):
                return int(mpmath.sign(difference))
        bits *= 2
    return 0


def _fraction(value: float | Fraction) -> Any:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def _operation(node: Node, args: list[Any], inputs: dict[str, float | Fraction]) -> Any:
    if node.op == "const":
        assert isinstance(node.attr, Fraction)
        return _fraction(node.attr)
    if node.op in ("input", "parameter"):
        return _fraction(inputs[str(node.attr)])
    if node.op in COMPARISONS:
        x, y = args
        return {"lt": x < y, "le": x <= y, "eq": x == y}[node.op]
    if node.op == "where":
        condition, yes, no = args
        return yes if condition else no
    return OPERATIONS[node.op](*args)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


OPERATIONS: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "pi": lambda: +mpmath.pi,
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "sigmoid": _sigmoid,
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "phi": mpmath.npdf,
    "Phi": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
}
