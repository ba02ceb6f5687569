"""A definition evaluated with mpmath: many digits without a compiled dependency.

Used where a table's entry lies so close to a rounding boundary that float64 cannot tell, and
where python-flint is not installed. Not rigorous as balls are: precision is doubled until two
evaluations agree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from ..graph import Node
from .interpret import ARITHMETIC, choose, interpret

MAX_BITS = 4096

# A context of our own: mpmath's global one belongs to the user, who may change its precision in
# another thread, and would find ours there. Callers hold a lock, for this one has no more.
_CONTEXT = mpmath.MPContext()


def evaluate(root: Node, bits: int, /, **inputs: float | Fraction) -> Any:
    """Return `root` at these exact inputs as an mpf, computed with `bits` bits."""
    _CONTEXT.prec = bits
    return interpret(root, OPERATIONS, _fraction, inputs)


def sign_of_difference(root: Node, boundary: Fraction, **inputs: float | Fraction) -> int:
    """Return the sign of root - boundary; 0 only where 4096 bits show no difference."""
    bits = 256  # enough for the smallest bfloat16, 2**-133, at the first try
    while bits <= MAX_BITS:
        value = evaluate(root, bits, **inputs)
        exact = _fraction(boundary)
        difference = value - exact
        if abs(difference) > abs(exact) * _CONTEXT.mpf(2) ** (32 - bits):
            return int(_CONTEXT.sign(difference))
        bits *= 2
    return 0


def _fraction(value: float | Fraction) -> Any:
    exact = Fraction(value)
    return _CONTEXT.mpf(exact.numerator) / exact.denominator


OPERATIONS: dict[str, Any] = {
    **ARITHMETIC,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "where": choose,
    "pi": lambda: +_CONTEXT.pi,
    "exp": _CONTEXT.exp,
    "expm1": _CONTEXT.expm1,
    "log": _CONTEXT.log,
    "log1p": _CONTEXT.log1p,
    "sqrt": _CONTEXT.sqrt,
    "tanh": _CONTEXT.tanh,
    "erf": _CONTEXT.erf,
    "erfc": _CONTEXT.erfc,
    "sigmoid": lambda x: 1 / (1 + _CONTEXT.exp(-x)),
    "softplus": lambda x: _CONTEXT.log1p(_CONTEXT.exp(x)),
    "phi": _CONTEXT.npdf,
    "Phi": lambda x: _CONTEXT.erfc(-x / _CONTEXT.sqrt(2)) / 2,
}
