"""A stable form as lines of source text that people read: C, JavaScript, Triton.

What is known beforehand is worked out in the format itself, so that every printed operation is one
that a machine does. Signs, comparisons and short terms that are used once stand where they are
used; all else is a line with a name. What a language calls an operation stands in its table.
"""

from __future__ import annotations

import keyword
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from operator import eq, le, lt

import numpy as np

from softgate.formula.formats import FLOAT32, Format
from softgate.formula.graph import COMPARISONS, Node, walk

from .interpret import ARITHMETIC
from .notation import ATOM, CHOICE, PRODUCT, SIGN, SUM

Known = float | bool
Operation = tuple[str, int, tuple[int, ...]]
"""A template, how tightly it binds, and how tightly each operand must."""

SHORT = 36
"""Longer terms get a line of their own."""
TERMS = frozenset({"add", "sub", "mul", "div", "abs", "sqrt", "copysign"})
"""What may stand inside another expression. Steps of polynomials read better in a column."""
BITS = frozenset({"add_exponent", "exponent_only", "exponent_field", "copysign"})
"""What looks at the bits of its operands."""
MIRRORED = {"lt": "gt", "le": "ge"}
"""How a comparison reads with the number on the right."""
COMPARE = {"lt": lt, "le": le, "eq": eq}

OPERATORS: dict[str, Operation] = {
    "add": ("{} + {}", SUM, (SUM, PRODUCT)),
    "sub": ("{} - {}", SUM, (SUM, PRODUCT)),
    "mul": ("{} * {}", PRODUCT, (PRODUCT, SIGN)),
    "div": ("{} / {}", PRODUCT, (PRODUCT, SIGN)),
    "neg": ("-{}", SIGN, (ATOM,)),
    "lt": ("{} < {}", CHOICE, (SUM, SUM)),
    "le": ("{} <= {}", CHOICE, (SUM, SUM)),
    "eq": ("{} == {}", CHOICE, (SUM, SUM)),
    "gt": ("{} > {}", CHOICE, (SUM, SUM)),
    "ge": ("{} >= {}", CHOICE, (SUM, SUM)),
}
"""What all these languages write with the same operators."""


def call(name: str, operands: int) -> Operation:
    """Return a call of the function `name`."""
    return f"{name}({', '.join(['{}'] * operands)})", ATOM, (CHOICE,) * operands


CHOOSE: Operation = ("{} ? {} : {}", CHOICE, (SUM, SUM, SUM))
"""The choice as C and JavaScript write it."""


@dataclass(frozen=True)
class Language:
    """How one language, in one float format, writes what a stable form is made of."""

    operations: Mapping[str, Operation]
    literal: Callable[[float], str]
    line: str
    """How a name is given to an expression, as in "const float {} = {};"."""
    typed: str = "{}"
    """How a number gets the format where no other operand has it."""


@dataclass(frozen=True)
class Function:
    """One quantity of one activation in one format, to be printed."""

    name: str
    quantity: str
    fmt: Format
    root: Node
    bound: float | None
    """Largest error in ulps, None where none is known."""
    arguments: tuple[tuple[str, float], ...] = ()
    """Parameters that the caller gives, and their defaults."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Parameters that are numbers here."""
    widened: bool = False
    """Whether it is the float64 function's result, rounded; `root` is that one's."""

    @property
    def label(self) -> str:
        """The name, with the quantity unless that is the value."""
        return self.name if self.quantity == "value" else f"{self.name}_{self.quantity}"


@dataclass(frozen=True)
class Unit:
    """One activation to be printed."""

    name: str
    command: str | None
    """What commands call it, with parameters where these are not the usual ones; None where only
    the program that has it can name it."""
    heading: tuple[str, ...]
    """What it is, in lines of plain text."""
    functions: tuple[Function, ...]
    gated: bool
    """Whether it is x·g(x), so that errors of slopes are counted on the scale of that."""
    own: bool = False
    """Whether it is a formula of the user's own."""
    inner: tuple[Function, ...] = ()
    """Functions that those only call."""


@dataclass(frozen=True)
class Body:
    """The lines of a function, the expression it returns, and the operations that occur."""

    lines: tuple[str, ...]
    result: str
    used: frozenset[str]
    """The operations printed, and the names of the leaves."""


SCALE = (
    "Errors of slopes are in ulps of max(|g|, |x*g'|), the function being x*g: beside a root of",
    "the slope an ulp of the slope itself says nothing.",
)


IN_PYTHON = "No command can name this formula; in Python, where it is {name}:"


