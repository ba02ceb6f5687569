"""The body of a function that computes a stable form, for C, CUDA, JavaScript and Triton.

Constants are folded in the float format, so every printed operation is a machine operation. Signs,
comparisons and short terms that are used once are printed inline; all other operations are
assigned to a name. The spelling of each operation is in the language's syntax.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import COMPARISONS, Node, walk

from ..constants import Constant, fold_constants, is_number
from ..notation import ATOM, CHOICE, INFIX, PRODUCT, SIGN, SUM, Operation

LONGEST_INLINE = 36
"""Longer terms are assigned to a name, on a separate line."""
TERMS = frozenset({"add", "sub", "mul", "div", "abs", "sqrt", "copysign"})
"""Operations that may be printed inline. Steps of polynomials are clearer one per line."""
BITS = {"add_exponent": 2, "exponent_only": 1, "exponent_field": 1, "copysign": 2}
"""Operations on the bits of their operands, and the number of operands."""
MIRRORED = {"lt": "gt", "le": "ge"}
"""Comparisons with swapped operands."""

OPERATORS: dict[str, Operation] = {
    **{op: INFIX[op] for op in ("sub", "lt", "le", "eq", "gt", "ge")},
    "add": ("{} + {}", SUM, (SUM, PRODUCT)),  # a + (b + c) is rounded differently
    "mul": ("{} * {}", PRODUCT, (PRODUCT, SIGN)),
    "div": ("{} / {}", PRODUCT, (PRODUCT, SIGN)),
    "neg": ("-{}", SIGN, (ATOM,)),
}
"""Operators that all these languages share."""
CHOOSE: Operation = ("{} ? {} : {}", CHOICE, (SUM, SUM, SUM))
"""The conditional operator of C and JavaScript."""


def call(name: str, operands: int) -> Operation:
    """Return a call of the function `name`."""
    return f"{name}({', '.join(['{}'] * operands)})", ATOM, (CHOICE,) * operands


@dataclass(frozen=True)
class Syntax:
    """How one language writes the operations of a stable form in one float format."""

    operations: Mapping[str, Operation]
    literal: Callable[[float], str]
    line: str
    """Template of an assignment, as in "const float {} = {};"."""
    typed: str = "{}"
    """Template that converts a number to the format if no other operand has it."""


def shortest(value: float, fmt: Format) -> str:
    """Return the fewest digits that round to `value` in `fmt`, directly or through float64.

    Examples
    --------
    >>> shortest(float(np.float32(0.1)), FLOAT32)
    '0.1'
    """
    if fmt is not FLOAT32:
        return repr(value)
    text = str(np.float32(value))
    return text if float(np.float32(float(text))) == value else repr(value)


class Body:
    r"""The body of a function that computes the roots; `leaves` names inputs and parameters.

    Parameters in `constants` are folded, and branches that constants decide are left out.

    Examples
    --------
    >>> from softgate.formula.arithmetic import FloatArithmetic
    >>> f = FloatArithmetic(FLOAT32)
    >>> x = f.graph.input("x")
    >>> operations = OPERATORS | {"fma": call("fmaf", 3), "where": CHOOSE}
    >>> c = Syntax(operations, lambda v: f"{shortest(v, FLOAT32)}f", "const float {} = {};")
    >>> body = Body((f.where(x < 0, -x, f.fma(x, x, 1)),), FLOAT32, c, {"x": "x"})
    >>> print(*body.lines, *body.results, sep="\n")
    const float t1 = fmaf(x, x, 1.0f);
    (x < 0.0f) ? -x : t1
    """

    def __init__(
        self,
        roots: tuple[Node, ...],
        fmt: Format,
        syntax: Syntax,
        leaves: Mapping[str, str],
        constants: Mapping[str, float] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.used: set[str] = set()
        """The operations printed, and the names of the leaves."""
        self.syntax, self.leaves = syntax, leaves
        self.order = tuple(walk(*roots))
        self.resolved = fold_constants(self.order, fmt, constants or {})
        self.roots = [self.resolved[root] for root in roots]
        self.uses, self.branches = self._count()
        self.texts: dict[Node, tuple[str, int]] = {}
        fixed: set[Node] = set()
        for node in self.order:
            if node.op != "input" and fixed.issuperset(node.args):
                fixed.add(node)
            # A choice that does not depend on x is printed right before its use: gcc 12 merges
            # several adjacent ones into a branch and no longer vectorises the loop.
            late = node.op == "where" and node.args[0] in fixed
            if self.uses[node] and self.resolved[node] is node and not late:
                self.texts[node] = self._print(node)
        self.results = [self._operand(root)[0] for root in self.roots]
        """The expressions of the results."""

    def _count(self) -> tuple[Counter[Node], set[Node]]:
        """Return the number of uses of each node, and the nodes that are branches of a choice."""
        uses = Counter(root for root in self.roots if isinstance(root, Node))
        branches: set[Node] = set()
        for node in reversed(self.order):
            if not uses[node] or self.resolved[node] is not node:
                continue
            for i, arg in enumerate(node.args):
                operand = self.resolved[arg]
                if isinstance(operand, Node):
                    uses[operand] += 1
                    if node.op == "where" and i:
                        branches.add(operand)
        return uses, branches

    def _print(self, node: Node) -> tuple[str, int]:
        """Return a node as text: an inline term, or the name that a new line assigns to it."""
        if node.op in ("input", "parameter"):
            self.used.add(str(node.attr))
            return self.leaves[str(node.attr)], ATOM
        op, *args = self._plain(node)
        self.used.add(op)
        template, binds, least = self.syntax.operations[op]
        operands = []
        for arg, needed in zip(args, least, strict=True):
            text, tight = self._operand(arg)
            if op in BITS and not isinstance(arg, Node):
                text, tight = self.syntax.typed.format(text), ATOM
            operands.append(text if tight >= needed else f"({text})")
        if op == "where" and not isinstance(args[1], Node) and not isinstance(args[2], Node):
            operands[1] = self.syntax.typed.format(operands[1])
        text = template.format(*operands)
        is_result = self.uses[node] == 1 and any(node is root for root in self.roots)
        if is_result or self._is_inline(node, text):
            return text, binds
        name = f"t{len(self.lines) + 1}"
        self.lines.append(self.syntax.line.format(name, text))
        return name, ATOM

    def _plain(self, node: Node) -> tuple[str, *tuple[Node | Constant, ...]]:
        """Return an equivalent operation in its usual notation."""
        op, args = node.op, [self.resolved[arg] for arg in node.args]
        if op in MIRRORED and not isinstance(args[0], Node):
            return MIRRORED[op], args[1], args[0]
        if op not in ("mul", "fma"):
            return op, *args
        for a, b in (args[:2], args[1::-1]):
            if is_number(a, -1.0):
                return ("neg", b) if op == "mul" else ("sub", args[2], b)
            if is_number(a, 1.0) and op == "fma":
                return "add", b, args[2]
        return op, *args

    def _is_inline(self, node: Node, text: str) -> bool:
        """Return whether a term is printed inline.

        Branches of a choice are not: computing both first lets compilers avoid a jump.
        """
        if node.op in COMPARISONS:
            return True
        if text.startswith("-") and node.op in ("neg", "mul"):
            return len(text) <= LONGEST_INLINE
        if self.uses[node] > 1 or node in self.branches:
            return False
        return node.op in TERMS and len(text) <= LONGEST_INLINE

    def _operand(self, operand: Node | Constant) -> tuple[str, int]:
        if isinstance(operand, Node):
            if operand not in self.texts:
                self.texts[operand] = self._print(operand)
            return self.texts[operand]
        text = self.syntax.literal(float(operand))
        return text, SIGN if text.startswith("-") else ATOM
