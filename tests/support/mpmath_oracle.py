"""Graphs evaluated with mpmath: an oracle that shares no code with softgate's own evaluation.

Not rigorous: a result that cancels loses bits. Every function is written by its definition.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import mpmath

from softgate.formula.graph import Node, walk

mp = mpmath.MPContext()

OPERATIONS: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "where": lambda condition, yes, no: yes if condition else no,
    "pi": lambda: +mp.pi,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "phi": lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
    "Phi": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
}


def evaluate(root: Node, bits: int, /, **inputs: Any) -> Any:
    """Return `root` as an mpf, NaN where it is not real, computed with `bits` bits.

    The context keeps this precision, for arithmetic with the result.
    """
    values: dict[Node, Any] = {}
    mp.prec = bits
    for node in walk(root):
        if node.op in ("const", "input", "parameter"):
            number = Fraction(node.attr if node.op == "const" else inputs[node.attr])
            values[node] = mp.mpf(number.numerator) / number.denominator
            continue
        function = OPERATIONS.get(node.op) or getattr(mp, node.op)
        try:
            result = function(*(values[arg] for arg in node.args))
        except (ZeroDivisionError, ValueError, OverflowError):  # in a branch not taken
            result = mp.nan
        values[node] = mp.nan if isinstance(result, mp.mpc) else result
    return values[root]