def within(function: Function) -> str:
    """Say how exact a function is."""
    if function.bound is None:
        return "no bound known"
    if function.bound == 0:
        return "correctly rounded"
    return f"within {function.bound:g} ulp of the exact result"


def bounded(units: Iterable[Unit]) -> bool:
    """Tell whether a bound is known for any function."""
    return any(f.bound is not None for unit in units for f in unit.functions)


def shortest(value: float, fmt: Format) -> str:
    """Return the fewest digits that round to `value` in the format, also by way of a double.

    Examples
    --------
    >>> shortest(float(np.float32(0.1)), FLOAT32)
    '0.1'
    """
    if fmt is not FLOAT32:
        return repr(value)
    text = str(np.float32(value))
    return text if float(np.float32(float(text))) == value else repr(value)


def body(
    root: Node,
    fmt: Format,
    language: Language,
    leaves: Mapping[str, str],
    constants: Mapping[str, float] | None = None,
) -> Body:
    r"""Return how `root` is computed, inputs and parameters being called as `leaves` has them.

    Parameters that `constants` names are numbers. Whatever the constants decide is left out.

    Examples
    --------
    >>> from softgate.formula.arithmetic import Machine
    >>> f = Machine(FLOAT32)
    >>> x = f.graph.input("x")
    >>> operations = OPERATORS | {"fma": call("fmaf", 3), "where": CHOOSE}
    >>> c = Language(operations, lambda v: f"{shortest(v, FLOAT32)}f", "const float {} = {};")
    >>> found = body(f.where(x < 0, -x, f.fma(x, x, 1)), FLOAT32, c, {"x": "x"})
    >>> print(*found.lines, found.result, sep="\n")
    const float t1 = fmaf(x, x, 1.0f);
    (x < 0.0f) ? -x : t1
    """
    return _Printer(root, fmt, language, leaves, constants or {}).body()


def _is(found: Node | Known, number: float) -> bool:
    """Tell whether something is a number and which; a node compared would make a node."""
    return not isinstance(found, Node) and found == number


