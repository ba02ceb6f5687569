"""E(f): how far a composed result may be off, by the rounding of every step, to first order.

In units of 2**-53 and as a graph over the same variables: E(x·y) = |x|·E(y) + |y|·E(x) + |x·y| and
so on, functions by their derivative. What a kernel errs by beyond that is a fault of the kernel,
not of the formula.
"""

from __future__ import annotations

from fractions import Fraction

from softgate.formula.arithmetic import ExactArithmetic
from softgate.formula.derivative import RULES
from softgate.formula.graph import COMPARISONS, Node, walk

FUNCTION = 6
"""The error of a function's own form: three ulps, each of two units at most."""
PHASE = Fraction(2) ** 45
"""Beyond it no digit of sin and cos is correct: the error is unlimited."""
UNKNOWN = Fraction(2) ** 60


def roundoff(root: Node) -> Node:
    """Return E(root), a node of the same graph."""
    f, errors = ExactArithmetic(root.graph), dict[Node, Node]()
    for node in walk(root):
        errors[node] = _error(f, node, [errors[arg] for arg in node.args])
    return errors[root]


def _error(f: ExactArithmetic, node: Node, errors: list[Node]) -> Node:
    args, zero = node.args, f.lift(0)
    if node.op in ("input", "parameter") or node.op in COMPARISONS:
        return zero
    if node.op in ("neg", "abs"):
        return errors[0]
    if node.op == "where":
        return errors[1] if errors[1] is errors[2] else f.where(args[0], *errors[1:])
    size = f.abs(node)
    if node.op in ("const", "pi"):
        return size
    if node.op in ("add", "sub"):
        return _sum(*errors, size)
    if node.op == "mul":
        return _sum(_times(f.abs(args[1]), errors[0]), _times(f.abs(args[0]), errors[1]), size)
    if node.op == "div":
        carried = _sum(errors[0], _times(size, errors[1]))
        return _sum(carried if carried is zero else carried / f.abs(args[1]), size)
    carried = _times(f.abs(RULES[node.op](f, args[0])), errors[0])
    bound = size if node.op == "sqrt" else FUNCTION * size
    if node.op in ("sin", "cos"):
        bound = f.where(f.abs(args[0]) > PHASE, UNKNOWN, bound)
    return _sum(carried, bound)


def _is_zero(node: Node) -> bool:
    return node.op == "const" and node.attr == 0


def _sum(*terms: Node) -> Node:
    total, *rest = [term for term in terms if not _is_zero(term)] or terms[:1]
    for term in rest:
        total = total + term
    return total


def _times(factor: Node, error: Node) -> Node:
    return error if _is_zero(error) else factor * error