class _Printer:
    """One function being printed."""

    def __init__(
        self,
        root: Node,
        fmt: Format,
        language: Language,
        leaves: Mapping[str, str],
        constants: Mapping[str, float],
    ) -> None:
        self.fmt, self.language, self.leaves = fmt, language, leaves
        self.constants = constants
        self.real = np.float32 if fmt is FLOAT32 else np.float64
        self.order = tuple(walk(root))
        self.resolved: dict[Node, Node | Known] = {}
        with np.errstate(all="ignore"):  # an unchosen side may overflow
            for node in self.order:
                self.resolved[node] = self._resolve(node)
        self.root = self.resolved[root]
        self.uses, self.arms = self._count()
        self.texts: dict[Node, tuple[str, int]] = {}
        self.lines: list[str] = []
        self.used: set[str] = set()

    def body(self) -> Body:
        fixed: set[Node] = set()
        for node in self.order:
            if node.op != "input" and fixed.issuperset(node.args):
                fixed.add(node)
            # A choice that is the same for every x stands right before it is used: gcc 12 makes one
            # branch of several such that stand together, and no longer vectorises the loop.
            late = node.op == "where" and node.args[0] in fixed
            if self.uses[node] and self.resolved[node] is node and not late:
                self.texts[node] = self._print(node)
        result, _ = self._operand(self.root)
        return Body(tuple(self.lines), result, frozenset(self.used))

    def _resolve(self, node: Node) -> Node | Known:
        """Return the number that a node is, the node that it chooses, or itself."""
        if node.op == "const":
            assert isinstance(node.attr, Fraction)
            return self.fmt.round(node.attr)
        if node.op == "parameter" and node.attr in self.constants:
            return float(self.real(self.constants[str(node.attr)]))
        args = [self.resolved[arg] for arg in node.args]
        if node.op == "where" and isinstance(args[0], bool):
            return args[1] if args[0] else args[2]
        if node.op == "mul":
            for factor, other in (args, args[::-1]):
                if _is(factor, 1.0):
                    return other
        numbers = [float(arg) for arg in args if not isinstance(arg, Node)]
        if not numbers or len(numbers) < len(args):
            return node
        return self._fold(node, *numbers)

    def _fold(self, node: Node, *numbers: float) -> Node | Known:
        if node.op == "fma" and all(map(math.isfinite, numbers)):
            a, b, c = map(Fraction, numbers)
            return self.fmt.round(a * b + c) or numbers[0] * numbers[1] + numbers[2]
        operands = (self.real(number) for number in numbers)
        if node.op in ARITHMETIC:
            return float(ARITHMETIC[node.op](*operands))
        if node.op in COMPARE:
            return bool(COMPARE[node.op](*operands))
        return node

    def _count(self) -> tuple[Counter[Node], set[Node]]:
        """Return how often each node is used, and which are one side of a choice."""
        uses: Counter[Node] = Counter()
        arms: set[Node] = set()
        if isinstance(self.root, Node):
            uses[self.root] = 1
        for node in reversed(self.order):
            if not uses[node] or self.resolved[node] is not node:
                continue
            for i, arg in enumerate(node.args):
                found = self.resolved[arg]
                if isinstance(found, Node):
                    uses[found] += 1
                    if node.op == "where" and i:
                        arms.add(found)
        return uses, arms

    def _print(self, node: Node) -> tuple[str, int]:
        """Return the text that stands for a node: its name, after a line for it, or a term."""
        if node.op in ("input", "parameter"):
            self.used.add(str(node.attr))
            return self.leaves[str(node.attr)], ATOM
        op, *args = self._plain(node)
        self.used.add(op)
        template, binds, least = self.language.operations[op]
        operands = []
        for arg, needed in zip(args, least, strict=True):
            text, tight = self._operand(arg)
            if op in BITS and not isinstance(arg, Node):
                text, tight = self.language.typed.format(text), ATOM
            operands.append(text if tight >= needed else f"({text})")
        if op == "where" and not isinstance(args[1], Node) and not isinstance(args[2], Node):
            operands[1] = self.language.typed.format(operands[1])
        text = template.format(*operands)
        if node is self.root or self._stays(node, text):
            return text, binds
        name = f"t{len(self.lines) + 1}"
        self.lines.append(self.language.line.format(name, text))
        return name, ATOM

    def _plain(self, node: Node) -> tuple[str, *tuple[Node | Known, ...]]:
        """Return an operation as people would write it; what it computes is the same."""
        op, args = node.op, [self.resolved[arg] for arg in node.args]
        if op in MIRRORED and not isinstance(args[0], Node):
            return MIRRORED[op], args[1], args[0]
        if op not in ("mul", "fma"):
            return op, *args
        for a, b in (args[:2], args[1::-1]):
            if _is(a, -1.0):
                return ("neg", b) if op == "mul" else ("sub", args[2], b)
            if _is(a, 1.0) and op == "fma":
                return "add", b, args[2]
        return op, *args

    def _stays(self, node: Node, text: str) -> bool:
        """Tell whether a term stands where it is used.

        Not as one side of a choice: both are to be computed, or compilers see a branch.
        """
        if node.op in COMPARISONS:
            return True
        if text.startswith("-") and node.op in ("neg", "mul"):
            return len(text) <= SHORT
        if self.uses[node] > 1 or node in self.arms:
            return False
        return node.op in TERMS and len(text) <= SHORT

    def _operand(self, found: Node | Known) -> tuple[str, int]:
        if isinstance(found, Node):
            if found not in self.texts:
                self.texts[found] = self._print(found)
            return self.texts[found]
        text = self.language.literal(float(found))
        return text, SIGN if text.startswith("-") else ATOM


_C_WORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while",
})  # fmt: skip
"""C appends a format suffix to names, so these would compile; they are rejected as misleading."""

_JAVASCRIPT_WORDS = frozenset({
    "Float64Array", "HIGH", "Infinity", "Int32Array", "LOW", "Math", "NaN", "Uint16Array",
    "Uint8Array", "add_exponent", "arguments", "await", "break", "case", "catch", "class",
    "const", "continue", "copysign", "debugger", "default", "delete", "do", "else", "enum",
    "eval", "exponent_field", "exponent_only", "export", "extends", "false", "finally", "fma",
    "fma_scaled", "for", "function", "if", "implements", "import", "in", "instanceof",
    "interface", "let", "new", "null", "number", "package", "private", "protected", "public",
    "return", "softgate", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "undefined", "var", "void", "while", "with", "words", "yield",
})  # fmt: skip

_TRITON_WORDS = frozenset({
    "BLOCK", "TypeError", "_split", "float", "once_differentiable", "staticmethod", "tl",
    "torch", "triton",
} | {*keyword.kwlist})  # fmt: skip

RESERVED = {"C": _C_WORDS, "JavaScript": _JAVASCRIPT_WORDS, "Triton": _TRITON_WORDS}
"""Names that an emitted function must not have: keywords, and names that the file itself uses."""
